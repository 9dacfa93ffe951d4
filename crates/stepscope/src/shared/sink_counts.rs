//! What became of spans in a sink: its thread says it, the figures and the report tell it.

use stepscope_core::LossReason;

/// What a sink did with the spans it was given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SinkCounts {
    pub exported: u64,
    pub dropped: [u64; LossReason::ALL.len()],
}

impl SinkCounts {
    pub(crate) fn drop_spans(&mut self, reason: LossReason, spans: u64) {
        if let Some(count) = self.dropped.get_mut(reason as usize) {
            *count += spans;
        }
    }

    /// Of so many spans that were emitted, without those `lost` before, what has not come to its end here is lost: nothing
    /// goes on.
    #[must_use]
    pub(crate) fn without_the_rest(mut self, emitted: u64, lost: &[u64]) -> Self {
        let meant = emitted.saturating_sub(lost.iter().sum());
        let settled = self.exported + self.dropped.iter().sum::<u64>();
        self.drop_spans(LossReason::Shutdown, meant.saturating_sub(settled));
        self
    }
}
