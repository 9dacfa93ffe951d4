//! From a snapshot to points under the names of the table: the one way that every view goes. Points of one metric come
//! together: the machine's and its devices' first, then the program's, and those of single processors last, so that a budget of series cuts what matters least.

mod device;
mod host;
mod program;

use stepscope_core::vocabulary::Metric;

use crate::snapshot::Snapshot;

/// A value of a point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// An amount that is counted.
    Int(u64),
    /// A measure.
    Double(f64),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

/// Attribute and value.
pub type Label<'a> = (&'static str, &'a str);

/// Takes points.
pub trait Visitor {
    /// The points that follow are of this metric. Each comes once at most, and has at least one point.
    fn metric(&mut self, row: &'static Metric);
    /// A point; no two of a metric have the same labels.
    fn point(&mut self, labels: &[Label<'_>], value: Value);
}

/// Series that were handed on, and those that were over the budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Series {
    /// Handed on.
    pub published: u64,
    /// Over the budget.
    pub left_out: u64,
}

/// Hands every figure of the snapshot that is known to the visitor, at most `budget` of them and a few of the exporter's
/// own.
pub fn visit(snapshot: &Snapshot, budget: usize, visitor: &mut dyn Visitor) -> Series {
    let mut walk =
        Walk { visitor, budget: budget as u64, row: None, is_open: false, series: Series::default() };
    host::visit(snapshot, &mut walk);
    device::visit(snapshot, &mut walk);
    program::visit(snapshot, &mut walk);
    host::cores(snapshot, &mut walk);
    walk.budget = u64::MAX;
    program::own(snapshot, &mut walk);
    walk.series
}

/// Digits of the largest number.
pub(crate) const MAX_DIGITS: usize = 20;

/// A number as text, without the library's ways for what is no plain number.
pub(crate) fn digits(mut value: u64, buffer: &mut [u8; MAX_DIGITS]) -> &str {
    let mut first = buffer.len();
    for digit in buffer.iter_mut().rev() {
        first -= 1;
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    buffer.get(first..).and_then(|digits| std::str::from_utf8(digits).ok()).unwrap_or_default()
}

/// The visitor, what it has been told, and what it may still be told.
struct Walk<'v> {
    visitor: &'v mut dyn Visitor,
    budget: u64,
    row: Option<&'static Metric>,
    is_open: bool,
    series: Series,
}

impl Walk<'_> {
    /// The points that follow are of this metric.
    fn of(&mut self, row: &'static Metric) -> &mut Self {
        (self.row, self.is_open) = (Some(row), false);
        self
    }

    /// A point, where the value is known.
    fn point(&mut self, labels: &[Label<'_>], value: Option<impl Into<Value>>) -> &mut Self {
        let (Some(value), Some(row)) = (value.map(Into::into), self.row) else { return self };
        if self.series.published >= self.budget {
            self.series.left_out += 1;
            return self;
        }
        if !self.is_open {
            self.visitor.metric(row);
            self.is_open = true;
        }
        self.series.published += 1;
        self.visitor.point(labels, value);
        self
    }

    /// A metric of one point.
    fn one(&mut self, row: &'static Metric, value: Option<impl Into<Value>>) {
        self.of(row).point(&[], value);
    }

    /// A metric with one point for each of the values of one attribute.
    fn each<V: Into<Value> + Copy>(
        &mut self,
        row: &'static Metric,
        key: &'static str,
        points: impl IntoIterator<Item = (&'static str, Option<V>)>,
    ) {
        self.of(row);
        for (label, value) in points {
            self.point(&[(key, label)], value);
        }
    }
}

#[cfg(test)]
mod tests;
