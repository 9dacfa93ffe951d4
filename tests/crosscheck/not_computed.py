"""Numbers of the report that are not computed here a second time, each with the reason. The tests hold this list
against the report's schema: a field that is neither compared nor listed fails them."""

FIELDS = {}


def because(reason, *fields):
    FIELDS.update(dict.fromkeys(fields, reason))


because(
    "a rule's judgement, held by the rule's own fixtures and by the planted runs",
    "bottlenecks[].rank",
    "bottlenecks[].severity",
    "bottlenecks[].predicted_gain.saved_ns_per_step",
    "bottlenecks[].predicted_gain.step_time_ns",
    "bottlenecks[].predicted_gain.share",
    "bottlenecks[].predicted_gain.direct_share",
)
TREND = ("n", "slope_per_step", "confidence_interval[]", "p_value")
because(
    "a test of significance, held by published examples in its own tests",
    *(f"memory.{figure}.{part}.{name}" for figure in ("live", "rss") for part in ("whole", "tail") for name in TREND),
    "leaks[].bytes_per_step",
    "leaks[].confidence_interval[]",
    "leaks[].p_value",
    "leaks[].live_bytes",
)
because(
    "ends and extremes of the series, whose points are compared",
    *(f"memory.{figure}.{name}_bytes" for figure in ("live", "rss") for name in ("first", "last", "max")),
)
because(
    "gauges of the process outside of sections, which are read for nothing else",
    *(f"memory.processes[].{figure}_{name}_bytes" for figure in ("live", "rss") for name in ("last", "max")),
    "memory.processes[].rank",
)
because(
    "how the input lay in files",
    "inputs[].bytes",
    "inputs[].spans",
    "read_issues[].count",
    "read_issues[].offset",
)
because(
    "an attribute that is passed on",
    "run.attempt",
    "run.world_size",
    "ranks[].resource.attempt",
    "ranks[].resource.cpus",
    "ranks[].resource.schema_version",
    "ranks[].resource.world_size",
)
because(
    "runs beside the one of the report, and bounds of size; the comparison is made on one run within them",
    "run.other_runs[].first_ns",
    "run.other_runs[].run.attempt",
    "run.other_runs[].steps",
    "detailed_metrics.limits[].depth",
)
because(
    "values recorded outside of steps",
    *(f"detailed_metrics.values[].elsewhere.{name}" for name in ("step", "count", "mean", "min", "max", "last")),
)
