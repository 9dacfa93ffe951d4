//! Steps with their spans as columns: texts in one list, everything else integers.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Columns, zigzag};
use crate::document::examples::{self, Rows};
use crate::document::names::{named, printable};
use crate::report::Report;
use crate::summary::{ExampleBatch, ExampleSpan};

/// Texts, each once.
#[derive(Default)]
struct Texts {
    places: BTreeMap<String, u64>,
    all: Vec<String>,
}

impl Texts {
    fn place(&mut self, text: &str) -> u64 {
        let text = printable(text);
        if let Some(&place) = self.places.get(&text) {
            return place;
        }
        let place = self.all.len() as u64;
        self.all.push(text.clone());
        self.places.insert(text, place);
        place
    }
}

/// Writes the columns; gives the texts, and what is said of each step.
pub(super) fn encode(report: &Report, columns: &mut Columns) -> (Vec<String>, Vec<Value>) {
    let mut texts = Texts::default();
    let mut headers = Vec::new();
    for (at, example) in report.exemplars.iter().enumerate() {
        let Rows { of_spans, by_lane } = examples::rows(example);
        let spans = || example.spans.iter();
        let mut add = |name: &str, values: &mut dyn Iterator<Item = Option<u64>>| {
            columns.integers(&format!("example-{at}_{name}"), values);
        };
        let batch = |span: &ExampleSpan, figure: fn(&ExampleBatch) -> Option<u64>| {
            span.batch.as_ref().and_then(figure)
        };
        add("name", &mut spans().map(|span| Some(texts.place(&named(&span.name)))));
        add("phase", &mut spans().map(|span| Some(texts.place(span.phase.as_ref()?.as_str()))));
        let trace = |span: &ExampleSpan| span.batch.as_ref()?.trace_id.clone();
        add("batch", &mut spans().map(|span| Some(texts.place(&trace(span)?))));
        add("lane", &mut spans().map(|span| Some(span.lane)));
        add("row", &mut of_spans.iter().map(|row| Some(*row as u64)));
        add("offset", &mut spans().map(|span| Some(zigzag(span.offset_ns))));
        add("duration", &mut spans().map(|span| Some(span.duration_ns)));
        add("critical", &mut spans().map(|span| Some(span.critical_ns)));
        add("error", &mut spans().map(|span| Some(span.is_error.into())));
        add("produce", &mut spans().map(|span| batch(span, |batch| batch.produce_ns)));
        add("queue", &mut spans().map(|span| batch(span, |batch| batch.queue_ns)));
        let runs = || {
            let spans = example.spans.iter().zip(0u64..);
            spans.flat_map(|(span, at)| span.running.iter().map(move |run| (at, run)))
        };
        add("run_span", &mut runs().map(|(at, _)| Some(at)));
        add("run_offset", &mut runs().map(|(_, run)| Some(zigzag(run.offset_ns))));
        add("run_duration", &mut runs().map(|(_, run)| Some(run.duration_ns)));
        let pieces = || example.critical_path.iter();
        add("piece_span", &mut pieces().map(|piece| Some(piece.span)));
        add("piece_offset", &mut pieces().map(|piece| Some(piece.offset_ns)));
        add("piece_duration", &mut pieces().map(|piece| Some(piece.duration_ns)));
        let lanes = example.lanes.iter().enumerate();
        let makings = examples::makings(example);
        let makings = makings.iter().map(|one| {
            let words = printable(&examples::making_words(example, one));
            json!({ "row": one.row, "offset": one.offset_ns, "duration": one.duration_ns, "words": words })
        });
        headers.push(json!({
            "title": printable(&examples::title(report, example)),
            "primary": Some(example.mode.as_str()) == report.summary.mode,
            "lanes": lanes.map(|(at, lane)| printable(&examples::lane_name(lane, at))).collect::<Vec<_>>(),
            "rows": by_lane,
            "makings": makings.collect::<Vec<_>>(),
            "duration": example.step.duration_ns,
            "spans": example.spans_in_step,
        }));
    }
    (texts.all, headers)
}
