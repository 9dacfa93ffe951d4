//! The points as instruments of a meter of OpenTelemetry's API. One is made for each metric as soon as that has a point; its
//! callback reads the holder. Points that are gone are not observed, so the SDK lets them vanish.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry::KeyValue;
use opentelemetry::metrics::Meter;
use stepscope_core::vocabulary::{Instrument, Metric};

use crate::exporter::{Follower, Latest};
use crate::points::{Label, Value, Visitor, visit};
use crate::snapshot::Snapshot;

/// The points of one collection.
#[derive(Debug, Default)]
struct Points {
    of: HashMap<&'static str, Observed>,
    row: &'static str,
}

#[derive(Debug, Default)]
struct Observed {
    points: Vec<(Vec<KeyValue>, Value)>,
    /// Whether the instrument has had them.
    taken: bool,
}

impl Visitor for Points {
    fn metric(&mut self, row: &'static Metric) {
        self.row = row.name;
    }

    fn point(&mut self, labels: &[Label<'_>], value: Value) {
        let labels = labels.iter().map(|&(key, text)| KeyValue::new(key, text.to_owned())).collect();
        self.of.entry(self.row).or_default().points.push((labels, value));
    }
}

impl Points {
    /// Those of a metric. All instruments of a collection have the points of one snapshot: it is read anew when one comes for
    /// the second time.
    fn take(&mut self, name: &'static str, latest: &Latest) -> &[(Vec<KeyValue>, Value)] {
        if self.of.get(name).is_none_or(|observed| observed.taken) {
            self.of.clear();
            latest.visit(self);
        }
        let observed = self.of.entry(name).or_default();
        observed.taken = true;
        &observed.points
    }
}

/// The instruments made so far.
pub(crate) struct Instruments {
    latest: Latest,
    meter: Meter,
    points: Arc<Mutex<Points>>,
    known: Vec<&'static Metric>,
}

impl Instruments {
    pub(crate) fn new(latest: Latest, meter: Meter) -> Self {
        Self { latest, meter, points: Arc::default(), known: Vec::new() }
    }

    pub(crate) fn follower(mut self) -> Follower {
        Follower { name: "OpenTelemetry's meter", follow: Box::new(move |snapshot| self.follow(snapshot)) }
    }

    /// Makes those of metrics that have not been seen before.
    pub(crate) fn follow(&mut self, snapshot: &Snapshot) {
        let mut new = New { known: &mut self.known, row: None, found: Vec::new() };
        visit(snapshot, self.latest.budget, &mut new);
        for (row, is_integer) in new.found {
            self.make(row, is_integer);
        }
    }

    fn make(&self, row: &'static Metric, is_integer: bool) {
        let (latest, points) = (self.latest.clone(), Arc::clone(&self.points));
        let each = move |observe: &dyn Fn(Value, &[KeyValue])| {
            let mut points = points.lock().unwrap_or_else(PoisonError::into_inner);
            for (labels, value) in points.take(row.name, &latest) {
                observe(*value, labels);
            }
        };
        let integer = |value: Value| match value {
            Value::Int(value) => value,
            Value::Double(value) => value as u64,
        };
        let double = |value: Value| match value {
            Value::Int(value) => value as f64,
            Value::Double(value) => value,
        };
        let signed = move |value| i64::try_from(integer(value)).unwrap_or(i64::MAX);
        macro_rules! make {
            ($kind:ident, $number:expr) => {{
                let builder = self.meter.$kind(row.name).with_unit(row.unit).with_description(row.doc.trim());
                let _ = builder
                    .with_callback(move |observer| {
                        each(&|value, labels| observer.observe($number(value), labels));
                    })
                    .build();
            }};
        }
        match (row.instrument, is_integer) {
            (Instrument::Counter, true) => make!(u64_observable_counter, integer),
            (Instrument::Counter, false) => make!(f64_observable_counter, double),
            (Instrument::UpDownCounter, true) => make!(i64_observable_up_down_counter, signed),
            (Instrument::UpDownCounter, false) => make!(f64_observable_up_down_counter, double),
            // The exporter has no histograms.
            (Instrument::Gauge | Instrument::Histogram, true) => make!(u64_observable_gauge, integer),
            (Instrument::Gauge | Instrument::Histogram, false) => make!(f64_observable_gauge, double),
        }
    }
}

/// Finds metrics without an instrument, and the type of their values.
struct New<'k> {
    known: &'k mut Vec<&'static Metric>,
    row: Option<&'static Metric>,
    found: Vec<(&'static Metric, bool)>,
}

impl Visitor for New<'_> {
    fn metric(&mut self, row: &'static Metric) {
        self.row = (!self.known.iter().any(|known| std::ptr::eq(*known, row))).then_some(row);
    }

    fn point(&mut self, _: &[Label<'_>], value: Value) {
        if let Some(row) = self.row.take() {
            self.known.push(row);
            self.found.push((row, matches!(value, Value::Int(_))));
        }
    }
}
