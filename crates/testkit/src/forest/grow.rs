//! Random sections below a given one: in turn, overlapping because they are asynchronous, recursive, or on
//! threads of their own.

use stepscope_core::Phase;

use super::options::ForestOptions;
use super::plan::{Index, Memory, Plan, Section};
use crate::random::Random;

/// Names of sections by depth; none of them implies a phase.
const NAMES: [[&str; 3]; 4] = [
    ["block", "attention", "residual/add"],
    ["linear", "softmax", "rotate"],
    ["matmul", "copy_rows", "reduce"],
    ["kernel_a", "kernel_b", "tile"],
];

/// First of the ids of threads that sections run on beside their parent's.
const POOL_THREADS: u64 = 500;

/// Levels of a deep recursion: more than a call path keeps.
const DEEP_LEVELS: u64 = 80;

/// Grows sections.
#[derive(Debug)]
pub(super) struct Grower<'a> {
    pub options: &'a ForestOptions,
    pub random: &'a mut Random,
    pub plan: &'a mut Plan,
}

/// How the sections inside one lie in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    InTurn,
    Async,
    Threads,
}

impl Grower<'_> {
    /// Adds exactly `count` sections below `parent`, which lies at `depth` below its root.
    pub(super) fn grow(&mut self, parent: Index, count: u32, depth: u32) {
        if count == 0 {
            return;
        }
        let deepest = depth >= self.options.depth;
        let children = if deepest { count } else { self.random.within(1, u64::from(count.min(6))) as u32 };
        let layout = self.layout(parent, children);
        let first = self.plan.sections.len();
        match layout {
            Layout::InTurn => self.in_turn(parent, children, depth),
            Layout::Async => self.asynchronous(parent, children, depth),
            Layout::Threads => self.on_threads(parent, children, depth),
        }
        let last = self.plan.sections.len();
        let mut rest = count - children;
        for child in first..last {
            let after = (last - child - 1) as u32;
            let share = if after == 0 { rest } else { self.random.within(0, u64::from(rest)) as u32 };
            rest -= share;
            self.grow(child, share, depth + 1);
        }
    }

    /// A recursion of `levels` levels that ends in nothing.
    pub(super) fn recurse(&mut self, parent: Index) {
        let section = &self.plan.sections[parent];
        let (thread, mut start_ns, mut end_ns) = (section.thread, section.start_ns, section.end_ns);
        let mut parent = parent;
        for _ in 0..DEEP_LEVELS {
            let margin_ns = (end_ns - start_ns) / 100;
            start_ns += self.random.within(0, margin_ns);
            end_ns -= self.random.within(0, margin_ns);
            parent = self.push("descend", parent, thread, start_ns, end_ns);
        }
    }

    fn layout(&mut self, parent: Index, children: u32) -> Layout {
        let on_threads = self.random.chance(self.options.threads_per_mille);
        let is_async = self.random.chance(self.options.async_per_mille);
        if on_threads {
            Layout::Threads
        } else if (is_async && children > 1) || self.plan.sections[parent].was_suspended() {
            // What an asynchronous section contains is suspended with it.
            Layout::Async
        } else {
            Layout::InTurn
        }
    }

    fn in_turn(&mut self, parent: Index, children: u32, depth: u32) {
        let (thread, start_ns, end_ns) = self.window(parent);
        let tight = self.random.chance(500);
        let points = self.points(start_ns, end_ns, if tight { children + 1 } else { children * 2 });
        let step = if tight { 1 } else { 2 };
        for ends in points.windows(2).step_by(step).take(children as usize) {
            let name = self.name(parent, depth);
            self.push(name, parent, thread, ends[0], ends[1]);
        }
    }

    fn asynchronous(&mut self, parent: Index, children: u32, depth: u32) {
        let (thread, start_ns, end_ns) = self.window(parent);
        let mut left_ns = self.plan.sections[parent].busy_ns;
        for _ in 0..children {
            let ends = self.points(start_ns, end_ns, 2);
            let name = self.name(parent, depth);
            let child = self.push(name, parent, thread, ends[0], ends[1]);
            // One nanosecond less than its duration at most, so that it counts as suspended.
            let most_ns = (ends[1] - ends[0]).saturating_sub(1).min(left_ns);
            let busy_ns = self.random.within(0, most_ns);
            left_ns -= busy_ns;
            self.plan.sections[child].busy_ns = busy_ns;
        }
    }

    fn on_threads(&mut self, parent: Index, children: u32, depth: u32) {
        let (_, start_ns, end_ns) = self.window(parent);
        for _ in 0..children {
            let ends = self.points(start_ns, end_ns, 2);
            let outlives = self.random.chance(self.options.overflow_per_mille);
            let late_ns = if outlives { self.random.within(0, (end_ns - start_ns) / 4) } else { 0 };
            let end_ns = if outlives { end_ns + late_ns } else { ends[1] };
            // The number of the section makes threads of one group differ.
            let thread = POOL_THREADS + self.plan.sections.len() as u64;
            let name = self.name(parent, depth);
            self.push(name, parent, thread, ends[0], end_ns);
        }
    }

    /// Adds a section with what it allocates itself.
    pub(super) fn push(
        &mut self,
        name: &'static str,
        parent: Index,
        thread: u64,
        start_ns: u64,
        end_ns: u64,
    ) -> Index {
        let mut section = Section::new(name, Some(parent), thread, start_ns, end_ns);
        section.own = self.memory();
        self.plan.push(section)
    }

    /// As [`Self::push`], with a phase where phases are wanted.
    pub(super) fn push_phase(
        &mut self,
        name: &'static str,
        phase: Phase,
        parent: Index,
        ends: (u64, u64),
    ) -> Index {
        let thread = self.plan.sections[parent].thread;
        let index = self.push(name, parent, thread, ends.0, ends.1);
        self.plan.sections[index].phase = self.options.phases.then_some(phase);
        index
    }

    /// A random own allocation.
    pub(super) fn memory(&mut self) -> Memory {
        if !self.options.memory {
            return Memory::default();
        }
        let alloc_count = self.random.below(20);
        let alloc_bytes = alloc_count * self.random.within(16, 4_096);
        let free_count = self.random.within(0, alloc_count);
        let free_bytes = alloc_bytes * free_count / alloc_count.max(1);
        Memory { alloc_bytes, free_bytes, alloc_count, free_count }
    }

    /// `count` sorted moments.
    pub(super) fn points(&mut self, start_ns: u64, end_ns: u64, count: u32) -> Vec<u64> {
        let mut points: Vec<u64> = (0..count).map(|_| self.random.within(start_ns, end_ns)).collect();
        points.sort_unstable();
        points
    }

    fn window(&self, parent: Index) -> (u64, u64, u64) {
        let section = &self.plan.sections[parent];
        (section.thread, section.start_ns, section.end_ns)
    }

    fn name(&mut self, parent: Index, depth: u32) -> &'static str {
        if depth > 1 && self.random.chance(self.options.recursion_per_mille) {
            return self.plan.sections[parent].name;
        }
        let names = NAMES[(depth as usize - 1).min(NAMES.len() - 1)];
        names[self.random.below(names.len() as u64) as usize]
    }
}
