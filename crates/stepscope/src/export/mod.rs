//! From records to OTLP and out of the process: encoding, publication of aggregates, and the sinks. All of
//! it runs on the background thread.

pub(crate) mod directory;
pub(crate) mod encode;
pub(crate) mod exporter;
pub(crate) mod exporter_sink;
#[cfg(feature = "metrics")]
pub(crate) mod gauges;
#[cfg(feature = "http")]
pub(crate) mod http;
pub(crate) mod kept_steps;
pub(crate) mod known_callsite;
pub(crate) mod largest_sums;
#[cfg(feature = "mem")]
pub(crate) mod live_memory;
pub(crate) mod message;
pub(crate) mod poll_intervals;
pub(crate) mod publish;
#[cfg(feature = "http")]
pub(crate) mod run_info;
pub(crate) mod span_template;
pub(crate) mod thinning;
pub(crate) mod thread_names;
pub(crate) mod unusable_sink;

use std::time::Instant;

use crate::os::diagnostics::print_diagnostic;
use crate::shared::record::SectionRecord;
use crate::shared::sink_counts::SinkCounts;
use encode::Context;
use publish::Snapshot;

/// Name of the OTLP sink on the wire; here, for builds without it say by this name that they cannot send.
pub(crate) const OTLP: &str = "otlp";

/// Where records go. A sink never blocks for longer than a file write takes.
pub(crate) trait Sink {
    /// Name on the wire ([`stepscope_core::attr::SINK`]).
    fn name(&self) -> &'static str;
    /// Takes one record with its attached entries (unpacked bytes).
    fn record(&mut self, context: &Context<'_>, record: &SectionRecord, entries: &[u8]);
    /// Makes room for a publication, before it is known what the publication says of this sink's losses.
    fn prepare(&mut self) {}
    /// Takes a publication of the aggregates and losses.
    fn publish(&mut self, context: &Context<'_>, snapshot: &Snapshot);
    /// Takes the latest reading of gauges, if it keeps all of them and has not got that one; the last one whatever it keeps.
    #[cfg(feature = "metrics")]
    fn keep_reading(&mut self, _: &Context<'_>, _is_last: bool) {}
    /// Sends or writes what has been gathered.
    fn flush(&mut self, context: &Context<'_>);
    /// The same where somebody waits for it: nothing that has come is held back.
    fn flush_all(&mut self, context: &Context<'_>) {
        self.flush(context);
    }
    /// The same for the last time.
    fn finish(&mut self, context: &Context<'_>) {
        self.flush_all(context);
    }
    /// Works on what is under way until `until` at the latest; returns whether anything is left to do.
    fn work(&mut self, until: Instant) -> bool;
    /// What happened so far.
    fn counts(&self) -> SinkCounts;
    /// Whether the last publication could not be written.
    fn lacks_sums(&self) -> bool {
        false
    }
    /// Number of the last message that went to the transport; 0 where there is none.
    fn handed_over(&self) -> u64 {
        0
    }
    /// Up to this number every message was acknowledged or dropped.
    fn settled(&self) -> u64 {
        u64::MAX
    }
    /// Whether the last try failed, so that the next ones may take long.
    fn is_in_trouble(&self) -> bool {
        false
    }
}

/// Says something on standard error, once a process and kind of trouble.
pub(crate) fn warn_once(said: &mut bool, text: &str) {
    if !std::mem::replace(said, true) {
        print_diagnostic(text);
    }
}
