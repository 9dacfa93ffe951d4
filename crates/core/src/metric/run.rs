//! Metrics about runs as wholes: which there are, and what `stepscope analyze --push` says of one: its figures, its findings,
//! its largest sections. These alone carry the run's id on their points, since each run has only a few of them.

use crate::attr;
use crate::vocabulary::{Instrument, Metric, Tier, stability};

metrics! {
    /// 1 for each process of a run that records: what tells its other series' run, rank and host.
    RUN_INFO = "stepscope.run.info", Gauge, "{run}", [attr::RUN_ID, attr::RUN_ATTEMPT, attr::RANK, attr::WORLD_SIZE, attr::SERVICE_NAME, attr::HOST_NAME], "the layer", Pass;
    /// How severe a finding is, 0 to 100.
    FINDING_SEVERITY = "stepscope.finding.severity", Gauge, "{severity}", [attr::RUN_ID, attr::FINDING_RULE, attr::PATH, attr::PHASE, attr::RANK], "the report", Once;
    /// Findings of the run; 0 where there is nothing to find.
    RUN_FINDINGS = "stepscope.run.findings", Gauge, "{finding}", [attr::RUN_ID], "the report", Once;
    /// When the run's first span began, seconds since the Unix epoch.
    RUN_STARTED = "stepscope.run.started", Gauge, "s", [attr::RUN_ID], "the report", Once;
    /// Time from the start of the run's first span to the end of its last one.
    RUN_DURATION = "stepscope.run.duration", Gauge, "s", [attr::RUN_ID], "the report", Once;
    /// Processes of the run that were read.
    RUN_RANKS = "stepscope.run.ranks", Gauge, "{rank}", [attr::RUN_ID], "the report", Once;
    /// 1 for the place of the report that was written.
    RUN_REPORT = "stepscope.run.report", Gauge, "{report}", [attr::RUN_ID, attr::REPORT_PATH], "the report", Once;
    /// Steps of the run after warm-up.
    RUN_STEPS = "stepscope.run.steps", Gauge, "{step}", [attr::RUN_ID], "the report", Once;
    /// Median duration of the run's steps after warm-up.
    RUN_STEP_P50 = "stepscope.run.step.duration.p50", Gauge, "s", [attr::RUN_ID], "the report", Once;
    /// 95th percentile of the durations of the run's steps after warm-up.
    RUN_STEP_P95 = "stepscope.run.step.duration.p95", Gauge, "s", [attr::RUN_ID], "the report", Once;
    /// Samples a second of the run, all processes together.
    RUN_SAMPLE_RATE = "stepscope.run.sample.rate", Gauge, "{sample}/s", [attr::RUN_ID], "the report", Once;
    /// Share of the time of steps, and of input between them, that is input.
    RUN_INPUT_SHARE = "stepscope.run.input.share", Gauge, "1", [attr::RUN_ID], "the report", Once;
    /// Share of the time of the whole steps that a phase takes on the thread that drives them.
    RUN_PHASE_SHARE = "stepscope.run.phase.share", Gauge, "1", [attr::RUN_ID, attr::PHASE], "the report", Once;
    /// Spans that were recorded and that the report lacks.
    RUN_SPANS_LOST = "stepscope.run.spans.lost", Gauge, "{span}", [attr::RUN_ID], "the report", Once;
    /// Sum of a section's durations in the run; of the 50 sections with the largest. The same of the rows below.
    RUN_SECTION_TOTAL = "stepscope.run.section.duration", Gauge, "s", [attr::RUN_ID, attr::PATH, attr::PHASE], "the report", Once;
    /// Time in the section without the sections inside it. Absent where it is not known.
    RUN_SECTION_SELF = "stepscope.run.section.self", Gauge, "s", [attr::RUN_ID, attr::PATH, attr::PHASE], "the report", Once;
    /// How often the section ended.
    RUN_SECTION_COUNT = "stepscope.run.section.count", Gauge, "{section}", [attr::RUN_ID, attr::PATH, attr::PHASE], "the report", Once;
    /// Median of the section's durations.
    RUN_SECTION_P50 = "stepscope.run.section.duration.p50", Gauge, "s", [attr::RUN_ID, attr::PATH, attr::PHASE], "the report", Once;
    /// 95th percentile of the section's durations.
    RUN_SECTION_P95 = "stepscope.run.section.duration.p95", Gauge, "s", [attr::RUN_ID, attr::PATH, attr::PHASE], "the report", Once;
    /// Bytes allocated inside the section. Absent without the counting allocator.
    RUN_SECTION_ALLOC = "stepscope.run.section.alloc", Gauge, "By", [attr::RUN_ID, attr::PATH, attr::PHASE], "the report", Once;
    /// Bytes that were live, about, of what one line of the program allocated in one section two steps earlier or more; of the
    /// 50 lines with most. Absent without samples of live memory.
    RUN_MEMORY_LINE = "stepscope.run.memory.line", Gauge, "By", [attr::RUN_ID, attr::PATH, attr::CODE_FILE_PATH, attr::CODE_LINE_NUMBER, attr::CODE_FUNCTION_NAME], "the report", Once;
}
