//! The accumulators of one run and of one of its process instances.

pub(crate) mod coverage;
pub(crate) mod coverage_finish;
pub(crate) mod finish;
pub(crate) mod observe;
pub(crate) mod recorder;
pub(crate) mod summary;
pub(crate) mod tally;

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stepscope_model::Resource;

use crate::accumulate::Merge;
use crate::accumulate::step_series::StepSeries;
use crate::between_steps::accumulator::BetweenSteps;
use crate::config::Bounds;
use crate::critical_path::{Linked, WINDOWS, WindowSums};
use crate::exemplars::Exemplars;
use crate::live_memory::LiveSamples;
use crate::loaders::batches::{Loaders, NamedWaits, Waits};
use crate::losses::Account;
use crate::memory::by_process::MemoryPoint;
use crate::memory::retained::RetainedMemory;
use crate::phases::phase_point::PhasePoint;
use crate::phases::section_time::SectionTime;
use crate::sections::aggregates::Aggregates;
use crate::sections::paths::UNCUT;
use crate::sections::{SectionAcc, Sections};
use crate::step_view::place::Node;
use crate::steps::StepAcc;
use crate::steps::step_point::StepPoint;
use crate::steps::values::Values;
use crate::steps::warmup_sections::WarmupSections;
use crate::threads::DeepThreads;
use crate::threads::processors::{Costs, Processors};
use tally::Tally;

/// Which run something belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct RunKey {
    pub(crate) id: Box<str>,
    pub(crate) attempt: i64,
    pub(crate) is_foreign: bool,
}

impl RunKey {
    /// The run of a process: what it says, else its service.
    pub(crate) fn of(resource: &Resource) -> Self {
        let is_foreign = resource.run_id.is_empty();
        let id = if is_foreign { &resource.service_name } else { &resource.run_id };
        Self { id: id.as_str().into(), attempt: resource.attempt.unwrap_or(0), is_foreign }
    }
}

/// A process instance as a key.
#[derive(Debug, Clone)]
pub(crate) struct Instance(pub(crate) Arc<Resource>);

impl Ord for Instance {
    fn cmp(&self, other: &Self) -> Ordering {
        // Readers hand out one resource for all traces of a process.
        if Arc::ptr_eq(&self.0, &other.0) { Ordering::Equal } else { self.0.cmp(&other.0) }
    }
}

impl PartialOrd for Instance {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Instance {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Instance {}

impl Serialize for Instance {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Instance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Resource::deserialize(deserializer).map(|resource| Self(Arc::new(resource)))
    }
}

/// One process instance.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct InstanceAcc {
    pub(crate) tally: Tally,
    /// By mode.
    pub(crate) steps: [StepAcc; 3],
    /// By mode.
    pub(crate) memory: [StepSeries<MemoryPoint>; 3],
    pub(crate) outside: BetweenSteps,
    pub(crate) loaders: Loaders,
    pub(crate) aggregates: Aggregates,
    pub(crate) processors: Processors,
    pub(crate) account: Account,
    pub(crate) live_memory: LiveSamples,
}

impl InstanceAcc {
    /// Adds everything of `other`.
    pub(crate) fn merge(&mut self, other: &Self, bounds: &Bounds) {
        self.tally.absorb(&other.tally);
        for (mine, theirs) in self.steps.iter_mut().zip(&other.steps) {
            mine.merge(theirs, bounds.custom_phases);
        }
        for (mine, theirs) in self.memory.iter_mut().zip(&other.memory) {
            mine.merge(theirs, bounds.process_points);
        }
        self.outside.merge(&other.outside, bounds.threads);
        self.loaders.merge(&other.loaders, bounds.loaders, bounds.threads);
        self.aggregates.merge(&other.aggregates, bounds.aggregates);
        self.processors.merge(&other.processors);
        self.account.merge(&other.account, bounds.losses);
        self.live_memory.absorb(&other.live_memory);
    }
}

/// One run. What does not need its process is kept for the run as a whole, so that many processes cost little.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct RunAcc {
    pub(crate) tally: Tally,
    pub(crate) instances: BTreeMap<Instance, InstanceAcc>,
    /// Whether instances were left out.
    pub(crate) is_cut: bool,
    pub(crate) sections: Sections,
    /// Sections in one that was not read: below the names of what is directly inside it; see [`crate::step_view`].
    pub(crate) orphans: Sections,
    /// By mode.
    pub(crate) series: [StepSeries<StepPoint>; 3],
    /// By mode.
    pub(crate) phase_series: [StepSeries<PhasePoint>; 3],
    pub(crate) retained: RetainedMemory,
    /// By mode.
    pub(crate) warmup_sections: [WarmupSections; 3],
    /// By mode.
    pub(crate) examples: [Exemplars; 3],
    pub(crate) values: Values,
    /// Of the threads that drive them, in steps.
    pub(crate) waits: Waits,
    pub(crate) named_waits: NamedWaits,
    /// By kind of window.
    pub(crate) windows: [WindowSums; WINDOWS],
    pub(crate) linked: Linked,
    /// In deep steps, by mode.
    pub(crate) threads: [DeepThreads; 3],
    pub(crate) costs: Costs,
}

impl RunAcc {
    /// The waits of the threads that drive steps, in these and outside of them; where none does, those of all threads.
    pub(crate) fn driving_waits(&self) -> Waits {
        let instances = || self.instances.values().map(|acc| &acc.outside);
        let any_drives = instances().any(|outside| !outside.driving.is_empty());
        let mut waits = self.waits.clone();
        for outside in instances() {
            let drives = |thread| !any_drives || outside.driving.contains_key(thread);
            let own = outside.waits.iter().filter(|(thread, _)| drives(thread));
            own.for_each(|(_, own)| waits.absorb(own));
        }
        waits
    }

    /// Adds everything of `other`; the bound on instances is the caller's.
    pub(crate) fn merge(&mut self, other: &Self, bounds: &Bounds) {
        self.tally.absorb(&other.tally);
        for (instance, theirs) in &other.instances {
            self.instances.entry(instance.clone()).or_default().merge(theirs, bounds);
        }
        self.is_cut |= other.is_cut;
        self.sections.merge(&other.sections, bounds.paths);
        self.orphans.merge(&other.orphans, bounds.paths);
        for (mine, theirs) in self.series.iter_mut().zip(&other.series) {
            mine.merge(theirs, bounds.points);
        }
        for (mine, theirs) in self.phase_series.iter_mut().zip(&other.phase_series) {
            mine.merge(theirs, bounds.phase_points);
        }
        self.retained.merge(&other.retained, bounds);
        self.warmup_sections
            .iter_mut()
            .zip(&other.warmup_sections)
            .for_each(|(mine, theirs)| mine.merge(theirs));
        for (mine, theirs) in self.examples.iter_mut().zip(&other.examples) {
            mine.merge(theirs);
        }
        self.values.merge(&other.values, bounds.values, bounds.points);
        self.waits.absorb(&other.waits);
        self.named_waits.merge(&other.named_waits, bounds.loaders);
        self.windows.absorb(&other.windows);
        self.linked.merge(&other.linked);
        self.threads.iter_mut().zip(&other.threads).for_each(|(mine, theirs)| mine.merge(theirs));
        self.costs.absorb(&other.costs);
        self.bound_paths();
        self.bound_section_time();
    }

    /// Forgets what links lead to, what sections left allocated and what they took at first where paths were cut: all are
    /// kept by whole paths, and were there in one order of the input and not in another.
    #[inline]
    pub(crate) fn bound_paths(&mut self) {
        if self.sections.tree().cut() != UNCUT {
            self.linked = Linked::default();
            self.retained = RetainedMemory::default();
            self.warmup_sections = Default::default();
        }
    }

    /// Forgets the times of sections over the steps where paths were cut, as the links, and what threads did in sections.
    pub(crate) fn bound_section_time(&mut self) {
        if self.sections.tree().cut() != UNCUT {
            let points = self.phase_series.iter_mut().flat_map(|series| series.points.values_mut());
            points.for_each(|point| point.section_time = SectionTime::default());
            self.sections.forget_threads();
            self.threads = Default::default();
        }
    }
}

/// Where what is observed of a trace goes.
pub(crate) struct Target<'a> {
    /// Without its instances.
    pub(crate) run: &'a mut RunAcc,
    /// The process; absent where these are too many.
    pub(crate) instance: Option<&'a mut InstanceAcc>,
    pub(crate) bounds: &'a Bounds,
}

impl Target<'_> {
    /// The sums of a span's section.
    pub(crate) fn acc(&mut self, node: &Node) -> &mut SectionAcc {
        let sections = if node.is_orphan { &mut self.run.orphans } else { &mut self.run.sections };
        sections.acc(node.path)
    }
}
