//! One group of the spans of a trace: a step, a section outside of steps or a batch, and what is inside of it.

use stepscope_core::{Mode, Phase};
use stepscope_model::{Figure, Span};

use crate::accumulate::step_series::StepIndex;
use crate::phases::PhaseKey;
use crate::phases::section_time::{id_inside, id_of};
use crate::step_view::StepView;
use crate::step_view::place::{Node, Role};

/// A group: the window that its anchor is, and its members.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group<'a> {
    pub(crate) view: &'a StepView<'a>,
    pub(crate) anchor: u32,
    pub(crate) root: &'a Span,
    pub(crate) window: &'a Node,
    /// Its spans in time order, and the steps directly inside of them.
    pub(crate) members: &'a [u32],
    /// Of a step.
    pub(crate) mode: Option<Mode>,
    /// Where the step is, if it has a number.
    pub(crate) place: Option<StepIndex>,
}

impl<'a> Group<'a> {
    pub(super) fn of(view: &'a StepView<'a>, anchor: u32, members: &'a [u32]) -> Option<Self> {
        let (root, window) = view.get(anchor)?;
        let mut group = Self { view, anchor, root, window, members, mode: None, place: None };
        if window.role == Role::Step {
            group.mode = Some(group.mode_of_step());
            group.place = group.index();
        }
        Some(group)
    }

    /// Its spans, with their indices and places.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (u32, &'a Span, &'a Node)> {
        let view = self.view;
        self.members.iter().filter_map(move |&index| view.get(index).map(|(span, node)| (index, span, node)))
    }

    /// Whether steps and batches inside of it are in traces of their own.
    pub(crate) const fn is_outside(&self) -> bool {
        self.view.trace.is_ours && matches!(self.window.role, Role::Outside)
    }

    /// The interval of a span within the window.
    pub(crate) fn clamp(&self, node: &Node) -> (u64, u64) {
        let start_ns = node.start_ns.clamp(self.window.start_ns, self.window.end_ns);
        (start_ns, node.end_ns.clamp(start_ns, self.window.end_ns))
    }

    /// Whether it is a step that was recorded in more detail than the others.
    pub(crate) fn is_deep(&self) -> bool {
        self.root.figure(Figure::StepDeep).is_some_and(|said| said != 0)
    }

    /// Whether it is a section outside of all steps, in the trace of a deep step during which it was open.
    pub(crate) fn is_beside(&self) -> bool {
        self.is_deep() && self.is_outside()
    }

    /// Which step its root says it belongs to.
    pub(crate) fn index(&self) -> Option<StepIndex> {
        let epoch = self.root.amount(Figure::Epoch);
        self.root.amount(Figure::Step).map(|step| StepIndex { epoch, step })
    }

    /// The mode of a step. One that names none, and whose sections are all evaluation or inference, and input for it, is
    /// of that mode, where these take half of it at least.
    fn mode_of_step(&self) -> Mode {
        if self.root.mode != Mode::Train {
            return self.root.mode;
        }
        let (mut found, mut of_mode_ns) = (None, 0u64);
        let nodes = self.members.iter().filter_map(|&index| self.view.node(index));
        for node in nodes.filter(|node| node.parent == self.anchor) {
            let mode = match self.view.phases.key(node.slot) {
                key if *key == PhaseKey::known(Phase::Evaluation) => Mode::Eval,
                key if *key == PhaseKey::known(Phase::Inference) => Mode::Inference,
                PhaseKey::Known(index) if Phase::from_index(*index).is_some_and(Phase::is_input) => continue,
                _ => return Mode::Train,
            };
            if found.is_some_and(|other| other != mode) {
                return Mode::Train;
            }
            found = Some(mode);
            of_mode_ns = of_mode_ns.saturating_add(node.duration_ns());
        }
        let is_most = of_mode_ns.saturating_mul(2) >= self.window.duration_ns();
        found.filter(|_| is_most).unwrap_or(Mode::Train)
    }

    /// What it did: what its root says, else the sum over the outermost sections that say it. Where some of these were
    /// not read, that sum would pass for the whole.
    pub(crate) fn work(&self, figure: Figure) -> Option<u64> {
        let said = self.root.amount(figure);
        if said.is_some() || !self.view.is_whole {
            return said;
        }
        let own = |index: u32| self.view.get(index).filter(|(_, node)| node.anchor == self.anchor);
        // No chain of parents is longer than there are spans.
        let most = self.view.nodes.len();
        let is_inner = |node: &Node| {
            let around = std::iter::successors(own(node.parent), |(_, node)| own(node.parent));
            around.take(most).any(|(span, _)| span.amount(figure).is_some())
        };
        let amounts = self.members.iter().filter_map(|&index| {
            let amount = self.view.span(index)?.amount(figure)?;
            own(index).filter(|(_, node)| !is_inner(node)).map(|_| amount)
        });
        amounts.fold(None, |sum, amount| Some(sum.unwrap_or(0u64).saturating_add(amount)))
    }

    /// Identity of the path of its root as its trace tells it, whatever is cut off of paths: see [`id_inside`].
    pub(crate) fn path_id(&self) -> u64 {
        let trace = self.view.trace;
        let around = |node: &Node| self.view.get(node.parent);
        // No chain of parents is longer than there are spans.
        let most = self.view.nodes.len() + 1;
        let chain = std::iter::successors(Some((self.root, self.window)), |(_, node)| around(node));
        let chain: Vec<&Span> = chain.take(most).map(|(span, _)| span).collect();
        let before = match chain.last().map_or("", |first| trace.text(first.parent_path)) {
            "" => 0,
            path => id_of(path),
        };
        chain.iter().rev().fold(before, |around, span| id_inside(around, trace.text(span.name)))
    }
}
