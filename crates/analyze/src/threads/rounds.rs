//! Looks at threads joined to the sections of their step: the innermost one open on the thread at that time; and gathered to
//! rounds, one look at each thread.

use stepscope_core::ThreadState;
use stepscope_model::{Figure, ThreadSample};

use crate::step_view::group::Group;
use crate::step_view::place::{Node, Role};

/// A look at a thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) thread: i64,
    pub(super) state: ThreadState,
    pub(super) address: u64,
    /// The path of the section that it was in; absent where it was in none.
    pub(super) path: Option<u32>,
    /// Whether that is outside of all steps.
    pub(super) is_beside: bool,
    /// Whether the thread is the step's own.
    pub(super) is_own: bool,
}

impl Look {
    /// Whether it ran in a section of the step or beside it, and is not the step's own thread.
    pub(super) fn works(&self) -> bool {
        self.runs() && self.path.is_some() && !self.is_own
    }

    pub(super) fn runs(&self) -> bool {
        self.state == ThreadState::Running
    }

    /// Whether it was in a futex.
    pub(super) fn waits(&self) -> bool {
        self.state == ThreadState::Futex
    }

    /// Whether it was in a futex while another one ran in its section.
    pub(super) fn contends(&self, round: &[Self]) -> bool {
        self.waits()
            && self.path.is_some()
            && round
                .iter()
                .any(|other| other.runs() && other.path == self.path && other.thread != self.thread)
    }
}

/// Whether a section is one of the step, or one that another thread was in beside it, outside of all steps.
pub(super) fn is_meant(group: &Group<'_>, node: &Node) -> bool {
    let view = group.view;
    if node.anchor == group.anchor {
        return node.role != Role::Marker && !node.is_orphan;
    }
    let is_deep = |root: &stepscope_model::Span| root.figure(Figure::StepDeep).is_some_and(|said| said != 0);
    // Paths of orphans are those of another tree.
    node.role != Role::Step
        && !node.is_orphan
        && node.thread != group.window.thread
        && view.span(node.anchor).is_some_and(is_deep)
        && view.node(node.anchor).is_some_and(|root| root.role == Role::Outside)
}

/// The looks of one step; memory is reused.
#[derive(Debug, Clone, Default)]
pub(super) struct Rounds {
    looks: Vec<Look>,
    /// Where rounds end.
    ends: Vec<usize>,
    /// Sections that are open, with their threads and ends, and whether they are outside of all steps.
    open: Vec<(i64, u64, u32, bool)>,
}

impl Rounds {
    /// Joins the samples of a step, which are in the order of time, to its sections and to those that other threads were in
    /// beside it, outside of all steps.
    pub(super) fn read(&mut self, group: &Group<'_>) {
        let Self { looks, ends, open } = self;
        looks.clear();
        ends.clear();
        open.clear();
        let own = group.window.thread;
        let view = group.view;
        let mut nodes = view.nodes.iter().filter(|node| is_meant(group, node)).peekable();
        let mut begun = 0;
        for &ThreadSample { time_ns, thread, state, address } in &group.view.trace.samples {
            while let Some(node) = nodes.next_if(|node| node.start_ns <= time_ns) {
                if let Some(on) = node.thread {
                    open.push((on, node.end_ns, node.path, node.anchor != group.anchor));
                }
            }
            open.retain(|&(_, end_ns, ..)| end_ns > time_ns);
            let is_own = own == Some(thread);
            // Of what nests the innermost begins last.
            let inside = open.iter().rev().find(|&&(on, ..)| on == thread);
            let is_beside = inside.is_some_and(|&(.., is_beside)| is_beside);
            let path = inside.map(|&(_, _, path, _)| path).or_else(|| is_own.then_some(group.window.path));
            if looks.get(begun..).is_some_and(|round| round.iter().any(|look| look.thread == thread)) {
                begun = looks.len();
                ends.push(begun);
            }
            looks.push(Look { thread, state, address, path, is_beside, is_own });
        }
        ends.push(looks.len());
    }

    /// All looks.
    pub(super) fn looks(&self) -> &[Look] {
        &self.looks
    }

    /// The rounds, in the order of time.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[Look]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts
            .zip(&self.ends)
            .filter_map(|(&from, &to)| self.looks.get(from..to))
            .filter(|round| !round.is_empty())
    }
}
