#!/usr/bin/env python3
"""Recomputes the figures of a run from its raw spans, by the definitions of the design and without any code of
the program, and compares them with the program's report. Standard library only.

    crosscheck.py PROFILE... --report report.json

Exits 1 with every difference listed, 2 where there is nothing to compare.
"""

import argparse
import json
import sys

import aggregates
import comparison
import edits
import figures
import files
import report
import traces


def compute(paths):
    """Reads everything once: figures from spans, sums from metrics, notes."""
    run, sums = figures.Run(), aggregates.Aggregates()
    assembler = traces.Assembler(run.add)
    notes = files.read(paths, assembler.add, sums.add)
    assembler.finish()
    run.close(sums)
    return run, sums, assembler, notes


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profile", nargs="+", help="profile folders or files")
    parser.add_argument("--report", help="JSON report to compare with the spans")
    parser.add_argument("--edits", action="store_true", help="also change the report: each change has to be noticed")
    parser.add_argument("--no-aggregates", action="store_true", help="leave the program's own sums out")
    options = parser.parse_args(arguments)
    run, sums, assembler, notes = compute(options.profile)
    for note in notes:
        print(f"note: {note}")
    print(
        f"read {run.spans} spans on {len(run.sections)} call paths in {run.traces} traces, {len(run.steps)} steps;"
        f" {assembler.duplicates} repeated, {assembler.late} late, {run.unplaced} without a root,"
        f" {assembler.incomplete} traces incomplete"
    )
    if not run.spans:
        print("nothing to compare: no spans")
        return 2
    compare = comparison.Comparison()
    if sums.points and not options.no_aggregates:
        aggregates.against_spans(sums, run, compare)
    if options.report:
        with open(options.report, encoding="utf-8") as file:
            read = json.load(file)
        report.against_spans(read, run, sums, assembler, compare)
        if options.edits:
            made, missed = edits.unnoticed(read, run, sums, assembler)
            print(f"changed the report in {len(made)} ways: {', '.join(made)}")
            for edit in missed:
                compare.missing("changed report", f"nobody notices {edit}")
    for difference in compare.differences:
        print(f"DIFFERENT {difference}")
    verdict = f"{len(compare.differences)} differ" if compare.differences else "all equal"
    print(f"compared {compare.figures} figures of {len(run.sections)} sections: {verdict}")
    if compare.differences:
        return 1
    return 0 if compare.figures else 2


if __name__ == "__main__":
    sys.exit(main())
