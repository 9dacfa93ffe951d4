//! A metric of the program's: its series, the cells behind them, and its rows of the table, made when it is read first. Names and
//! labels are made fit before.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stepscope_core::vocabulary::{Instrument, Metric, Stability, Tier};

use crate::facade::cells::{GaugeCell, HistogramCell};
use crate::points::Value;
use crate::snapshot::UserLabels;
use crate::view::names;

/// Shares of a histogram's values, as label and number.
const QUANTILES: [(&str, f64); 4] = [("0.5", 0.5), ("0.95", 0.95), ("0.99", 0.99), ("1", 1.0)];
/// The label of these.
pub(super) const QUANTILE: &str = "quantile";

/// The series of a metric.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) name: String,
    pub(super) kind: Kind,
    /// Made at the first reading; several of a histogram; none if every name was taken.
    pub(super) rows: Option<Vec<&'static Metric>>,
    pub(super) series: Vec<Series>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

#[derive(Debug)]
pub(super) struct Series {
    labels: UserLabels,
    /// With that of each quantile, for histograms.
    quantiles: Vec<UserLabels>,
    cell: Cell,
}

#[derive(Debug)]
pub(super) enum Cell {
    Counter(Arc<AtomicU64>),
    Gauge(Arc<GaugeCell>),
    Histogram(Arc<HistogramCell>),
}

impl Family {
    pub(super) fn new(name: String, kind: Kind, series: Series) -> Self {
        Self { name, kind, rows: None, series: vec![series] }
    }

    /// Takes one more. Keys that differ in what was cut are one series, which has one of the values.
    pub(super) fn add(&mut self, series: Series) {
        if self.series.iter().all(|other| other.labels != series.labels) {
            self.series.push(series);
        }
    }

    /// Its rows under this name, if nothing else has that.
    pub(super) fn claim(
        &self,
        name: &str,
        (unit, doc): (&'static str, &str),
        names: &mut HashSet<String>,
    ) -> Option<Vec<&'static Metric>> {
        let parts: &[(&str, Instrument, &'static str)] = match self.kind {
            Kind::Counter => &[("", Instrument::Counter, unit)],
            Kind::Gauge => &[("", Instrument::Gauge, unit)],
            Kind::Histogram => &[
                ("", Instrument::Gauge, unit),
                (".count", Instrument::Counter, ""),
                (".sum", Instrument::UpDownCounter, unit),
            ],
        };
        let keys: Vec<&'static str> =
            self.series.iter().take(1).flat_map(|series| series.labels.iter().map(|(key, _)| *key)).collect();
        let row = |(end, instrument, unit): &(&str, Instrument, &'static str)| Metric {
            name: Box::leak(format!("{name}{end}").into_boxed_str()),
            instrument: *instrument,
            unit,
            doc: Box::leak(doc.to_owned().into_boxed_str()),
            attributes: Box::leak(keys.clone().into_boxed_slice()),
            stability: Stability::Contract,
            source: "the facade metrics",
            tier: Tier::Pass,
        };
        let rows: Vec<Metric> = parts.iter().map(row).collect();
        let wanted: HashSet<String> =
            rows.iter().flat_map(|row| [names::family(row), names::sample(row)]).collect();
        if wanted.iter().any(|name| names.contains(name)) {
            return None;
        }
        names.extend(wanted);
        Some(rows.into_iter().map(|row| &*Box::leak(Box::new(row))).collect())
    }
}

impl Series {
    pub(super) fn new(labels: Vec<(&'static str, Arc<str>)>, cell: Cell) -> Self {
        let with = |(quantile, _): &(&'static str, f64)| -> UserLabels {
            labels.iter().cloned().chain([(QUANTILE, Arc::from(*quantile))]).collect()
        };
        let is_histogram = matches!(cell, Cell::Histogram(_));
        let quantiles = if is_histogram { QUANTILES.iter().map(with).collect() } else { Vec::new() };
        Self { labels: labels.into(), quantiles, cell }
    }

    /// What of it is in the `part`th row of the family.
    pub(super) fn read(
        &self,
        row: &'static Metric,
        part: usize,
        put: &mut impl FnMut(&'static Metric, &UserLabels, Value),
    ) {
        match &self.cell {
            Cell::Counter(cell) => put(row, &self.labels, Value::Int(cell.load(Ordering::Relaxed))),
            Cell::Gauge(cell) => {
                if let Some(value) = cell.value() {
                    put(row, &self.labels, Value::Double(value));
                }
            }
            Cell::Histogram(cell) => {
                let (count, sum, quantiles) = cell.read(QUANTILES.map(|(_, share)| share));
                match part {
                    0 => {
                        for (labels, value) in self.quantiles.iter().zip(quantiles) {
                            if let Some(value) = value {
                                put(row, labels, Value::Double(value));
                            }
                        }
                    }
                    1 => put(row, &self.labels, Value::Int(count)),
                    _ => put(row, &self.labels, Value::Double(sum)),
                }
            }
        }
    }
}
