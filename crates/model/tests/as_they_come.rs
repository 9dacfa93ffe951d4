//! Files as people bring them: kinds one behind the other, ids made with one seed, times that nobody set, numbers that do
//! not fit. What is in them is read, and what is not is told.

mod common;

use std::collections::BTreeSet;

use common::*;
use serde_json::json;
use stepscope_core::SectionKind;
use stepscope_core::attr;
use stepscope_model::{IssueKind, ReadOptions};

fn chrome() -> String {
    let slice = |number: u64| json!({"ph": "X", "name": format!("slice {number}"), "pid": 1, "tid": 1, "ts": number * 100, "dur": 50});
    json!({"traceEvents": [slice(1), slice(2), slice(3)], "displayTimeUnit": "ms"}).to_string()
}

fn jaeger() -> String {
    let span = |id: &str| json!({"traceID": "1f", "spanID": id, "operationName": "a", "startTime": 1_700_000_000_000_000_u64, "duration": 9, "processID": "p"});
    json!({"data": [{"traceID": "1f", "spans": [span("1"), span("2")], "processes": {"p": {"serviceName": "x"}}}]}).to_string()
}

fn otlp_line() -> String {
    let message = GenMessage {
        resource: vec![text(attr::SERVICE_NAME, "y")],
        scope: "other".into(),
        spans: vec![span([9; 16], 1, 0, "b", 0, 5)],
    };
    otlp::json(&message)
}

#[test]
fn kinds_one_behind_the_other_are_all_read() {
    let kinds = [(chrome(), 3), (jaeger(), 2), (otlp_line(), 1)];
    for (first, of_first) in &kinds {
        for (second, of_second) in kinds.iter().filter(|(text, _)| text != first) {
            for between in ["\n", ""] {
                let (_, outcome) = read([first, between, second, "\n"].concat().as_bytes());
                let issues = &outcome.issues;
                assert_eq!(
                    (outcome.spans, issues),
                    (of_first + of_second, &Vec::new()),
                    "{first}{between}{second}"
                );
            }
        }
    }
}

#[test]
fn documents_of_a_profiler_in_a_list_are_read() {
    let (_, outcome) = read(format!("[{},\n{}]", chrome(), chrome().replace("slice", "other")).as_bytes());
    assert_eq!((outcome.spans, kinds(&outcome)), (6, Vec::new()));
}

#[test]
fn spans_behind_other_signals_of_a_document_are_read() {
    let spans = otlp_line();
    let spans = spans.strip_prefix('{').unwrap_or_default();
    for other in [r#"{"resourceLogs":[],"#, r#"{"resourceMetrics":[{"scopeMetrics":[]}],"#] {
        let (_, outcome) = read(format!("{other}{spans}").as_bytes());
        assert_eq!((outcome.spans, kinds(&outcome)), (1, Vec::new()), "{other}");
    }
}

/// Four ranks whose random numbers have one seed: a step each, with the same ids.
fn seeded() -> Vec<GenMessage> {
    (0..4)
        .map(|rank| {
            let mut root = span([7; 16], 1, 0, "train_step", 0, 900 + rank);
            root.attributes.push(int("step", 3));
            let rank = i64::try_from(rank).unwrap_or_default();
            GenMessage {
                resource: vec![text(attr::SERVICE_NAME, "train"), int("rank", rank), int("world_size", 4)],
                scope: "other".into(),
                spans: vec![root, span([7; 16], 2, 1, "forward", 10, 300)],
            }
        })
        .collect()
}

#[test]
fn processes_that_made_the_same_ids_count_each_by_itself() {
    let mut reversed = seeded();
    reversed.reverse();
    for messages in [seeded(), reversed] {
        let bytes: Vec<Vec<u8>> =
            messages.iter().map(|message| otlp::lines(std::slice::from_ref(message))).collect();
        let files: Vec<(&str, &[u8])> = bytes.iter().map(|bytes| ("input", bytes.as_slice())).collect();
        let (collected, outcome) = read_with(ReadOptions::default(), &files);
        assert_eq!((outcome.spans, outcome.traces, outcome.duplicate_spans), (8, 4, 0));
        assert_eq!(kinds(&outcome), [(IssueKind::DuplicateSpan, 1)]);
        let ranks: BTreeSet<_> = collected.resources.values().map(|resource| resource.rank).collect();
        assert_eq!(ranks, (0..4).map(Some).collect());
        assert!(collected.traces.values().all(|trace| trace.lines().count() == 2), "{:?}", collected.traces);
    }
    // The same spans twice are no others.
    let mut twice = seeded()[..1].to_vec();
    twice.push(twice[0].clone());
    let (_, outcome) = read(&otlp::lines(&twice));
    assert_eq!((outcome.spans, outcome.duplicate_spans), (2, 2));
}

#[test]
fn a_step_whose_end_was_not_set_is_none() {
    let mut messages = seeded()[..1].to_vec();
    messages[0].spans[0].end = 0;
    let (collected, outcome) = read(&otlp::lines(&messages));
    assert_eq!(kinds(&outcome), [(IssueKind::UnfinishedStep, 1)]);
    let trace = collected.last.expect("it is there");
    assert!(trace.spans.iter().all(|span| span.kind == SectionKind::Section));
    // Of any other span only the duration is not known.
    let mut messages = seeded()[..1].to_vec();
    messages[0].spans[1].end = 0;
    let (_, outcome) = read(&otlp::lines(&messages));
    assert_eq!((outcome.spans, kinds(&outcome)), (2, vec![(IssueKind::BadTime, 1)]));
}

#[test]
fn durations_that_are_none_are_told() {
    for dur in ["\"dur\":1e25", "\"dur\":null", "\"dur\":\"abc\"", "\"dur\":18446744073709551616", "\"x\":1"]
    {
        let text = chrome().replacen("\"dur\":50", dur, 1);
        let (_, outcome) = read(text.as_bytes());
        assert_eq!((outcome.spans, kinds(&outcome)), (3, vec![(IssueKind::BadTime, 1)]), "{dur}");
    }
}

#[test]
fn an_integer_that_does_not_fit_costs_no_span() {
    for value in ["\"18446744073709551615\"", "18446744073709551615", "\"-9223372036854775809\""] {
        let line = otlp_line().replace(
            "\"name\":\"b\"",
            &format!(r#""name":"b","attributes":[{{"key":"step","value":{{"intValue":{value}}}}}]"#),
        );
        let (_, outcome) = read(line.as_bytes());
        assert_eq!((outcome.spans, kinds(&outcome)), (1, vec![(IssueKind::BadStep, 1)]), "{line}");
    }
}

#[test]
fn damage_in_a_line_costs_only_the_span_that_it_is_in() {
    let spans = (1..=100).map(|id| span([9; 16], id, 0, "work", id, id + 5)).collect();
    let message = GenMessage { resource: resource(0), scope: "other".into(), spans };
    let line = otlp::json(&message);
    let at = line.match_indices("\"name\"").nth(40).map_or(0, |(at, _)| at);
    let comma = line[at..].find(',').map_or(0, |comma| at + comma);
    let mut hole = line.clone().into_bytes();
    hole[at..at + 100].fill(0);
    let damaged = [
        ("comma too many", [&line[..comma], ",", &line[comma..]].concat().into_bytes(), 99),
        ("comma lost", [&line[..comma], &line[comma + 1..]].concat().into_bytes(), 99),
        ("quote lost", [&line[..at], &line[at + 1..]].concat().into_bytes(), 99),
        ("hole", hole, 98),
    ];
    for (what, bytes, least) in damaged {
        for end in [&b"\n"[..], b""] {
            let (_, outcome) = read(&[&bytes, end].concat());
            assert!(outcome.spans >= least, "{what}: {} spans, {:?}", outcome.spans, outcome.issues);
            let lost: u64 = outcome.issues.iter().filter_map(|issue| issue.lost_bytes).sum();
            assert!(outcome.spans == 100 || lost > 50, "{what}: {:?}", outcome.issues);
        }
    }
}

#[test]
fn what_is_cut_off_is_told_with_its_bytes() {
    let spans = (1..=10).map(|id| span([9; 16], id, 0, "work", id, id + 5)).collect();
    let message = GenMessage { resource: resource(0), scope: "other".into(), spans };
    for bytes in [otlp::json(&message).into_bytes(), otlp::proto(&message)] {
        let cut = bytes.len() - bytes.len() / 25;
        let (_, outcome) = read(&bytes[..cut]);
        assert_eq!((outcome.spans, kinds(&outcome)), (9, vec![(IssueKind::Truncated, 1)]));
        let lost = outcome.issues[0].lost_bytes.unwrap_or(0);
        assert!(lost > 20 && lost < bytes.len() as u64 / 10, "{lost}");
        assert!(outcome.issues[0].reason.contains("what is whole in it was read"), "{:?}", outcome.issues);
    }
}

/// Three steps of one process, as a profiler that knows no ranks writes them.
fn profile(pid: u64) -> String {
    let step = |number: u64| json!({"ph": "X", "cat": "user_annotation", "name": format!("ProfilerStep#{number}"), "pid": pid, "tid": pid, "ts": 1_000 + number * 100, "dur": 90});
    json!({"schemaVersion": 1, "traceEvents": [step(0), step(1), step(2)]}).to_string()
}

#[test]
fn files_of_processes_that_say_no_rank_are_of_several_processes() {
    let files = [55, 56, 57].map(profile);
    let files: Vec<(&str, &[u8])> = files.iter().map(|text| ("rank.json", text.as_bytes())).collect();
    let (collected, outcome) = read_with(ReadOptions::default(), &files);
    assert_eq!((outcome.spans, outcome.traces), (9, 9));
    let processes: BTreeSet<_> = collected.resources.values().map(|resource| resource.pid).collect();
    assert_eq!(processes, [55, 56, 57].map(Some).into());
}

#[test]
fn a_slice_whose_end_is_lost_ends_with_what_is_around_it() {
    let mut events = Vec::new();
    for number in 0..5_u64 {
        let at = 1_000 + number * 100;
        events.push(json!({"ph": "X", "name": "train_step", "pid": 1, "tid": 1, "ts": at, "dur": 90, "args": {"step": number}}));
        events.push(json!({"ph": "B", "name": "backward", "pid": 1, "tid": 1, "ts": at + 10}));
        if number != 2 {
            events.push(json!({"ph": "E", "name": "backward", "pid": 1, "tid": 1, "ts": at + 90}));
        }
    }
    let (collected, outcome) = read(json!(events).to_string().as_bytes());
    assert_eq!((outcome.spans, outcome.traces, kinds(&outcome)), (10, 5, vec![(IssueKind::Truncated, 1)]));
    let is_whole = |trace: &String| trace.contains("+90000") && trace.contains("+80000");
    assert!(collected.traces.values().all(is_whole), "{:?}", collected.traces);
}

#[test]
fn what_a_server_says_of_its_answer_is_passed_on() {
    let line = otlp_line();
    let tempo =
        format!(r#"{{"trace":{line},"metrics":{{}},"status":"PARTIAL","message":"trace exceeds max size"}}"#);
    let errors = r#","errors":[{"code":500,"msg":"results are partial"}]}"#;
    let jaeger = format!("{}{errors}", jaeger().strip_suffix('}').unwrap_or_default());
    for (text, spans, said) in [(tempo, 1, "PARTIAL"), (jaeger, 2, "results are partial")] {
        let (_, outcome) = read(text.as_bytes());
        assert_eq!(
            (outcome.spans, kinds(&outcome)),
            (spans, vec![(IssueKind::IncompleteTrace, 1)]),
            "{text}"
        );
        assert!(outcome.issues[0].reason.contains(said), "{:?}", outcome.issues);
    }
}
