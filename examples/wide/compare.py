#!/usr/bin/env python3
"""Records the program with few sections a step and with many, and prints what part of a step the report gives each phase.
Standard library only.

    compare.py --stepscope PROGRAM [--wide PROGRAM] [--steps 30]

The exit code is 1 where the shares differ by more than a point, or steps are not whole.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
WIDTHS, MOST = (2_500, 25_000), 1.0


def run(*command):
    ended = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300)
    if ended.returncode:
        sys.exit(f"{command}: {ended.returncode}: {ended.stderr[-2000:]}")
    return ended.stdout


def measured(options, sections, out):
    """The whole steps of a run, and by phase the percentage of them."""
    run(options.wide, "--sections", sections, "--steps", options.steps, "--out", out)
    report = json.loads(run(options.stepscope, "--quiet", "analyze", "--format", "json", out))
    mode = report["detailed_metrics"]["modes"][0]
    return mode["whole"]["steps"], {row["phase"]: 100 * row["exposed_share"] for row in mode["phases"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stepscope", required=True)
    parser.add_argument("--wide", default=HERE / "target/release/wide")
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {width: measured(options, width, pathlib.Path(folder) / str(width)) for width in WIDTHS}
    phases = sorted({phase for _, shares in found.values() for phase in shares})
    print(f"{'sections':>10} {'whole steps':>12}", *(f"{phase:>14}" for phase in phases))
    for width, (steps, shares) in found.items():
        print(f"{width:>10} {steps:>12}", *(f"{shares.get(phase, 0):>12.2f} %" for phase in phases))
    few, many = (shares for _, shares in found.values())
    apart = max((abs(few.get(phase, 0) - many.get(phase, 0)) for phase in phases), default=100)
    print(f"apart by {apart:.2f} points at most")
    if apart > MOST or any(steps != options.steps for steps, _ in found.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
