//! The batches and the waits of one group into the accumulators: how long each took, for which loader, and who was held up by
//! it. What a step is exposed to is decided elsewhere.

use std::collections::BTreeMap;

use stepscope_core::SectionKind;
use stepscope_core::path::MAX_DEPTH;
use stepscope_model::{Span, Trace};

use crate::between_steps::accumulator::{OTHERS, other};
use crate::loaders::batches::{OUTSIDE, Waits};
use crate::run::Target;
use crate::step_view::StepView;
use crate::step_view::group::Group;
use crate::step_view::place::{Node, Role, running};

/// Adds a batch, or what a wait says about its batch.
#[inline]
pub(crate) fn batch(group: &Group<'_>, span: &Span, node: &Node, target: &mut Target<'_>) {
    let trace = group.view.trace;
    let bounds = target.bounds;
    if span.kind == SectionKind::Batch {
        if let Some(instance) = &mut target.instance {
            let name = loader_of(trace, span);
            instance.loaders.add(name, span, node.thread, bounds.loaders, bounds.threads);
        }
    } else if Waits::says_batch(span) {
        if let Some(waits) = waits_of(group, node, target) {
            waits.batch(span);
        }
        // Few have one.
        let loader = if span.loader.is_empty() { "" } else { trace.text(span.loader) };
        if let Some(named) = target.run.named_waits.of(loader, bounds.loaders) {
            named.waits.batch(span);
        }
    }
}

/// The waits for batches of the group at hand.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waiting {
    waits: Vec<u32>,
}

impl Waiting {
    /// Begins with a group.
    pub(crate) fn begin(&mut self) {
        self.waits.clear();
    }

    /// Takes down a span, if it is such a wait.
    #[inline]
    pub(crate) fn note(&mut self, index: u32, node: &Node) {
        if node.is_wait {
            self.waits.push(index);
        }
    }

    /// Adds them. `swept` are spans with their exposed time, where that is known. Gives for how long the thread of the group
    /// waited.
    pub(crate) fn observe(
        &self,
        group: &Group<'_>,
        swept: Option<(&[u32], &[u64])>,
        target: &mut Target<'_>,
    ) -> u64 {
        if self.waits.is_empty() {
            return 0;
        }
        let Group { view, root, window, .. } = *group;
        // Where those on its own thread are counted by loader: outside of steps by the mode of what it does, where that is told.
        let outside = || {
            let other = other(view.phases.key(window.slot), root.mode);
            let of = other.and_then(|at| OTHERS.get(usize::from(at)));
            of.map_or(OUTSIDE, |&(_, mode)| mode as usize)
        };
        let place = group.mode.map(|mode| mode as usize);
        let place = place.or_else(|| (window.role == Role::Outside).then(outside));
        let suspended = swept.map_or_else(BTreeMap::new, |swept| self.suspended(view, swept));
        let bounds = target.bounds;
        let mut all_ns = 0u64;
        for &index in &self.waits {
            let Some((span, node)) = view.get(index) else { continue };
            let waited_ns = suspended.get(&index).copied().unwrap_or_else(|| node.duration_ns());
            if let Some(waits) = waits_of(group, node, target) {
                waits.wait(span, waited_ns);
            }
            let maker = maker(view, node);
            if let Some(((name, thread), instance)) = maker.zip(target.instance.as_mut())
                && thread == node.thread
            {
                let wait = (span.start_ns, waited_ns);
                instance.loaders.waited(name, wait, thread, bounds.loaders, bounds.threads);
            }
            let named = target.run.named_waits.of(view.trace.text(span.loader), bounds.loaders);
            if let Some(named) = named {
                named.wait(span, waited_ns, place.filter(|_| node.is_driving));
                if let Some((name, _)) = maker {
                    named.maker_waited(name, waited_ns, bounds.loaders);
                }
            }
            if node.is_driving {
                all_ns = all_ns.saturating_add(waited_ns);
            }
        }
        all_ns
    }

    /// For how long the group's own thread waited in those waits that say when they ran: while these and what is inside them
    /// are exposed. One that was suspended while other sections ran kept nobody waiting meanwhile.
    fn suspended(&self, view: &StepView<'_>, (nodes, exposed): (&[u32], &[u64])) -> BTreeMap<u32, u64> {
        let is_suspended = |index: u32| {
            view.get(index)
                .is_some_and(|(span, node)| node.is_driving && !running(view.trace, span).is_empty())
        };
        let own = self.waits.iter().copied().filter(|&index| is_suspended(index));
        let mut waits: BTreeMap<u32, u64> = own.map(|index| (index, 0)).collect();
        if waits.is_empty() {
            return waits;
        }
        for (&index, &exposed_ns) in nodes.iter().zip(exposed).filter(|swept| *swept.1 > 0) {
            let above = |&at: &u32| Some(view.node(at)?.parent);
            for around in std::iter::successors(Some(index), above).take(MAX_DEPTH.into()) {
                if let Some(waited_ns) = waits.get_mut(&around) {
                    *waited_ns = waited_ns.saturating_add(exposed_ns);
                }
            }
        }
        waits
    }
}

/// Where a wait for a batch goes: in a step to those of the run, where the thread waited that drives it; else to those of
/// its thread, of which it may be known later only whether it drives steps.
fn waits_of<'t>(group: &Group<'_>, node: &Node, target: &'t mut Target<'_>) -> Option<&'t mut Waits> {
    if group.mode.is_some() {
        return node.is_driving.then_some(&mut target.run.waits);
    }
    target.instance.as_mut()?.outside.waits(node.thread, target.bounds.threads)
}

/// The loader that makes a batch: as the batch says, else by its name.
fn loader_of<'a>(trace: &'a Trace, batch: &Span) -> &'a str {
    let loader = trace.text(batch.loader);
    if loader.is_empty() { trace.text(batch.name) } else { loader }
}

/// The loader that makes the batch which a wait is part of, and the thread that makes it.
fn maker<'a>(view: &StepView<'a>, wait: &Node) -> Option<(&'a str, Option<i64>)> {
    let mut above = wait.parent;
    loop {
        // Ends: parents lead to roots.
        let (span, node) = view.get(above)?;
        if span.kind == SectionKind::Batch {
            return Some((loader_of(view.trace, span), node.thread));
        }
        above = node.parent;
    }
}
