//! Memory of each process over its steps, kept apart so that one that leaks among many is not averaged away. Whether it leaks
//! is told in `detector`.

use serde::{Deserialize, Serialize};
use stepscope_model::{Figure, Span};

use super::detector::LARGEST_BYTES;
use crate::accumulate::accumulate;
use crate::summary::Gauge;

/// Bytes at the ends of the steps of one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Held {
    count: u64,
    sum: u64,
    most: u64,
}

accumulate!(Held { sum: count, sum; max: most; });

impl Held {
    fn of(bytes: Option<u64>) -> Self {
        let value = bytes.unwrap_or(0);
        Self { count: bytes.is_some().into(), sum: value, most: value }
    }

    pub(crate) fn gauge(&self) -> Option<Gauge> {
        let mean = self.sum.checked_div(self.count)?;
        Some(Gauge { count: self.count, min: mean, max: self.most, mean })
    }
}

/// Memory of a process in the steps of one point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct MemoryPoint {
    pub(crate) live: Held,
    pub(crate) rss: Held,
    /// Values that no memory has: a counter that went below zero.
    pub(crate) impossible: u64,
}

accumulate!(MemoryPoint { sum: impossible; merge: live, rss; });

impl MemoryPoint {
    /// Of a step; absent where it says nothing of memory.
    pub(crate) fn of(root: &Span) -> Option<Self> {
        let said = [Figure::LiveBytes, Figure::RssBytes].map(|figure| root.figure(figure).is_some());
        let [live, rss] = [measured(root, Figure::LiveBytes), measured(root, Figure::RssBytes)];
        let known = [live, rss].map(|bytes| bytes.is_some());
        let impossible = said.iter().zip(known).filter(|(said, known)| **said && !known).count() as u64;
        let point = Self { live: Held::of(live), rss: Held::of(rss), impossible };
        said.contains(&true).then_some(point)
    }
}

/// Bytes that a step says, where memory can be of that size.
pub(crate) fn measured(root: &Span, figure: Figure) -> Option<u64> {
    root.amount(figure).filter(|bytes| *bytes < LARGEST_BYTES)
}
