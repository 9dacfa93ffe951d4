//! Every attribute that stepscope writes or understands, once: its key as a constant, and its row in
//! [`TABLE`]. `docs/attributes.md` is generated from here.

use crate::vocabulary::{Attribute, Place, Stability, ValueType};

macro_rules! attributes {
    ($($(#[doc = $doc:literal])+ $name:ident = $key:literal, $value:ident, $unit:literal, $place:ident,
       $stability:ident, [$($alias:literal),*];)+) => {
        $($(#[doc = $doc])+ pub const $name: &str = $key;)+

        /// All of them.
        pub const TABLE: &[Attribute] = &[$(Attribute {
            key: $name,
            value: ValueType::$value,
            unit: $unit,
            place: Place::$place,
            stability: Stability::$stability,
            doc: concat!($($doc),+),
            aliases: &[$($alias),*],
        }),+];
    };
}

attributes! {
    /// Version of this contract.
    SCHEMA_VERSION = "stepscope.schema_version", Int, "", Resource, Contract, [];
    /// Identity of the run, equal on all its processes.
    RUN_ID = "stepscope.run.id", Str, "", Resource, Contract,
        ["nemo.run.id", "training_job.id", "mlflow.run_id", "ray_train_run_id"];
    /// How often the run was started before: a resumed run repeats step numbers under a higher attempt.
    RUN_ATTEMPT = "stepscope.run.attempt", Int, "", Resource, Contract, [];
    /// Rank of the process within the run.
    RANK = "stepscope.rank", Int, "", Resource, Contract,
        ["nv.dl.rank", "dl.rank", "rank", "ray_train_worker_world_rank"];
    /// Number of ranks of the run.
    WORLD_SIZE = "stepscope.world_size", Int, "", Resource, Contract, ["nv.dl.world_size", "dl.world_size", "world_size"];
    /// How much was recorded when the run started: `basic`, `detailed`, `comprehensive`. Where that changes later, the
    /// span of the run has an event of this name for each change, with the new level.
    LEVEL = "stepscope.level", Str, "", Resource, Contract, [];
    /// Logical name of the program.
    SERVICE_NAME = "service.name", Str, "", Resource, OpenTelemetry, [];
    /// Version of the program.
    SERVICE_VERSION = "service.version", Str, "", Resource, OpenTelemetry, [];
    /// `{run}-rank{n}`.
    SERVICE_INSTANCE_ID = "service.instance.id", Str, "", Resource, OpenTelemetry, ["k8s.pod.uid", "k8s.pod.name"];
    /// Name of the host.
    HOST_NAME = "host.name", Str, "", Resource, OpenTelemetry, [];
    /// Architecture of the host.
    HOST_ARCH = "host.arch", Str, "", Resource, OpenTelemetry, [];
    /// Process id.
    PROCESS_PID = "process.pid", Int, "", Resource, OpenTelemetry, [];
    /// Name of the executable.
    PROCESS_EXECUTABLE_NAME = "process.executable.name", Str, "", Resource, OpenTelemetry, [];
    /// When the process began to record, RFC 3339.
    PROCESS_CREATION_TIME = "process.creation.time", Str, "", Resource, OpenTelemetry, [];
    /// Operating system.
    OS_TYPE = "os.type", Str, "", Resource, OpenTelemetry, [];
    /// Name of the instrumentation library.
    TELEMETRY_SDK_NAME = "telemetry.sdk.name", Str, "", Resource, OpenTelemetry, [];
    /// Language of the instrumentation library.
    TELEMETRY_SDK_LANGUAGE = "telemetry.sdk.language", Str, "", Resource, OpenTelemetry, [];
    /// Version of the instrumentation library.
    TELEMETRY_SDK_VERSION = "telemetry.sdk.version", Str, "", Resource, OpenTelemetry, [];
    /// Processors that the process may use.
    HOST_CPUS = "stepscope.host.cpus", Int, "{cpu}", Resource, Contract, [];

    /// What the section is: `section` where absent, `step`, `micro_step`, `epoch`, `batch`, `request`; `run` of the layer's
    /// own span alone.
    SECTION_KIND = "stepscope.section.kind", Str, "", Span, Contract, [];
    /// What the section does for the step: one of the phases, or the user's own word.
    PHASE = "stepscope.phase", Str, "", Span, Contract, [];
    /// Number of the step.
    STEP = "stepscope.step", Int, "", Root, Contract, ["dl.iteration", "nv.dl.iteration", "step", "global_step"];
    /// Number of the epoch.
    EPOCH = "stepscope.epoch", Int, "", Root, Contract, ["epoch"];
    /// What the step does with the model: `train` where absent, `eval`, `inference`. Of an outermost section between steps what
    /// those do that it is for: the steps of the loop that it waits for batches for, else the step before it on its thread.
    MODE = "stepscope.mode", Str, "", Root, Contract, [];
    /// Spans of this trace that were handed to the exporter, the root included: a reader has the whole trace
    /// when it has that many.
    TRACE_SPANS = "stepscope.trace.spans", Int, "{span}", Root, Contract, [];
    /// Spans of this trace that were lost before the root ended.
    TRACE_DROPPED = "stepscope.trace.dropped", Int, "{span}", Root, Contract, [];
    /// Sections that began in this trace and were left out on purpose: they are in the sums, and have no span. At
    /// least 1 where recording was off for a part of the trace. Absent where the run's level says it all: at
    /// `basic` sections have no spans, at higher levels all have; 0 where a run that started at `basic` left out none.
    TRACE_LEFT_OUT = "stepscope.trace.left_out", Int, "{span}", Root, Contract, [];
    /// Traces that continue this one and began before its root ended, and those of sections outside of all steps that began and
    /// ended during this deep step: a reader has all of it when it has these, too. Of a full trace, 0 if none continues it; and of
    /// one that continues another, or is such a section's, and is counted there, whatever it is.
    TRACE_PARTS = "stepscope.trace.parts", Int, "{trace}", Root, Contract, [];
    /// Path of the section around this root, because the trace it belongs to was full: the trace continues that
    /// one, with as many roots as fit, and the last of them to end has the counts. Its last link but one leads to the section.
    PARENT_PATH = "stepscope.parent_path", Str, "", Root, Contract, [];
    /// Name that the section has in sums, paths and figures, where its span has another one: that with which it began, if
    /// `otel.name` was recorded later. Readers take it for the span's name.
    SECTION_NAME = "stepscope.section.name", Str, "", Span, Contract, [];
    /// Time during which the section was entered on some thread; written for sections that were suspended.
    BUSY_NS = "stepscope.busy_ns", Int, "ns", Span, Contract, ["busy_ns"];
    /// Time during which the section was open but entered nowhere; written for sections that were suspended.
    IDLE_NS = "stepscope.idle_ns", Int, "ns", Span, Contract, ["idle_ns"];
    /// When the section was entered, by intervals in the order of their starts, four numbers each: `thread.id` (0 for
    /// several), start after the section's start, length, both in ns, and how often it was entered in that time. Written
    /// at `detailed` and above for sections entered more than once, with every entry in one of at most 8
    /// intervals: where there are more, the two with the least time between them become one, again and again. So
    /// the last numbers add up to all entries, and an interval with more than one of them has pauses in it. Read as
    /// text as well: `[7,0,10,1]`.
    POLLS = "stepscope.polls", Ints, "", Span, Contract, [];
    /// CPU time of the section's thread.
    CPU_NS = "stepscope.cpu_ns", Int, "ns", Span, Contract, [];
    /// Time for which the section's thread could have run and had no processor: others had them. No more than the time
    /// that is no CPU time. Of steps from `basic` on. This and the figures of the system below: of steps and other coarse
    /// sections from `detailed` on, of all sections at `comprehensive` and in deep steps (but for bytes, which these have of none),
    /// where the section was entered once, on the thread that began it.
    RUN_QUEUE_NS = "stepscope.run_queue_ns", Int, "ns", Span, Contract, [];
    /// The step is a deep one: recorded at `comprehensive` by itself, one in 64 or fewer, to learn what its threads do. It is
    /// in counts and sums, and in no quantile of step times. Absent of other steps. Of a section outside of all steps: it began and
    /// ended during a deep step, in whose parts its trace is counted; its last link but one leads to that step.
    STEP_DEEP = "stepscope.step.deep", Bool, "", Root, Contract, [];
    /// What the threads with sections did during a deep step, by looks at them, four numbers each: `thread.id`, time
    /// since the step began in ns, thread state (its number), and what it waited for: the address of a futex, else 0.
    THREAD_SAMPLES = "stepscope.thread.samples", Ints, "", Root, Contract, [];
    /// Looks at threads in a deep step that were due and are not in the samples: the thread had ended, there were more than 64, or
    /// there was no room. Absent where there was none.
    THREAD_SAMPLES_DROPPED = "stepscope.thread.samples.dropped", Int, "{sample}", Root, Contract, [];
    /// CPU time of all processes on the processors that this one may use, since the machine started, when a deep step ended.
    HOST_CPU_NS = "stepscope.host.cpu_ns", Int, "ns", Root, Contract, [];
    /// CPU time of the process, since it started, when a deep step ended.
    PROCESS_CPU_NS = "stepscope.process.cpu_ns", Int, "ns", Root, Contract, [];
    /// Time of a small allocation and its release in this process, measured by the background thread; on the run's spans, with
    /// our allocator.
    ALLOC_COST_NS = "stepscope.mem.alloc.cost_ns", Int, "ns", Root, Contract, [];
    /// Time of a page fault that needs no storage in this process, measured by the background thread; on the run's spans.
    FAULT_COST_NS = "stepscope.page_faults.cost_ns", Int, "ns", Root, Contract, [];
    /// How often the section's thread gave up its processor to wait for something.
    SWITCHES_VOLUNTARY = "stepscope.context_switches.voluntary", Int, "{context_switch}", Span, Contract, [];
    /// How often the section's thread was taken off its processor.
    SWITCHES_INVOLUNTARY = "stepscope.context_switches.involuntary", Int, "{context_switch}", Span, Contract, [];
    /// Page faults of the section's thread that needed no reading from storage.
    FAULTS_MINOR = "stepscope.page_faults.minor", Int, "{fault}", Span, Contract, [];
    /// Page faults of the section's thread that waited for storage.
    FAULTS_MAJOR = "stepscope.page_faults.major", Int, "{fault}", Span, Contract, [];
    /// Bytes that the section's thread read by system calls, from caches and pipes too; at `comprehensive`.
    IO_READ_BYTES = "stepscope.io.read_bytes", Int, "By", Span, Contract, [];
    /// Bytes that the section's thread wrote by system calls; at `comprehensive`.
    IO_WRITE_BYTES = "stepscope.io.write_bytes", Int, "By", Span, Contract, [];
    /// Bytes that all processes of the network namespace (the container, or the machine) received meanwhile through its
    /// interfaces, loopback aside: systems do not count them for one process. Of steps and other coarse sections, at
    /// `comprehensive`.
    NETWORK_RECEIVE_BYTES = "stepscope.system.network.receive_bytes", Int, "By", Span, Contract, [];
    /// Bytes that all processes of the network namespace sent meanwhile, as above.
    NETWORK_TRANSMIT_BYTES = "stepscope.system.network.transmit_bytes", Int, "By", Span, Contract, [];
    /// Bytes allocated inside the section by the threads that were in it, nested sections included.
    MEM_ALLOC_BYTES = "stepscope.mem.alloc_bytes", Int, "By", Span, Contract, [];
    /// Bytes freed inside the section by the threads that were in it, nested sections included.
    MEM_FREE_BYTES = "stepscope.mem.free_bytes", Int, "By", Span, Contract, [];
    /// Allocations inside the section.
    MEM_ALLOC_COUNT = "stepscope.mem.alloc_count", Int, "{allocation}", Span, Contract, [];
    /// Deallocations inside the section.
    MEM_FREE_COUNT = "stepscope.mem.free_count", Int, "{allocation}", Span, Contract, [];
    /// Most bytes live at once inside the section above those live at its start, of what it allocated and freed itself, on all
    /// threads that it ran on one after the other.
    MEM_PEAK_BYTES = "stepscope.mem.peak_bytes", Int, "By", Span, Contract, [];
    /// Bytes live in the process (allocated and not freed) when the section ended.
    MEM_LIVE_BYTES = "stepscope.mem.live_bytes", Int, "By", Span, Contract, [];
    /// Resident memory of the process when the section ended.
    MEM_RSS_BYTES = "stepscope.mem.rss_bytes", Int, "By", Span, Contract, [];
    /// Change of resident memory over the section: read at its ends for steps and other coarse sections, by sample (about every
    /// 40 ms) for others of 50 ms and more.
    MEM_RSS_DELTA_BYTES = "stepscope.mem.rss_delta_bytes", Int, "By", Span, Contract, [];
    /// Most resident memory of the process in sections of 50 ms and more, by sample: it may have been more in between.
    MEM_RSS_PEAK_BYTES = "stepscope.mem.rss_peak_bytes", Int, "By", Span, Contract, [];
    /// Change of device memory over the section.
    GPU_MEM_DELTA_BYTES = "stepscope.gpu.mem_delta_bytes", Int, "By", Span, Contract, [];
    /// Samples processed by the section.
    SAMPLES = "stepscope.samples", Int, "{sample}", Span, Contract, ["samples", "batch_size"];
    /// Tokens processed by the section.
    TOKENS = "stepscope.tokens", Int, "{token}", Span, Contract, ["tokens"];
    /// Bytes processed by the section.
    BYTES = "stepscope.bytes", Int, "By", Span, Contract, [];
    /// Floating-point operations of the section.
    FLOPS = "stepscope.flops", Int, "{operation}", Span, Contract, ["flops"];
    /// Prefix of the user's own metrics of a step: `stepscope.value.loss`.
    VALUE_PREFIX = "stepscope.value.", Double, "", Root, Contract, ["dl.loss"];

    /// Identity of a batch, on its own trace and on the span of the consumer that took it.
    BATCH_ID = "stepscope.batch.id", Int, "", Span, Contract, ["dl.microbatch_id"];
    /// Name of the loader that made the batch.
    BATCH_LOADER = "stepscope.batch.loader", Str, "", Span, Contract, [];
    /// How long the batch took to make.
    BATCH_PRODUCE_NS = "stepscope.batch.produce_ns", Int, "ns", Wait, Contract, [];
    /// How long the finished batch lay in the queue.
    BATCH_QUEUE_NS = "stepscope.batch.queue_ns", Int, "ns", Wait, Contract, [];
    /// Finished batches in the queue when this one was taken, this one included.
    BATCH_QUEUE_DEPTH = "stepscope.batch.queue_depth", Int, "{batch}", Wait, Contract, [];
    /// Before this batch was begun: for how long its thread had made none of this loader while the one that it had made
    /// last lay finished and nobody had taken it. It waited for a place in the queue.
    BATCH_SLOT_WAIT_NS = "stepscope.batch.slot_wait_ns", Int, "ns", Root, Contract, [];
    /// For how long the thread of a step waited for batches in no step since the last one on it: for its own, where the loop
    /// takes them before the step begins. Only waits in the same section as the step begins in count, or like it in none: not
    /// those in a function with a section of its own, nor any where the step is made in such a function. And of those none for
    /// steps of another mode, nor for another loop that ended or was left before the last wait. Absent where there was none.
    INPUT_BEFORE_NS = "stepscope.input_before_ns", Int, "ns", Root, Contract, [];
    /// Name of the thread that made the batch.
    BATCH_WORKER = "stepscope.batch.worker", Str, "", Wait, Contract, [];

    /// Operating system's id of the thread on which the section started.
    THREAD_ID = "thread.id", Int, "", Span, OpenTelemetry, [];
    /// Name of that thread; on the root of a trace, and on spans of other threads than the root's.
    THREAD_NAME = "thread.name", Str, "", Span, OpenTelemetry, [];
    /// Source file of the section.
    CODE_FILE_PATH = "code.file.path", Str, "", Span, OpenTelemetry, ["code.filepath"];
    /// Line in that file.
    CODE_LINE_NUMBER = "code.line.number", Int, "", Span, OpenTelemetry, ["code.lineno"];
    /// Fully qualified name of the function; of a `tracing` span its module and name, which is that where `#[instrument]` or
    /// `#[profile]` name the span after its function.
    CODE_FUNCTION_NAME = "code.function.name", Str, "", Span, OpenTelemetry, ["code.function", "code.namespace"];
    /// Kind of an error; on the span of a run the signal that ended it, `SIGINT` or `SIGTERM`.
    ERROR_TYPE = "error.type", Str, "", Span, OpenTelemetry, [];
    /// Severity of an event.
    LEVEL_TEXT = "level", Str, "", Span, OpenTelemetry, [];

    /// Number of a stack within the process.
    MEMORY_STACK_ID = "stepscope.memory.stack.id", Int, "", Point, Contract, [];
    /// Return addresses of a stack as `module+0xoffset` with one space between, innermost first. The offset is an address of
    /// the module's file, as its symbols have it.
    MEMORY_STACK_FRAMES = "stepscope.memory.stack.frames", Str, "", Point, Contract, [];
    /// How many steps ago blocks were allocated, at least: 0, 1, 2, 4, 8 and so on; fewer than the next of these.
    MEMORY_AGE = "stepscope.memory.age", Int, "{step}", Point, Contract, [];
    /// What was dropped: `samples`, `stacks`, or `truncated` stacks.
    MEMORY_DROPPED = "stepscope.memory.dropped", Str, "", Point, Contract, [];
    /// Name of a module in stacks: that of its file, with a number behind it where two have one name.
    MODULE_NAME = "stepscope.module.name", Str, "", Point, Contract, [];
    /// The module's build id (GNU), in hexadecimal digits; absent where it has none.
    MODULE_BUILD_ID = "stepscope.module.build_id", Str, "", Point, Contract, [];
    /// Where the module's file was.
    MODULE_PATH = "stepscope.module.path", Str, "", Point, Contract, [];
    /// Call path of a section: names joined by `/`, `/` and `\` inside names escaped by `\`.
    PATH = "stepscope.path", Str, "", Point, Contract, [];
    /// Why spans were lost.
    LOSS_REASON = "stepscope.loss.reason", Str, "", Point, Contract, [];
    /// Where spans were sent: `directory` or `otlp`.
    SINK = "stepscope.sink", Str, "", Point, Contract, [];

    /// What the processor did: `user`, `nice`, `system`, `idle`, `iowait`, `interrupt`, `softirq`, `steal`.
    CPU_MODE = "cpu.mode", Str, "", Point, OpenTelemetry, [];
    /// Number of the logical processor.
    CPU_LOGICAL_NUMBER = "cpu.logical_number", Int, "", Point, OpenTelemetry, [];
    /// What memory is in: `used`, `free`, `buffers`, `cached`.
    MEMORY_STATE = "system.memory.state", Str, "", Point, OpenTelemetry, [];
    /// What swap space is: `used`, `free`.
    PAGING_STATE = "system.paging.state", Str, "", Point, OpenTelemetry, [];
    /// Whether a page fault waited for storage: `major`, `minor`.
    PAGING_FAULT_TYPE = "system.paging.fault.type", Str, "", Point, OpenTelemetry, [];
    /// Whether pages came in from swap space or went out: `in`, `out`.
    PAGING_DIRECTION = "system.paging.direction", Str, "", Point, OpenTelemetry, [];
    /// Name of a block device, a network interface, or what is mounted.
    SYSTEM_DEVICE = "system.device", Str, "", Point, OpenTelemetry, [];
    /// `read` or `write`.
    DISK_IO_DIRECTION = "disk.io.direction", Str, "", Point, OpenTelemetry, [];
    /// What the space of a file system is: `used`, `free`.
    FILESYSTEM_STATE = "system.filesystem.state", Str, "", Point, OpenTelemetry, [];
    /// Kind of a file system.
    FILESYSTEM_TYPE = "system.filesystem.type", Str, "", Point, OpenTelemetry, [];
    /// Where a file system is mounted.
    FILESYSTEM_MOUNTPOINT = "system.filesystem.mountpoint", Str, "", Point, OpenTelemetry, [];
    /// Name of a network interface.
    NETWORK_INTERFACE_NAME = "network.interface.name", Str, "", Point, OpenTelemetry, [];
    /// `receive` or `transmit`.
    NETWORK_IO_DIRECTION = "network.io.direction", Str, "", Point, OpenTelemetry, [];
    /// State of connections: `established`, `time_wait`.
    NETWORK_CONNECTION_STATE = "network.connection.state", Str, "", Point, OpenTelemetry, [];
    /// `tcp`.
    NETWORK_TRANSPORT = "network.transport", Str, "", Point, OpenTelemetry, [];
    /// Whether a process gave up its processor or was taken off it: `voluntary`, `involuntary`.
    CONTEXT_SWITCH_TYPE = "process.context_switch.type", Str, "", Point, OpenTelemetry, [];
    /// Identity of a component: the UUID of a GPU, the name of an energy zone or a sensor.
    HW_ID = "hw.id", Str, "", Point, OpenTelemetry, [];
    /// Name of a component: `gpu0`, `package-0`.
    HW_NAME = "hw.name", Str, "", Point, OpenTelemetry, [];
    /// Model of a component.
    HW_MODEL = "hw.model", Str, "", Point, OpenTelemetry, [];
    /// Who made a component: `nvidia`, or `fake` where a driver of the tests says so.
    HW_VENDOR = "hw.vendor", Str, "", Point, OpenTelemetry, [];
    /// Kind of a component: `gpu`, `cpu`, `temperature`.
    HW_TYPE = "hw.type", Str, "", Point, OpenTelemetry, [];
    /// State of a component: `ok`, `degraded`, `failed`.
    HW_STATE = "hw.state", Str, "", Point, OpenTelemetry, [];
    /// What a GPU does: `general`, `encoder`, `decoder`.
    HW_GPU_TASK = "hw.gpu.task", Str, "", Point, OpenTelemetry, [];
    /// Time over which a load is averaged: `1m`, `5m`, `15m`.
    LOAD_WINDOW = "stepscope.load.window", Str, "", Point, Contract, [];
    /// What tasks wait for: `cpu`, `memory`, `io`.
    PRESSURE_RESOURCE = "stepscope.pressure.resource", Str, "", Point, Contract, [];
    /// Who waits: `some` tasks, or `full`: all at once.
    PRESSURE_KIND = "stepscope.pressure.kind", Str, "", Point, Contract, [];
    /// Which clock of a GPU: `sm`, `memory`.
    GPU_CLOCK_DOMAIN = "stepscope.gpu.clock.domain", Str, "", Point, Contract, [];
    /// Why a GPU's clocks are low: `power_cap`, `thermal`, `power_brake`, `idle`, `other`.
    GPU_THROTTLE_REASON = "stepscope.gpu.throttle.reason", Str, "", Point, Contract, [];
    /// Number of an XID error.
    GPU_XID_CODE = "stepscope.gpu.xid.code", Int, "", Point, Contract, [];
    /// Whose memory on a GPU: `own`, the process that is followed, or `other`.
    GPU_PROCESS = "stepscope.gpu.process", Str, "", Point, Contract, [];
    /// Which unit of a GPU: `sm`, `tensor`, `dram`.
    GPU_UNIT = "stepscope.gpu.unit", Str, "", Point, Contract, [];
    /// Which allocator: `jemalloc`, `mimalloc`, `glibc`.
    ALLOCATOR = "stepscope.allocator", Str, "", Point, Contract, [];
    /// Name of a value that the program records by `value!`.
    VALUE_NAME = "stepscope.value_name", Str, "", Point, Contract, [];
    /// Whether an alert begins or ends to fire: `firing`, `over`. Of an event of this name on the span of the run.
    ALERT = "stepscope.alert", Str, "", Root, Contract, [];
    /// What the alert's rule compared with its bound when that began; absent where it is not known any more. Of that event.
    ALERT_VALUE = "stepscope.alert.value", Double, "", Root, Contract, [];
    /// Name of an alert's rule.
    ALERT_RULE = "stepscope.alert.rule", Str, "", Point, Contract, [];
    /// How severe an alert is: `warning`, `critical`.
    ALERT_SEVERITY = "stepscope.alert.severity", Str, "", Point, Contract, [];
    /// What memory does, as `memory.course` of the report names it. Of a section `memory_leak` at the time of the warning.
    LEAK_VERDICT = "stepscope.leak.verdict", Str, "", Root, Contract, [];
    /// What memory grows by in a step. Of that section.
    LEAK_BYTES_PER_STEP = "stepscope.leak.bytes_per_step", Double, "By", Root, Contract, [];
    /// Steps that had ended when the growth began. Of that section.
    LEAK_SINCE_STEP = "stepscope.leak.since_step", Int, "{step}", Root, Contract, [];
    /// Time until a limit is reached; absent where none is known. Of that section.
    LEAK_TIME_LEFT = "stepscope.leak.time_left", Double, "s", Root, Contract, [];
    /// The rule that has found something, as `stepscope explain` names it.
    FINDING_RULE = "stepscope.finding.rule", Str, "", Point, Contract, [];
    /// Where a report was written to.
    REPORT_PATH = "stepscope.report.path", Str, "", Point, Contract, [];

    /// Identity of a finding, the same whenever its run is analysed: run, attempt, rule, and what it is about.
    FINDING_ID = "stepscope.finding.id", Str, "", Record, Contract, [];
    /// What the finding is about, as the report's `type`: `compute`, `memory`, `data_loading` and others.
    FINDING_TYPE = "stepscope.finding.type", Str, "", Record, Contract, [];
    /// How severe the finding is, 0 to 100.
    FINDING_SEVERITY = "stepscope.finding.severity", Double, "", Record, Contract, [];
    /// What to do about the finding.
    FINDING_ADVICE = "stepscope.finding.recommendation", Str, "", Record, Contract, [];
    /// What acting on the finding gains, as a share of the step time.
    FINDING_GAIN = "stepscope.finding.gain.share", Double, "1", Record, Contract, [];
    /// Whether that is what it gains at most (`upper_bound`) or about (`estimate`).
    FINDING_GAIN_METHOD = "stepscope.finding.gain.method", Str, "", Record, Contract, [];
    /// Prefix of the figures that led to the finding: `stepscope.finding.evidence.share`. The end of a key is its unit.
    FINDING_EVIDENCE_PREFIX = "stepscope.finding.evidence.", Str, "", Record, Contract, [];
}

/// `event_name` of the log record of a finding.
pub const FINDING_EVENT: &str = "stepscope.finding";

/// The row of `key`, found by its own name or one of its aliases.
#[must_use]
pub fn find(key: &str) -> Option<&'static Attribute> {
    TABLE.iter().find(|row| row.key == key).or_else(|| TABLE.iter().find(|row| row.aliases.contains(&key)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_name_is_declared_once() {
        let mut seen = HashSet::new();
        for row in TABLE {
            assert!(seen.insert(row.key), "{} twice", row.key);
            for alias in row.aliases {
                assert!(seen.insert(alias), "{alias} twice");
            }
        }
    }

    #[test]
    fn every_row_says_what_it_means() {
        for row in TABLE {
            assert!(row.doc.trim().ends_with('.'), "{}: {:?}", row.key, row.doc);
            let ours = row.key.starts_with("stepscope.");
            assert_eq!(ours, row.stability == Stability::Contract, "{}", row.key);
        }
    }

    #[test]
    fn a_foreign_name_finds_its_row() {
        assert_eq!(find("nv.dl.rank").map(|row| row.key), Some(RANK));
        assert_eq!(find(STEP).map(|row| row.key), Some(STEP));
        assert_eq!(find("nothing"), None);
    }
}
