//! The sections of a run: call paths with their sums, cut when they are too many, merged, written.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stepscope_core::path::MAX_DEPTH;

use crate::accumulate::Merge;
use crate::sections::paths::{PathSlot, PathTree, ROOT};

use super::SectionAcc;

/// Call paths and their sums, by the same index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sections {
    tree: PathTree,
    accs: Vec<SectionAcc>,
}

impl Sections {
    /// The paths.
    pub(crate) fn tree(&self) -> &PathTree {
        &self.tree
    }

    /// The path of a section called `name` inside a section at `parent`. May go beyond the bound:
    /// [`Self::enforce`] is due before paths are used.
    #[inline]
    pub(crate) fn child(&mut self, parent: Option<u32>, name: &str) -> PathSlot {
        self.tree.child(parent, name)
    }

    /// The same, where it is likely the path `like`.
    #[inline]
    pub(crate) fn child_like(&mut self, like: u32, parent: Option<u32>, name: &str) -> PathSlot {
        let known = self.tree.is_child(like, parent, name);
        known.unwrap_or_else(|| self.tree.child(parent, name))
    }

    /// Cuts all paths if they are too many; whether it did, so that paths found before are no longer good.
    #[inline]
    pub(crate) fn enforce(&mut self, bound: usize) -> bool {
        if self.tree.len() <= bound {
            return false;
        }
        if let Some(depth) = self.tree.fitting_depth(bound) {
            self.cut_to(depth);
        }
        true
    }

    /// The sums of a path.
    #[inline]
    pub(crate) fn acc(&mut self, path: u32) -> &mut SectionAcc {
        let index = path as usize;
        if index >= self.accs.len() {
            self.accs.resize_with(index + 1, SectionAcc::default);
        }
        &mut self.accs[index]
    }

    /// Forgets what threads did in sections.
    pub(crate) fn forget_threads(&mut self) {
        self.accs.iter_mut().for_each(|acc| acc.threads = None);
    }

    /// Paths with their sums, parents before children, siblings by name; the empty path first.
    pub(crate) fn sorted(&self) -> impl Iterator<Item = (u32, &SectionAcc)> {
        std::iter::once(ROOT)
            .chain(self.tree.sorted())
            .filter_map(|path| Some((path, self.accs.get(path as usize)?)))
    }

    /// Adds the sections of another part of the run.
    pub(crate) fn merge(&mut self, other: &Self, bound: usize) {
        if other.tree.cut() < self.tree.cut() {
            self.cut_to(other.tree.cut());
        }
        let order = other.tree.sorted();
        loop {
            let mut places = vec![PathSlot { path: ROOT, is_collapsed: false }; other.tree.len() + 1];
            for &path in &order {
                let parent = other.tree.parent(path);
                let around = (other.tree.depth(path) > 1)
                    .then(|| places.get(parent as usize).map_or(ROOT, |place| place.path));
                let place = self.child(around, other.tree.name(path));
                if let Some(slot) = places.get_mut(path as usize) {
                    *slot = place;
                }
            }
            if !self.enforce(bound) {
                self.take(&other.accs, &places);
                return;
            }
        }
    }

    /// Adds what `other` has below the path `top`, inside the section at `around`.
    pub(crate) fn graft(&mut self, around: Option<u32>, other: &Self, top: u32) {
        let mut places: BTreeMap<u32, Option<u32>> = BTreeMap::from([(top, around)]);
        for (path, acc) in other.sorted().filter(|&(path, _)| path != ROOT && path != top) {
            let Some(&around) = places.get(&other.tree.parent(path)) else { continue };
            let place = self.child(around, other.tree.name(path));
            places.insert(path, Some(place.path));
            let mine = self.acc(place.path);
            if place.is_collapsed { mine.fold(acc) } else { mine.absorb(acc) }
        }
    }

    fn cut_to(&mut self, depth: u16) {
        let places = self.tree.cut_to(depth);
        let accs = std::mem::take(&mut self.accs);
        self.take(&accs, &places);
    }

    fn take(&mut self, accs: &[SectionAcc], places: &[PathSlot]) {
        for (acc, place) in accs.iter().zip(places) {
            let mine = self.acc(place.path);
            if place.is_collapsed {
                mine.fold(acc);
            } else {
                mine.absorb(acc);
            }
        }
        self.forget_steps_of_root();
    }

    /// How often a step holds one of several paths cannot be told from how often it holds each: where
    /// everything is one path, nothing is said about steps.
    pub(crate) fn forget_steps_of_root(&mut self) {
        if let Some(root) = self.accs.get_mut(ROOT as usize) {
            root.in_steps = Default::default();
            root.critical = Default::default();
        }
    }
}

#[derive(Serialize)]
struct WireRef<'a> {
    cut: u16,
    root: Option<&'a SectionAcc>,
    paths: Vec<(u16, &'a str, &'a SectionAcc)>,
}

#[derive(Deserialize)]
struct Wire {
    cut: u16,
    root: Option<SectionAcc>,
    paths: Vec<(u16, String, SectionAcc)>,
}

impl Serialize for Sections {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nothing = SectionAcc::default();
        let paths = self.tree.sorted().into_iter();
        WireRef {
            cut: self.tree.cut(),
            root: if self.tree.cut() == 0 { self.accs.first() } else { None },
            paths: paths
                .map(|path| {
                    let acc = self.accs.get(path as usize).unwrap_or(&nothing);
                    (self.tree.depth(path), self.tree.name(path), acc)
                })
                .collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Sections {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        let mut sections = Self::default();
        if wire.cut < sections.tree.cut() {
            sections.cut_to(wire.cut);
        }
        if let Some(root) = wire.root {
            *sections.acc(ROOT) = root;
        }
        let mut open: Vec<u32> = Vec::new();
        for (depth, name, acc) in wire.paths {
            let above = usize::from(depth).checked_sub(1).filter(|&above| above <= open.len());
            let above = above.filter(|_| depth <= MAX_DEPTH + 1 && depth <= wire.cut);
            open.truncate(above.ok_or_else(|| D::Error::custom("a path without the path around it"))?);
            let place = sections.child(open.last().copied(), &name);
            open.push(place.path);
            *sections.acc(place.path) = acc;
        }
        Ok(sections)
    }
}
