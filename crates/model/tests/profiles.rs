//! What profilers write that says less, or more, than it seems to: files of several processes, steps of other spellings,
//! frames around steps, names that differ in nothing, times before 0.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::kinds;
use serde_json::{Value as Json, json};
use stepscope_core::{Phase, SectionKind};
use stepscope_model::{Figure, IssueKind, PhaseTag, ReadOptions, ReadOutcome, Reader, Sink, Span, Trace};

#[derive(Default)]
struct Traces(Vec<Trace>);

impl Sink for Traces {
    fn trace(&mut self, trace: &Trace) {
        self.0.push(trace.clone());
    }
}

fn read_with(options: ReadOptions, events: &[Json]) -> (Vec<Trace>, ReadOutcome) {
    let document = json!({ "schemaVersion": 1, "traceEvents": events }).to_string();
    let mut traces = Traces::default();
    let mut reader = Reader::new(options);
    reader.read_stream("input", document.as_bytes(), &mut traces).unwrap();
    let outcome = reader.finish(&mut traces);
    (traces.0, outcome)
}

fn read(events: &[Json]) -> (Vec<Trace>, ReadOutcome) {
    read_with(ReadOptions::default(), events)
}

/// A slice of a thread called as its process: `(start, length)` in microseconds.
fn slice(category: &str, name: &str, process: &Json, (ts, dur): (i64, i64)) -> Json {
    json!({"ph": "X", "cat": category, "name": name, "pid": process, "tid": process, "ts": ts, "dur": dur, "args": {}})
}

fn with(mut event: Json, key: &str, value: Json) -> Json {
    event["args"][key] = value;
    event
}

/// Three steps of a millisecond from 1,000 µs on, each with a forward pass from its 100th microsecond to its 400th.
fn steps(process: &Json) -> Vec<Json> {
    let step = |number: i64| {
        let ts = 1_000 + number * 1_000;
        [
            slice("user_annotation", &format!("ProfilerStep#{number}"), process, (ts, 1_000)),
            slice("user_annotation", "forward", process, (ts + 100, 300)),
        ]
    };
    (0..3).flat_map(step).collect()
}

fn spans(traces: &[Trace]) -> impl Iterator<Item = (&Trace, &Span)> {
    traces.iter().flat_map(|trace| trace.spans.iter().map(move |span| (trace, span)))
}

fn named<'t>(traces: &'t [Trace], name: &str) -> Vec<(&'t Trace, &'t Span)> {
    spans(traces).filter(|(trace, span)| trace.text(span.name) == name).collect()
}

/// Numbers and lengths in nanoseconds of the steps.
fn step_times(traces: &[Trace]) -> BTreeSet<(i64, u64)> {
    let steps = spans(traces).filter(|(_, span)| span.kind == SectionKind::Step);
    steps.map(|(_, span)| (span.figure(Figure::Step).unwrap(), span.duration_ns())).collect()
}

fn three() -> BTreeSet<(i64, u64)> {
    (0..3).map(|number| (number, 1_000_000)).collect()
}

/// The number of the step in whose trace a span is.
fn step_of(trace: &Trace) -> Option<i64> {
    trace.spans.iter().find(|span| span.kind == SectionKind::Step)?.figure(Figure::Step)
}

#[test]
fn processes_with_steps_are_ranks_as_their_names_say() {
    // As tools join the files of ranks: a prefix, a suffix, one process for all of a rank.
    let names: [fn(i64) -> [Json; 2]; 3] = [
        |rank| [json!(format!("[TP{rank:02}] 71")), json!(format!("[TP{rank:02}] 0"))],
        |rank| [json!(format!("rank_{rank}_71")), json!(format!("rank_{rank}_0"))],
        |rank| [json!(format!("Rank {rank}")), json!(format!("Rank {rank}"))],
    ];
    for name in names {
        let mut events = Vec::new();
        for rank in [3, 1] {
            let [host, device] = name(rank);
            events.extend(steps(&host));
            // Each rank counts its launches for itself.
            let launch = slice("cuda_runtime", "cudaLaunchKernel", &host, (1_150, 10));
            events.push(with(launch, "correlation", json!(5)));
            let kernel = slice("kernel", &format!("kernel of {rank}"), &device, (2_050, 20 * rank));
            events.push(with(kernel, "correlation", json!(5)));
        }
        let (traces, outcome) = read(&events);
        assert_eq!(kinds(&outcome), []);
        assert_eq!((outcome.spans, step_times(&traces)), (16, three()));
        let ranks: BTreeSet<_> = spans(&traces).map(|(trace, _)| trace.resource.rank).collect();
        assert_eq!(ranks, BTreeSet::from([Some(1), Some(3)]));
        for rank in [1, 3] {
            let kernel = named(&traces, &format!("kernel of {rank}"));
            // It ran in the second step, and was launched in the first of its own rank.
            assert_eq!((kernel[0].0.resource.rank, step_of(kernel[0].0)), (Some(rank), Some(0)));
        }
    }
}

#[test]
fn processes_that_say_no_rank_are_ranks_in_the_order_of_the_file() {
    let mut events = steps(&json!(200));
    events.extend(steps(&json!(100)));
    let (traces, outcome) = read(&events);
    assert_eq!(kinds(&outcome), [(IssueKind::RanksCounted, 1)]);
    let ranks: BTreeSet<_> = traces.iter().map(|trace| (trace.resource.rank, trace.resource.pid)).collect();
    assert_eq!(ranks, BTreeSet::from([(Some(0), Some(200)), (Some(1), Some(100))]));
    // Processes that do other steps than each other are no ranks of one job.
    for event in &mut events[6..] {
        let later = event["name"].as_str().unwrap().replace("ProfilerStep#", "ProfilerStep#5");
        event["name"] = json!(later);
    }
    let (traces, outcome) = read(&events);
    assert_eq!(kinds(&outcome), []);
    assert!(traces.iter().all(|trace| trace.resource.rank.is_none()));
}

#[test]
fn the_steps_of_one_process_hold_nothing_of_another() {
    let mut events = steps(&json!(100));
    events.push(slice("cpu_op", "read", &json!(200), (1_200, 600)));
    events.push(slice("kernel", "gemm", &json!(0), (1_200, 600)));
    let (traces, _) = read(&events);
    let (reader, kernel) = (named(&traces, "read")[0], named(&traces, "gemm")[0]);
    assert_eq!((step_of(reader.0), reader.0.resource.pid), (None, Some(200)));
    assert_eq!((step_of(kernel.0), kernel.0.resource.pid), (Some(0), Some(100)));
    // All the same it is one run.
    assert_eq!(reader.0.resource.service_name, kernel.0.resource.service_name);
}

#[test]
fn slices_that_begin_together_are_all_kept_whatever_their_names() {
    let process = json!(100);
    let mut events = Vec::new();
    for level in 0..4 {
        for (at, name) in ["_call_impl", "forward"].into_iter().enumerate() {
            events.push(slice("python_function", name, &process, (500, 300 - 20 * level - 10 * at as i64)));
        }
    }
    let (traces, outcome) = read(&events);
    assert_eq!((kinds(&outcome), outcome.spans), (vec![], 8));
    let mut parents = BTreeMap::new();
    for (_, span) in spans(&traces) {
        parents.insert(span.duration_ns() / 1_000, span.parent.is_some());
    }
    assert_eq!(parents, (0..8).map(|at| (300 - 10 * at, at > 0)).collect());
}

#[test]
fn annotations_of_devices_are_around_nothing() {
    let mut events = steps(&json!(100));
    for name in ["forward", "ProfilerStep#0"] {
        events.push(slice("gpu_user_annotation", name, &json!(0), (1_200, 600)));
    }
    events.push(slice("kernel", "gemm", &json!(0), (1_300, 100)));
    let (traces, outcome) = read(&events);
    assert_eq!((kinds(&outcome), step_times(&traces)), (vec![], three()));
    let annotations: Vec<_> = spans(&traces).filter(|(_, span)| span.is_device_annotation).collect();
    assert!(annotations.len() == 2 && annotations.iter().all(|(_, span)| span.is_on_device));
    let (trace, kernel) = named(&traces, "gemm")[0];
    let around = trace.spans.iter().find(|span| Some(span.id) == kernel.parent).unwrap();
    assert_eq!(around.kind, SectionKind::Step);
    assert!(!kernel.is_device_annotation);
}

#[test]
fn names_are_folded_where_that_is_asked_for() {
    let mut events = steps(&json!(100));
    for number in 0..150 {
        let at = (3_500 + number, 1);
        events.push(slice("user_annotation", &format!("request {number}"), &json!(100), at));
        let address = format!("<built-in method f of T object at 0x7f00{number:06x}>");
        events.push(slice("python_function", &address, &json!(101), at));
        if number < 96 {
            events.push(slice("cpu_op", &format!("layer.{number}"), &json!(102), at));
        }
    }
    let names = |traces: &[Trace]| -> BTreeSet<String> {
        spans(traces).map(|(trace, span)| trace.text(span.name).to_owned()).collect()
    };
    let (traces, outcome) = read(&events);
    assert_eq!((kinds(&outcome), names(&traces).len()), (vec![], 2 + 150 + 150 + 96));
    let mut options = ReadOptions::default();
    options.folds_names = true;
    let (traces, outcome) = read_with(options, &events);
    assert_eq!(kinds(&outcome), [(IssueKind::NamesFolded, 298)]);
    assert!(outcome.issues[0].reason.starts_with("300 names folded to 2:"), "{}", outcome.issues[0].reason);
    let found = names(&traces);
    assert_eq!(found.len(), 4 + 96);
    assert!(found.contains("request #") && found.contains("layer.95"));
    assert!(found.contains("<built-in method f of T object at 0x…>"));
}

#[test]
fn times_before_0_are_moved_all_alike() {
    let mut events = steps(&json!(100));
    for event in &mut events {
        event["ts"] = json!(event["ts"].as_i64().unwrap() - 2_500);
    }
    let (traces, outcome) = read(&events);
    assert_eq!((kinds(&outcome), step_times(&traces)), (vec![(IssueKind::TimesMoved, 1)], three()));
    assert_eq!(spans(&traces).map(|(_, span)| span.start_ns).min(), Some(0));
}

#[test]
fn where_steps_are_known_the_number_of_one_makes_none() {
    let mut events = steps(&json!(100));
    // Outside of the steps, and inside of one on another thread.
    events.push(with(slice("cpu_op", "warm up", &json!(100), (10, 5)), "step", json!(7)));
    events.push(with(slice("cpu_op", "reduce", &json!(101), (1_200, 5)), "step", json!(8)));
    let (traces, _) = read(&events);
    assert_eq!(step_times(&traces), three());
    for name in ["warm up", "reduce"] {
        let (_, span) = named(&traces, name)[0];
        assert_eq!((span.kind, span.figure(Figure::Step)), (SectionKind::Section, None), "{name}");
    }
}

#[test]
fn a_step_without_an_end_is_told_and_is_none() {
    let last = slice("user_annotation", "ProfilerStep#3", &json!(100), (4_000, 0));
    let begun = json!({"ph": "B", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 100, "tid": 100, "ts": 4_000});
    for (unfinished, more) in [(last, vec![]), (begun, vec![(IssueKind::Truncated, 1)])] {
        let mut events = steps(&json!(100));
        events.push(unfinished);
        events.push(slice("cpu_op", "aten::add", &json!(100), (4_000, 50)));
        let (traces, outcome) = read(&events);
        let told: BTreeSet<_> = kinds(&outcome).into_iter().collect();
        let expected = [(IssueKind::UnfinishedStep, 1)].into_iter().chain(more).collect();
        assert_eq!((told, step_times(&traces)), (expected, three()));
        assert_eq!(step_of(named(&traces, "aten::add")[0].0), None);
        assert!(named(&traces, "ProfilerStep#3").is_empty());
    }
}

#[test]
fn steps_of_two_events_are_steps() {
    let mut events = Vec::new();
    for mut event in steps(&json!(100)) {
        let end = event["ts"].as_i64().unwrap() + event["dur"].as_i64().unwrap();
        event["ph"] = json!("B");
        event.as_object_mut().unwrap().remove("dur");
        events.push(event);
        events.push(json!({"ph": "E", "pid": 100, "tid": 100, "ts": end}));
    }
    // In the order of time, ends first.
    events.sort_by_key(|event| (event["ts"].as_i64(), event["ph"] == "B"));
    let (traces, outcome) = read(&events);
    assert_eq!((kinds(&outcome), step_times(&traces)), (vec![], three()));
    assert!(named(&traces, "forward").iter().all(|(trace, _)| step_of(trace).is_some()));
}

#[test]
fn frames_that_go_on_after_their_step_are_around_it() {
    for (start, name) in [(900, "before"), (1_000, "with"), (1_004, "after")] {
        let mut events = steps(&json!(100));
        events.push(slice("python_function", "train.py(10): <module>", &json!(100), (start, 5_000)));
        events.push(slice("python_function", "train.py(30): main", &json!(100), (start + 1, 4_990)));
        let (traces, _) = read(&events);
        assert_eq!(step_times(&traces), three(), "{name}");
        let main = named(&traces, "train.py(30): main")[0].0;
        assert_eq!((main.spans.len(), step_of(main)), (2, None), "{name}");
        for (trace, forward) in named(&traces, "forward") {
            let around = trace.spans.iter().find(|span| Some(span.id) == forward.parent).unwrap();
            assert_eq!(around.kind, SectionKind::Step, "{name}");
        }
    }
}

#[test]
fn steps_of_jax_say_their_number_and_devices_are_part_of_the_program() {
    let mut events = vec![
        json!({"ph": "M", "name": "process_name", "pid": 3, "args": {"name": "/device:GPU:0"}}),
        json!({"ph": "M", "name": "process_name", "pid": 701, "args": {"name": "/host:CPU"}}),
    ];
    for number in 0..3_i64 {
        let ts = 1_000 + number * 1_000;
        let plain = |name: &str, pid: i64, ts: i64, dur: i64| json!({"ph": "X", "name": name, "pid": pid, "tid": 1, "ts": ts, "dur": dur, "args": {}});
        events.push(with(plain("train", 701, ts, 1_000), "step_num", json!(number.to_string())));
        events.push(with(plain("update", 701, ts + 10, 500), "step", json!(number + 40)));
        events.push(with(plain("fusion.3", 3, ts + 200, 300), "step_num", json!(number)));
    }
    let (traces, outcome) = read(&events);
    assert_eq!((kinds(&outcome), outcome.spans, traces.len()), (vec![], 9, 3));
    assert_eq!(step_times(&traces), three());
    let resources: BTreeSet<_> = traces.iter().map(|trace| &trace.resource).collect();
    assert_eq!(resources.len(), 1);
    assert!(traces.iter().all(|trace| trace.resource.service_name == "/host:CPU"));
}

#[test]
fn sums_that_a_compiler_puts_behind_its_slices_are_no_slices() {
    let mut events = vec![slice("", "ExecuteCompiler", &json!(1), (0, 900))];
    for number in 0..3 {
        events.push(slice("", "Source", &json!(1), (number * 100, 90)));
    }
    let total = slice("", "Total Source", &json!(1), (0, 270));
    events.push(with(with(total, "count", json!(3)), "avg ms", json!(0)));
    // A program's own slice may be called so.
    events.push(slice("", "Total loss", &json!(1), (500, 10)));
    let (traces, outcome) = read(&events);
    assert_eq!((kinds(&outcome), outcome.spans), (vec![(IssueKind::LeftOut, 1)], 5));
    assert!(named(&traces, "Total Source").is_empty() && !named(&traces, "Total loss").is_empty());
}

#[test]
fn what_a_runtime_waits_for_keeps_its_phase_beside_several_processes() {
    let mut events = steps(&json!(100));
    events.extend(steps(&json!(200)));
    events.push(slice("cuda_runtime", "cudaDeviceSynchronize", &json!(200), (1_500, 100)));
    let (traces, _) = read(&events);
    let (trace, wait) = named(&traces, "cudaDeviceSynchronize")[0];
    assert_eq!((wait.phase, trace.resource.pid), (PhaseTag::Known(Phase::Synchronization), Some(200)));
}
