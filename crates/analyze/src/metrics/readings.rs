//! The tracks of what belongs together, a machine's or a process', and sums and extremes over those of one metric.

use stepscope_core::metric;
use stepscope_core::vocabulary::Metric;
use stepscope_model::label;

use crate::metrics::SeriesKey;
use crate::metrics::series::Series;
use crate::metrics::track::{Track, Window};

/// One series of a source.
#[derive(Debug, Clone)]
pub(crate) struct Reading<'a> {
    pub(crate) row: &'static Metric,
    labels: &'a str,
    pub(crate) track: Track,
}

impl<'a> Reading<'a> {
    /// Of a metric of the vocabulary; absent where it is none.
    pub(crate) fn of(key: &'a SeriesKey, series: &Series) -> Option<Self> {
        let row = metric::all().find(|row| row.name == &*key.metric)?;
        Some(Self { row, labels: &key.labels, track: Track::of(series) })
    }

    /// The value of an attribute.
    pub(crate) fn label(&self, key: &str) -> Option<&'a str> {
        label(self.row, self.labels, key)
    }

    /// Whether an attribute has that value.
    pub(crate) fn is(&self, key: &str, value: &str) -> bool {
        self.label(key) == Some(value)
    }
}

/// Those of a machine, of a device of it, or of a process.
#[derive(Debug, Default)]
pub(crate) struct Readings<'r, 'a>(pub(crate) Vec<&'r Reading<'a>>);

impl<'r, 'a> Readings<'r, 'a> {
    /// Those of a metric.
    pub(crate) fn of(&self, name: &str) -> impl Iterator<Item = &'r Reading<'a>> {
        self.0.iter().copied().filter(move |reading| reading.row.name == name)
    }

    /// The sum of the means of some series of a metric; absent where there are none, or one is not known.
    pub(crate) fn sum(&self, name: &str, window: Window, is: impl Fn(&Reading<'a>) -> bool) -> Option<f64> {
        let mut sum = None;
        for reading in self.of(name).filter(|reading| is(reading) && reading.track.touches(window)) {
            sum = Some(sum.unwrap_or(0.0) + reading.track.mean(window)?);
        }
        sum
    }

    /// The largest of the means of some series of a metric.
    pub(crate) fn largest(
        &self,
        name: &str,
        window: Window,
        is: impl Fn(&Reading<'a>) -> bool,
    ) -> Option<f64> {
        let means = self.of(name).filter(|reading| is(reading)).filter_map(|one| one.track.mean(window));
        means.max_by(f64::total_cmp)
    }

    /// The mean of a metric that has one series.
    pub(crate) fn one(&self, name: &str, window: Window) -> Option<f64> {
        self.sum(name, window, |_| true)
    }

    /// The largest value that a series of a metric had.
    pub(crate) fn most(&self, name: &str, window: Window, is: impl Fn(&Reading<'a>) -> bool) -> Option<f64> {
        let values = self.of(name).filter(|reading| is(reading)).filter_map(|one| one.track.most(window));
        values.max_by(f64::total_cmp)
    }
}
