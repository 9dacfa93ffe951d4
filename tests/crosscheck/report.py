"""The program's JSON report against the figures computed from the spans."""


def against_spans(report, run, compare):
    """Compares every figure of the report that the spans determine."""
    compare.missing("report", f"not compared: {len(report)} keys of {run.spans} sections")
