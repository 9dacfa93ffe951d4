//! Where the spans of a step are drawn: in the lane of their thread, each below its parent and where nothing else is; and
//! batches that loaders made while the step waited for them, in a lane of their own.

use crate::accumulate::saturate::saturate_signed;
use crate::summary::Example;

/// Rows of a waterfall.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Rows {
    /// The row of each span within its lane.
    pub(crate) of_spans: Vec<usize>,
    /// How many rows each lane has.
    pub(crate) by_lane: Vec<usize>,
}

/// Lays out the spans of a step.
pub(crate) fn rows(example: &Example) -> Rows {
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

/// A batch while it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Making {
    /// Place of the span that waited for it.
    pub(crate) span: usize,
    /// Its row within the lane.
    pub(crate) row: usize,
    /// When it was begun, after the start of the step.
    pub(crate) offset_ns: i64,
    pub(crate) duration_ns: u64,
}

/// The batches that were being made while spans waited for them. A batch is taken as the wait ends, so that its times are
/// known backwards from there.
pub(crate) fn makings(example: &Example) -> Vec<Making> {
    let mut ends: Vec<i128> = Vec::new();
    let mut waits: Vec<(i128, u64, usize)> = Vec::new();
    for (at, span) in example.spans.iter().enumerate() {
        let Some((batch, duration_ns)) =
            span.batch.as_ref().and_then(|batch| Some((batch, batch.produce_ns?)))
        else {
            continue;
        };
        let waited = i128::from(span.offset_ns);
        let ready = waited + i128::from(span.duration_ns) - i128::from(batch.queue_ns.unwrap_or(0));
        let is_in_step = ready > 0 && ready - i128::from(duration_ns) < i128::from(example.step.duration_ns);
        if ready > waited && is_in_step && duration_ns > 0 {
            waits.push((ready - i128::from(duration_ns), duration_ns, at));
        }
    }
    waits.sort_unstable();
    let row_of = |(start, duration_ns, span): (i128, u64, usize)| {
        let row = ends.iter().position(|end| *end <= start).unwrap_or(ends.len());
        let until = start + i128::from(duration_ns);
        match ends.get_mut(row) {
            Some(end) => *end = until,
            None => ends.push(until),
        }
        Making { span, row, offset_ns: saturate_signed(start), duration_ns }
    };
    waits.into_iter().map(row_of).collect()
}

#[cfg(test)]
mod tests {
    use stepscope_core::Mode;

    use super::*;
    use crate::summary::{ExampleBatch, ExampleSpan, Lane, SlowStep};

    /// Spans as (parent, lane, start, end).
    fn laid(spans: &[(Option<u64>, u64, i64, i64)]) -> Rows {
        rows(&example(spans))
    }

    fn example(spans: &[(Option<u64>, u64, i64, i64)]) -> Example {
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
            running: vec![],
        };
        Example {
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
        }
    }

    #[test]
    fn batches_are_drawn_where_they_were_made_while_somebody_waited() {
        let mut step =
            example(&[(None, 0, 0, 100), (Some(0), 0, 0, 40), (Some(0), 0, 60, 90), (Some(0), 0, 90, 95)]);
        let mut waits = |span: usize, produce_ns, queue_ns| {
            step.spans[span].batch = Some(ExampleBatch { trace_id: None, produce_ns, queue_ns });
        };
        // Ready at 35 and begun 60 before; ready at 90 after 70; ready before the wait began.
        waits(1, Some(60), Some(5));
        waits(2, Some(70), None);
        waits(3, Some(10), Some(5));
        let drawn: Vec<_> =
            makings(&step).iter().map(|one| (one.span, one.row, one.offset_ns, one.duration_ns)).collect();
        assert_eq!(drawn, [(1, 0, -25, 60), (2, 1, 20, 70)]);
        step.spans[2].batch = Some(ExampleBatch { trace_id: None, produce_ns: None, queue_ns: Some(1) });
        assert_eq!(makings(&step).len(), 1);
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
