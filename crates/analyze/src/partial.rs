//! The foldable half of an analysis: what any piece of the input says, in integers, ready to be merged.

mod bytes;

use std::collections::BTreeMap;
use std::sync::Arc;

use stepscope_model::{MetricPoint, Resource, Trace};

use crate::config::Config;
use crate::metrics::Metrics;
use crate::run::observe::Observers;
use crate::run::{Instance, InstanceAcc, RunAcc, RunKey};
use crate::sections::aggregates::Point;
use crate::summary::Summary;

pub use bytes::{PARTIAL_VERSION, PartialError};

/// What a piece of the input says about its runs.
///
/// Traces and points come in any order and grouping: [`Self::merge`] is associative and commutative, and
/// equal sets of traces give partials with equal [`Self::to_bytes`]. Its size is bounded by
/// [`crate::Bounds`], not by the number of spans. The same trace twice counts twice.
#[derive(Debug, Clone)]
pub struct Partial {
    config: Config,
    runs: BTreeMap<RunKey, RunAcc>,
    /// What was measured, of whatever run.
    metrics: Metrics,
    /// Instances of all runs together.
    instances: usize,
    /// Whether runs were left out.
    is_cut: bool,
    observers: Observers,
    /// Where the last trace or point went, if that is still there: most come in rows.
    last: Option<(RunKey, Instance)>,
}

impl Partial {
    /// Nothing read yet. Partials that are to be merged must have equal bounds.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            runs: BTreeMap::new(),
            metrics: Metrics::default(),
            instances: 0,
            is_cut: false,
            observers: Observers::default(),
            last: None,
        }
    }

    /// The settings.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Adds a trace.
    pub fn add(&mut self, trace: &Trace) {
        if trace.spans.is_empty() {
            return;
        }
        self.enter(&trace.resource);
        let Some((key, instance)) = &self.last else { return };
        if let Some(run) = self.runs.get_mut(key) {
            self.observers.observe(trace, run, instance, &self.config.bounds);
        }
    }

    /// Adds a metric point of a process; times are those of the point, nanoseconds since the Unix epoch.
    pub fn metric(&mut self, resource: &Arc<Resource>, start_ns: u64, time_ns: u64, point: &MetricPoint) {
        let (times, bound) = ((start_ns, time_ns), self.config.bounds.metric_series);
        match point {
            MetricPoint::Measured(measured) => return self.metrics.add(resource, times, measured, bound),
            MetricPoint::RssBytes(bytes) => {
                self.metrics.add_resident(resource, times, *bytes, bound);
                // Who tells of processes of the whole machine is no run.
                if resource.run_id.is_empty() {
                    return;
                }
            }
            _ => {}
        }
        self.enter(resource);
        let Some((key, instance)) = &self.last else { return };
        let bounds = self.config.bounds;
        let Some(instance) = self.runs.get_mut(key).and_then(|run| run.instances.get_mut(instance)) else {
            return;
        };
        if let MetricPoint::Section { path, phase, kind, value } = point {
            let point = Point { start_ns, time_ns, path, phase, kind, value };
            instance.aggregates.add(&point, bounds.aggregates);
        } else if let MetricPoint::SectionsLeftOut(paths) = point {
            instance.aggregates.is_cut |= *paths > 0;
        } else if let MetricPoint::Live(point) = point {
            instance.live_memory.add(time_ns, point);
        } else {
            instance.account.add(start_ns, time_ns, point, bounds.losses);
        }
    }

    /// Adds everything that `other` has read.
    pub fn merge(&mut self, other: &Self) {
        self.last = None;
        let bounds = self.config.bounds;
        for (key, theirs) in &other.runs {
            self.runs.entry(key.clone()).or_default().merge(theirs, &bounds);
        }
        self.metrics.merge(&other.metrics, bounds.metric_series);
        self.is_cut |= other.is_cut;
        self.instances = self.runs.values().map(|run| run.instances.len()).sum();
        self.keep_largest_runs();
        self.keep_largest_instances();
    }

    /// The summary of one run: the one with this id (its latest attempt; `RUN/ATTEMPT` selects that one), else the
    /// one that started last; ties by id. The other runs are listed in it.
    #[must_use]
    pub fn finish(&self, select: Option<&str>) -> Summary {
        crate::finish::summary((&self.runs, &self.metrics), self.is_cut, &self.config, select)
    }

    /// Makes sure that run and instance are there, and `last` says where; it says nothing where the run is left
    /// out.
    fn enter(&mut self, resource: &Arc<Resource>) {
        if self.last.as_ref().is_some_and(|(_, instance)| Arc::ptr_eq(&instance.0, resource)) {
            return;
        }
        self.last = self.find(resource);
    }

    fn find(&mut self, resource: &Arc<Resource>) -> Option<(RunKey, Instance)> {
        let key = RunKey::of(resource);
        let instance = Instance(Arc::clone(resource));
        if self.runs.get(&key).is_some_and(|run| run.instances.contains_key(&instance)) {
            return Some((key, instance));
        }
        let run = self.runs.entry(key.clone()).or_default();
        run.instances.insert(instance.clone(), InstanceAcc::default());
        self.instances += 1;
        self.keep_largest_runs();
        self.keep_largest_instances();
        self.runs.contains_key(&key).then_some((key, instance))
    }

    fn keep_largest_runs(&mut self) {
        while self.runs.len() > self.config.bounds.runs.max(1) {
            if let Some((_, run)) = self.runs.pop_first() {
                self.instances -= run.instances.len();
            }
            self.is_cut = true;
        }
    }

    /// Drops the instances of the smallest (run, resource). Runs go in the same order, so that whichever
    /// bound is met first, the same ones stay.
    fn keep_largest_instances(&mut self) {
        while self.instances > self.config.bounds.instances {
            let Some(run) = self.runs.values_mut().find(|run| !run.instances.is_empty()) else { return };
            run.instances.pop_first();
            run.is_cut = true;
            self.instances -= 1;
        }
    }
}
