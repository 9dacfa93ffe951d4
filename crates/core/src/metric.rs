//! Every metric that stepscope writes, once: here those of sections, which the layer publishes beside spans, and in
//! [`host`], [`device`] and [`program`] those of the exporter, in [`run`] those about runs as wholes, in
//! [`live`] those of live memory; what others call these is in
//! [`foreign`]. The sums of a section leave as integers, cumulative per (process instance, path): the latest point wins, so
//! retries and crashes do no harm.

use crate::attr;
use crate::vocabulary::{Instrument, Metric, Tier, stability};

/// A constant for each name, a static row for each metric in `row`, and the rows in `TABLE`. Rows that name no source and
/// tier are the layer's.
macro_rules! metrics {
    ($($(#[doc = $doc:literal])+ $name:ident = $key:literal, $instrument:ident, $unit:literal,
       [$($attribute:path),*] $(, $source:literal, $tier:ident)?;)+) => {
        $($(#[doc = $doc])+ pub const $name: &str = $key;)+

        /// The rows of the table, each by its name.
        pub mod row {
            use super::*;

            $($(#[doc = $doc])+ pub static $name: Metric =
                metrics!(@row [$($doc),+] $key, $instrument, $unit, [$($attribute),*] $(, $source, $tier)?);)+
        }

        /// All of them.
        pub const TABLE: &[Metric] = &[$(
            metrics!(@row [$($doc),+] $key, $instrument, $unit, [$($attribute),*] $(, $source, $tier)?)
        ),+];
    };
    (@row [$($doc:literal),+] $key:literal, $instrument:ident, $unit:literal, [$($attribute:path),*]) => {
        metrics!(@row [$($doc),+] $key, $instrument, $unit, [$($attribute),*], "", Layer)
    };
    (@row [$($doc:literal),+] $key:literal, $instrument:ident, $unit:literal, [$($attribute:path),*],
     $source:literal, $tier:ident) => {
        Metric {
            name: $key,
            instrument: Instrument::$instrument,
            unit: $unit,
            doc: concat!($($doc),+),
            attributes: &[$($attribute),*],
            stability: stability($key),
            source: $source,
            tier: Tier::$tier,
        }
    };
}

pub mod device;
pub mod foreign;
pub mod host;
pub mod live;
pub mod program;
pub mod run;

/// Every metric: those of [`TABLE`], which the layer writes and readers know, those of the exporter, those about runs, and those
/// of live memory.
pub fn all() -> impl Iterator<Item = &'static Metric> {
    TABLE.iter().chain(exported()).chain(run::TABLE).chain(live::TABLE)
}

/// The metrics of the exporter.
pub fn exported() -> impl Iterator<Item = &'static Metric> {
    host::TABLE.iter().chain(device::TABLE).chain(program::TABLE)
}

metrics! {
    /// Durations of a section, wall clock; count, min and max are exact, buckets within ±0.55 %.
    SECTION_DURATION = "stepscope.section.duration", Histogram, "ns", [attr::PATH, attr::PHASE, attr::SECTION_KIND];
    /// Sum of a section's durations.
    SECTION_TOTAL = "stepscope.section.total", Counter, "ns", [attr::PATH, attr::PHASE, attr::SECTION_KIND];
    /// Number of times a section ended; a section inside one of the same path is a part of that.
    SECTION_COUNT = "stepscope.section.count", Counter, "{section}", [attr::PATH, attr::PHASE, attr::SECTION_KIND];
    /// Time in a section without the sections entered inside it on the same thread.
    SECTION_SELF_BUSY = "stepscope.section.self_busy", Counter, "ns", [attr::PATH, attr::PHASE, attr::SECTION_KIND];
    /// Sum of the squares of a section's durations, low 63 bits.
    SECTION_SQUARES_LOW = "stepscope.section.squares.low", Counter, "ns2", [attr::PATH, attr::PHASE, attr::SECTION_KIND];
    /// Sum of the squares of a section's durations, bits above the low 63.
    SECTION_SQUARES_HIGH = "stepscope.section.squares.high", Counter, "ns2", [attr::PATH, attr::PHASE, attr::SECTION_KIND];
    /// Shortest duration of a section.
    SECTION_MIN = "stepscope.section.min", Gauge, "ns", [attr::PATH, attr::PHASE, attr::SECTION_KIND];
    /// Longest duration of a section.
    SECTION_MAX = "stepscope.section.max", Gauge, "ns", [attr::PATH, attr::PHASE, attr::SECTION_KIND];
    /// Bytes allocated inside a section, nested sections included.
    SECTION_ALLOC = "stepscope.section.alloc", Counter, "By", [attr::PATH, attr::PHASE, attr::SECTION_KIND];
    /// Bytes freed inside a section, nested sections included.
    SECTION_FREE = "stepscope.section.free", Counter, "By", [attr::PATH, attr::PHASE, attr::SECTION_KIND];
    /// Allocations inside a section, nested sections included.
    SECTION_ALLOC_COUNT = "stepscope.section.alloc_count", Counter, "{allocation}", [attr::PATH, attr::PHASE, attr::SECTION_KIND];
    /// Bytes allocated by a section itself, nested sections excluded.
    SECTION_SELF_ALLOC = "stepscope.section.self_alloc", Counter, "By", [attr::PATH, attr::PHASE, attr::SECTION_KIND];
    /// Bytes freed by a section itself, nested sections excluded.
    SECTION_SELF_FREE = "stepscope.section.self_free", Counter, "By", [attr::PATH, attr::PHASE, attr::SECTION_KIND];
    /// Call paths whose sums are not among those written, because these had no room; absent where there are none.
    SECTION_LEFT_OUT = "stepscope.section.left_out", Gauge, "{path}", [];
    /// Spans that ended and were meant to be exported.
    SPANS_EMITTED = "stepscope.spans.emitted", Counter, "{span}", [];
    /// Spans that a sink has taken for good.
    SPANS_EXPORTED = "stepscope.spans.exported", Counter, "{span}", [attr::SINK];
    /// Spans that were lost, by reason and sink (no sink: lost before any sink).
    SPANS_DROPPED = "stepscope.spans.dropped", Counter, "{span}", [attr::SINK, attr::LOSS_REASON];
    /// Resident memory of the process. It was a gauge once; readers take it as such, too.
    PROCESS_MEMORY_USAGE = "process.memory.usage", UpDownCounter, "By", [], "/proc/PID/stat", Pass;
    /// Bytes live in the process according to the counting allocator.
    MEM_LIVE = "stepscope.mem.live", Gauge, "By", [];
    /// The limit of memory that the process reaches first: of its control groups, its address space, the machine, or one that was set.
    MEM_LIMIT = "stepscope.mem.limit", Gauge, "By", [];
    /// What counts against that limit now, of other processes too where the limit is theirs as well.
    MEM_LIMIT_USED = "stepscope.mem.limit.used", Gauge, "By", [];
}

/// The low word of a sum of squares, as [`SECTION_SQUARES_LOW`] carries it.
#[must_use]
pub const fn squares_low(sum_of_squares: u128) -> i64 {
    (sum_of_squares & i64::MAX as u128) as i64
}

/// The high word, as [`SECTION_SQUARES_HIGH`] carries it; saturates.
#[must_use]
pub const fn squares_high(sum_of_squares: u128) -> i64 {
    let high = sum_of_squares >> 63;
    if high > i64::MAX as u128 { i64::MAX } else { high as i64 }
}

/// Puts the words together again; negative words are damage and count as 0.
#[must_use]
pub const fn squares(low: i64, high: i64) -> u128 {
    let low = if low < 0 { 0 } else { low as u128 };
    let high = if high < 0 { 0 } else { high as u128 };
    (high << 63) | low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::Stability;
    use std::collections::HashSet;

    #[test]
    fn every_name_is_declared_once() {
        let mut seen = HashSet::new();
        for row in all() {
            assert!(seen.insert(row.name), "{} twice", row.name);
            assert!(row.doc.trim().ends_with('.'), "{}", row.name);
            let ours = row.name.starts_with("stepscope.");
            assert_eq!(ours, row.stability == Stability::Contract, "{}", row.name);
        }
    }

    #[test]
    fn what_the_exporter_reads_has_a_source_and_declared_attributes() {
        for row in exported().chain(run::TABLE) {
            assert!(!row.source.is_empty() && row.tier != Tier::Layer, "{}", row.name);
            assert!(row.instrument != Instrument::Histogram, "{}: the exporter has none", row.name);
            for key in row.attributes {
                let place = attr::find(key).map(|attribute| attribute.place);
                assert!(place.is_some(), "{}: {key} is not declared", row.name);
            }
        }
    }

    #[test]
    fn a_row_by_its_name_is_that_of_the_table() {
        assert!(host::TABLE.contains(&host::row::CPU_TIME));
        assert_eq!(row::SECTION_COUNT.tier, Tier::Layer);
    }

    #[test]
    fn squares_survive_the_two_words() {
        for value in [0, 1, u128::from(u64::MAX), (1 << 126) - 1, 12_345_678_901_234_567_890_123] {
            assert_eq!(squares(squares_low(value), squares_high(value)), value);
        }
    }
}
