//! A series as pieces of time: what its value or its rate was from one reading to the next. Where that is not known, as before
//! the first reading of a counter or where it began anew, there is no piece.

use crate::metrics::series::Series;

/// Parts of a unit that accumulators count.
const PARTS: f64 = 1e6;
/// A reading stands for no more than so many times the usual time between two of them.
const MOST_USUAL: u64 = 3;
/// Part of a window that pieces have to cover.
const MIN_COVERED: f64 = 0.5;

/// The time from a reading (without it) to the next one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Window {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

impl Window {
    pub(crate) const fn length_ns(self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }

    /// What both have in common.
    fn common_ns(self, other: Self) -> u64 {
        self.to_ns.min(other.to_ns).saturating_sub(self.from_ns.max(other.from_ns))
    }
}

/// A value, or a rate a second, over a time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Piece {
    pub(crate) window: Window,
    pub(crate) value: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// Pieces by time; none overlap.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Track {
    pieces: Vec<Piece>,
    /// Usual time between two readings; 0 with fewer than two.
    pub(crate) every_ns: u64,
    /// Times of readings.
    pub(crate) times: Vec<u64>,
}

impl Track {
    /// The pieces of a series.
    pub(crate) fn of(series: &Series) -> Self {
        if series.totals.len() > 0 {
            Self::of_totals(series)
        } else if series.increments.len() > 0 {
            Self::of_increments(series)
        } else {
            Self::of_gauges(series)
        }
    }

    fn of_gauges(series: &Series) -> Self {
        let readings: Vec<_> = series.gauges.iter().map(|(_, acc)| acc).filter(|acc| acc.count > 0).collect();
        let times: Vec<u64> = readings.iter().map(|acc| acc.last_ns).collect();
        let every_ns = usual(&times);
        let mut before: Option<u64> = None;
        let piece = |acc: &&crate::metrics::series::Gauges| {
            let window = since(before.replace(acc.last_ns), acc.last_ns, every_ns);
            let value = acc.sum as f64 / acc.count as f64 / PARTS;
            let of = |part: Option<i128>| part.map_or(value, |part| part as f64 / PARTS);
            Piece { window, value, least: of(acc.least), most: of(acc.most) }
        };
        Self { pieces: readings.iter().map(piece).collect(), every_ns, times }
    }

    fn of_totals(series: &Series) -> Self {
        let readings: Vec<_> = series.totals.iter().map(|(_, acc)| acc).filter(|acc| acc.count > 0).collect();
        let times: Vec<u64> = readings.iter().map(|acc| acc.time.0).collect();
        let pieces = readings.iter().zip(readings.iter().skip(1)).filter_map(|(first, second)| {
            let mean = |acc: &crate::metrics::series::Totals| acc.sum as f64 / acc.count as f64 / PARTS;
            let window = Window { from_ns: first.time.0, to_ns: second.time.0 };
            // A counter that is lower, or counts since another time, began anew: what was between is not known.
            let change = mean(second) - mean(first);
            if change < 0.0 || first.time.1 != second.time.1 || window.length_ns() == 0 {
                return None;
            }
            let value = change / (window.length_ns() as f64 / 1e9);
            Some(Piece { window, value, least: value, most: value })
        });
        Self { pieces: pieces.collect(), every_ns: usual(&times), times }
    }

    fn of_increments(series: &Series) -> Self {
        let readings: Vec<_> = series.increments.iter().map(|(_, acc)| acc).collect();
        let times: Vec<u64> = readings.iter().map(|acc| acc.last_ns).collect();
        let every_ns = usual(&times);
        let mut before = None;
        let pieces = readings.iter().filter(|acc| acc.covered_ns > 0).map(|acc| {
            let covered_ns = if every_ns == 0 { acc.covered_ns } else { every_ns };
            let window = since(before.replace(acc.last_ns), acc.last_ns, covered_ns);
            let value = acc.sum as f64 / PARTS / (acc.covered_ns as f64 / 1e9);
            Piece { window, value, least: value, most: value }
        });
        Self { pieces: pieces.collect(), every_ns, times }
    }

    fn within(&self, window: Window) -> impl Iterator<Item = (u64, &Piece)> {
        let first = self.pieces.partition_point(|piece| piece.window.to_ns <= window.from_ns);
        let pieces = self.pieces.get(first..).unwrap_or_default().iter();
        pieces
            .take_while(move |piece| piece.window.from_ns < window.to_ns)
            .map(move |piece| (piece.window.common_ns(window), piece))
            .filter(|(common_ns, _)| *common_ns > 0)
    }

    /// The mean over a window; absent where less than half of it is known.
    pub(crate) fn mean(&self, window: Window) -> Option<f64> {
        let (mut sum, mut known_ns) = (0.0, 0u64);
        for (common_ns, piece) in self.within(window) {
            sum += piece.value * common_ns as f64;
            known_ns = known_ns.saturating_add(common_ns);
        }
        let covered = known_ns as f64 / window.length_ns().max(1) as f64;
        (known_ns > 0 && covered >= MIN_COVERED).then(|| sum / known_ns as f64)
    }

    /// What a counter rose by in a window, what is not known of it taken to be like the rest; absent where less than half is
    /// known.
    pub(crate) fn risen(&self, window: Window) -> Option<f64> {
        Some(self.mean(window)? * window.length_ns() as f64 / 1e9)
    }

    /// Whether a counter rose at any time.
    pub(crate) fn ever_rose(&self) -> bool {
        self.pieces.iter().any(|piece| piece.value > 0.0)
    }

    /// The largest value in a window.
    pub(crate) fn most(&self, window: Window) -> Option<f64> {
        self.within(window).map(|(_, piece)| piece.most).max_by(f64::total_cmp)
    }

    /// The smallest value in a window.
    pub(crate) fn least(&self, window: Window) -> Option<f64> {
        self.within(window).map(|(_, piece)| piece.least).min_by(f64::total_cmp)
    }

    /// Whether a reading lies in a window, or one before it and one after.
    pub(crate) fn touches(&self, window: Window) -> bool {
        self.within(window).next().is_some()
    }

    /// The longest piece that a window has to do with.
    pub(crate) fn coarsest_ns(&self, window: Window) -> u64 {
        self.within(window).map(|(_, piece)| piece.window.length_ns()).max().unwrap_or(0)
    }
}

/// What a reading stands for: the time since the one before, or as long as is usual.
fn since(before: Option<u64>, at_ns: u64, every_ns: u64) -> Window {
    // One alone stands for a moment; so that it has a weight, for the last millisecond.
    let usual_ns = if every_ns == 0 { 1_000_000 } else { every_ns };
    let begin = at_ns.saturating_sub(usual_ns);
    let from_ns = match before {
        Some(before) if at_ns.saturating_sub(before) <= usual_ns.saturating_mul(MOST_USUAL) => before,
        Some(before) => begin.max(before),
        None => begin,
    };
    Window { from_ns, to_ns: at_ns }
}

/// The median of the times between readings.
fn usual(times: &[u64]) -> u64 {
    let apart: Vec<u64> = times.iter().zip(times.iter().skip(1)).map(|(a, b)| b.saturating_sub(*a)).collect();
    crate::accumulate::median::median(&apart)
}
