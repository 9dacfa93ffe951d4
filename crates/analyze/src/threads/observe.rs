//! One step into what threads did: of a deep one its sections, and the looks at its threads.

use stepscope_core::{Level, ThreadState};
use stepscope_model::Figure;

use crate::accumulate::Merge;
use crate::run::Target;
use crate::sections::paths::UNCUT;
use crate::step_view::group::Group;
use crate::step_view::place::{Node, Role};
use crate::threads::contest;
use crate::threads::processors::Processors;
use crate::threads::rounds::{Look, Rounds};
use crate::threads::section::Time;
use crate::threads::timeline::Timeline;
use crate::threads::{MOST_COUNTED, Own, Round};

/// Observes steps; memory is reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Threads {
    rounds: Rounds,
    /// What is nested in each member on its own thread: CPU time, time in the run queue, and duration; page faults.
    nested: Vec<(u64, u64, u64, u64)>,
}

impl Threads {
    /// Adds a step.
    pub(crate) fn observe(&mut self, group: &Group<'_>, target: &mut Target<'_>) {
        let is_deep = group.is_deep();
        if !is_deep && Level::parse(&group.view.trace.resource.level) != Some(Level::Comprehensive) {
            return;
        }
        let Some(mode) = group.mode.map(|mode| mode as usize) else { return };
        if let Some(instance) = &mut target.instance {
            instance.processors.merge(&Processors::of(group));
        }
        // As other things that are kept by whole paths.
        if target.run.sections.tree().cut() != UNCUT {
            return;
        }
        self.times(group, mode, target);
        if !group.view.trace.samples.is_empty() {
            self.rounds.read(group);
            self.looks(group, mode, target);
            self.contests(group, mode, target);
        }
    }

    /// What sections say of their threads, without what is nested on these.
    fn times(&mut self, group: &Group<'_>, mode: usize, target: &mut Target<'_>) {
        self.nested.clear();
        self.nested.resize(group.view.nodes.len(), (0, 0, 0, 0));
        let is_part =
            |node: &Node| node.anchor == group.anchor && node.role != Role::Marker && !node.is_orphan;
        let said = |span: &stepscope_model::Span, node: &Node| {
            let (cpu_ns, run_queue_ns) = (span.amount(Figure::CpuNs)?, span.amount(Figure::RunQueueNs)?);
            let faults = span.amount(Figure::MinorFaults).unwrap_or(0);
            Some((cpu_ns, run_queue_ns, node.duration_ns(), faults))
        };
        for (index, span, node) in group.spans().filter(|(_, _, node)| node.anchor == group.anchor) {
            let parent = group.view.node(node.parent).filter(|parent| parent.thread == node.thread);
            let Some(said) = said(span, node).filter(|_| parent.is_some() && index != group.anchor) else {
                continue;
            };
            if let Some(sums) = self.nested.get_mut(node.parent as usize) {
                let plus = u64::saturating_add;
                *sums =
                    (plus(sums.0, said.0), plus(sums.1, said.1), plus(sums.2, said.2), plus(sums.3, said.3));
            }
        }
        for (index, span, node) in group.spans().filter(|(_, _, node)| is_part(node)) {
            let Some((cpu_ns, run_queue_ns, duration_ns, faults)) = said(span, node) else { continue };
            let nested = self.nested.get(index as usize).copied().unwrap_or_default();
            let duration_ns = duration_ns.saturating_sub(nested.2);
            let cpu_ns = cpu_ns.saturating_sub(nested.0).min(duration_ns);
            let run_queue_ns = run_queue_ns.saturating_sub(nested.1).min(duration_ns - cpu_ns);
            let time = Time {
                calls: 1,
                duration_ns: duration_ns.into(),
                cpu_ns: cpu_ns.into(),
                run_queue_ns: run_queue_ns.into(),
            };
            let Some(part) = target.acc(node).threads.get_or_insert_default().of(mode) else { continue };
            part.time.absorb(&time);
            if node.thread == group.window.thread {
                part.own_time.absorb(&time);
            }
            part.minor_faults = part.minor_faults.saturating_add(faults.saturating_sub(nested.3));
        }
    }

    /// What threads were seen doing.
    fn looks(&self, group: &Group<'_>, mode: usize, target: &mut Target<'_>) {
        let Some(deep) = target.run.threads.get_mut(mode) else { return };
        deep.steps = deep.steps.saturating_add(1);
        deep.duration_ns = deep.duration_ns.saturating_add(group.window.duration_ns().into());
        deep.dropped = deep.dropped.saturating_add(group.root.amount(Figure::SamplesDropped).unwrap_or(0));
        deep.looks = deep.looks.saturating_add(self.rounds.looks().len() as u64);
        if Timeline::wants(deep.timeline.as_ref(), group) {
            deep.timeline = deep.timeline.take().max(Some(Timeline::of(group, self.rounds.looks())));
        }
        for round in self.rounds.iter() {
            let count = |is: &dyn Fn(&&Look) -> bool| round.iter().filter(is).count();
            let working = count(&|look| look.works());
            let contended = count(&|look| look.contends(round));
            let elsewhere = count(&|look| look.runs() && look.path.is_none());
            let beside = count(&|look| look.runs() && look.is_beside);
            let own_look = round.iter().find(|look| look.is_own);
            let own = match own_look {
                None => Own::Runs,
                Some(look) if look.runs() => Own::Runs,
                Some(look) if look.contends(round) => Own::Contends,
                Some(look) if look.state == ThreadState::Futex && working > 0 => Own::Awaits,
                Some(_) => Own::Blocked,
            };
            let few = |count: usize| u8::try_from(count).unwrap_or(u8::MAX).min(MOST_COUNTED);
            let running = working + usize::from(own_look.is_some_and(Look::runs));
            if let Some(deep) = target.run.threads.get_mut(mode) {
                let round = Round { own, running: few(running), contended: few(contended) };
                deep.add_round(round, elsewhere as u64, beside as u64);
                if let Some(slot) = own_look.and_then(|look| deep.own.get_mut(look.state as usize)) {
                    *slot = slot.saturating_add(1);
                }
            }
            for look in round {
                let Some(path) = look.path else { continue };
                let acc = target.run.sections.acc(path);
                let Some(part) = acc.threads.get_or_insert_default().of(mode) else { continue };
                let state = look.state as usize;
                part.looks.iter_mut().skip(state).take(1).for_each(|slot| *slot = slot.saturating_add(1));
                if look.is_own {
                    part.own_looks
                        .iter_mut()
                        .skip(state)
                        .take(1)
                        .for_each(|slot| *slot = slot.saturating_add(1));
                    let awaits = matches!(own, Own::Awaits | Own::Contends);
                    part.awaiting = part.awaiting.saturating_add(awaits.into());
                }
                let is_awaited = own == Own::Awaits && look.works();
                part.awaited = part.awaited.saturating_add(is_awaited.into());
                part.contended = part.contended.saturating_add(look.contends(round).into());
            }
        }
    }

    /// In which sections threads waited for each other.
    fn contests(&self, group: &Group<'_>, mode: usize, target: &mut Target<'_>) {
        for (path, contest) in contest::of(group, &self.rounds) {
            let turns = contest.turns();
            let acc = target.run.sections.acc(path);
            let Some(part) = acc.threads.get_or_insert_default().of(mode) else { continue };
            part.contended_steps = part.contended_steps.saturating_add(1);
            if turns > 0 {
                part.turns_steps = part.turns_steps.saturating_add(1);
                part.turns_threads = part.turns_threads.max(turns as u64);
                part.turns_cpu_ns = part.turns_cpu_ns.saturating_add(contest.cpu_ns.into());
                part.turns_open_ns = part.turns_open_ns.saturating_add(contest.open_ns.into());
            }
        }
    }
}
