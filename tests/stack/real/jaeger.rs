//! What Jaeger has of a run: every step opens by both of its APIs, attributes have kept their types, links lead to
//! the run.

use serde_json::Value;
use stepscope_stack_tests::http;
use stepscope_stack_tests::program::parse;
use stepscope_stack_tests::recorded::{self, Recorded};
use stepscope_stack_tests::stack::Stack;
use stepscope_stack_tests::traces::{self, Traces, integer, root, text, without_repairs};

/// The spans of a trace by API v3; that there are none is an error.
pub(crate) fn open(stack: &Stack, trace: &str) -> Result<Traces, String> {
    let answer = http::get(stack.address("JAEGER_QUERY"), &format!("/api/v3/traces/{trace}"))?;
    let mut traces = Traces::new();
    traces::add(&mut traces, &without_repairs(parse(&answer)?)["result"]);
    Ok(traces)
}

#[test]
fn every_step_opens_as_it_was_sent() {
    let recorded = recorded::demo(&[], &[], &["--steps", "220"], "protobuf").expect("a run");
    let Recorded { stack, spans: accepted, .. } = &recorded;
    assert_eq!(stack.wait_for_stored(*accepted), Ok(*accepted), "each once");
    stack.change("stop", "collector").expect("stops, hence flushes its files");
    let mut sent = Traces::new();
    traces::of_json_lines(&stack.data("json/traces.jsonl"), &mut sent).expect("traces");
    assert_eq!(sent.values().map(|spans| spans.len() as u64).sum::<u64>(), *accepted);

    let run = sent.iter().find(|(_, spans)| {
        root(spans).is_some_and(|root| text(root, "stepscope.section.kind") == Some("run"))
    });
    let run = run.expect("the run's trace").0.clone();
    let (mut steps, mut numbers) = (0, 0);
    for (trace, spans) in &sent {
        let stored = open(stack, trace).expect("it opens");
        assert_eq!(stored.len(), 1, "{trace}");
        // Names, times, parents, links, events, status, and attributes with their types.
        assert_eq!(&stored[trace], spans, "{trace}");
        let root = root(spans).unwrap_or_else(|| panic!("{trace} has no root"));
        let Some(step) = integer(root, "stepscope.step") else { continue };
        if text(root, "stepscope.section.kind") != Some("step") {
            continue;
        }
        steps += 1;
        let links: Vec<&Value> = root["links"].as_array().expect("links").iter().collect();
        assert!(links.iter().any(|link| link["traceId"] == run.as_str()), "step {step}: {links:?}");
        numbers += check_v1(stack, trace, step, &run);
    }
    // 220 training steps; evaluation has steps of its own.
    assert!(steps >= 220, "{steps}");
    println!("{} traces and {steps} steps open as they were sent, {numbers} numbers typed", sent.len());
}

/// The same by the older API, which the page uses; gives how many tags are numbers.
fn check_v1(stack: &Stack, trace: &str, step: i64, run: &str) -> usize {
    let answer = http::get(stack.address("JAEGER_QUERY"), &format!("/api/traces/{trace}")).expect("opens");
    let answer = parse(&answer).expect("JSON");
    let spans = answer["data"][0]["spans"].as_array().expect("spans");
    let tags = || spans.iter().flat_map(|span| span["tags"].as_array().expect("tags"));
    let of = |key: &str| tags().find(|tag| tag["key"] == key);
    let number = of("stepscope.step").expect("the step's number");
    assert_eq!((&number["type"], &number["value"]), (&Value::from("int64"), &Value::from(step)));
    let references = spans.iter().flat_map(|span| span["references"].as_array().expect("references"));
    let mut follows = references.filter(|reference| reference["refType"] == "FOLLOWS_FROM");
    assert!(follows.any(|reference| reference["traceID"] == run), "step {step} follows from the run");
    for tag in tags()
        .filter(|tag| tag["key"].as_str().is_some_and(|key| key.ends_with("_ns") || key.ends_with("_bytes")))
    {
        assert!(tag["type"] == "int64" && tag["value"].is_i64(), "{tag}");
    }
    tags().filter(|tag| tag["value"].is_number()).count()
}
