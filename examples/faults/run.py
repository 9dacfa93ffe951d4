#!/usr/bin/env python3
"""Runs each program with its fault and without, and prints what the report finds first beside what it should.
Standard library only.

    run.py --stepscope PROGRAM [--faults PROGRAM] [--times 1] [--seconds 8] [NAME...]

A run beside which other processes take more than 5 % of the processors' time is no evidence: it is repeated, and said.
The exit code is 1 where a fault is not found, or a healthy program has a finding of severity 20 or more.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
QUIET, TRIES, SEVERE = 0.05, 3, 20.0

# By program: the rules of which one must come first, and the sections of which it must name one (none: any).
EXPECTED = {
    "lock": (["lock_contention"], ["update", "share"]),
    "two-locks": (["lock_contention"], ["update", "mixed"]),
    "pool": (["low_parallelism"], []),
    "loaders": (["cpu_contention"], []),
    "neighbour": (["cpu_contention"], []),
    "allocations": (["memory_churn"], ["split"]),
    "mappings": (["memory_churn"], ["paint", "fresh"]),
    "sleep": (["off_cpu"], ["settle"]),
    "barrier": (["off_cpu", "low_parallelism"], ["meet"]),
    "disk": (["io_stalls", "off_cpu"], ["put"]),
    "pipe": (["io_stalls", "off_cpu"], ["hand_over"]),
    "parking-lot": (["lock_contention"], ["update", "share"]),
    "crossbeam": (["off_cpu"], ["gather"]),
    # Tasks wait and no thread does: one works, and the others have nothing to do.
    "tokio-lock": (["low_parallelism", "off_cpu"], ["await_all"]),
    "tokio-channel": (["off_cpu"], ["obtain"]),
    "tokio-block-on": (["off_cpu"], ["calm"]),
    "compile": (["long_warmup"], []),
    "checkpoint": (["periodic_steps", "slow_calls", "checkpoint_stalls", "slow_section"], ["keep"]),
    "evaluation": (["periodic_steps", "slow_section", "evaluation_stalls"], ["measure"]),
    "periodic": (["periodic_steps", "slow_section"], ["rearrange"]),
}
# Eight threads that wait are no fault.
ALWAYS_HEALTHY = ["idle-pool"]
# The fault is what other processes do.
DISTURBED_BY_DESIGN = {"neighbour"}


def machine_s():
    """Seconds for which all processors were busy since the machine started, for whomever."""
    fields = pathlib.Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
    user, nice, system, _idle, _io_wait, irq, soft_irq, steal = map(int, fields)
    return (user + nice + system + irq + soft_irq + steal) / os.sysconf("SC_CLK_TCK")


def children_s():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def recorded(options, name, is_healthy, out):
    """Runs a program; what it printed, and the part of the processors' time that others took meanwhile."""
    command = [options.faults, name, "--seconds", str(options.seconds), "--out", str(out)]
    if is_healthy:
        command.append("--healthy")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("STEPSCOPE_", "OTEL_"))}
    began, busy, own = time.monotonic(), machine_s(), children_s()
    ended = subprocess.run(command, cwd=out.parent, env=environment, capture_output=True, text=True, timeout=120)
    if ended.returncode:
        sys.exit(f"{' '.join(command)}: {ended.returncode}: {ended.stderr[-2000:]}")
    took = time.monotonic() - began
    others = (machine_s() - busy - (children_s() - own)) / (took * (os.cpu_count() or 1))
    return ended.stdout.strip(), others


def report(options, profile):
    command = [options.stepscope, "--quiet", "analyze", "--format", "json", str(profile)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if ended.returncode:
        sys.exit(f"{' '.join(command)}: {ended.returncode}: {ended.stderr[-2000:]}")
    return json.loads(ended.stdout)


def judged(name, is_healthy, found):
    if is_healthy:
        return not found or found[0]["severity"] < SEVERE
    if not found:
        return False
    rules, sections = EXPECTED[name]
    place = found[0].get("section") or ""
    return found[0]["rule"] in rules and (not sections or any(place.split("/")[-1] == end for end in sections))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stepscope", required=True, type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("--faults", default=str(HERE / "target/release/faults"))
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    runs = [(name, False) for name in EXPECTED] + [(name, True) for name in [*EXPECTED, *ALWAYS_HEALTHY]]
    wrong = 0
    for name, is_healthy in [run for run in runs if not options.names or run[0] in options.names]:
        for _ in range(options.times):
            for attempt in range(TRIES):
                with tempfile.TemporaryDirectory(dir=".") as folder:
                    out = pathlib.Path(folder).resolve() / "profiles"
                    printed, others = recorded(options, name, is_healthy, out)
                    found = report(options, out)["findings"]
                if others <= QUIET or name in DISTURBED_BY_DESIGN:
                    break
            is_right = judged(name, is_healthy, found)
            wrong += not is_right
            shown = "; ".join(f"{row['rule']} {row.get('section') or ''} {row['severity']:.0f}" for row in found[:3])
            print(
                f"{'ok   ' if is_right else 'WRONG'} {name:12} {'healthy' if is_healthy else 'fault  '} "
                f"{printed:32} {shown or 'no findings'}" + (f" (others {100 * others:.0f} %)" if others > QUIET else ""),
                flush=True,
            )
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
