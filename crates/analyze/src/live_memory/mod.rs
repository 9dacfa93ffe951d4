//! Memory by sample: what was live, in which section and by which stack it was allocated, and how many steps ago. Whether
//! memory leaks is the business of `memory`; who holds what leaks is asked here (`culprits`).

pub(crate) mod allocated;
mod between;
mod births;
pub(crate) mod culprits;
pub(crate) mod finish;
mod lines;
mod peak;
pub mod pprof;
mod resolve;
pub(crate) mod summary;
mod symbols;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::{Deserialize, Serialize};
use stepscope_core::identity::hash_parts;
use stepscope_model::{LiveDropped, LivePoint};

use crate::accumulate::{Merge, accumulate, keep_smallest};
pub use culprits::Culprit;
pub(crate) use culprits::culprits;
pub(crate) use lines::UNKNOWN;
pub use resolve::Resolved;
pub(crate) use symbols::short_function;

/// Moments that are kept of a process, evenly over the time; the last one always, and besides the one with most bytes.
const MOMENTS: usize = 48;
/// Rows of a moment, of which a process writes 257.
const ROWS: usize = 1_024;
/// Paths and stacks of all moments of a process, and its modules.
const NAMES: usize = 16_384;

/// What samples say of one process.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct LiveSamples {
    /// Of the moments in a stretch of 2 to the power of this nanoseconds the last one is kept.
    shift: u32,
    pub(crate) moments: BTreeMap<u64, Moment>,
    pub(crate) allocated: allocated::AllocatedSamples,
    /// Texts by their hashes.
    pub(crate) paths: BTreeMap<u64, Text>,
    /// Where sections begin, `file:line`, by the hashes of their paths.
    pub(crate) sections: BTreeMap<u64, Text>,
    /// Frames by the numbers of stacks.
    pub(crate) stacks: BTreeMap<u64, Text>,
    /// By name: build id and place.
    pub(crate) modules: BTreeMap<Box<str>, File>,
    pub(crate) dropped: Dropped,
}

/// What was live at one moment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Moment {
    pub(crate) period_bytes: u64,
    pub(crate) rows: BTreeMap<Key, Amounts>,
    /// The sum of the rows.
    pub(crate) bytes: u64,
}

impl Merge for Moment {
    fn absorb(&mut self, other: &Self) {
        self.period_bytes = self.period_bytes.max(other.period_bytes);
        self.rows.absorb(&other.rows);
        self.bound();
    }
}

impl Moment {
    /// Keeps few enough rows, and sums them.
    fn bound(&mut self) {
        keep_smallest(&mut self.rows, ROWS);
        self.bytes = self.rows.values().fold(0, |sum, row| sum.saturating_add(row.bytes));
    }
}

/// What tells a row from others; no stack and no age of the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Key {
    /// Hash of the path.
    pub(crate) path: u64,
    pub(crate) stack: Option<u64>,
    pub(crate) age_steps: Option<u64>,
}

/// Figures of a row; the same point twice is one.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Amounts {
    pub(crate) bytes: u64,
    pub(crate) blocks: u64,
}

accumulate!(Amounts { max: bytes, blocks; });

/// What found no room.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Dropped {
    pub(crate) samples: u64,
    pub(crate) stacks: u64,
    pub(crate) truncated: u64,
}

accumulate!(Dropped { max: samples, stacks, truncated; });

/// A text. Of two the larger one stays: names of modules that were not known yet are `?`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Text(pub(crate) Box<str>);

impl Merge for Text {
    fn absorb(&mut self, other: &Self) {
        if other.0 > self.0 {
            self.clone_from(other);
        }
    }
}

/// A file that code was loaded from; of two of one name the larger one stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct File {
    pub(crate) path: Box<str>,
    pub(crate) build_id: Box<str>,
}

impl Merge for File {
    fn absorb(&mut self, other: &Self) {
        if other > self {
            self.clone_from(other);
        }
    }
}

impl LiveSamples {
    /// Adds a point of that time.
    pub(crate) fn add(&mut self, time_ns: u64, point: &LivePoint) {
        let (row, amounts) = match point {
            LivePoint::Bytes(row) => (row, Amounts { bytes: row.amount, blocks: 0 }),
            LivePoint::Blocks(row) => (row, Amounts { bytes: 0, blocks: row.amount }),
            LivePoint::AllocatedBytes(row) | LivePoint::AllocatedBlocks(row) => {
                let is_bytes = matches!(point, LivePoint::AllocatedBytes(_));
                let (bytes, blocks) = if is_bytes { (row.amount, 0) } else { (0, row.amount) };
                let path = self.path(&row.path);
                return self.allocated.add(time_ns, (path, row.stack), Amounts { bytes, blocks });
            }
            LivePoint::PeriodBytes(bytes) => {
                return self.at(time_ns, |moment| moment.period_bytes = moment.period_bytes.max(*bytes));
            }
            LivePoint::Dropped(what, count) => {
                let slot = match what {
                    LiveDropped::Samples => &mut self.dropped.samples,
                    LiveDropped::Stacks => &mut self.dropped.stacks,
                    LiveDropped::Truncated => &mut self.dropped.truncated,
                };
                *slot = (*slot).max(*count);
                return;
            }
            LivePoint::Stack { id, frames } => {
                self.stacks.entry(*id).or_default().absorb(&Text(frames.as_str().into()));
                keep_smallest(&mut self.stacks, NAMES);
                return;
            }
            LivePoint::Section { path, file, line } => {
                let place = Text(format!("{file}:{line}").into());
                self.sections.entry(hash_parts(&[path.as_bytes()])).or_default().absorb(&place);
                keep_smallest(&mut self.sections, NAMES);
                return;
            }
            LivePoint::Module(module) => {
                let file =
                    File { path: module.path.as_str().into(), build_id: module.build_id.as_str().into() };
                self.modules.entry(module.name.as_str().into()).or_default().absorb(&file);
                keep_smallest(&mut self.modules, NAMES);
                return;
            }
        };
        let path = self.path(&row.path);
        let key = Key { path, stack: row.stack, age_steps: row.age_steps };
        self.at(time_ns, |moment| {
            moment.rows.entry(key).or_default().absorb(&amounts);
            moment.bound();
        });
    }

    /// The hash of a path, which is kept.
    fn path(&mut self, path: &str) -> u64 {
        let hash = hash_parts(&[path.as_bytes()]);
        if let Entry::Vacant(place) = self.paths.entry(hash) {
            place.insert(Text(path.into()));
            keep_smallest(&mut self.paths, NAMES);
        }
        hash
    }

    /// Changes a moment, if it is one that stays.
    fn at(&mut self, time_ns: u64, change: impl FnOnce(&mut Moment)) {
        change(self.moments.entry(time_ns).or_default());
        self.thin_out(self.shift);
    }

    /// Keeps the last moment of each stretch, of stretches so long that there are few enough, and the first of those with most
    /// bytes. Which ones stay depends on all that was seen and not on its order.
    fn thin_out(&mut self, shift: u32) {
        self.shift = self.shift.max(shift.min(u64::BITS - 1));
        loop {
            let shift = self.shift;
            let most =
                self.moments.iter().rev().max_by_key(|(_, moment)| moment.bytes).map(|(&time, _)| time);
            let times: Vec<u64> = self.moments.keys().copied().collect();
            let ends =
                |pair: &[u64]| pair.first().map(|one| one >> shift) != pair.get(1).map(|one| one >> shift);
            let passed: Vec<&[u64]> = times.windows(2).filter(|pair| !ends(pair)).collect();
            let extra = passed.iter().filter(|pair| pair.first().copied() == most).count();
            for time_ns in passed.into_iter().filter_map(|pair| pair.first()) {
                if Some(*time_ns) != most {
                    self.moments.remove(time_ns);
                }
            }
            if self.moments.len() - extra <= MOMENTS || self.shift >= u64::BITS - 1 {
                return;
            }
            self.shift += 1;
        }
    }
}

impl Merge for LiveSamples {
    fn absorb(&mut self, other: &Self) {
        self.moments.absorb(&other.moments);
        self.thin_out(other.shift);
        self.allocated.absorb(&other.allocated);
        self.paths.absorb(&other.paths);
        keep_smallest(&mut self.paths, NAMES);
        self.sections.absorb(&other.sections);
        keep_smallest(&mut self.sections, NAMES);
        self.stacks.absorb(&other.stacks);
        keep_smallest(&mut self.stacks, NAMES);
        self.modules.absorb(&other.modules);
        keep_smallest(&mut self.modules, NAMES);
        self.dropped.absorb(&other.dropped);
    }
}
