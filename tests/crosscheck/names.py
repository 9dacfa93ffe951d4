"""Names on the wire and the ranking of phases, as the wire contract defines them. No logic."""

SECTION_KIND = "stepscope.section.kind"
PHASE = "stepscope.phase"
STEP = "stepscope.step"
MODE = "stepscope.mode"
TRACE_SPANS = "stepscope.trace.spans"
PARENT_PATH = "stepscope.parent_path"
SAMPLES = "stepscope.samples"
TOKENS = "stepscope.tokens"
ALLOC_BYTES = "stepscope.mem.alloc_bytes"
FREE_BYTES = "stepscope.mem.free_bytes"
ALLOC_COUNT = "stepscope.mem.alloc_count"
BATCH_ID = "stepscope.batch.id"
BATCH_PRODUCE_NS = "stepscope.batch.produce_ns"
BATCH_QUEUE_NS = "stepscope.batch.queue_ns"
BATCH_QUEUE_DEPTH = "stepscope.batch.queue_depth"
THREAD_ID = "thread.id"

RANK = "stepscope.rank"
SERVICE_INSTANCE_ID = "service.instance.id"
PROCESS_PID = "process.pid"

PATH = "stepscope.path"

SECTION_DURATION = "stepscope.section.duration"
SECTION_TOTAL = "stepscope.section.total"
SECTION_COUNT = "stepscope.section.count"
SECTION_SELF_BUSY = "stepscope.section.self_busy"
SECTION_SQUARES_LOW = "stepscope.section.squares.low"
SECTION_SQUARES_HIGH = "stepscope.section.squares.high"
SECTION_MIN = "stepscope.section.min"
SECTION_MAX = "stepscope.section.max"
SECTION_ALLOC = "stepscope.section.alloc"
SECTION_FREE = "stepscope.section.free"
SECTION_ALLOC_COUNT = "stepscope.section.alloc_count"
SECTION_PREFIX = "stepscope.section."

MARKERS = {"run.started": "run", "epoch.started": "epoch"}

DEFAULT_KIND = "section"
DEFAULT_MODE = "train"
DATA_WAIT = "data_wait"

# Earlier wins where several phases cover one moment.
CLASSES = ["kernel", "copy", "set", "communication", "runtime", "input", "cpu_operation", "other"]

CLASS_OF_PHASE = {
    "host_to_device": "copy",
    "device_to_host": "copy",
    "communication": "communication",
    "synchronization": "runtime",
    "compile": "runtime",
    "data_loading": "input",
    "data_wait": "input",
    "preprocessing": "input",
    "augmentation": "input",
    "collate": "input",
    "forward": "cpu_operation",
    "backward": "cpu_operation",
    "gradient": "cpu_operation",
    "optimizer": "cpu_operation",
    "evaluation": "cpu_operation",
    "inference": "cpu_operation",
    "checkpoint": "other",
    "io": "other",
    "other": "other",
}


def class_rank(phase):
    """Position of a phase's class; phases nobody knows rank as "other"."""
    return CLASSES.index(CLASS_OF_PHASE.get(phase, "other"))
