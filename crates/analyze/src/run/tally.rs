//! Counts of what was read; of a run and of each of its instances.

use serde::{Deserialize, Serialize};
use stepscope_core::{SectionKind, Signal};
use stepscope_model::Completeness;

use crate::accumulate::accumulate;
use crate::step_view::StepView;
use crate::step_view::place::Role;

/// Counts of what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) first_ns: Option<u64>,
    pub(crate) last_ns: Option<u64>,
    pub(crate) traces: u64,
    pub(crate) spans: u64,
    pub(crate) incomplete_traces: u64,
    pub(crate) missing_spans: u64,
    pub(crate) dropped_spans: u64,
    pub(crate) errors: u64,
    pub(crate) epochs_started: u64,
    pub(crate) epochs_ended: u64,
    pub(crate) has_started: bool,
    pub(crate) has_ended: bool,
    pub(crate) is_ours: bool,
    #[serde(with = "signal")]
    pub(crate) ended_by: Option<Signal>,
}

/// A signal as its name, which is empty for none.
mod signal {
    use serde::{Deserialize, Deserializer, Serializer};
    use stepscope_core::Signal;

    pub(crate) fn serialize<S: Serializer>(value: &Option<Signal>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(value.map_or("", Signal::as_str))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Signal>, D::Error> {
        Box::<str>::deserialize(deserializer).map(|name| Signal::parse(&name))
    }
}

accumulate!(Tally { least: first_ns; max: last_ns, ended_by; sum: traces, spans, incomplete_traces, missing_spans, dropped_spans, errors, epochs_started, epochs_ended; any: has_started, has_ended, is_ours; });

impl Tally {
    /// The counts of one trace.
    pub(crate) fn of(view: &StepView<'_>) -> Self {
        let spans = &view.trace.spans;
        let mut tally = Self {
            first_ns: spans.first().map(|span| span.start_ns),
            last_ns: spans.iter().map(|span| span.end_ns).max(),
            traces: 1,
            spans: spans.len() as u64,
            incomplete_traces: u64::from(view.trace.completeness == Completeness::Incomplete),
            missing_spans: view.missing_spans,
            dropped_spans: view.dropped_spans,
            is_ours: view.trace.is_ours,
            ..Self::default()
        };
        for (span, node) in spans.iter().zip(view.nodes) {
            tally.errors += u64::from(span.is_error);
            match (node.role, span.kind) {
                (Role::Marker, _) if span.is_device_annotation => {}
                (Role::Marker, SectionKind::Run) => tally.has_started = true,
                (Role::Marker, _) => tally.epochs_started += 1,
                (_, SectionKind::Run) => {
                    tally.has_ended = true;
                    tally.ended_by = tally.ended_by.max(span.signal);
                }
                (_, SectionKind::Epoch) => tally.epochs_ended += 1,
                _ => {}
            }
        }
        tally
    }
}
