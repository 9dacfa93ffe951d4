"""Names on the wire and the ranking of phases, as the wire contract defines them. No logic."""

SECTION_KIND = "stepscope.section.kind"
SECTION_NAME = "stepscope.section.name"
PHASE = "stepscope.phase"
STEP = "stepscope.step"
STEP_DEEP = "stepscope.step.deep"
EPOCH = "stepscope.epoch"
MODE = "stepscope.mode"
TRACE_SPANS = "stepscope.trace.spans"
TRACE_PARTS = "stepscope.trace.parts"
PARENT_PATH = "stepscope.parent_path"
SAMPLES = "stepscope.samples"
TOKENS = "stepscope.tokens"
BYTES = "stepscope.bytes"
FLOPS = "stepscope.flops"
BUSY_NS = "stepscope.busy_ns"
IDLE_NS = "stepscope.idle_ns"
POLLS = "stepscope.polls"
# What a span was in the Trace Event Format, and the categories of what runs on a device.
CATEGORY = "trace_event.category"
DEVICE_CATEGORIES = {"kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset", "gpu_user_annotation"}
CPU_NS = "stepscope.cpu_ns"
RUN_QUEUE_NS = "stepscope.run_queue_ns"
INPUT_BEFORE_NS = "stepscope.input_before_ns"
TRACE_DROPPED = "stepscope.trace.dropped"
TRACE_LEFT_OUT = "stepscope.trace.left_out"
LEVEL = "stepscope.level"
SINK = "stepscope.sink"
LOSS_REASON = "stepscope.loss.reason"
ALLOC_BYTES = "stepscope.mem.alloc_bytes"
FREE_BYTES = "stepscope.mem.free_bytes"
ALLOC_COUNT = "stepscope.mem.alloc_count"
PEAK_BYTES = "stepscope.mem.peak_bytes"
LIVE_BYTES = "stepscope.mem.live_bytes"
RSS_BYTES = "stepscope.mem.rss_bytes"
VALUE_PREFIX = "stepscope.value."
BATCH_LOADER = "stepscope.batch.loader"
BATCH_PRODUCE_NS = "stepscope.batch.produce_ns"
BATCH_QUEUE_NS = "stepscope.batch.queue_ns"
BATCH_QUEUE_DEPTH = "stepscope.batch.queue_depth"
BATCH_SLOT_WAIT_NS = "stepscope.batch.slot_wait_ns"
# The path of what a process has no room for.
OTHER_PATHS = "(other)"
ERROR_TYPE = "error.type"
# What the error type of a run's span can be.
SIGNALS = {"SIGINT", "SIGTERM"}
THREAD_ID = "thread.id"

RANK = "stepscope.rank"
SERVICE_INSTANCE_ID = "service.instance.id"
PROCESS_PID = "process.pid"

# Of the resource: id, pid, rank and level.
PROCESS = (SERVICE_INSTANCE_ID, PROCESS_PID, RANK, LEVEL)

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
SECTION_SELF_ALLOC = "stepscope.section.self_alloc"
SECTION_SELF_FREE = "stepscope.section.self_free"
SECTION_PREFIX = "stepscope.section."
SPANS_PREFIX = "stepscope.spans."
SPANS_EMITTED = "stepscope.spans.emitted"
SPANS_EXPORTED = "stepscope.spans.exported"
SPANS_DROPPED = "stepscope.spans.dropped"
# Reasons for which spans are left out on purpose.
ON_PURPOSE = {"thinned", "level", "filtered", "sampled_out"}

PROCESS_MEMORY = "process.memory.usage"
LIVE_MEMORY = "stepscope.mem.live"

MARKERS = {"run.started": "run", "epoch.started": "epoch"}

DEFAULT_KIND = "section"
DEFAULT_MODE = "train"
DATA_WAIT = "data_wait"

# What is a part of a checkpoint where it is inside of one.
CHECKPOINT, IN_CHECKPOINTS = "checkpoint", {"device_to_host", "host_to_device", "synchronization", "io", "other"}
INPUT_CLASS = "input"
# Level of a run whose sections leave no spans.
BASIC = "basic"

# Earlier wins where several phases cover one moment.
CLASSES = ["kernel", "copy", "set", "communication", "runtime", "input", "cpu_operation", "other"]

# In the order of the vocabulary, which decides between phases of one class.
CLASS_OF_PHASE = {
    "data_loading": "input",
    "data_wait": "input",
    "preprocessing": "input",
    "augmentation": "input",
    "collate": "input",
    "host_to_device": "copy",
    "device_to_host": "copy",
    "compile": "runtime",
    "forward": "cpu_operation",
    "backward": "cpu_operation",
    "gradient": "cpu_operation",
    "optimizer": "cpu_operation",
    "communication": "communication",
    "synchronization": "runtime",
    "evaluation": "cpu_operation",
    "inference": "cpu_operation",
    "checkpoint": "other",
    "io": "other",
    "other": "other",
}

VOCABULARY = list(CLASS_OF_PHASE)
# What sections of these phases do outside of steps is of another mode than training.
MODES_OF_PHASES = {"evaluation": "eval", "inference": "inference"}
INPUTS = {phase for phase, of in CLASS_OF_PHASE.items() if of == INPUT_CLASS}

# What a section's name implies where nobody named its phase: whole last words only.
PHASE_OF_NAME = {
    "data_loading": "data_loading data_load dataload dataloader data_loader load_data load_batch get_batch read_batch",
    "data_wait": "data_wait wait_batch wait_for_batch next_batch",
    "preprocessing": "preprocess preprocessing normalize tokenize",
    "augmentation": "augment augmentation",
    "collate": "collate",
    "host_to_device": "host_to_device",
    "device_to_host": "device_to_host",
    "compile": "compile",
    "forward": "forward forward_pass",
    "backward": "backward backward_pass backward_step",
    "gradient": "clip_gradients clip_grad_norm",
    "optimizer": "optimizer optimizer_step optimiser_step",
    "communication": "all_reduce allreduce all_gather reduce_scatter broadcast",
    "synchronization": "barrier synchronize",
    "evaluation": "evaluate evaluation validate validation",
    "inference": "inference",
    "checkpoint": "checkpoint save_checkpoint load_checkpoint",
}
IMPLIED = {word: phase for phase, words in PHASE_OF_NAME.items() for word in words.split()}


def implied_phase(name):
    """The phase that the last part of `module::function`, `a.b` or `a/b` implies, whatever is put around it to be seen."""
    last = name.replace("/", ":").replace(".", ":").rpartition(":")[2].strip("#*= ")
    return IMPLIED.get(last.replace("-", "_").replace(" ", "_").lower()) if last.isascii() else None


def class_rank(phase):
    """Position of a phase's class; phases nobody knows rank as "other", sections without one below."""
    return len(CLASSES) if phase is None else CLASSES.index(CLASS_OF_PHASE.get(phase, "other"))


def phase_rank(phase):
    """Position in the vocabulary; words of users follow it in alphabetical order."""
    if phase is None:
        return len(VOCABULARY) + 1, ""
    return (VOCABULARY.index(phase), "") if phase in CLASS_OF_PHASE else (len(VOCABULARY), phase)
