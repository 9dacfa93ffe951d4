//! What the series were since the start: averages and peaks over stretches of passes. Bounded: where there are too many
//! stretches, each two become one. Of counters it has the rate.

use stepscope_core::vocabulary::{Instrument, Metric};

use crate::points::{Label, Value, Visitor, visit};
use crate::snapshot::Snapshot;

/// Stretches that are kept; between half of them and all are in use.
const MAX_STRETCHES: usize = 120;

/// The history of all series.
#[derive(Debug, Clone)]
pub struct History {
    tracks: Vec<Track>,
    /// Passes that make a stretch.
    stride: u64,
    /// Passes so far.
    passes: u64,
    started_unix_ns: u64,
    taken_unix_ns: u64,
}

/// One series.
#[derive(Debug, Clone)]
pub struct Track {
    /// Its row in the table.
    pub metric: &'static Metric,
    /// Its labels.
    pub labels: Vec<(&'static str, String)>,
    /// One for each stretch so far; those in which it was absent have no readings.
    pub stretches: Vec<Stretch>,
    /// Of a counter, the last value and the time of that.
    before: Option<(f64, u64)>,
}

/// Readings of a series in a stretch of time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Stretch {
    /// How many.
    pub readings: u64,
    /// Their sum.
    pub sum: f64,
    /// The greatest.
    pub peak: f64,
}

impl Stretch {
    /// Their average, where there are any.
    #[must_use]
    pub fn average(&self) -> Option<f64> {
        (self.readings > 0).then(|| self.sum / self.readings as f64)
    }

    fn add(&mut self, other: &Self) {
        if other.readings > 0 {
            self.peak = if self.readings > 0 { self.peak.max(other.peak) } else { other.peak };
            self.readings += other.readings;
            self.sum += other.sum;
        }
    }
}

impl Track {
    /// All readings.
    #[must_use]
    pub fn whole(&self) -> Stretch {
        let mut whole = Stretch::default();
        self.stretches.iter().for_each(|stretch| whole.add(stretch));
        whole
    }
}

impl Default for History {
    fn default() -> Self {
        Self { tracks: Vec::new(), stride: 1, passes: 0, started_unix_ns: 0, taken_unix_ns: 0 }
    }
}

impl History {
    /// Every series that there ever was, at most as many as the budget allows.
    #[must_use]
    pub fn tracks(&self) -> &[Track] {
        &self.tracks
    }

    /// The series of a metric.
    pub fn of(&self, name: &str) -> impl Iterator<Item = &Track> {
        self.tracks.iter().filter(move |track| track.metric.name == name)
    }

    /// When the first and the last reading were, by the system's clock.
    #[must_use]
    pub const fn span_unix_ns(&self) -> (u64, u64) {
        (self.started_unix_ns, self.taken_unix_ns)
    }

    /// Passes that make a stretch.
    #[must_use]
    pub const fn stride(&self) -> u64 {
        self.stride
    }

    pub(crate) fn record(&mut self, snapshot: &Snapshot, budget: usize) {
        if self.passes == 0 {
            self.started_unix_ns = snapshot.taken_unix_ns;
        }
        self.taken_unix_ns = snapshot.taken_unix_ns;
        if self.passes / self.stride >= MAX_STRETCHES as u64 {
            self.halve();
        }
        let index = usize::try_from(self.passes / self.stride).unwrap_or(0);
        self.passes += 1;
        let taken_unix_ns = snapshot.taken_unix_ns;
        let tracks = &mut self.tracks;
        visit(snapshot, budget, &mut Recorder { tracks, row: None, next: 0, index, taken_unix_ns, budget });
    }

    fn halve(&mut self) {
        self.stride *= 2;
        for track in &mut self.tracks {
            let halves = track.stretches.chunks(2).map(|pair| {
                let mut both = Stretch::default();
                pair.iter().for_each(|stretch| both.add(stretch));
                both
            });
            track.stretches = halves.collect();
        }
    }
}

struct Recorder<'h> {
    tracks: &'h mut Vec<Track>,
    row: Option<&'static Metric>,
    /// Where the next series is, if they are the same as last time.
    next: usize,
    index: usize,
    taken_unix_ns: u64,
    budget: usize,
}

impl Visitor for Recorder<'_> {
    fn metric(&mut self, row: &'static Metric) {
        self.row = Some(row);
    }

    fn point(&mut self, labels: &[Label<'_>], value: Value) {
        let Some(row) = self.row else { return };
        let is_it = |track: &Track| {
            let same = |((key, text), (label, known)): (&Label<'_>, &(&str, String))| {
                key == label && *text == *known
            };
            std::ptr::eq(track.metric, row)
                && track.labels.len() == labels.len()
                && labels.iter().zip(&track.labels).all(same)
        };
        let index = match self.tracks.get(self.next).filter(|track| is_it(track)) {
            Some(_) => self.next,
            None => match self.tracks.iter().position(is_it) {
                Some(index) => index,
                None if self.tracks.len() < self.budget => {
                    let labels = labels.iter().map(|(key, text)| (*key, (*text).to_owned())).collect();
                    self.tracks.push(Track { metric: row, labels, stretches: Vec::new(), before: None });
                    self.tracks.len() - 1
                }
                None => return,
            },
        };
        self.next = index + 1;
        let Some(track) = self.tracks.get_mut(index) else { return };
        let now = match value {
            Value::Int(value) => value as f64,
            Value::Double(value) => value,
        };
        let reading = if row.instrument == Instrument::Counter {
            let before = track.before.replace((now, self.taken_unix_ns));
            // A counter or a clock that went back says nothing of this time.
            let passed = before.map(|(value, time)| (now - value, self.taken_unix_ns.saturating_sub(time)));
            let Some((amount, time_ns)) = passed.filter(|(amount, time_ns)| *amount >= 0.0 && *time_ns > 0)
            else {
                return;
            };
            amount / (time_ns as f64 / 1e9)
        } else {
            now
        };
        if !reading.is_finite() {
            return;
        }
        if track.stretches.len() <= self.index {
            track.stretches.resize(self.index + 1, Stretch::default());
        }
        if let Some(stretch) = track.stretches.get_mut(self.index) {
            stretch.add(&Stretch { readings: 1, sum: reading, peak: reading });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepscope_core::metric::host;

    const SECOND: u64 = 1_000_000_000;

    /// A load of 1 to `passes`, and a counter that grows by 3 a second; the memory is known in every second pass.
    fn recorded(passes: u64) -> History {
        let mut history = History::default();
        for pass in 1..=passes {
            let mut snapshot = Snapshot { taken_unix_ns: pass * SECOND, passes: pass, ..Snapshot::default() };
            snapshot.host.load = [Some(pass as f64), None, None];
            snapshot.host.context_switches = Some(100 + 3 * pass);
            snapshot.host.cpus = pass.is_multiple_of(2).then_some(2);
            history.record(&snapshot, 1_000);
        }
        history
    }

    #[test]
    fn averages_and_peaks_are_those_of_all_readings_however_long_it_was() {
        for passes in [1, 2, 119, 120, 121, 240, 1_000] {
            let history = recorded(passes);
            let load = history.of(host::LOAD).next().unwrap().whole();
            assert_eq!((load.readings, load.peak), (passes, passes as f64), "{passes}");
            assert!((load.average().unwrap() - (passes + 1) as f64 / 2.0).abs() < 1e-9, "{passes}");
            let longest = history.tracks().iter().map(|track| track.stretches.len()).max().unwrap();
            assert!(longest <= MAX_STRETCHES && (passes <= 120 || longest >= MAX_STRETCHES / 2), "{longest}");
            assert_eq!(history.span_unix_ns(), (SECOND, passes * SECOND));
        }
    }

    #[test]
    fn of_a_counter_there_is_the_rate_and_absent_is_no_reading() {
        let history = recorded(1_000);
        let rate = history.of(host::CONTEXT_SWITCHES).next().unwrap().whole();
        assert_eq!((rate.readings, rate.average(), rate.peak), (999, Some(3.0), 3.0));
        let cpus = history.of(host::CPU_COUNT).next().unwrap().whole();
        assert_eq!((cpus.readings, cpus.average()), (500, Some(2.0)));
        assert_eq!(Stretch::default().average(), None);
    }

    #[test]
    fn a_counter_that_begins_again_has_no_rate_below_zero() {
        let mut history = History::default();
        for (time, count) in [(1, 10), (2, 15), (3, 2), (3, 4), (4, 6)] {
            let mut snapshot = Snapshot { taken_unix_ns: time * SECOND, ..Snapshot::default() };
            snapshot.host.context_switches = Some(count);
            history.record(&snapshot, 1_000);
        }
        let rate = history.of(host::CONTEXT_SWITCHES).next().unwrap().whole();
        assert_eq!((rate.readings, rate.sum), (2, 7.0));
    }
}
