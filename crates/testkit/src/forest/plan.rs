//! One trace being planned: its sections in an order in which parents come first, and the figures that follow
//! from the tree.

use stepscope_core::{Mode, Phase, SectionKind};

/// Index of a section in its plan.
pub(super) type Index = usize;

/// What a section allocates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Memory {
    pub alloc_bytes: u64,
    pub free_bytes: u64,
    pub alloc_count: u64,
    pub free_count: u64,
}

impl Memory {
    pub(super) fn add(&mut self, other: &Self) {
        self.alloc_bytes += other.alloc_bytes;
        self.free_bytes += other.free_bytes;
        self.alloc_count += other.alloc_count;
        self.free_count += other.free_count;
    }
}

/// The batch that a section made or waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Batch {
    pub id: u64,
    pub trace: [u8; 16],
    pub span: [u8; 8],
    pub produce_ns: u64,
    pub queue_ns: u64,
    pub queue_depth: u64,
    pub worker: u64,
}

/// What only the root of a trace carries.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Root {
    pub step: Option<u64>,
    pub epoch: Option<u64>,
    pub mode: Option<Mode>,
    pub loss: Option<f64>,
    pub live_bytes: Option<u64>,
    pub rss_bytes: Option<u64>,
    /// Spans of the trace that are no sections.
    pub markers: u64,
}

/// A section.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub name: &'static str,
    pub parent: Option<Index>,
    pub kind: SectionKind,
    pub phase: Option<Phase>,
    pub thread: u64,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Time entered on its thread; less than the duration where the section was suspended.
    pub busy_ns: u64,
    /// Without the sections inside it.
    pub own: Memory,
    /// With the sections inside it on the same thread.
    pub memory: Memory,
    pub samples: Option<u64>,
    pub waited_for: Option<Batch>,
    pub made: Option<Batch>,
    /// Time entered less the time entered in sections inside it on the same thread.
    pub self_busy_ns: u64,
    /// Time not covered by the sections inside it.
    pub self_ns: u64,
}

impl Section {
    pub(super) fn new(
        name: &'static str,
        parent: Option<Index>,
        thread: u64,
        start_ns: u64,
        end_ns: u64,
    ) -> Self {
        Self {
            name,
            parent,
            kind: SectionKind::Section,
            phase: None,
            thread,
            start_ns,
            end_ns,
            busy_ns: end_ns - start_ns,
            own: Memory::default(),
            memory: Memory::default(),
            samples: None,
            waited_for: None,
            made: None,
            self_busy_ns: 0,
            self_ns: 0,
        }
    }

    pub(super) fn duration_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }

    pub(super) fn was_suspended(&self) -> bool {
        self.busy_ns != self.duration_ns()
    }
}

/// A trace. Reused from step to step.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub sections: Vec<Section>,
    pub root: Root,
    covered: Vec<Vec<(u64, u64)>>,
}

impl Plan {
    pub(super) fn clear(&mut self) {
        self.sections.clear();
        self.root = Root::default();
    }

    pub(super) fn push(&mut self, section: Section) -> Index {
        self.sections.push(section);
        self.sections.len() - 1
    }

    /// Fills in what follows from the tree.
    pub(super) fn complete(&mut self) {
        self.covered.iter_mut().for_each(Vec::clear);
        self.covered.resize_with(self.sections.len().max(self.covered.len()), Vec::new);
        for section in &mut self.sections {
            section.memory = section.own;
            section.self_busy_ns = section.busy_ns;
        }
        // Parents come first, so backwards every section is whole before its parent needs it.
        for index in (0..self.sections.len()).rev() {
            let (before, rest) = self.sections.split_at_mut(index);
            let Some(section) = rest.first_mut() else { continue };
            section.self_ns = section.duration_ns() - union_ns(&mut self.covered[index]);
            let Some(parent_index) = section.parent else { continue };
            let parent = &mut before[parent_index];
            if parent.thread == section.thread {
                parent.self_busy_ns -= section.busy_ns;
                parent.memory.add(&section.memory);
            }
            let (start, end) = (section.start_ns.max(parent.start_ns), section.end_ns.min(parent.end_ns));
            self.covered[parent_index].push((start, end));
        }
    }
}

/// Length of the union of intervals.
fn union_ns(intervals: &mut [(u64, u64)]) -> u64 {
    intervals.sort_unstable();
    let (mut covered, mut reached) = (0, 0);
    for &(start, end) in intervals.iter() {
        covered += end.saturating_sub(start.max(reached));
        reached = reached.max(end);
    }
    covered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_follow_from_the_tree() {
        let mut plan = Plan::default();
        let root = plan.push(Section::new("step", None, 1, 100, 200));
        plan.push(Section::new("a", Some(root), 1, 110, 150));
        let b = plan.push(Section::new("b", Some(root), 2, 140, 230));
        plan.push(Section::new("c", Some(b), 2, 150, 160));
        for section in &mut plan.sections {
            section.own.alloc_bytes = 10;
        }
        plan.complete();
        let self_ns: Vec<u64> = plan.sections.iter().map(|section| section.self_ns).collect();
        // The step is covered from 110 to its end at 200.
        assert_eq!(self_ns, [10, 40, 80, 10]);
        let self_busy_ns: Vec<u64> = plan.sections.iter().map(|section| section.self_busy_ns).collect();
        assert_eq!(self_busy_ns, [60, 40, 80, 10]);
        let alloc: Vec<u64> = plan.sections.iter().map(|section| section.memory.alloc_bytes).collect();
        assert_eq!(alloc, [20, 10, 20, 10]);
    }
}
