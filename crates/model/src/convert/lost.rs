//! What a target cannot hold, counted by name.

use std::collections::BTreeMap;

use stepscope_otlp::{PointHead, Visitor};

use super::item::Any;

pub(super) const POINTS: &str = "points of metrics";
pub(super) const NANOSECONDS: &str = "times finer than a microsecond";
pub(super) const DROPPED_COUNTS: &str = "counts of what the writer dropped";
pub(super) const LINK_STATES: &str = "states of links";
pub(super) const SCOPE_ATTRIBUTES: &str = "attributes of scopes";
pub(super) const SCHEMA_URLS: &str = "schema URLs";
pub(super) const NESTED: &str = "types of nested values, which became text";
pub(super) const BYTES: &str = "types of bytes, which became base64";
pub(super) const NO_NUMBERS: &str = "doubles that are no numbers, which became text";
pub(super) const NEGATIVE: &str = "ends before starts";
pub(super) const TRACE_IDS: &str = "trace ids that are not of 16 bytes";
pub(super) const OWN_NAME: &str = "attributes called \"otlp\"";
pub(super) const FLAGS: &str = "flags other than sampled";

/// Counts by name. As a visitor it counts points, for targets that hold no metrics.
#[derive(Debug, Default)]
pub(super) struct Lost(BTreeMap<&'static str, u64>);

impl Lost {
    pub(super) fn note(&mut self, what: &'static str, count: u64) {
        if count > 0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    /// Notes what plain JSON has no type for, at any depth of a value.
    pub(super) fn untyped(&mut self, value: &Any) {
        match value {
            Any::Bytes(_) => self.note(BYTES, 1),
            Any::Double(bits) if !f64::from_bits(*bits).is_finite() => self.note(NO_NUMBERS, 1),
            Any::Array(items) => items.iter().for_each(|item| self.untyped(item)),
            Any::Map(items) => items.iter().for_each(|(_, item)| self.untyped(item)),
            _ => {}
        }
    }

    pub(super) fn append(&mut self, other: Self) {
        other.0.into_iter().for_each(|(what, count)| self.note(what, count));
    }

    pub(super) fn into_map(self) -> BTreeMap<&'static str, u64> {
        self.0
    }
}

impl Visitor for Lost {
    fn point(&mut self, _: &PointHead<'_>) {
        self.note(POINTS, 1);
    }
}
