//! The JSON report and its schema describe each other: the schema is made from the types, reports validate, every key
//! is described. `BLESS=1 cargo test -p stepscope-analyze --test report` writes the schema anew.

use std::path::Path;

use serde_json::{Value, json};
use stepscope_analyze::Summary;
use stepscope_analyze::live_memory::Resolved;
use stepscope_analyze::render::{self, Options};
use stepscope_analyze::report::{Input, Reading, SCHEMA, build};
use stepscope_analyze::rules::Config;
use stepscope_analyze::summary::{
    AllocatedRow, ChangeCause, ChangeKind, ChangeSection, Example, ExampleBatch, ExamplePiece, ExampleRole,
    ExampleRun, ExampleSpan, FigureRow, FigureSum, Gauge, Lane, Limit, LiveFrame, LiveMemory, LiveModule,
    LiveMoment, LivePeak, LiveRow, LiveSection, MemoryCourse, MemoryFall, PeriodCause, PeriodicSteps,
    PhaseName, PhasePoint, PhaseSeries, PhaseTime, ProcessMemory, RetainedFigures, RetainedPoint,
    RetainedSection, RetainedSeries, SectionResident, SeriesPoint, SlowStep, SourceLine, Stats, StepChange,
    StepPeriod, StepPhase, StepSeries, SymbolState, ValuePoint, ValueSeries,
};
use stepscope_core::{Mode, Phase};
use stepscope_model::{IssueKind, ReadIssue};

use crate::fixture::{MS, Run, healthy, nothing};
use crate::measured;
use crate::text::{damaged, troubled};

fn schema() -> Value {
    serde_json::from_str(SCHEMA).unwrap()
}

fn json_of(summary: &Summary, reading: Reading) -> Value {
    let report = build(summary, reading, &Config::default());
    let text = render::find("json").unwrap().text(&report, Options { color: true }).unwrap();
    assert!(text.ends_with("}\n"));
    serde_json::from_str(&text).unwrap()
}

fn assert_valid(report: &Value) {
    let validator = jsonschema::draft202012::new(&schema()).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(report).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// A line with a file and one without, of two stacks at two moments.
pub(crate) fn sampled() -> LiveMemory {
    let row = |section: Option<&str>, stack, age_steps, bytes| LiveRow {
        section: section.map(str::to_owned),
        stack,
        age_steps,
        bytes,
        blocks: 2,
    };
    let frame = |offset, lines| LiveFrame { module: Some(0), offset, lines };
    let line = SourceLine {
        function: Some("trainer::CacheMap::insert".into()),
        file: Some("src/cache.rs".into()),
        line: Some(88),
    };
    let moment = |step, bytes| {
        let sections = vec![LiveSection { section: Some("step/lookup".into()), bytes: bytes - 7 }];
        LiveMoment { time_ns: 5, step: Some(step), bytes, sections, other_bytes: 7 }
    };
    let mut memory = LiveMemory::default();
    (memory.rank, memory.processes, memory.period_bytes, memory.time_ns) = (Some(0), 1, 65_536, 5);
    (memory.step, memory.first_step, memory.steps, memory.steady_steps) = (Some(99), Some(0), 100, 90);
    (memory.bytes, memory.blocks, memory.other_bytes) = (3_000_007, 5, 7);
    memory.rows = vec![row(Some("step/lookup"), Some(0), 32, 2_000_000), row(None, Some(1), 0, 1_000_000)];
    let allocated =
        AllocatedRow { section: Some("step/lookup".into()), stack: Some(0), bytes: 70_000_000, blocks: 900 };
    memory.allocated_rows = vec![allocated];
    memory.stacks = vec![vec![0], vec![1]];
    memory.frames = vec![frame(0x10, vec![line]), frame(0x20, Vec::new())];
    memory.modules = vec![LiveModule {
        name: "trainer".into(),
        path: "/bin/trainer".into(),
        build_id: Some("ab01".into()),
        symbols: SymbolState::NotLookedUp,
    }];
    memory.moments = vec![moment(49, 1_000_007), moment(99, 3_000_007)];
    let mut lines = memory.frames.clone().into_iter();
    memory.resolve(|_, offsets| Resolved {
        state: SymbolState::Lines,
        lines: offsets.iter().filter_map(|_| Some(lines.next()?.lines)).collect(),
    });
    memory.peak = Some(LivePeak {
        time_ns: 5,
        step: Some(99),
        bytes: 3_000_007,
        section: Some("step/lookup".into()),
        place: "src/cache.rs:88".into(),
        function: None,
        line_bytes: 2_000_000,
    });
    memory
}

/// Two sections over two points.
pub(crate) fn held() -> RetainedSeries {
    let figures = |first_bytes, last_bytes, peak_bytes| RetainedFigures {
        first_bytes,
        last_bytes,
        peak_bytes,
        peak_step: 2,
    };
    let section = |path: &str, includes_nested, figures| RetainedSection {
        path: path.into(),
        includes_nested,
        figures,
    };
    RetainedSeries {
        mode: Mode::Train,
        shift: 1,
        sections: vec![
            section("step/history", false, figures(1_000_000, 9_000_001, 9_000_001)),
            section("step/forward", true, figures(-20_000, -70_003, -70_003)),
        ],
        other: figures(300, 40, 300),
        total: figures(980_300, 8_930_038, 8_930_038),
        excluded: vec!["fit".into()],
        points: vec![
            RetainedPoint {
                step: 0,
                net_bytes: 980_300,
                retained_bytes: 980_300,
                sections: vec![1_000_000, -20_000],
                other_bytes: 300,
            },
            RetainedPoint {
                step: 2,
                net_bytes: 7_949_738,
                retained_bytes: 8_930_038,
                sections: vec![9_000_001, -70_003],
                other_bytes: 40,
            },
        ],
    }
}

/// A report in which no list is empty and no field is null that can be anything else.
pub(crate) fn full() -> Summary {
    let mut summary = troubled();
    summary.limits = vec![Limit::PathsCut { depth: 3 }, Limit::RunsLeftOut, Limit::AggregatesLeftOut];
    let course = summary.memory.course.map(|course| MemoryCourse {
        plateau_bytes: Some(700_001),
        more_steps: Some(70_003),
        fell: Some(MemoryFall { step: 91, from_bytes: 800_003, to_bytes: 100_003 }),
        ..course
    });
    let process = |rank| ProcessMemory {
        rank: Some(rank),
        host: "host-a".into(),
        pid: Some(40_009 + rank),
        rss_last_bytes: Some(1),
        rss_max_bytes: Some(2),
        live_last_bytes: Some(3),
        live_max_bytes: Some(4),
        course,
        impossible_values: 50_021,
        is_told: true,
        gauge: summary.memory.live.clone(),
    };
    summary.memory.processes = vec![process(0), process(1)];
    summary.memory.by_section = Some(held());
    summary.live_memory = Some(sampled());
    let part = summary.sections.iter_mut().find(|row| row.is_part()).unwrap();
    part.resident = Some(SectionResident {
        spans: 40,
        delta_bytes: 30_000_000,
        largest_delta_bytes: 50_000_000,
        peak_bytes: Some(900_000_000),
    });
    measured::quiet(&mut summary);
    summary.metrics.hosts[0]
        .gauges
        .push(FigureRow { about: Some("queue.depth".into()), ..measured::figure("gauge", |at| at as f64) });
    let gauge = Gauge { count: 1, min: 2, max: 3, mean: 2 };
    summary.series = vec![StepSeries {
        mode: Mode::Train,
        shift: 0,
        points: vec![SeriesPoint {
            step: 0,
            count: 1,
            duration_sum_ns: 1,
            duration_min_ns: 1,
            duration_max_ns: 1,
            live_bytes: Some(gauge),
            rss_bytes: Some(gauge),
            samples: Some(64),
            wait_ns: 0,
            run_queue_ns: None,
            cpu_ns: None,
            input_before_ns: Some(7),
        }],
    }];
    let exposed = vec![
        PhaseTime { phase: PhaseName::Known(Phase::DataWait), exposed_ns: 300_007 },
        PhaseTime { phase: PhaseName::Custom("my own".into()), exposed_ns: 500_009 },
    ];
    let point = |step| PhasePoint {
        step,
        steps: 1,
        total_ns: 1_000_000 + step,
        unattributed_ns: 199_984 + step,
        exposed: exposed.clone(),
        input_before_ns: Some(7_001),
    };
    summary.phase_series =
        vec![PhaseSeries { mode: Mode::Train, shift: 0, points: vec![point(0), point(1)] }];
    summary.changes = vec![change(ChangeKind::Sudden, 120)];
    summary.periodic = vec![every_50th(summary.modes[0].steady)];
    summary.exemplars = vec![example(0, ExampleRole::First), example(1_234, ExampleRole::Median)];
    summary.values = vec![ValueSeries {
        name: "loss".into(),
        shift: 0,
        not_finite: 1,
        unnumbered: Some(ValuePoint { step: 0, count: 2, mean: 1.0, min: 0.0, max: 2.0, last: 2.0 }),
        points: vec![ValuePoint { step: 0, count: 1, mean: 0.5, min: 0.5, max: 0.5, last: f64::NAN }],
    }];
    for row in &mut summary.sections {
        row.busy_ns = Some(FigureSum { spans: 1, sum: 2 });
        row.flops = row.busy_ns;
    }
    summary.modes[0].phases[0].phase = PhaseName::Custom("my own".into());
    summary
}

/// Steps of the troubled run that take 10 ms before `step`, and 12 ms from there on.
pub(crate) fn change(kind: ChangeKind, step: u64) -> StepChange {
    StepChange {
        mode: Mode::Train,
        kind,
        from_step: if kind == ChangeKind::Sudden { 3 } else { step },
        step,
        to_step: 199,
        step_numbers: 1,
        steps_before: if kind == ChangeKind::Sudden { step - 3 } else { 0 },
        steps_after: 200 - step,
        before_ns: 10 * MS,
        after_ns: 12 * MS,
        duration_before_ns: None,
        duration_after_ns: None,
        p_value: 1e-9,
        cause: Some(ChangeCause {
            phase: Some(PhaseName::Known(Phase::Preprocessing)),
            is_between: false,
            before_ns: 2_000_017,
            after_ns: 3_800_023,
            step_before_ns: 10_100_009,
            step_after_ns: 12_100_009,
            section: Some(ChangeSection {
                path: "step/prepare/decode".into(),
                before_ns: 1_500_011,
                after_ns: 3_200_019,
            }),
        }),
    }
}

/// Every 50th step takes 62 ms, for a checkpoint.
pub(crate) fn every_50th(usual: Stats) -> PeriodicSteps {
    let period = StepPeriod {
        every: 50,
        first_step: 47,
        steps: 8,
        median_ns: 62 * MS,
        above_ns: 336 * MS,
        cause: Some(PeriodCause {
            phase: Some(PhaseName::Known(Phase::Checkpoint)),
            usual_ns: 11,
            periodic_ns: 42 * MS,
        }),
    };
    PeriodicSteps { mode: Mode::Train, usual, periods: vec![period] }
}

/// A step of 10 ms in which a batch is waited for, and a loader works on a thread of its own.
pub(crate) fn example(step: u64, role: ExampleRole) -> Example {
    let span = |name: &str, parent, lane, offset_ns, duration_ns, critical_ns| ExampleSpan {
        name: name.into(),
        parent,
        lane,
        phase: None,
        offset_ns,
        duration_ns,
        critical_ns,
        is_error: false,
        batch: None,
        running: vec![],
    };
    let batch = ExampleBatch {
        trace_id: Some("ab".repeat(16)),
        produce_ns: Some(3_000_001),
        queue_ns: Some(500_003),
    };
    let waiting = Some(PhaseName::Known(Phase::DataWait));
    Example {
        mode: Mode::Train,
        roles: vec![role],
        is_warmup: role == ExampleRole::First,
        step: SlowStep {
            step: Some(step),
            rank: Some(0),
            duration_ns: 10_000_000,
            start_ns: 1_000,
            trace_id: format!("{step:032x}"),
            phases: vec![StepPhase { phase: PhaseName::Known(Phase::DataWait), exposed_ns: 4, total_ns: 5 }],
            unattributed_ns: 6,
        },
        span_id: format!("{step:016x}"),
        spans_in_step: 5,
        lanes: vec![
            Lane { thread_id: Some(11), thread_name: Some("main".into()) },
            Lane { thread_id: Some(12), thread_name: None },
        ],
        spans: vec![
            span("step", None, 0, 0, 10_000_000, 1_000_000),
            ExampleSpan {
                phase: waiting,
                batch: Some(batch),
                ..span("data_wait", Some(0), 0, 0, 4_000_000, 4_000_000)
            },
            ExampleSpan {
                running: vec![
                    ExampleRun { offset_ns: 4_500_000, duration_ns: 1_000_000 },
                    ExampleRun { offset_ns: 7_000_000, duration_ns: 2_500_000 },
                ],
                ..span("forward", Some(0), 0, 4_500_000, 5_000_000, 5_000_000)
            },
            ExampleSpan { is_error: true, ..span("log", Some(2), 1, -20, 7_000_000, 0) },
        ],
        critical_path: vec![
            ExamplePiece { span: 1, offset_ns: 0, duration_ns: 4_000_000 },
            ExamplePiece { span: 0, offset_ns: 4_000_000, duration_ns: 500_000 },
            ExamplePiece { span: 2, offset_ns: 4_500_000, duration_ns: 5_000_000 },
            ExamplePiece { span: 0, offset_ns: 9_500_000, duration_ns: 500_000 },
        ],
    }
}

#[test]
fn every_kind_of_report_is_valid() {
    assert_valid(&json_of(&nothing(), Reading::default()));
    assert_valid(&json_of(&healthy().build(), Reading::default()));
    assert_valid(&json_of(&Run::of(3, MS).build(), Reading::default()));
    assert_valid(&json_of(&Run::of(0, MS).build(), Reading::default()));
    assert_valid(&json_of(&full(), damaged()));
}

#[test]
fn the_schema_is_that_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/report.schema.json");
    let made = stepscope_analyze::report::schema::generate().unwrap();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == made,
        "schema/report.schema.json is not what the types say: `cargo xtask docs` writes it"
    );
}

#[test]
fn integers_stay_integers_and_order_does_not_matter() {
    let issue = |file: &str| ReadIssue {
        file: file.into(),
        kind: IssueKind::Empty,
        offset: None,
        count: 1,
        lost_bytes: None,
        reason: "the file holds nothing".into(),
    };
    let input = |path: &str| Input { path: path.into(), format: None, bytes: u64::MAX, spans: 0 };
    let one = Reading { inputs: vec![input("a"), input("b")], issues: vec![issue("a"), issue("b")] };
    let other = Reading { inputs: vec![input("b"), input("a")], issues: vec![issue("b"), issue("a")] };
    let report = json_of(&full(), one);
    assert_eq!(report, json_of(&full(), other));
    assert_eq!(report["inputs"][0]["bytes"], json!(u64::MAX));
    assert!(report["sections"][0]["total"].is_u64());
    assert!(report["detailed_metrics"]["values"][0]["points"][0]["last"].is_null());
}
