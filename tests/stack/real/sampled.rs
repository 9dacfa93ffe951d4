//! The production configuration keeps exactly the traces that it says it keeps, and loses nothing of the sums.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use stepscope_stack_tests::http;
use stepscope_stack_tests::program::{parse, report_text};
use stepscope_stack_tests::recorded::{self, Recorded};
use stepscope_stack_tests::stack::Stack;
use stepscope_stack_tests::traces::{self, Traces, integer, text};
use stepscope_testkit::binaries;
use stepscope_testkit::folder::files_below;

use crate::jaeger::open;

/// Traces of more whole milliseconds are kept. Some of the demo's steps have more.
const SLOW_MS: u64 = 5;

fn nanos(span: &Value, field: &str) -> u64 {
    span[field].as_str().and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no {field} in {span}"))
}

/// Why the trace is kept, by the words of the configuration's comments; `None` if it is not.
fn reason(trace: &str, spans: &BTreeMap<String, Value>) -> Option<&'static str> {
    let any = |what: &dyn Fn(&Value) -> bool| spans.values().any(what);
    if any(&|span| matches!(text(span, "stepscope.section.kind"), Some("run" | "epoch"))) {
        return Some("run or epoch");
    }
    if any(&|span| span["status"]["code"] == 2) {
        return Some("error");
    }
    if any(&|span| integer(span, "stepscope.step").is_some_and(|step| (0..=20).contains(&step))) {
        return Some("first step");
    }
    let start = spans.values().map(|span| nanos(span, "startTimeUnixNano")).min()?;
    let end = spans.values().map(|span| nanos(span, "endTimeUnixNano")).max()?;
    if (end - start) / 1_000_000 > SLOW_MS {
        return Some("slow");
    }
    // Consistent probability sampling at 5 %: the last 56 bits are at least 95 % of 2^56, to three digits.
    let random = u64::from_str_radix(&trace[18..], 16).expect("hexadecimal");
    (random >= 0xf33 << 44).then_some("one in twenty")
}

#[test]
fn the_production_configuration_keeps_what_matters() {
    let configuration = binaries::repository().join("collector-config/production.yaml");
    let settings = [
        ("SAMPLING_DECISION_WAIT", "4s"),
        ("SAMPLING_WAIT_AFTER_ROOT", "2s"),
        ("SAMPLING_SLOW_MS", &SLOW_MS.to_string()),
    ];
    let configuration = ["--config", &configuration.to_string_lossy()];
    let recorded = recorded::demo(&configuration, &settings, &["--steps", "440"], "json").expect("a run");
    let Recorded { stack, profiles, .. } = &recorded;

    let mut sent = Traces::new();
    for file in files_below(profiles).expect("files") {
        if file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("traces")) {
            traces::of_json_lines(&file, &mut sent).expect("JSON lines");
        }
    }
    let mut kept = BTreeMap::<&str, u64>::new();
    let expected: BTreeSet<&String> = sent
        .iter()
        .filter_map(|(trace, spans)| {
            *kept.entry(reason(trace, spans)?).or_default() += 1;
            Some(trace)
        })
        .collect();
    println!("{} of {} traces are kept: {kept:?}", expected.len(), sent.len());
    assert!(expected.len() < sent.len(), "something is left out");
    for reason in ["run or epoch", "first step", "slow", "one in twenty"] {
        assert!(kept.contains_key(reason), "no trace is kept as {reason}: {kept:?}");
    }
    let spans = expected.iter().map(|trace| sent[*trace].len() as u64).sum();
    let arrived = stack.wait_for_stored(spans);
    let mut wrong = Vec::new();
    for (trace, spans) in &sent {
        let stored = open(stack, trace).unwrap_or_default();
        let stored = stored.get(trace).map_or(0, BTreeMap::len);
        let wanted = if expected.contains(trace) { spans.len() } else { 0 };
        if stored != wanted {
            wrong.push(format!("{trace}: {stored} of {wanted} spans, {:?}", reason(trace, spans)));
        }
    }
    assert!(wrong.is_empty(), "{arrived:?}, {} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(arrived, Ok(spans), "each once");
    assert_sums(stack, &parse(&report_text(&[profiles]).expect("a report")).expect("JSON"));
}

/// Prometheus' figures of each section are those of the report.
pub(crate) fn assert_sums(stack: &Stack, report: &Value) {
    let page = http::get(stack.address("COLLECTOR_PROMETHEUS"), "/metrics").expect("it answers");
    let mut checked = 0;
    for section in report["sections"].as_array().expect("sections") {
        let label = format!("stepscope_path=\"{}\"", section["path"].as_str().expect("a path"));
        let count = page
            .lines()
            .find(|line| line.starts_with("stepscope_section_count") && line.contains(&label))
            .unwrap_or_else(|| panic!("no count with {label}"));
        let value: f64 = count.rsplit(' ').next().and_then(|value| value.parse().ok()).expect("a number");
        assert_eq!(section["count"].as_u64(), Some(value as u64), "{count}");
        checked += 1;
    }
    assert!(checked > 10, "{checked} sections");
    println!("{checked} sections have the report's counts in Prometheus' text");
}
