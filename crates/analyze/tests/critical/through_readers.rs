//! The published cases as the readers give them: parents, links and processes are those that the reader found; and as
//! the report gives them.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stepscope_analyze::{Config, Partial, Summary};
use stepscope_model::{ReadOptions, Reader, Sink, Trace};
use stepscope_testkit::published;

use super::{CRISP, cases, expected_of_crisp, json, text};

#[derive(Debug)]
struct Fold(Partial);

impl Sink for Fold {
    fn trace(&mut self, trace: &Trace) {
        self.0.add(trace);
    }
}

/// What the report of a file is made of.
pub(crate) fn summary(name: &str, bytes: &[u8]) -> Summary {
    let mut fold = Fold(Partial::new(Config::default()));
    let mut reader = Reader::new(ReadOptions::default());
    reader.read_stream(name, bytes, &mut fold).unwrap();
    drop(reader.finish(&mut fold));
    fold.0.finish(None)
}

/// The summary of a trace of Jaeger's whose spans are named by their ids, so that each is a section of its own.
fn summary_by_span(trace: &Value) -> Summary {
    let mut trace = trace.clone();
    for span in trace["spans"].as_array_mut().unwrap() {
        span["operationName"] = span["spanID"].clone();
    }
    summary("case.json", json!({ "data": [trace] }).to_string().as_bytes())
}

/// The same case, each of whose spans names a thread of its own.
fn with_threads(document: &Value) -> Value {
    let mut document = document.clone();
    let key = if document["trace"].is_object() { "/trace/spans" } else { "/data/0/spans" };
    for (span, thread) in document.pointer_mut(key).unwrap().as_array_mut().unwrap().iter_mut().zip(1..) {
        let tag = json!({ "key": "thread.id", "type": "int64", "value": thread });
        match span["tags"].as_array_mut() {
            Some(tags) => tags.push(tag),
            None => span["tags"] = json!([tag]),
        }
    }
    document
}

/// The last name of a path, without the service of a span that another one called.
fn last(path: &str) -> String {
    let names = stepscope_core::path::split(path);
    let name = names.last().unwrap().to_string();
    name.rsplit(": ").next().unwrap().to_owned()
}

/// Microseconds on the critical path by the last name of the section.
fn on_path(summary: &Summary) -> BTreeMap<String, u64> {
    let critical = summary.critical_path.as_ref().unwrap();
    assert_eq!((critical.other_ns, critical.explained_share), (0, 1.0), "the root is a section");
    let mut times = BTreeMap::new();
    for section in &critical.sections {
        *times.entry(last(&section.path)).or_default() += section.on_path_ns;
    }
    times.retain(|_, time| *time > 0);
    times.values_mut().for_each(|time| *time /= 1_000);
    assert_eq!(times.values().sum::<u64>(), critical.total_ns / 1_000);
    times
}

#[test]
fn reports_have_the_exclusive_times_that_crisp_expects() {
    let Some(files) = cases(&CRISP) else { return };
    for file in files {
        let document = json(&file);
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        for (operation, time) in expected_of_crisp(&document) {
            *expected.entry(operation.split_once("] ").unwrap().1.to_owned()).or_default() += time;
        }
        for document in [&document, &with_threads(&document)] {
            let summary = summary("case.json", document.to_string().as_bytes());
            assert_eq!(on_path(&summary), expected, "{}", file.display());
        }
    }
}

#[test]
fn reports_have_the_paths_that_jaegers_ui_expects() {
    let Some(files) = cases(&["jaeger_ui/critical_path"]) else { return };
    for file in files {
        let document = json(&file);
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        for one in document["expected_critical_path_sections"].as_array().unwrap() {
            let number = |key: &str| one[key].as_u64().unwrap();
            *expected.entry(text(one, "spanID").to_owned()).or_default() +=
                number("sectionEnd") - number("sectionStart");
        }
        for document in [&document, &with_threads(&document)] {
            let summary = summary_by_span(&document["trace"]);
            assert_eq!(summary.critical_path.as_ref().unwrap().windows, 1, "{}", file.display());
            assert_eq!(on_path(&summary), expected, "{}", file.display());
        }
    }
}

/// What Jaeger's UI says of each span: the time in which none of its children ran, in microseconds.
#[test]
fn reports_have_the_self_times_that_jaegers_ui_expects() {
    let Some(root) = published::folder() else { return };
    let expected = json(&root.join("expected/jaeger_algorithm_and_self_time.json"));
    let expected = expected.as_object().unwrap();
    assert!(expected.len() >= 23, "{}", expected.len());
    for (name, expected) in expected {
        let document = json(&root.join(name));
        let traces = [document.get("trace"), document.pointer("/data/0"), Some(&document)];
        let summary = summary_by_span(traces.into_iter().flatten().next().unwrap());
        let got: BTreeMap<String, Option<u64>> = summary
            .sections
            .iter()
            .map(|section| (last(&section.path), section.self_ns.map(|time| time / 1_000)))
            .collect();
        let of_spans = expected["self_time_union_of_children"].as_object().unwrap();
        let expected: BTreeMap<String, Option<u64>> =
            of_spans.iter().map(|(span, time)| (span.clone(), time.as_u64())).collect();
        assert_eq!(got, expected, "{name}");
    }
}
