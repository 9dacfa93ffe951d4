//! CRISP's cases as the readers give them: parents, links and processes are those that the reader found, and
//! the report's own fold walks them too.

use std::collections::BTreeMap;

use stepscope_analyze::critical::{Member, NO_PARENT};
use stepscope_model::{ReadOptions, Reader, Sink, Trace};

use super::{cases, expected_of_crisp, json, path};

/// OpenTelemetry's numbers of the span kinds at both ends of a queue.
const PRODUCER: i32 = 4;
const CONSUMER: i32 = 5;

#[derive(Default)]
struct Traces(Vec<Trace>);

impl Sink for Traces {
    fn trace(&mut self, trace: &Trace) {
        self.0.push(trace.clone());
    }
}

fn members(trace: &Trace) -> Vec<Member> {
    let place = |id: u64| trace.spans.iter().position(|span| span.id == id);
    trace
        .spans
        .iter()
        .map(|span| {
            let parent = span.parent.and_then(place);
            // What follows from another span is no child of it: a link into its own trace.
            let follows = trace.links.iter().any(|link| link.span == span.id && link.trace == trace.id);
            let is_queued = span.span_kind == CONSUMER
                && parent.is_some_and(|parent| trace.spans[parent].span_kind == PRODUCER);
            Member {
                start_ns: span.start_ns,
                end_ns: span.end_ns,
                parent: parent.map_or(NO_PARENT, |parent| parent as u32),
                id: span.id,
                process: span.process,
                is_detached: is_queued || (parent.is_none() && follows),
            }
        })
        .collect()
}

#[test]
fn exclusive_times_of_traces_that_were_read_are_those_that_crisp_expects() {
    let folders = ["crisp", "crisp/err_pattern1", "crisp/err_pattern3"];
    let mut with_several_processes = 0;
    for file in folders.into_iter().flat_map(|folder| cases(folder).unwrap_or_default()) {
        let mut traces = Traces::default();
        let mut reader = Reader::new(ReadOptions::default());
        reader.read_path(&file, &mut traces).unwrap();
        let outcome = reader.finish(&mut traces);
        assert_eq!(traces.0.len(), 1, "{}: {:?}", file.display(), outcome.issues);
        let trace = &traces.0[0];
        let mut processes: Vec<u32> = trace.spans.iter().map(|span| span.process).collect();
        processes.sort_unstable();
        processes.dedup();
        with_several_processes += u32::from(processes.len() > 1);
        let mut exclusive: BTreeMap<&str, u64> = BTreeMap::new();
        for piece in path(&members(trace)) {
            let name = trace.text(trace.spans[piece.member as usize].name);
            *exclusive.entry(name).or_default() += (piece.end_ns - piece.start_ns) / 1_000;
        }
        // Services are not in the names of sections: CRISP's `[service] operation` without them.
        let document = json(&file);
        let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
        for (operation, time) in expected_of_crisp(&document) {
            *expected.entry(operation.split_once("] ").unwrap().1).or_default() += time;
        }
        assert_eq!(exclusive, expected, "{}", file.display());
    }
    if cases("crisp").is_some() {
        assert!(with_several_processes >= 5, "{with_several_processes}");
    }
}
