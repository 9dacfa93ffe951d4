//! The waits of one group into the accumulators: how long each took, for which loader, and who was held up by it. What a step
//! is exposed to is decided elsewhere.

use std::collections::BTreeMap;

use stepscope_core::path::MAX_DEPTH;
use stepscope_model::Trace;

use crate::critical_path::observe::running;
use crate::step_view::group::maker;
use crate::step_view::{Fold, Target};

impl Fold {
    /// Adds the waits of the group at hand. `place` is where those on its own thread are counted by loader; `is_exposed` says
    /// whether its time was attributed, `is_step` whether it is a step. Gives for how long that thread waited.
    pub(crate) fn waits(
        &mut self,
        trace: &Trace,
        place: Option<usize>,
        (is_exposed, is_step): (bool, bool),
        target: &mut Target<'_>,
    ) -> u64 {
        if self.waiting.is_empty() {
            return 0;
        }
        let suspended = if is_exposed { self.suspended_waits(trace) } else { BTreeMap::new() };
        let mut all_ns = 0u64;
        for &index in &self.waiting {
            let (Some(node), Some(span)) = (self.nodes.get(index as usize), trace.spans.get(index as usize))
            else {
                continue;
            };
            let waited_ns = suspended.get(&index).copied().unwrap_or_else(|| node.duration_ns());
            if let Some(waits) = target.waits_of(node, is_step) {
                waits.wait(span, waited_ns);
            }
            let maker = maker(trace, &self.nodes, node);
            if let Some(((name, thread), instance)) = maker.zip(target.instance.as_mut())
                && thread == node.thread
            {
                let (loaders, threads) = (target.bounds.loaders, target.bounds.threads);
                instance.loaders.waited(name, (span.start_ns, waited_ns), thread, loaders, threads);
            }
            let named = target.named_waits.of(trace.text(span.loader), target.bounds.loaders);
            if let Some(named) = named {
                named.wait(span, waited_ns, place.filter(|_| node.is_driving));
                if let Some((name, _)) = maker {
                    named.maker_waited(name, waited_ns, target.bounds.loaders);
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
    fn suspended_waits(&self, trace: &Trace) -> BTreeMap<u32, u64> {
        let is_suspended = |index: u32| {
            let is_driving = self.nodes.get(index as usize).is_some_and(|node| node.is_driving);
            let span = trace.spans.get(index as usize).filter(|_| is_driving);
            span.is_some_and(|span| !running(trace, span).is_empty())
        };
        let own = self.waiting.iter().copied().filter(|&index| is_suspended(index));
        let mut waits: BTreeMap<u32, u64> = own.map(|index| (index, 0)).collect();
        if waits.is_empty() {
            return waits;
        }
        for (&index, &exposed_ns) in self.sweep_nodes.iter().zip(&self.exposed).filter(|swept| *swept.1 > 0) {
            let above = |&at: &u32| Some(self.nodes.get(at as usize)?.parent);
            for around in std::iter::successors(Some(index), above).take(MAX_DEPTH.into()) {
                if let Some(waited_ns) = waits.get_mut(&around) {
                    *waited_ns = waited_ns.saturating_add(exposed_ns);
                }
            }
        }
        waits
    }
}
