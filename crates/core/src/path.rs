//! Call paths: the names from a trace's root section down to a section, interned, bounded, and written as
//! one string. A step starts a path of its own, whatever it was called from.

use std::collections::HashMap;

/// Sections nested deeper than this share the path of their ancestor at this depth plus [`DEEPER`].
pub const MAX_DEPTH: u16 = 64;

/// Name of the path element that stands for everything below [`MAX_DEPTH`].
pub const DEEPER: &str = "…";

/// Name of the path that takes every section once the table is full.
pub const OTHER: &str = "(other)";

/// Separates names; a `/` inside a name is written `\/` and a `\` is written `\\`.
pub const SEPARATOR: char = '/';

/// An interned path. Ids are dense and given in the order of first use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathId(pub u32);

impl PathId {
    /// The empty path: parent of root sections.
    pub const ROOT: Self = Self(0);
    /// The path that takes everything beyond the table's bound; its own child.
    pub const OTHER: Self = Self(1);
}

#[derive(Debug, Clone)]
struct Node {
    parent: PathId,
    depth: u16,
    name: Box<str>,
}

/// Interns paths up to a bound. A section whose path equals its parent's path (below [`MAX_DEPTH`], or
/// beyond the bound) is a part of its parent: it adds to self figures, and neither to counts nor to inclusive
/// ones, which count once a path.
#[derive(Debug, Clone)]
pub struct PathTable {
    nodes: Vec<Node>,
    children: HashMap<(PathId, Box<str>), PathId>,
    bound: usize,
}

impl PathTable {
    /// A table of at most `bound` paths, the two built-in ones included (at least those).
    #[must_use]
    pub fn new(bound: usize) -> Self {
        let root = Node { parent: PathId::ROOT, depth: 0, name: "".into() };
        let other = Node { parent: PathId::ROOT, depth: 1, name: OTHER.into() };
        Self { nodes: vec![root, other], children: HashMap::new(), bound }
    }

    /// The path of a section called `name` inside a section of path `parent`.
    pub fn child(&mut self, parent: PathId, name: &str) -> PathId {
        let Some(node) = self.nodes.get(parent.0 as usize) else { return PathId::OTHER };
        if parent == PathId::OTHER || (node.depth > MAX_DEPTH) {
            return parent;
        }
        let depth = node.depth + 1;
        let name = if depth > MAX_DEPTH { DEEPER } else { name };
        // A lookup by reference would need a borrowed pair; this runs once a path and caller, not per span.
        let key = (parent, Box::from(name));
        if let Some(&id) = self.children.get(&key) {
            return id;
        }
        if self.nodes.len() >= self.bound {
            return PathId::OTHER;
        }
        let id = PathId(u32::try_from(self.nodes.len()).unwrap_or(PathId::OTHER.0));
        self.nodes.push(Node { parent, depth, name: name.into() });
        self.children.insert(key, id);
        id
    }

    /// The names from the root section down.
    #[must_use]
    pub fn names(&self, mut id: PathId) -> Vec<&str> {
        let mut names = Vec::new();
        while id != PathId::ROOT {
            let Some(node) = self.nodes.get(id.0 as usize) else { break };
            names.push(&*node.name);
            id = node.parent;
        }
        names.reverse();
        names
    }

    /// The path as one string.
    #[must_use]
    pub fn text(&self, id: PathId) -> String {
        join(self.names(id))
    }

    /// Number of paths, the two built-in ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no path but the built-in ones.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.len() <= 2
    }

    /// Whether a section of path `parent` that got path `child` is a collapsed one (see the type).
    #[must_use]
    pub fn is_collapsed(parent: PathId, child: PathId) -> bool {
        parent == child
    }
}

/// Writes names as one string.
#[must_use]
pub fn join<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for (position, name) in names.into_iter().enumerate() {
        if position > 0 {
            text.push(SEPARATOR);
        }
        for letter in name.chars() {
            if letter == SEPARATOR || letter == '\\' {
                text.push('\\');
            }
            text.push(letter);
        }
    }
    text
}

/// The names that [`join`] wrote.
#[must_use]
pub fn split(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            SEPARATOR => names.push(String::new()),
            '\\' => names.last_mut().into_iter().for_each(|name| name.extend(letters.next())),
            _ => names.last_mut().into_iter().for_each(|name| name.push(letter)),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_separators_survive() {
        let names = ["a/b", "c\\d", "", "é"];
        let text = join(names);
        assert_eq!(text, "a\\/b/c\\\\d//é");
        assert_eq!(split(&text), names);
    }

    #[test]
    fn the_same_call_path_is_the_same_id() {
        let mut table = PathTable::new(100);
        let step = table.child(PathId::ROOT, "step");
        let forward = table.child(step, "forward");
        assert_eq!(table.child(step, "forward"), forward);
        assert_ne!(table.child(PathId::ROOT, "forward"), forward);
        assert_eq!(table.text(forward), "step/forward");
    }

    #[test]
    fn depth_is_bounded() {
        let mut table = PathTable::new(1_000);
        let mut path = PathId::ROOT;
        for _ in 0..MAX_DEPTH {
            path = table.child(path, "f");
        }
        let deeper = table.child(path, "f");
        assert_eq!(table.names(deeper).last(), Some(&DEEPER));
        assert_eq!(table.child(deeper, "g"), deeper);
        assert!(PathTable::is_collapsed(deeper, deeper));
    }

    #[test]
    fn a_full_table_sends_new_paths_to_other() {
        let mut table = PathTable::new(3);
        let kept = table.child(PathId::ROOT, "kept");
        assert_eq!(table.child(PathId::ROOT, "new"), PathId::OTHER);
        assert_eq!(table.child(PathId::OTHER, "x"), PathId::OTHER);
        assert_eq!(table.child(PathId::ROOT, "kept"), kept);
        assert_eq!(table.text(PathId::OTHER), OTHER);
    }
}
