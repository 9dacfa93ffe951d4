#!/usr/bin/env python3
"""Records the program with few sections a step and with many, and prints what part of a step the report gives each phase.
Standard library only.

    compare.py --stepscope PROGRAM [--wide PROGRAM] [--steps 30]

The exit code is 1 where the shares differ by more than a point.
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
    """Spans a step, and by phase the percentage of the steps."""
    run(options.wide, "--sections", sections, "--steps", options.steps, "--out", out)
    report = json.loads(run(options.stepscope, "--quiet", "analyze", "--format", "json", out))
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stepscope", required=True)
    parser.add_argument("--wide", default=HERE / "target/release/wide")
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(measured(options, WIDTHS[0], pathlib.Path(folder) / "x"))


if __name__ == "__main__":
    main()
