//! Where the spans of a step are drawn: in the lane of their thread, each below its parent and where nothing else is.

use crate::summary::Example;

/// Rows of a waterfall.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::render::html) struct Rows {
    /// The row of each span within its lane.
    pub(in crate::render::html) of_spans: Vec<usize>,
    /// How many rows each lane has.
    pub(in crate::render::html) by_lane: Vec<usize>,
}

/// Lays out the spans of a step.
pub(in crate::render::html) fn rows(example: &Example) -> Rows {
    let mut laid = Rows { of_spans: Vec::new(), by_lane: vec![0; example.lanes.len()] };
    // By lane, where the last span of each row ends.
    let mut ends: Vec<Vec<i128>> = vec![Vec::new(); example.lanes.len()];
    for span in &example.spans {
        let lane = usize::try_from(span.lane).unwrap_or(usize::MAX);
        let start = i128::from(span.offset_ns);
        let parent = span.parent.and_then(|parent| usize::try_from(parent).ok());
        let around = parent.and_then(|parent| Some((example.spans.get(parent)?, laid.of_spans.get(parent)?)));
        let least = around.filter(|(parent, _)| parent.lane == span.lane).map_or(0, |(_, row)| row + 1);
        let mut row = least;
        if let Some(ends) = ends.get_mut(lane) {
            while ends.get(row).is_some_and(|end| *end > start) {
                row += 1;
            }
            if ends.len() <= row {
                ends.resize(row + 1, i128::MIN);
            }
            if let Some(end) = ends.get_mut(row) {
                *end = start + i128::from(span.duration_ns);
            }
        }
        if let Some(count) = laid.by_lane.get_mut(lane) {
            *count = (*count).max(row + 1);
        }
        laid.of_spans.push(row);
    }
    laid
}

#[cfg(test)]
mod tests {
    use stepscope_core::Mode;

    use super::*;
    use crate::summary::{ExampleSpan, Lane, SlowStep};

    /// Spans as (parent, lane, start, end).
    fn laid(spans: &[(Option<u64>, u64, i64, i64)]) -> Rows {
        let span = |&(parent, lane, start, end): &(Option<u64>, u64, i64, i64)| ExampleSpan {
            name: String::new(),
            parent,
            lane,
            phase: None,
            offset_ns: start,
            duration_ns: (end - start) as u64,
            critical_ns: 0,
            is_error: false,
            batch: None,
        };
        rows(&Example {
            mode: Mode::Train,
            roles: vec![],
            is_warmup: false,
            step: SlowStep {
                step: None,
                rank: None,
                duration_ns: 100,
                start_ns: 0,
                trace_id: String::new(),
                phases: vec![],
                unattributed_ns: 0,
            },
            span_id: String::new(),
            spans_in_step: spans.len() as u64,
            lanes: vec![Lane { thread_id: None, thread_name: None }; 2],
            spans: spans.iter().map(span).collect(),
            critical_path: vec![],
        })
    }

    #[test]
    fn children_are_below_their_parents_and_siblings_beside_each_other() {
        let rows = laid(&[
            (None, 0, 0, 100),
            (Some(0), 0, 0, 40),
            (Some(1), 0, 10, 20),
            (Some(0), 0, 40, 90),
            (Some(0), 1, 5, 50),
        ]);
        assert_eq!(rows, Rows { of_spans: vec![0, 1, 2, 1, 0], by_lane: vec![3, 1] });
    }

    #[test]
    fn what_overlaps_is_in_rows_of_its_own() {
        let rows =
            laid(&[(None, 0, 0, 100), (Some(0), 0, 0, 50), (Some(0), 0, 30, 60), (Some(0), 0, 55, 70)]);
        assert_eq!(rows.of_spans, [0, 1, 2, 1]);
        // A lane that is not there is no reason to fail.
        assert_eq!(laid(&[(Some(9), 7, 0, 1)]).of_spans, [0]);
    }
}
