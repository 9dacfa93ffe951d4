//! One trace into the accumulators of its run: its view is built, then each subject observes each of its groups. This is the
//! hot path.

use std::cmp::Reverse;
use std::mem;

use stepscope_core::SectionKind;
use stepscope_model::Trace;

use crate::accumulate::Merge;
use crate::config::Bounds;
use crate::critical_path::linked;
use crate::critical_path::observe::Walks;
use crate::loaders::observe::Waiting;
use crate::phases::observe::Exposure;
use crate::run::tally::Tally;
use crate::run::{Instance, RunAcc, Target};
use crate::sections::observe::Calls;
use crate::step_view::Builder;
use crate::step_view::group::Group;
use crate::step_view::place::Role;
use crate::steps::observe::Steps;
use crate::threads::observe::Threads;
use crate::threads::processors::Costs;
use crate::{between_steps, exemplars, loaders, steps};

/// The subjects' memory that is reused from trace to trace. It holds nothing of any run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observers {
    views: Builder,
    subjects: Subjects,
}

#[derive(Debug, Clone, Default)]
struct Subjects {
    calls: Calls,
    walks: Walks,
    exposure: Exposure,
    waiting: Waiting,
    steps: Steps,
    threads: Threads,
}

impl Observers {
    /// Adds a trace to its run. `instance` is absent from the run where instances are too many.
    pub(crate) fn observe(&mut self, trace: &Trace, run: &mut RunAcc, instance: &Instance, bounds: &Bounds) {
        if !trace.spans.is_sorted_by_key(|span| span.start_ns) {
            let mut sorted = trace.clone();
            sorted.spans.sort_by_key(|span| (span.start_ns, Reverse(span.end_ns), span.id));
            return self.observe(&sorted, run, instance, bounds);
        }
        let cut = run.sections.tree().cut();
        let view = self.views.build(trace, &mut run.sections, &mut run.orphans, bounds.paths);
        if run.sections.tree().cut() != cut {
            run.bound_section_time();
        }
        let tally = Tally::of(&view);
        run.tally.absorb(&tally);
        let mut instances = mem::take(&mut run.instances);
        let mut target = Target { run, instance: instances.get_mut(instance), bounds };
        if let Some(instance) = &mut target.instance {
            instance.tally.absorb(&tally);
        }
        view.groups().for_each(|group| self.subjects.observe(&group, &mut target));
        run.instances = instances;
        if run.sections.tree().cut() == 0 {
            run.sections.forget_steps_of_root();
        }
        run.bound_paths();
        steps::observe::values(&view, &mut run.values, bounds);
        if let Some(costs) = Costs::of(trace) {
            run.costs.absorb(&costs);
        }
    }
}

impl Subjects {
    fn observe(&mut self, group: &Group<'_>, target: &mut Target<'_>) {
        let Self { calls, walks, exposure, waiting, steps, threads } = self;
        calls.begin(group, target);
        walks.begin();
        exposure.begin(group);
        waiting.begin();
        // Once through the spans, whoever observes them.
        for (index, span, node) in group.spans() {
            exposure.cover(group, node);
            if node.anchor != group.anchor || node.role == Role::Marker {
                continue;
            }
            calls.observe(group, span, node, target);
            loaders::observe::batch(group, span, node, target);
            walks.note(group, index, span, node);
            waiting.note(index, node);
        }
        calls.retain(group, target);
        let kind = group.root.kind;
        let makes = match group.window.role {
            Role::Step => {
                if group.view.is_whole {
                    exposure.observe(group, walks, target);
                    calls.own_ns = walks.observe(group, exposure.nested(), target);
                }
                let wait_ns = waiting.observe(group, exposure.swept(), target);
                let record = steps.observe(group, wait_ns, exposure, target);
                calls.keep(group, exposure.section_time(), target);
                exemplars::observe::observe(group, record, walks, target);
                threads.observe(group, target);
                false
            }
            Role::Outside => {
                exposure.observe(group, walks, target);
                walks.observe(group, exposure.nested(), target);
                let wait_ns = waiting.observe(group, exposure.swept(), target);
                between_steps::observe::observe(group, wait_ns, exposure, target);
                true
            }
            Role::Inside | Role::Container | Role::Marker | Role::Other => {
                waiting.observe(group, None, target);
                group.window.role == Role::Other && matches!(kind, SectionKind::Batch | SectionKind::Request)
            }
        };
        if makes {
            linked::observe::observe(group, walks, target);
        }
    }
}
