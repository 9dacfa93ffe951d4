//! Which traces of stepscope's layer have been delivered: ranges of trace numbers a process instance, so
//! that a file given twice counts once and memory does not grow with the number of traces.

use std::collections::{BTreeMap, HashMap};

use stepscope_core::identity::{TraceId, instance_and_sequence};

/// More ranges than this (gaps left by sampling) are not kept.
const MAX_RANGES: usize = 1 << 20;

/// Disjoint inclusive ranges with gaps between them.
type Ranges = BTreeMap<u32, u32>;

/// The numbers of closed traces by process instance.
#[derive(Debug, Default)]
pub(crate) struct Closed {
    instances: HashMap<u64, Ranges>,
    ranges: usize,
}

/// Closed traces as they travel in partials, sorted.
pub(crate) type ClosedRanges = Vec<(u64, Vec<(u32, u32)>)>;

impl Closed {
    /// Whether the trace has been delivered.
    pub(crate) fn contains(&self, id: &TraceId) -> bool {
        let (instance, sequence) = instance_and_sequence(id);
        self.instances
            .get(&instance)
            .and_then(|ranges| ranges.range(..=sequence).next_back())
            .is_some_and(|(_, &end)| sequence <= end)
    }

    /// Notes a delivered trace; `false` when there are too many gaps to remember it.
    pub(crate) fn insert(&mut self, id: &TraceId) -> bool {
        let (instance, sequence) = instance_and_sequence(id);
        self.insert_range(instance, sequence, sequence).is_some()
    }

    /// Adds a range and says how many of its numbers were there before; `None` beyond the bound.
    fn insert_range(&mut self, instance: u64, start: u32, end: u32) -> Option<u64> {
        if self.ranges >= MAX_RANGES {
            return None;
        }
        let ranges = self.instances.entry(instance).or_default();
        let (mut merged_start, mut merged_end, mut overlap) = (start, end, 0u64);
        // Every range that overlaps or touches this one, from the last that starts at or before its end.
        while let Some((&from, &to)) = ranges.range(..=merged_end.saturating_add(1)).next_back() {
            if to.saturating_add(1) < merged_start {
                break;
            }
            let common = (from.max(start), to.min(end));
            if common.0 <= common.1 {
                overlap += u64::from(common.1 - common.0) + 1;
            }
            merged_start = merged_start.min(from);
            merged_end = merged_end.max(to);
            ranges.remove(&from);
            self.ranges -= 1;
        }
        ranges.insert(merged_start, merged_end);
        self.ranges += 1;
        Some(overlap)
    }

    /// Adds what another reader delivered; gives the number of traces that both did, and whether all
    /// ranges could be kept.
    pub(crate) fn absorb(&mut self, other: &ClosedRanges) -> (u64, bool) {
        let (mut overlap, mut complete) = (0u64, true);
        for &(instance, ref ranges) in other {
            for &(start, end) in ranges {
                if start > end {
                    continue;
                }
                match self.insert_range(instance, start, end) {
                    Some(common) => overlap = overlap.saturating_add(common),
                    None => complete = false,
                }
            }
        }
        (overlap, complete)
    }

    /// Whether a trace of `other` has been delivered.
    pub(crate) fn meets(&self, other: &ClosedRanges) -> bool {
        other.iter().any(|(instance, theirs)| {
            self.instances.get(instance).is_some_and(|own| {
                theirs.iter().any(|&(start, end)| {
                    start <= end && own.range(..=end).next_back().is_some_and(|(_, &last)| last >= start)
                })
            })
        })
    }

    /// Everything, sorted.
    pub(crate) fn to_ranges(&self) -> ClosedRanges {
        let mut all: ClosedRanges = self
            .instances
            .iter()
            .map(|(&instance, ranges)| (instance, ranges.iter().map(|(&start, &end)| (start, end)).collect()))
            .collect();
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use stepscope_core::identity::TraceIds;

    #[test]
    fn ranges_equal_a_plain_set() {
        let mut closed = Closed::default();
        let mut plain = BTreeSet::new();
        let mut state = 7u64;
        for _ in 0..2_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let start = (state >> 40) as u32 % 3_000;
            let end = start + (state >> 33) as u32 % 4;
            let expected = (start..=end).filter(|&n| !plain.insert(n)).count() as u64;
            assert_eq!(closed.insert_range(1, start, end), Some(expected));
            let count: u64 = closed.instances[&1].iter().map(|(&s, &e)| u64::from(e - s) + 1).sum();
            assert_eq!(count, plain.len() as u64);
        }
        // No two ranges touch.
        let ranges: Vec<_> = closed.instances[&1].iter().collect();
        assert!(ranges.windows(2).all(|pair| *pair[0].1 + 1 < *pair[1].0));
        assert_eq!(closed.ranges, ranges.len());
    }

    #[test]
    fn a_dense_run_is_one_range_in_any_order() {
        let ids = TraceIds::new("run", 0, &[b"a"]);
        let mut closed = Closed::default();
        for n in (0..1_000u32).rev().step_by(2).chain((0..1_000).step_by(2)) {
            let id = ids.trace_id(n, None);
            assert!(!closed.contains(&id));
            assert!(closed.insert(&id));
            assert!(closed.contains(&id));
        }
        assert_eq!(closed.to_ranges()[0].1, [(0, 999)]);
        closed.insert(&ids.trace_id(u32::MAX, None));
        assert!(closed.contains(&ids.trace_id(u32::MAX, None)));
        assert!(!closed.contains(&ids.trace_id(u32::MAX - 1, None)));
        assert!(!closed.contains(&TraceIds::new("run", 0, &[b"b"]).trace_id(1, None)));
    }

    #[test]
    fn absorbing_counts_common_traces() {
        let mut closed = Closed::default();
        assert_eq!(closed.absorb(&vec![(1, vec![(0, 9)]), (2, vec![(5, 5)])]), (0, true));
        assert_eq!(closed.absorb(&vec![(1, vec![(8, 12)]), (2, vec![(6, 9)]), (3, vec![(9, 1)])]), (2, true));
        assert_eq!(closed.to_ranges(), [(1, vec![(0, 12)]), (2, vec![(5, 9)])]);
        let meets = |instance, start, end| closed.meets(&vec![(instance, vec![(start, end)])]);
        assert!(meets(1, 12, 12) && meets(1, 12, 99) && meets(2, 0, 5) && meets(2, 0, 99) && meets(2, 6, 7));
        assert!(!meets(1, 13, 99) && !meets(2, 0, 4) && !meets(3, 0, 99) && !meets(1, 5, 4));
    }
}
