//! Points of live memory by sample, as they are written and with what can be wrong with them.

mod common;

use common::{kinds, read};
use serde_json::{Value, json};
use stepscope_model::{IssueKind, LiveDropped, LivePoint, LiveRow, MetricPoint, Module};

/// The points of a message with one point of one metric.
fn points(name: &str, attributes: &[(&str, Value)], value: &Value) -> Vec<LivePoint> {
    let attributes: Vec<Value> =
        attributes.iter().map(|(key, value)| json!({ "key": key, "value": value })).collect();
    let point = json!({ "attributes": attributes, "timeUnixNano": "7", "asInt": value });
    let metric = json!({ "name": name, "sum": { "dataPoints": [point], "aggregationTemporality": 2 } });
    let message = json!({ "resourceMetrics": [{ "scopeMetrics": [{ "metrics": [metric] }] }] });
    let (collected, outcome) = read(format!("{message}\n").as_bytes());
    let is_silent = kinds(&outcome).iter().all(|(kind, _)| *kind == IssueKind::Empty);
    assert!(is_silent, "{:?}", outcome.issues);
    let live = collected.points.into_iter().map(|(.., time_ns, point)| match point {
        MetricPoint::Live(point) => {
            assert_eq!(time_ns, 7);
            point
        }
        other => panic!("{other:?}"),
    });
    live.collect()
}

fn text(text: &str) -> Value {
    json!({ "stringValue": text })
}

fn number(number: u64) -> Value {
    json!({ "intValue": number.to_string() })
}

#[test]
fn rows_stacks_and_modules_are_read_as_they_are_written() {
    let labels = [
        ("stepscope.path", text("step/lookup")),
        ("stepscope.memory.stack.id", number(7)),
        ("stepscope.memory.age", number(32)),
    ];
    let row = |amount| LiveRow { path: "step/lookup".into(), stack: Some(7), age_steps: Some(32), amount };
    let amount = json!("4096");
    assert_eq!(points("stepscope.memory.live.sampled", &labels, &amount), [LivePoint::Bytes(row(4_096))]);
    assert_eq!(points("stepscope.memory.live.blocks", &labels, &amount), [LivePoint::Blocks(row(4_096))]);
    let rest = LiveRow { path: String::new(), stack: None, age_steps: None, amount: 4_096 };
    assert_eq!(points("stepscope.memory.live.sampled", &[], &amount), [LivePoint::Bytes(rest)]);
    let frames = "trainer+0x10 libc.so.6+0x20";
    let labels = [("stepscope.memory.stack.id", number(7)), ("stepscope.memory.stack.frames", text(frames))];
    assert_eq!(
        points("stepscope.memory.stack", &labels, &json!("1")),
        [LivePoint::Stack { id: 7, frames: frames.into() }]
    );
    let labels = [
        ("stepscope.module.name", text("trainer")),
        ("stepscope.module.build_id", text("ab01")),
        ("stepscope.module.path", text("/bin/trainer")),
    ];
    let module = Module { name: "trainer".into(), build_id: "ab01".into(), path: "/bin/trainer".into() };
    assert_eq!(points("stepscope.memory.module", &labels, &json!("1")), [LivePoint::Module(module)]);
    let labels = [
        ("stepscope.path", text("step/fit")),
        ("code.file.path", text("src/fit.rs")),
        ("code.line.number", number(7)),
    ];
    let section = LivePoint::Section { path: "step/fit".into(), file: "src/fit.rs".into(), line: 7 };
    assert_eq!(points("stepscope.memory.section", &labels, &json!("1")), [section]);
    let labels = [("stepscope.memory.dropped", text("truncated"))];
    assert_eq!(
        points("stepscope.memory.sampling.dropped", &labels, &json!("3")),
        [LivePoint::Dropped(LiveDropped::Truncated, 3)]
    );
}

#[test]
fn what_makes_no_sense_is_no_point() {
    assert_eq!(points("stepscope.memory.live.sampled", &[], &json!("-5")), []);
    assert_eq!(points("stepscope.memory.stack", &[], &json!("1")), []);
    let labels = [("stepscope.memory.dropped", text("anything"))];
    assert_eq!(points("stepscope.memory.sampling.dropped", &labels, &json!("3")), []);
    // An age of another type is that of none.
    let labels = [("stepscope.memory.age", text("old"))];
    let rest = LiveRow { path: String::new(), stack: None, age_steps: None, amount: 3 };
    assert_eq!(points("stepscope.memory.live.sampled", &labels, &json!("3")), [LivePoint::Bytes(rest)]);
}
