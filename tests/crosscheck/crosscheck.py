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
import between
import comparison
import files
import linked
import loaders
import memory
import run as figures
import sections
import series
import steps
import traces


def compute(paths):
    """Reads everything once: figures from spans, sums from metrics, notes."""
    run, sums = figures.Run(), aggregates.Aggregates()
    assembler = traces.Assembler(run.add)
    notes = files.read(paths, assembler.add, sums.add)
    assembler.finish()
    run.close(sums)
    return run, sums, assembler, notes


def compare_report(report, run, sums, assembler, compare):
    """Compares the figures of the report that are counts, sums, quantiles, exposed time and critical path."""
    detailed = report["detailed_metrics"]
    warm_up = steps.WarmUp(report, run)
    figures.compare_run(report, run, compare)
    figures.compare_losses(report["losses"], run, sums, assembler, compare)
    sections.compare_sections(report["sections"], run, sums, compare)
    steps.compare_steps(report, run, sums, warm_up, compare)
    series.compare_series(detailed, run, compare)
    between.compare_between(report, run, warm_up, compare)
    loaders.compare_loaders(detailed, run, compare)
    linked.compare_path(report["critical_path"], report["summary"]["mode"], run, compare)
    memory.compare_memory(report, run, sums, compare)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("profile", nargs="+", help="profile folders or files")
    parser.add_argument("--report", help="JSON report to compare with the spans")
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
    if sums.points:
        aggregates.against_spans(sums, run, compare)
    if options.report:
        with open(options.report, encoding="utf-8") as file:
            compare_report(json.load(file), run, sums, assembler, compare)
    for difference in compare.differences:
        print(f"DIFFERENT {difference}")
    verdict = f"{len(compare.differences)} differ" if compare.differences else "all equal"
    print(f"compared {compare.figures} figures of {len(run.sections)} sections: {verdict}")
    if compare.differences:
        return 1
    return 0 if compare.figures else 2


if __name__ == "__main__":
    sys.exit(main())
