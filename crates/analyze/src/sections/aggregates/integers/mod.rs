//! The integers of one path, of which each has a time of its own and all nearly always the same one: a process sends
//! them together. Each process has them for each of its paths, so that they are packed once they are together.

use serde::{Deserialize, Serialize};

use crate::accumulate::postcard_values::Packed;
use crate::accumulate::{Latest, Merge};
use crate::sections::aggregates::INTEGERS;

/// By position in [`INTEGERS`].
type Each = [Option<Latest<i64>>; INTEGERS.len()];

/// The latest value of each.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Each", into = "Each")]
pub(crate) enum Integers {
    /// Positions and values, each position once: all were said at one time, of a count that began at one time.
    Together { time_ns: u64, start_ns: u64, values: Packed<(u8, i64)> },
    /// While a message is read that says newer ones, or where a process does not say all again.
    Apart(Box<Each>),
}

impl Integers {
    /// The value of this position.
    pub(crate) fn value(&self, index: usize) -> Option<i64> {
        match self {
            Self::Together { values, .. } => {
                values.iter().find(|&(at, _)| usize::from(at) == index).map(|(_, value)| value)
            }
            Self::Apart(each) => each.get(index)?.as_ref().map(|latest| latest.value),
        }
    }

    /// Takes a value in.
    pub(crate) fn add(&mut self, index: usize, latest: Latest<i64>) {
        if let Self::Together { time_ns, start_ns, values } = self
            && (*time_ns, *start_ns) == (latest.time_ns, latest.start_ns)
            && let Ok(at) = u8::try_from(index)
            && values.iter().all(|(other, _)| other != at)
        {
            values.push((at, latest.value));
            return;
        }
        let mut each = self.take();
        if let Some(mine) = each.get_mut(index) {
            mine.absorb(&Some(latest));
        }
        *self = Self::of(each);
    }

    fn take(&mut self) -> Box<Each> {
        match std::mem::take(self) {
            Self::Apart(each) => each,
            Self::Together { time_ns, start_ns, values } => {
                let mut each = Box::<Each>::default();
                for (at, value) in values.iter() {
                    if let Some(slot) = each.get_mut(usize::from(at)) {
                        *slot = Some(Latest { time_ns, start_ns, value });
                    }
                }
                each
            }
        }
    }

    fn of(each: Box<Each>) -> Self {
        let mut times = each.iter().flatten().map(|latest| (latest.time_ns, latest.start_ns));
        let Some((time_ns, start_ns)) = times.next() else { return Self::default() };
        if times.any(|other| other != (time_ns, start_ns)) {
            return Self::Apart(each);
        }
        let values = (0..).zip(each.iter()).filter_map(|(at, latest)| Some((at, latest.as_ref()?.value)));
        Self::Together { time_ns, start_ns, values: Packed::new(values) }
    }
}

impl Default for Integers {
    fn default() -> Self {
        Self::Together { time_ns: 0, start_ns: 0, values: Packed::default() }
    }
}

impl Merge for Integers {
    fn absorb(&mut self, other: &Self) {
        let mut each = self.take();
        each.absorb(&Each::from(other.clone()));
        *self = Self::of(each);
    }
}

impl From<Each> for Integers {
    fn from(each: Each) -> Self {
        Self::of(Box::new(each))
    }
}

impl From<Integers> for Each {
    fn from(mut integers: Integers) -> Self {
        *integers.take()
    }
}

#[cfg(test)]
mod tests;
