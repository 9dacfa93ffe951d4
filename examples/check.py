#!/usr/bin/env python3
"""Runs the built examples as their READMEs describe, and holds the reports against what was planted. Standard
library only.

    check.py --binaries FOLDER --stepscope PROGRAM [--seeds 5] [--overhead] [EXAMPLE...]

For each example and seed: the report on the plain program finds none of the faults; with a fault planted, its finding
comes first. Step jitter is left out of that order: it is what other processes on the machine do to any program. Runs
that others disturbed are repeated; where all are, the quietest counts, and may be wrong: but not with every seed. Besides, the report's figures equal those that tests/crosscheck computes from the same spans, and the
plain programs of candle and burn are profiled once the five lines of their diffs are added. With `--overhead` the step
time with and without recording is printed (runs of both in turn, medians).
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

# A run beside which others take more than this part of the processors' time says little of the program: it is
# repeated, so often at most, and for so many seconds in all.
DISTURBED, TRIES, PATIENCE_S = 0.15, 6, 60.0

ROOT = pathlib.Path(__file__).resolve().parent.parent
CROSSCHECK = ROOT / "tests" / "crosscheck" / "crosscheck.py"

# By binary: steps of a run, and for each fault the rule and the section that the report names; None where the
# finding names no section, "*" where it may be any.
EXAMPLES = {
    "pipeline": {
        "steps": 400,
        "faults": {
            "unbuffered": ("input_bound", "step/data_wait"),
            "leak": ("memory_growth", "*"),
            "flush": ("io_stalls", "step/write"),
        },
    },
    "candle-digits": {
        "steps": 200,
        "faults": {
            "leak": ("memory_growth", "*"),
            "augment-in-step": ("slow_preprocessing", "step/augment"),
            "slow-loader": ("input_bound", "step/data_wait"),
        },
    },
    "burn-digits": {
        "steps": 200,
        "faults": {
            "leak": ("memory_growth", "*"),
            "augment-in-step": ("slow_preprocessing", "step/augment"),
            "slow-loader": ("input_bound", "step/data_wait"),
        },
    },
    "burn-digits-learner": {
        "steps": 198,
        "faults": {
            "augment-in-step": ("slow_preprocessing", "step/augment"),
            "slow-loader": ("input_bound", "step/data_wait"),
        },
    },
}

# The examples with a plain program and an `add-stepscope.diff`, and the sections and steps that it has after the diff:
# ten epochs of 1,437 images in batches of 64, the last one incomplete.
ADDED = ["candle-digits", "burn-digits"]
ADDED_STEPS = 10 * 23
ADDED_SECTIONS = ["data_wait", "train_step", "train_step/forward", "train_step/backward", "train_step/optimizer_step"]
ADDED_LINES = 5


class Failed(Exception):
    """What an example or the report should have done and did not."""


def machine_time():
    """Seconds for which all processors were busy since the machine started, for whomever; 0 where nobody says."""
    try:
        fields = pathlib.Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
    except (OSError, IndexError):
        return 0.0
    user, nice, system, _idle, _io_wait, irq, soft_irq, steal = map(int, fields)
    return (user + nice + system + irq + soft_irq + steal) / os.sysconf("SC_CLK_TCK")


def processor_time():
    """Seconds of processor time of the programs that have ended, the recorder's thread included."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Checker:
    def __init__(self, options, folder):
        self.options, self.folder, self.runs, self.spent_s = options, folder, 0, 0.0
        # No setting of the caller's; one thread for each operation: the networks are small, and the examples
        # have to behave on busy machines.
        ours = ("STEPSCOPE_", "OTEL_")
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
        self.environment["RAYON_NUM_THREADS"] = "1"

    def run(self, example, *arguments):
        """Runs an example; its step times and its profile."""
        self.runs += 1
        profile = self.folder / f"{example}-{self.runs}"
        command = [str(pathlib.Path(self.options.binaries) / example), *arguments]
        quietest = None
        for attempt in range(TRIES):
            out = profile.with_name(f"{profile.name}-{attempt}")
            before, busy, began = processor_time(), machine_time(), time.monotonic()
            ended = subprocess.run(
                [*command, "--out", str(out)],
                cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=600,
            )
            if ended.returncode != 0:
                raise Failed(f"`{' '.join(command)}` failed ({ended.returncode}): {ended.stderr[-2000:]}")
            took = time.monotonic() - began
            cpu = processor_time() - before
            others = (machine_time() - busy - cpu) / (took * (os.cpu_count() or 1))
            if quietest is None or others < quietest[0]:
                quietest = (others, cpu, ended.stdout, out)
            else:
                shutil.rmtree(out, ignore_errors=True)
            if others <= DISTURBED:
                break
            print(f"{example}: others took {100 * others:.0f} % of the processors' time", flush=True)
            self.spent_s += took
            if self.spent_s > PATIENCE_S:
                break
        others, cpu, printed, profile = quietest
        pairs = re.findall(r"(\w+)=([\d.]+)", printed.splitlines()[-1])
        times = {key: float(value) for key, value in pairs}
        times["cpu_us"] = 1e6 * cpu / times["steps"]
        times["disturbed"] = others > DISTURBED
        return times, profile

    def report(self, profile):
        """The JSON report on a profile, as text."""
        command = [self.options.stepscope, "--quiet", "analyze", "--format", "json", str(profile)]
        ended = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=600)
        if ended.returncode != 0:
            raise Failed(f"the report on {profile} failed: {ended.stderr[-2000:]}")
        return ended.stdout

    def crosscheck(self, profile, report):
        """Holds every figure against the second implementation."""
        path = self.folder / "report.json"
        path.write_text(report, encoding="utf-8")
        command = [sys.executable, str(CROSSCHECK), str(profile), "--report", str(path)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if ended.returncode != 0:
            raise Failed(f"the figures differ: {ended.stdout[-2000:]}{ended.stderr[-2000:]}")
        return ended.stdout.splitlines()[-1]

    def findings(self, example, seed, fault=None):
        """Rules and sections in the order of the report, without step jitter; whether the run was disturbed."""
        steps = str(EXAMPLES[example]["steps"])
        planted = ["--plant", fault] if fault else []
        times, profile = self.run(example, "--steps", steps, "--seed", str(seed), *planted)
        report = self.report(profile)
        told = f"{times['median_us'] / 1e3:.2f} ms a step"
        if seed == 1:
            told += "; " + self.crosscheck(profile, report)
        summary, found = (json.loads(report)[key] for key in ("summary", "findings"))
        if summary["steps"] + summary["warmup_steps"] != times["steps"]:
            raise Failed(f"{example}: {times['steps']} steps were taken, the report has {summary['steps']}")
        found = [(finding["rule"], finding.get("section")) for finding in found if finding["rule"] != "step_jitter"]
        return found, told, times["disturbed"]

    def seeds(self, example, fault, is_right, wanted):
        """Every seed of a kind of runs. One that nobody disturbed has to be right, and one of all."""
        right = 0
        for seed in range(1, self.options.seeds + 1):
            found, told, disturbed = self.findings(example, seed, fault)
            what = f"{example}, seed {seed}, {fault or 'nothing planted'}"
            print(f"{what}: {found or 'no findings'}; {told}{', beside others' if disturbed else ''}", flush=True)
            right += is_right(found)
            if not is_right(found) and not disturbed:
                raise Failed(f"{what}: wanted {wanted}, found {found}")
        if not right:
            raise Failed(f"{example}, {fault or 'nothing planted'}: wanted {wanted}; with others beside, no seed gave it")

    def plain(self, example):
        faults = {rule for rule, _ in EXAMPLES[example]["faults"].values()}
        self.seeds(example, None, lambda found: all(rule not in faults for rule, _ in found), "none of the faults")

    def planted(self, example):
        for fault, (rule, section) in EXAMPLES[example]["faults"].items():

            def is_right(found, rule=rule, section=section):
                return bool(found) and found[0][0] == rule and section in ("*", found[0][1])

            self.seeds(example, fault, is_right, f"{rule} in {section} first")

    def added(self, example):
        """The plain program after the diff that adds stepscope: five lines, and it is profiled."""
        source = ROOT / "examples" / example
        diff = source / "add-stepscope.diff"
        added = [line for line in diff.read_text(encoding="utf-8").splitlines() if re.match(r"\+(?!\+\+)", line)]
        if len(added) > ADDED_LINES:
            raise Failed(f"{diff} adds {len(added)} lines")
        plain = self.folder / "added" / example / "plain"
        shutil.copytree(source / "plain", plain)
        self.call(["git", "apply", str(diff)], plain.parent)
        # The copy is a workspace of its own, elsewhere, with the versions of the original.
        manifest = plain / "Cargo.toml"
        text = re.sub(
            r'path = "([^"]+)"',
            lambda path: f'path = "{(source / "plain" / path[1]).resolve()}"',
            manifest.read_text(encoding="utf-8"),
        )
        manifest.write_text(text + "\n[workspace]\n", encoding="utf-8")
        shutil.copy(source / "Cargo.lock", plain)
        target = str(pathlib.Path(self.options.binaries).resolve().parent)
        build = ["cargo", "build", "--release", "--offline", "--target-dir", target]
        self.call(build, plain)
        self.call([str(pathlib.Path(self.options.binaries).resolve() / f"{example}-plain")], plain)
        report = self.report(plain / "profiles")
        told = self.crosscheck(plain / "profiles", report)
        steps = json.loads(report)["summary"]["steps"] + json.loads(report)["summary"]["warmup_steps"]
        paths = [section["path"] for section in json.loads(report)["sections"]]
        missing = [path for path in ADDED_SECTIONS if path not in paths]
        if steps != ADDED_STEPS or missing:
            raise Failed(f"{diff.name}: {steps} steps, sections {paths}")
        print(f"{example}/plain with {diff.name}, {len(added)} lines: {steps} steps, {len(paths)} paths; {told}")

    def call(self, command, folder):
        ended = subprocess.run(command, cwd=folder, env=self.environment, capture_output=True, text=True, timeout=1200)
        if ended.returncode != 0:
            raise Failed(f"`{' '.join(command)}` failed ({ended.returncode}): {ended.stderr[-2000:]}")

    def overhead(self, example):
        """Step times with and without recording, in turn, so that both meet the same machine."""
        steps = str(EXAMPLES[example]["steps"])
        pairs = []
        for _ in range(self.options.seeds):
            pairs.append([self.run(example, "--steps", steps, *how)[0] for how in ([], ["--unrecorded"])])
        for what, figure in [("wall time (median step)", "median_us"), ("processor time, all threads", "cpu_us")]:
            recorded, unrecorded = zip(*([times[figure] for times in pair] for pair in pairs))
            ratios = sorted(100 * (mine / other - 1) for mine, other in zip(recorded, unrecorded))
            print(
                f"{example}: {what}: {statistics.median(unrecorded) / 1e3:.3f} ms a step unrecorded,"
                f" {statistics.median(recorded) / 1e3:.3f} ms recorded; by pairs of runs in turn"
                f" {statistics.median(ratios):+.1f} % ({ratios[0]:+.1f} to {ratios[-1]:+.1f} %)",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("examples", nargs="*", metavar="EXAMPLE", help=f"of {', '.join(EXAMPLES)}; default: all")
    parser.add_argument("--binaries", required=True, help="folder of the built examples")
    parser.add_argument("--stepscope", required=True, help="the program stepscope")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each kind")
    parser.add_argument("--overhead", action="store_true", help="print step times with and without recording")
    options = parser.parse_args()
    unknown = [name for name in options.examples if name not in EXAMPLES]
    if unknown:
        parser.error(f"no example is called {unknown[0]}")
    with tempfile.TemporaryDirectory(prefix="stepscope-examples-") as folder:
        checker = Checker(options, pathlib.Path(folder))
        try:
            for example in options.examples or EXAMPLES:
                checker.plain(example)
                checker.planted(example)
                if options.overhead:
                    checker.overhead(example)
                if example in ADDED:
                    checker.added(example)
        except Failed as failure:
            print(f"FAILED: {failure}")
            return 1
    print("all as planted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
