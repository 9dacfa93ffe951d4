//! What stands where a sink could not be set up: it loses every span, and says so by counting them. What is wrong was
//! said when the run began.

use std::time::Instant;

use stepscope_core::LossReason;

use super::Sink;
use super::encode::Context;
use super::publish::Snapshot;
use crate::shared::record::SectionRecord;
use crate::shared::sink_counts::SinkCounts;

/// See the module.
#[derive(Debug)]
pub(crate) struct UnusableSink {
    name: &'static str,
    reason: LossReason,
    counts: SinkCounts,
}

impl UnusableSink {
    /// In place of the sink of this name, whose losses have this reason.
    pub(crate) fn new(name: &'static str, reason: LossReason) -> Self {
        Self { name, reason, counts: SinkCounts::default() }
    }
}

impl Sink for UnusableSink {
    fn name(&self) -> &'static str {
        self.name
    }

    fn record(&mut self, _: &Context<'_>, _: &SectionRecord, _: &[u8]) {
        self.counts.drop_spans(self.reason, 1);
    }

    fn publish(&mut self, _: &Context<'_>, _: &Snapshot) {}

    fn flush(&mut self, _: &Context<'_>) {}

    fn work(&mut self, _: Instant) -> bool {
        false
    }

    fn counts(&self) -> SinkCounts {
        self.counts
    }
}
