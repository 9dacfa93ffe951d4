//! Exposed time of the steps of one point by call path: of as many paths as there is room for, those whose ids are
//! the smallest. Which these are depends on the set of paths only, and what is there is exact. Whose section an id is
//! is told at the end, from the table of sections.

use serde::{Deserialize, Serialize};
use stepscope_core::identity::{hash_parts, mix};
use stepscope_core::path::split;

use crate::accumulate::{Merge, earliest};

/// Paths that a point tells apart.
const PATHS: usize = 64;

/// Identity of the call path of a section inside another one, of which it is `around`: the same in every part of the
/// input. That of no path is 0.
pub(crate) fn id_inside(around: u64, name: &str) -> u64 {
    mix(around ^ hash_parts(&[name.as_bytes()]))
}

/// That of a path as it is written.
pub(crate) fn id_of(path: &str) -> u64 {
    split(path).iter().fold(0, |around, name| id_inside(around, name))
}

/// Exposed time by path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct SectionTime {
    /// Sorted by the ids of paths.
    by_path: Vec<(u64, u64)>,
    /// The smallest id of those that were left out.
    cut: Option<u64>,
}

impl SectionTime {
    /// Adds time of a path.
    pub(crate) fn add(&mut self, path: u64, ns: u64) {
        if self.cut.is_some_and(|cut| path >= cut) {
            return;
        }
        match self.by_path.binary_search_by_key(&path, |&(other, _)| other) {
            Ok(at) => {
                if let Some((_, sum)) = self.by_path.get_mut(at) {
                    *sum = sum.saturating_add(ns);
                }
            }
            Err(at) => {
                self.by_path.insert(at, (path, ns));
                self.enforce();
            }
        }
    }

    /// Time of a path; absent where that is not known.
    pub(crate) fn of(&self, path: u64) -> Option<u64> {
        let is_known = self.cut.is_none_or(|cut| path < cut);
        let at = self.by_path.binary_search_by_key(&path, |&(other, _)| other).ok();
        is_known.then(|| at.and_then(|at| self.by_path.get(at)).map_or(0, |&(_, ns)| ns))
    }

    fn enforce(&mut self) {
        while self.by_path.len() > PATHS {
            self.cut = earliest(self.cut, self.by_path.pop().map(|(path, _)| path));
        }
    }
}

impl Merge for SectionTime {
    fn absorb(&mut self, other: &Self) {
        self.cut = earliest(self.cut, other.cut);
        if let Some(cut) = self.cut {
            self.by_path.retain(|&(path, _)| path < cut);
        }
        other.by_path.iter().for_each(|&(path, ns)| self.add(path, ns));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paths: impl IntoIterator<Item = u64>) -> SectionTime {
        let mut section_time = SectionTime::default();
        paths.into_iter().for_each(|path| section_time.add(path, path + 1));
        section_time
    }

    #[test]
    fn what_stays_depends_on_the_set_of_paths_only() {
        let all = of(0..200);
        assert_eq!((all.of(63), all.of(64), all.of(1_000)), (Some(64), None, None));
        assert_eq!(of((0..200).rev()), all);
        for step in [3, 7, 50, 199] {
            let mut parts = of((0..200).filter(|path| path % step == 1));
            parts.absorb(&of((0..200).filter(|path| path % step != 1)));
            assert_eq!(parts, all, "{step}");
        }
    }

    #[test]
    fn what_is_there_is_exact() {
        let mut twice = of(0..60);
        twice.absorb(&of((0..60).rev()));
        assert_eq!((twice.of(7), twice.of(60)), (Some(16), Some(0)));
    }
}
