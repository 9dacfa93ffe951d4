//! Call paths of a run, interned: found again without allocating, and bounded without depending on order.
//!
//! `stepscope_core::PathTable` sends what comes after its bound to one path, which is right where spans come
//! in one order only. Here partials are merged: when there are too many paths, all are cut at the largest
//! depth at which they fit. Cutting twice is cutting at the smaller depth, and more input can only lower it,
//! so the result is a function of the set of paths.

use std::hash::{BuildHasher, RandomState};

use stepscope_core::Phase;
use stepscope_core::path::{DEEPER, MAX_DEPTH, OTHER};

use crate::phases::section_time::id_inside;

/// Longer names are cut, so that hostile ones cost bounded memory. Readers cut at the same length: kernels from templates
/// have names of thousands of bytes, which differ only at their ends.
pub(crate) const MAX_NAME_BYTES: usize = 4_096;

/// Index of the empty path; takes everything when paths are cut at depth 0.
pub(crate) const ROOT: u32 = 0;

/// Depth at which nothing is cut.
pub(crate) const UNCUT: u16 = u16::MAX;

/// Where a section belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathSlot {
    /// Its path.
    pub(crate) path: u32,
    /// Whether it shares the path of the section around it, so that its time is inside that one's.
    pub(crate) is_collapsed: bool,
}

#[derive(Debug, Clone)]
struct PathNode {
    parent: u32,
    depth: u16,
    hash: u64,
    /// The same for equal paths, whatever the tree.
    id: u64,
    name: Box<str>,
    inferred: Option<Phase>,
}

/// The paths; parents stand before their children.
#[derive(Debug, Clone)]
pub(crate) struct PathTree {
    nodes: Vec<PathNode>,
    /// Open addressing: 0 is free, else index + 1.
    slots: Vec<u32>,
    /// Secret of this table, so that no input can make its names collide. Nothing visible depends on it.
    seed: u64,
    cut: u16,
}

impl Default for PathTree {
    fn default() -> Self {
        Self::with_cut(UNCUT)
    }
}

impl PathTree {
    fn with_cut(cut: u16) -> Self {
        let root = PathNode { parent: ROOT, depth: 0, hash: 0, id: 0, name: "".into(), inferred: None };
        Self { nodes: vec![root], slots: vec![0; 64], seed: RandomState::new().hash_one(0u8), cut }
    }

    /// The path of a section called `name` inside a section at `parent`, or outside of any.
    #[inline]
    pub(crate) fn child(&mut self, parent: Option<u32>, name: &str) -> PathSlot {
        let parent_path = parent.unwrap_or(ROOT);
        let depth = self.depth(parent_path);
        if depth >= self.cut || depth > MAX_DEPTH {
            return PathSlot { path: parent_path, is_collapsed: parent.is_some() };
        }
        let name = if depth == MAX_DEPTH { DEEPER } else { shorten(name) };
        let hash = hash(self.seed, parent_path, name.as_bytes());
        let path = self.find(parent_path, name, hash).unwrap_or_else(|| self.insert(parent_path, name, hash));
        PathSlot { path, is_collapsed: false }
    }

    /// What [`Self::child`] gives, if that is the path `like`: then it was found by the same names before.
    #[inline]
    pub(crate) fn is_child(&self, like: u32, parent: Option<u32>, name: &str) -> Option<PathSlot> {
        let node = self.node(like).filter(|_| like != ROOT)?;
        let is_it = node.parent == parent.unwrap_or(ROOT) && is_same(&node.name, name);
        is_it.then_some(PathSlot { path: like, is_collapsed: false })
    }

    /// Number of paths, without the empty one.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Depth at which paths are cut, [`UNCUT`] where they are whole.
    pub(crate) fn cut(&self) -> u16 {
        self.cut
    }

    /// Number of names of a path.
    pub(crate) fn depth(&self, path: u32) -> u16 {
        self.node(path).map_or(0, |node| node.depth)
    }

    /// The path around a path.
    pub(crate) fn parent(&self, path: u32) -> u32 {
        self.node(path).map_or(ROOT, |node| node.parent)
    }

    /// The last name.
    pub(crate) fn name(&self, path: u32) -> &str {
        match self.node(path) {
            Some(node) if path != ROOT => &node.name,
            _ => OTHER,
        }
    }

    /// Identity of a path, in any tree; see [`id_inside`].
    pub(crate) fn id(&self, path: u32) -> u64 {
        self.node(path).map_or(0, |node| node.id)
    }

    /// The phase that the last name implies.
    #[inline]
    pub(crate) fn inferred(&self, path: u32) -> Option<Phase> {
        self.node(path).and_then(|node| node.inferred)
    }

    /// The names from the root section down.
    pub(crate) fn names(&self, mut path: u32) -> Vec<&str> {
        let mut names = Vec::new();
        if path == ROOT {
            names.push(OTHER);
        }
        while path != ROOT {
            names.push(self.name(path));
            path = self.parent(path);
        }
        names.reverse();
        names
    }

    /// The largest depth at which at most `bound` paths are left; `None` where all fit.
    pub(crate) fn fitting_depth(&self, bound: usize) -> Option<u16> {
        if self.len() <= bound {
            return None;
        }
        let mut by_depth = [0usize; MAX_DEPTH as usize + 2];
        for node in self.nodes.iter().skip(1) {
            if let Some(slot) = by_depth.get_mut(usize::from(node.depth)) {
                *slot += 1;
            }
        }
        let mut sum = 0usize;
        let fitting = by_depth.iter().take_while(|&&count| {
            sum += count;
            sum <= bound
        });
        // The entry of depth 0 is 0, so that at least it fits.
        u16::try_from(fitting.count().saturating_sub(1)).ok()
    }

    /// Cuts all paths at `depth`; where each old path went.
    pub(crate) fn cut_to(&mut self, depth: u16) -> Vec<PathSlot> {
        let old = std::mem::replace(self, Self::with_cut(depth));
        let mut places: Vec<PathSlot> = Vec::with_capacity(old.nodes.len());
        for (index, node) in old.nodes.iter().enumerate() {
            let place = if index == 0 {
                PathSlot { path: ROOT, is_collapsed: false }
            } else {
                let parent = (node.depth > 1)
                    .then(|| places.get(node.parent as usize).map_or(ROOT, |place| place.path));
                self.child(parent, &node.name)
            };
            places.push(place);
        }
        places
    }

    /// Paths with their depth, so that parents stand before children and siblings are sorted by name.
    pub(crate) fn sorted(&self) -> Vec<u32> {
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            if let (Some(list), Ok(index)) = (children.get_mut(node.parent as usize), u32::try_from(index)) {
                list.push(index);
            }
        }
        let mut sorted = Vec::with_capacity(self.len());
        let mut open = vec![ROOT];
        while let Some(path) = open.pop() {
            if path != ROOT {
                sorted.push(path);
            }
            if let Some(list) = children.get_mut(path as usize) {
                list.sort_by(|&a, &b| self.name(b).cmp(self.name(a)));
                open.append(list);
            }
        }
        sorted
    }

    fn node(&self, path: u32) -> Option<&PathNode> {
        self.nodes.get(path as usize)
    }

    #[inline]
    fn find(&self, parent: u32, name: &str, hash: u64) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = *self.slots.get(at)?;
            let path = slot.checked_sub(1)?;
            let node = self.node(path)?;
            if node.hash == hash && node.parent == parent && *node.name == *name {
                return Some(path);
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn insert(&mut self, parent: u32, name: &str, hash: u64) -> u32 {
        let path = self.nodes.len() as u32;
        let depth = self.depth(parent) + 1;
        let id = id_inside(self.id(parent), name);
        self.nodes.push(PathNode {
            parent,
            depth,
            hash,
            id,
            name: name.into(),
            inferred: Phase::infer(name),
        });
        if self.nodes.len() * 2 > self.slots.len() {
            let wanted = self.slots.len() * 2;
            self.slots.clear();
            self.slots.resize(wanted, 0);
            for index in 1..self.nodes.len() {
                self.occupy(index as u32);
            }
        } else {
            self.occupy(path);
        }
        path
    }

    fn occupy(&mut self, path: u32) {
        let Some(hash) = self.node(path).map(|node| node.hash) else { return };
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots.get(at).is_some_and(|&slot| slot != 0) {
            at = (at + 1) & mask;
        }
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = path + 1;
        }
    }
}

/// The name, cut to [`MAX_NAME_BYTES`].
pub(crate) fn shorten(name: &str) -> &str {
    if name.len() <= MAX_NAME_BYTES {
        return name;
    }
    let mut end = MAX_NAME_BYTES;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or_default()
}

/// `a == b`, by words that may overlap: a call to compare short names costs more than comparing them.
#[inline]
fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let ends = |bytes| Some((<[u8]>::first_chunk::<8>(bytes)?, <[u8]>::last_chunk::<8>(bytes)?));
    match (ends(a), ends(b)) {
        (Some(a_ends), Some(b_ends)) => a_ends == b_ends && (a.len() <= 16 || a == b),
        _ => a.iter().zip(b).all(|(a, b)| a == b),
    }
}

/// A keyed hash of a few bytes: 128-bit products folded, as wyhash does.
#[inline]
fn hash(seed: u64, parent: u32, bytes: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        (product as u64) ^ ((product >> 64) as u64)
    };
    let mut state = fold(seed ^ u64::from(parent), K) ^ bytes.len() as u64;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        state = fold(state ^ u64::from_le_bytes(word), seed | 1);
    }
    let rest = chunks.remainder();
    let mut word = [0; 8];
    word.iter_mut().zip(rest).for_each(|(slot, &byte)| *slot = byte);
    fold(state ^ u64::from_le_bytes(word), K)
}

#[cfg(test)]
mod tests;
