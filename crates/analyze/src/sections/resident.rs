//! Resident memory over the calls of a section, as steps read it and samples tell it of other sections that were long enough.

use serde::{Deserialize, Serialize};
use stepscope_model::{Figure, FigureSet, Span};

use crate::accumulate::accumulate;
use crate::accumulate::saturate::saturate_signed;
use crate::summary::SectionResident;

/// What says something of it.
pub(super) const SET: FigureSet = FigureSet::of(&[Figure::RssDeltaBytes, Figure::RssPeakBytes]);

/// Of the calls of one path.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct ResidentAcc {
    spans: u64,
    delta_bytes: i128,
    largest_delta_bytes: Option<i64>,
    peak_bytes: Option<u64>,
}

accumulate!(ResidentAcc { sum: spans, delta_bytes; max: largest_delta_bytes, peak_bytes; });

impl ResidentAcc {
    /// Adds a call that has one of [`SET`].
    #[cold]
    pub(super) fn add(&mut self, span: &Span) {
        self.peak_bytes = self.peak_bytes.max(span.amount(Figure::RssPeakBytes));
        if let Some(delta) = span.figure(Figure::RssDeltaBytes) {
            self.spans = self.spans.saturating_add(1);
            self.delta_bytes = self.delta_bytes.saturating_add(delta.into());
            self.largest_delta_bytes = self.largest_delta_bytes.max(Some(delta));
        }
    }

    /// What is told of it; nothing where no call says anything.
    pub(super) fn finish(&self) -> Option<SectionResident> {
        Some(SectionResident {
            spans: self.spans,
            delta_bytes: saturate_signed(self.delta_bytes),
            largest_delta_bytes: self.largest_delta_bytes?,
            peak_bytes: self.peak_bytes,
        })
    }
}
