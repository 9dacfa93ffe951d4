//! Points of what is measured of machines, devices and processes: under the vocabulary's names, those of other writers, or, for
//! gauges, any. Sums of sections and spans are the business of `metric`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use stepscope_core::identity::hash_parts;
use stepscope_core::metric::{self, foreign};
use stepscope_core::vocabulary::{Instrument, Metric};
use stepscope_otlp::{MetricHead, MetricKind, Number, PointData, PointHead, Temporality, Value};

use super::value;
use crate::metric::{LABEL_END, label_keys};
use crate::{Measured, MeasuredKind};

/// Texts are cut to this many bytes.
const MAX_TEXT: usize = 256;
/// Attributes of a gauge that is not known; what is beyond tells series apart, and is not shown.
const MAX_FREE: usize = 8;
/// Larger values are damage.
const MAX_VALUE: f64 = 1e18;
/// Parts of a unit that a value counts.
const PARTS: f64 = 1e6;
/// The flag of a point that has no value, and says so.
const NO_VALUE: u32 = 1;

/// What a name stands for.
#[derive(Debug, Clone, Copy)]
struct Known {
    row: &'static Metric,
    label: Option<(&'static str, &'static str)>,
}

static KNOWN: LazyLock<HashMap<&'static str, Known>> = LazyLock::new(|| {
    let rows = || metric::exported().chain([&metric::row::PROCESS_MEMORY_USAGE]);
    let own = rows().map(|row| (row.name, Known { row, label: None }));
    let others = foreign::METRICS.iter().filter_map(|alias| {
        let row = rows().find(|row| row.name == alias.metric)?;
        Some((alias.name, Known { row, label: alias.label }))
    });
    own.chain(others).collect()
});

/// Units of other writers, and what one is in the vocabulary's.
const UNITS: [(&str, &str, f64); 12] = [
    ("%", "1", 0.01),
    ("ms", "s", 1e-3),
    ("us", "s", 1e-6),
    ("ns", "s", 1e-9),
    ("KiBy", "By", 1_024.0),
    ("MiBy", "By", 1_048_576.0),
    ("GiBy", "By", 1_073_741_824.0),
    ("MHz", "Hz", 1e6),
    ("mW", "W", 1e-3),
    ("mJ", "J", 1e-3),
    ("C", "Cel", 1.0),
    ("bytes", "By", 1.0),
];

/// How much of the vocabulary's unit one of `unit` is; absent where it is none.
fn scale(own: &str, unit: &str) -> Option<f64> {
    // What is counted is written between braces, and is called otherwise elsewhere.
    let is_count = |unit: &str| unit.starts_with('{') || unit == "1";
    if unit.is_empty() || unit == own || (is_count(own) && is_count(unit)) {
        return Some(1.0);
    }
    UNITS.iter().find(|(theirs, known, _)| *theirs == unit && *known == own).map(|&(.., scale)| scale)
}

/// What became of a point.
#[derive(Debug, PartialEq)]
pub(crate) enum Taken {
    /// It is one.
    Point(Measured),
    /// Its value is none.
    Damaged,
    /// It is nothing that is read, or says that it has no value.
    Nothing,
}

/// The metric at hand and the attributes of the point whose head is still to come.
#[derive(Debug, Default)]
pub(crate) struct MeasuredDraft {
    row: Option<&'static Metric>,
    /// Name of a gauge that is not known.
    free: Option<String>,
    kind: Option<MeasuredKind>,
    /// Absent where the unit is another.
    scale: Option<f64>,
    /// What the words of the next point change of that.
    point_scale: Option<f64>,
    /// Values in the order of the row's attributes.
    labels: Vec<String>,
    attributes: Vec<String>,
    others: u64,
    fixed: Option<(&'static str, &'static str)>,
}

impl MeasuredDraft {
    /// Starts a metric; whether it is one that is read.
    pub(crate) fn begin(&mut self, head: &MetricHead<'_>) {
        self.end();
        if !matches!(head.kind, MetricKind::Gauge | MetricKind::Sum) {
            return;
        }
        let known = KNOWN.get(head.name).copied();
        let is_increment = head.kind == MetricKind::Sum && head.temporality == Temporality::DELTA;
        match known {
            Some(Known { row, label }) => {
                self.kind = match (row.instrument == Instrument::Counter, is_increment) {
                    (true, true) => Some(MeasuredKind::Increment),
                    (true, false) => Some(MeasuredKind::Total),
                    (false, false) => Some(MeasuredKind::Gauge),
                    // Changes of what goes up and down add up to it only if none is lost.
                    (false, true) => return,
                };
                self.row = Some(row);
                self.fixed = label;
                self.scale = scale(row.unit, head.unit);
                self.labels.resize_with(label_keys(row).count(), String::new);
            }
            None if head.kind == MetricKind::Gauge && !head.name.is_empty() => {
                self.kind = Some(MeasuredKind::Gauge);
                self.free = Some(value::bounded(head.name, MAX_TEXT).to_owned());
                self.scale = Some(1.0);
            }
            None => {}
        }
    }

    /// Ends the metric.
    pub(crate) fn end(&mut self) {
        (self.row, self.free, self.kind, self.scale, self.fixed) = (None, None, None, None, None);
        self.labels.clear();
        self.clear();
    }

    fn clear(&mut self) {
        self.labels.iter_mut().for_each(String::clear);
        self.attributes.clear();
        self.others = 0;
        self.point_scale = None;
    }

    /// Takes one attribute of the next point.
    pub(crate) fn attribute(&mut self, key: &str, value: Value<'_>) {
        if self.kind.is_none() {
            return;
        }
        let number;
        let text = match value {
            Value::Str(text) => text,
            Value::Int(int) => {
                number = int.to_string();
                &number
            }
            Value::Bool(true) => "true",
            Value::Bool(false) => "false",
            _ => return,
        };
        let Some(row) = self.row else {
            if self.attributes.len() < MAX_FREE {
                let one = format!("{}={}", value::bounded(key, MAX_TEXT), value::bounded(text, MAX_TEXT));
                self.attributes.push(one);
            }
            return self.other(key, text);
        };
        let own = |wanted: &str| label_keys(row).position(|known| known == wanted);
        let alias = || {
            let names = foreign::ATTRIBUTES.iter().filter(|(name, _)| *name == key);
            names.filter_map(|&(_, key)| Some((own(key)?, key))).next()
        };
        let Some((at, key)) = own(key).map(|at| (at, key)).or_else(alias) else {
            return self.other(key, text);
        };
        let scale = foreign::SCALES.iter().find(|(of, other, _)| *of == key && *other == text);
        self.point_scale = scale.map(|&(.., scale)| scale).or(self.point_scale);
        let word = foreign::VALUES.iter().find(|(of, other, _)| *of == key && *other == text);
        let word = word.map_or(text, |&(.., own)| own);
        if let Some(slot) = self.labels.get_mut(at).filter(|slot| slot.is_empty()) {
            slot.extend(value::bounded(word, MAX_TEXT).chars().filter(|&letter| letter != LABEL_END));
        }
    }

    fn other(&mut self, key: &str, text: &str) {
        self.others = self.others.wrapping_add(hash_parts(&[key.as_bytes(), text.as_bytes()]));
    }

    /// The point that `head` closes; its attributes are forgotten.
    pub(crate) fn point(&mut self, head: &PointHead<'_>) -> Taken {
        let taken = self.taken(head);
        self.clear();
        taken
    }

    fn taken(&mut self, head: &PointHead<'_>) -> Taken {
        let (Some(kind), PointData::Number(number)) = (self.kind, &head.data) else { return Taken::Nothing };
        if head.flags & NO_VALUE != 0 {
            return Taken::Nothing;
        }
        let scale = self.scale.map(|scale| scale * self.point_scale.unwrap_or(1.0));
        let millionths = number.and_then(|number| millionths(number, scale?));
        let is_timed = head.time_unix_ns > 0 && i64::try_from(head.time_unix_ns).is_ok();
        let (Some(millionths), true) = (millionths, is_timed) else { return Taken::Damaged };
        if let Some((key, text)) = self.fixed {
            self.attribute(key, Value::Str(text));
        }
        let (name, labels) = match self.row {
            Some(row) => {
                let mut labels = String::new();
                for label in &self.labels {
                    labels.push_str(label);
                    labels.push(LABEL_END);
                }
                (Cow::Borrowed(row.name), labels)
            }
            None => {
                self.attributes.sort_unstable();
                (Cow::Owned(self.free.clone().unwrap_or_default()), self.attributes.join(", "))
            }
        };
        Taken::Point(Measured { name, labels: labels.into(), others: self.others, kind, millionths })
    }

    /// The name of the metric at hand.
    pub(crate) fn name(&self) -> &str {
        self.row.map_or_else(|| self.free.as_deref().unwrap_or_default(), |row| row.name)
    }
}

fn millionths(number: Number, scale: f64) -> Option<i128> {
    let value = match number {
        Number::Int(int) if scale == 1.0 => return Some(i128::from(int).saturating_mul(1_000_000)),
        Number::Int(int) => int as f64,
        Number::Double(double) => double,
    };
    let value = value * scale;
    (value.abs() < MAX_VALUE).then(|| (value * PARTS).round() as i128)
}
