"""Numbers of the report that are not computed here a second time, each with the reason. The tests hold this list
against the report's schema: a field that is neither compared nor listed fails them."""

FIELDS = {}


def because(reason, *fields):
    FIELDS.update(dict.fromkeys(fields, reason))


because("none where there is one process, as here; of several it is compared", "findings[].rank")
because("none where waiting goes on to the end, as here; of longer runs it is compared", "detailed_metrics.batches.loaders[].while_awaited.at_once_ns")
because("of several processes, of which there is one here; of more it is compared",
    "detailed_metrics.batches.loaders[].slowest.rank", "detailed_metrics.batches.loaders[].slowest.workers_at_once",
    *(f"detailed_metrics.batches.loaders[].slowest.after_warmup.{figure}" for figure in ("produce_mean_ns", "utilisation", "slot_wait_share")))
because("none of two batches, as here; of more it is compared", "detailed_metrics.batches.loaders[].after_warmup.slot_wait_share")
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
