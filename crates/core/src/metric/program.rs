//! Metrics of the training program itself, as the exporter inside of it publishes them, and of the exporter.

use crate::attr;
use crate::vocabulary::{Instrument, Metric, Tier, stability};

metrics! {
    /// Number of the latest training step that has ended.
    STEP_NUMBER = "stepscope.step.number", Gauge, "{step}", [], "the layer", Pass;
    /// Median duration of the last minute's steps.
    STEP_DURATION_P50 = "stepscope.step.duration.p50", Gauge, "s", [], "the layer", Pass;
    /// 95th percentile of the durations of the last minute's steps.
    STEP_DURATION_P95 = "stepscope.step.duration.p95", Gauge, "s", [], "the layer", Pass;
    /// Samples that the last minute's steps have processed, over that time.
    SAMPLE_RATE = "stepscope.sample.rate", Gauge, "{sample}/s", [], "the layer", Pass;
    /// Share of the last minute's step time in which steps waited for data.
    DATA_WAIT_SHARE = "stepscope.step.data_wait.share", Gauge, "1", [], "the layer", Pass;
    /// Time since the latest step ended, over the median step. Absent before the first step and while nothing is recorded.
    STEP_OVERDUE = "stepscope.step.overdue", Gauge, "1", [], "the layer", Pass;
    /// Longest call that ended since the last pass, of a section that has taken a second or more at least once.
    SECTION_LONGEST = "stepscope.section.longest", Gauge, "s", [attr::PATH], "the layer", Pass;
    /// The latest value of those that the program records by `value!`.
    VALUE = "stepscope.value", Gauge, "1", [attr::VALUE_NAME], "the layer", Pass;
    /// Bytes that the allocator has handed out.
    ALLOCATOR_LIVE = "stepscope.allocator.live", UpDownCounter, "By", [attr::ALLOCATOR], "mallctl, mallinfo2", Slow;
    /// Bytes that the allocator has from the system.
    ALLOCATOR_RESERVED = "stepscope.allocator.reserved", UpDownCounter, "By", [attr::ALLOCATOR], "mallctl, mi_process_info, mallinfo2", Slow;
    /// Share of what the allocator has from the system that it has not handed out.
    ALLOCATOR_FRAGMENTATION = "stepscope.allocator.fragmentation", Gauge, "1", [attr::ALLOCATOR], "mallctl, mallinfo2", Slow;
    /// Arenas of the allocator.
    ALLOCATOR_ARENAS = "stepscope.allocator.arenas", UpDownCounter, "{arena}", [attr::ALLOCATOR], "mallctl", Slow;
    /// Bytes that the program allocated a second since the last pass, by the counting allocator.
    ALLOCATION_RATE = "stepscope.allocation.rate", Gauge, "By/s", [], "stepscope::Alloc", Pass;
    /// What memory grows by in a step while a leak is confirmed, else 0. Absent where nobody watches for leaks, or too little is known.
    LEAK_RATE = "stepscope.leak.rate", Gauge, "By", [], "watch_leaks", Pass;
    /// Time until a leak reaches a limit of memory. Absent without a leak or limit.
    LEAK_TIME_LEFT = "stepscope.leak.time_left", Gauge, "s", [], "watch_leaks", Pass;
    /// 1 while an alert fires, 0 while it does not.
    ALERT_FIRING = "stepscope.alert.firing", Gauge, "1", [attr::ALERT_RULE, attr::ALERT_SEVERITY], "the exporter", Pass;
    /// Time that the exporter's last pass over its sources took.
    PASS_DURATION = "stepscope.exporter.pass.duration", Gauge, "s", [], "the exporter", Pass;
    /// Passes over the sources since the exporter started.
    PASSES = "stepscope.exporter.passes", Counter, "{pass}", [], "the exporter", Pass;
    /// Pushes to a collector that have failed. What they had is in the next one that does not.
    PUSHES_FAILED = "stepscope.exporter.pushes.failed", Counter, "{push}", [], "the exporter", Pass;
    /// What the program recorded by the facade `metrics` and is not published: series over the bound, values that are no numbers.
    USER_DROPPED = "stepscope.exporter.user.dropped", Counter, "{record}", [], "the exporter", Pass;
    /// Series that are published.
    SERIES = "stepscope.exporter.series", UpDownCounter, "{series}", [], "the exporter", Pass;
    /// Series that are not published because there are more than the budget allows.
    SERIES_LEFT_OUT = "stepscope.exporter.series.left_out", UpDownCounter, "{series}", [], "the exporter", Pass;
}
