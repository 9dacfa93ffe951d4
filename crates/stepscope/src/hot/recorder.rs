//! What all threads of a run share: identity, configuration, the tables of paths, callsites, threads and open
//! spans, the counts of losses. At most one recorder is current in a process.

mod current;
mod paths;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use stepscope_core::identity::{TraceId, TraceIds, continuing, instance_and_sequence, mix};
use stepscope_core::{Level, LossReason, PathId, Phase, SectionKind};

use crate::config::Config;
use crate::config::capture::Capture;
use crate::config::track::{Track, Tracked};
use crate::context::identity::Identity;
use crate::hot::captures::Captures;
use crate::hot::deep_steps::DeepSteps;
use crate::hot::epochs::Epochs;
use crate::hot::level_history::LevelHistory;
use crate::hot::open::{Open, Parent, Spec, flag};
use crate::hot::orphan_events::OrphanEvents;
use crate::hot::path_cache::{Fit, Place};
use crate::hot::span_filter::SpanFilter;
use crate::hot::span_ids::Shares;
use crate::hot::span_key;
use crate::hot::span_slab::Slab;
use crate::hot::span_table::SpanTable;
use crate::hot::thread;
use crate::os::clock::{Anchor, now_ns};
use crate::os::memory;
use crate::os::sys;
use crate::shared::aggregate::{Aggregates, MAX_PATHS};
use crate::shared::callsite::{Callsite, Source};
use crate::shared::costs::Costs;
use crate::shared::lock::lock;
use crate::shared::ring::Ring;
use crate::shared::sink_counts::SinkCounts;
use crate::shared::step_work::Work;
use crate::shared::thread_registry::{Tally, ThreadRegistry};
use crate::shared::thread_samples::ThreadSamples;
use crate::shared::thread_shared::ThreadShared;
use crate::shared::trace::{About, TracePool, TraceState, TraceTable};
use current::let_begin;
pub(crate) use current::{beginning_id, current, current_id, make_current, retire, stop_in_child};
pub(crate) use paths::PathInfo;
use paths::Paths;

/// The callsite of the run itself.
pub(crate) static RUN: Callsite = Callsite::new("run", None, module_path!(), file!(), line!(), &[]);
/// The marker that a run has started.
pub(crate) static RUN_STARTED: Callsite =
    Callsite::new("run.started", None, module_path!(), file!(), line!(), &[]);
/// The marker that an epoch has started.
pub(crate) static EPOCH_STARTED: Callsite =
    Callsite::new("epoch.started", None, module_path!(), file!(), line!(), &[]);

/// Which sections leave as spans, in short; steps and their like all do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Gate {
    /// None, as the run was told from the start.
    Closed,
    /// It depends.
    Guarded,
    /// All inside of those that do.
    Open,
    /// As `Open`, and each with more figures than its time (`comprehensive`).
    Full,
}

impl Gate {
    /// `lets_all`: whatever the level gives a span has one.
    fn at(level: Level, started_at: Level, lets_all: bool) -> Self {
        match level {
            Level::Off | Level::Basic if started_at < Level::Detailed => Self::Closed,
            Level::Off | Level::Basic => Self::Guarded,
            Level::Detailed | Level::Comprehensive if !lets_all => Self::Guarded,
            Level::Detailed => Self::Open,
            Level::Comprehensive => Self::Full,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub id: u64,
    pub process_id: u32,
    pub config: Config,
    pub identity: Identity,
    pub anchor: Anchor,
    /// Open spans with ids of another subscriber's, and those with ids of ours.
    pub spans: SpanTable,
    pub own_spans: Slab,
    pub traces: TraceTable,
    pub span_ids: Shares,
    trace_ids: TraceIds,
    next_trace: AtomicU32,
    next_thread: AtomicU64,
    level: AtomicU8,
    gate: AtomicU8,
    pub levels: LevelHistory,
    tracked: Tracked,
    pub captures: Captures,
    pub deep_steps: DeepSteps,
    pub thread_samples: ThreadSamples,
    /// What memory costs in this process.
    pub costs: Costs,
    pub span_filter: Option<SpanFilter>,
    paths: Mutex<Paths>,
    /// Of each path the phase that is said of it or that its name implies, plus 1; 0 where there is none.
    path_phases: Box<[AtomicU8]>,
    pub thread_registry: ThreadRegistry,
    sinks: Mutex<Vec<(&'static str, SinkCounts)>>,
    /// What resident memory may come to, as the program says; 0 where it does not.
    pub set_limit_bytes: AtomicU64,
    #[cfg(feature = "metrics")]
    pub gauges: crate::shared::gauges::Gauges,
    run: Parent,
    pub run_trace_id: TraceId,
    pub run_start_ns: u64,
    pub epochs: Epochs,
    steps_by_name: AtomicU64,
    pub orphan_events: OrphanEvents,
    losses: [AtomicU64; LossReason::ALL.len()],
    /// Asks the background thread to publish aggregates soon (an epoch has ended).
    pub publish_soon: AtomicBool,
    /// The background thread has died.
    is_orphaned: AtomicBool,
    /// Nothing leaves any more.
    is_over: AtomicBool,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Recorder {
    pub(crate) fn new(config: Config, identity: Identity) -> Self {
        let anchor = Anchor::now();
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let run_start_ns = now_ns();
        let start = anchor.unix_ns(run_start_ns);
        let trace_ids = TraceIds::new(
            &identity.run_id,
            identity.attempt,
            &[
                &identity.rank.to_le_bytes(),
                identity.host.as_bytes(),
                &u64::from(std::process::id()).to_le_bytes(),
                &start.to_le_bytes(),
                &id.to_le_bytes(),
            ],
        );
        let span_ids = Shares::new(mix(start ^ u64::from(std::process::id()).rotate_left(40) ^ id));
        let traces = TraceTable::new();
        // Joined and held by the run's own span. The first trace of a table finds room.
        let run_trace_id = trace_ids.trace_id(0, None);
        let about = About::new(run_trace_id, SectionKind::Run);
        let run_trace = TracePool::default().start(&traces, &about).unwrap_or_default();
        let mut paths = Paths::new();
        let spec = Spec { kind: Some(SectionKind::Run), ..Spec::default() };
        let (path, _) = paths.path(PathId::ROOT, Source::Section(&RUN), RUN.name, &spec);
        let tracked = Tracked::new(config.track);
        let run = Parent {
            trace: run_trace,
            span_id: span_ids.of_run(),
            path,
            kind: SectionKind::Run,
            key: 0,
            leaving: (flag::EXPORTED >> flag::LEAVING) as u8,
        };
        let span_filter = SpanFilter::new(&config.filter);
        Self {
            id,
            process_id: std::process::id(),
            anchor,
            spans: SpanTable::new(),
            own_spans: Slab::new(),
            traces,
            span_ids,
            trace_ids,
            next_trace: AtomicU32::new(1),
            next_thread: AtomicU64::new(1),
            level: AtomicU8::new(config.level as u8),
            gate: AtomicU8::new(
                Gate::at(config.level, config.level, lets_all(&span_filter, config.track)) as u8
            ),
            span_filter,
            tracked,
            path_phases: (0..MAX_PATHS).map(|_| AtomicU8::new(0)).collect(),
            levels: LevelHistory::new(config.level),
            captures: Captures::new(config.capture),
            deep_steps: DeepSteps::new(config.deep_steps && cfg!(target_os = "linux"), &identity.run_id),
            thread_samples: ThreadSamples::default(),
            costs: Costs::default(),
            paths: Mutex::new(paths),
            thread_registry: ThreadRegistry::default(),
            sinks: Mutex::new(Vec::new()),
            set_limit_bytes: AtomicU64::new(0),
            #[cfg(feature = "metrics")]
            gauges: crate::shared::gauges::Gauges::default(),
            run,
            run_trace_id,
            run_start_ns,
            epochs: Epochs::new(),
            steps_by_name: AtomicU64::new(0),
            orphan_events: OrphanEvents::default(),
            losses: std::array::from_fn(|_| AtomicU64::new(0)),
            publish_soon: AtomicBool::new(false),
            is_orphaned: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            config,
            identity,
        }
    }

    pub(crate) fn level(&self) -> Level {
        Level::from_index(self.level.load(Ordering::Relaxed)).unwrap_or(Level::Off)
    }

    /// Records at `level` from now on, for as long as this recorder is the current one.
    pub(crate) fn set_level(&self, level: Level) {
        // In a forked child nothing is recorded, and no lock is taken.
        if !self.is_current() || std::process::id() != self.process_id {
            return;
        }
        self.levels.change(
            || self.level(),
            level,
            || {
                self.set_gate(level);
                // Who sees the level knows of the change.
                self.level.store(level as u8, Ordering::Release);
                let_begin(self, level != Level::Off);
            },
        );
    }

    fn set_gate(&self, level: Level) {
        let gate = Gate::at(level, self.levels.started_at(), lets_all(&self.span_filter, self.tracked.get()));
        // During a deep step it depends on what a section is inside of.
        let gate = if self.deep_steps.is_open() { Gate::Guarded } else { gate };
        self.gate.store(gate as u8, Ordering::Relaxed);
    }

    /// What is recorded of sections that begin now.
    #[inline]
    pub(crate) fn tracked(&self) -> Track {
        self.tracked.get()
    }

    /// What the thread has allocated and freed, where that is told of sections that begin now.
    #[inline]
    pub(crate) fn counters(&self) -> Option<memory::Counters> {
        memory::thread_counters().filter(|_| self.tracked.get().has_memory())
    }

    /// Records `track` of what begins from now on, for as long as this recorder is the current one.
    pub(crate) fn set_track(&self, track: Track) {
        // As in `set_level`.
        if self.is_current() && std::process::id() == self.process_id {
            self.levels.unchanged(|| {
                self.tracked.set(track);
                self.set_gate(self.level());
            });
        }
    }

    /// Whether sections of a path leave as spans by their phase: `phase`, where the section says one.
    fn has_phase(&self, path: PathId, phase: Option<Phase>) -> bool {
        let tracked = self.tracked.get();
        if tracked.has_all_phases() {
            return true;
        }
        let of_path = || {
            let implied = self.path_phases.get(path.0 as usize)?.load(Ordering::Relaxed);
            Phase::from_index(implied.checked_sub(1)?)
        };
        phase.or_else(of_path).is_none_or(|phase| tracked.has_phase(phase))
    }

    /// As [`set_level`](Self::set_level) where no recorder is current.
    #[cfg(test)]
    pub(crate) fn set_level_of_a_test(&self, level: Level) {
        self.level.store(level as u8, Ordering::Relaxed);
        self.gate.store(
            Gate::at(level, level, lets_all(&self.span_filter, self.tracked.get())) as u8,
            Ordering::Relaxed,
        );
    }

    /// A step that is deep by the plan of the run is about to begin; whether it may be one.
    #[cold]
    pub(crate) fn begin_deep_step(&self) -> bool {
        // As in `set_level`.
        let may_be = !self.is_at(Level::Comprehensive)
            && self.is_current()
            && std::process::id() == self.process_id
            && self.deep_steps.claim();
        if may_be {
            self.levels.unchanged(|| self.set_gate(self.level()));
        }
        may_be
    }

    /// No deep step is under way any more.
    #[cold]
    pub(crate) fn end_deep_step(&self) {
        self.deep_steps.release();
        self.levels.unchanged(|| self.set_gate(self.level()));
    }

    /// Captures the next steps, as many and at the level that `capture` says, whatever it says of when.
    pub(crate) fn request_capture(&self, capture: Capture) {
        let (steps, level) = capture.extent();
        self.captures.request(steps, level);
    }

    /// Which sections leave as spans.
    #[inline]
    pub(crate) fn gate(&self) -> Gate {
        match self.gate.load(Ordering::Relaxed) {
            0 => Gate::Closed,
            1 => Gate::Guarded,
            2 => Gate::Open,
            _ => Gate::Full,
        }
    }

    /// Whether the gate is that one.
    #[inline(always)]
    pub(crate) fn is_gate(&self, gate: Gate) -> bool {
        self.gate.load(Ordering::Relaxed) == gate as u8
    }

    /// Whether a section of `place`, and of `phase` where it says one, leaves as a span, inside of one that does, or why not:
    /// flags of open sections.
    /// `is_deep`: as a part of a deep step.
    pub(crate) fn leaving(&self, place: Place, phase: Option<Phase>, is_deep: bool) -> u64 {
        match is_deep || self.is_at(Level::Detailed) {
            true if !self.has_phase(place.path, phase) => flag::BY_FILTER,
            true => {
                self.span_filter.as_ref().map_or(flag::EXPORTED, |span_filter| span_filter.leaving(place))
            }
            false if self.levels.started_at() < Level::Detailed => 0,
            false => flag::BY_LEVEL,
        }
    }

    /// What the root of `trace`, from `start_ns` until now, says of sections left out on purpose. `is_deep`: it is a part of a
    /// deep step.
    pub(crate) fn left_out(&self, trace: &TraceState, start_ns: u64, is_deep: bool) -> Option<u32> {
        let (count, lowest) = (trace.left_out(), self.levels.lowest_since(start_ns));
        if self.levels.started_at() < Level::Detailed {
            // Readers take it that sections have no spans, unless they are told.
            let has_all = lowest >= Level::Detailed || is_deep && lowest > Level::Off;
            return has_all.then_some(count);
        }
        // What was not recorded at all is not known.
        Some(if lowest == Level::Off { count.max(1) } else { count }).filter(|&count| count > 0)
    }

    /// Whether it records at `level` or more.
    #[inline]
    pub(crate) fn is_at(&self, level: Level) -> bool {
        self.level.load(Ordering::Relaxed) >= level as u8
    }

    /// Whether this recorder records.
    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        current_id() == self.id
    }

    /// Whether sections begin in this recorder.
    #[inline]
    pub(crate) fn is_beginning(&self) -> bool {
        beginning_id() == self.id
    }

    /// The run as a parent of epochs.
    pub(crate) fn run_parent(&self) -> Parent {
        self.run
    }

    pub(crate) fn next_trace_id(&self, step: Option<u64>) -> TraceId {
        self.trace_ids.trace_id(self.next_trace.fetch_add(1, Ordering::Relaxed), step)
    }

    /// The id of a trace that continues `trace`.
    pub(crate) fn continuing_trace_id(&self, trace: &TraceId) -> TraceId {
        continuing(trace, self.next_trace.fetch_add(1, Ordering::Relaxed))
    }

    /// Whether a trace is one of this recorder's.
    pub(crate) fn has_made(&self, trace: &TraceId) -> bool {
        instance_and_sequence(trace).0 == instance_and_sequence(&self.run_trace_id).0
    }

    /// The number of the next step, for programs that name their step's span and count nothing.
    pub(crate) fn count_step(&self) -> u64 {
        self.steps_by_name.fetch_add(1, Ordering::Relaxed)
    }

    /// The epoch with this span has ended: aggregates are published soon.
    pub(crate) fn end_epoch(&self, span_id: u64) {
        self.epochs.end(span_id);
        self.publish_soon.store(true, Ordering::Relaxed);
    }

    /// Counts spans that were lost outside of any thread's ring.
    pub(crate) fn lose(&self, reason: LossReason, spans: u64) {
        if let Some(count) = self.losses.get(reason as usize) {
            count.fetch_add(spans, Ordering::Relaxed);
        }
    }

    /// Adds the spans that were lost outside of any thread's ring: they were to be exported, too.
    pub(crate) fn add_losses(&self, tally: &mut Tally) {
        for (sum, lost) in tally.lost.iter_mut().zip(&self.losses) {
            let lost = lost.load(Ordering::Relaxed);
            *sum += lost;
            tally.emitted += lost;
        }
    }

    /// The path of a section, and the number of its callsite. Cold: threads remember the answer.
    pub(crate) fn path(&self, parent: PathId, source: Source, name: &str, spec: &Spec) -> (PathId, u32) {
        lock(&self.paths).path(parent, source, name, spec)
    }

    /// As [`path`](Self::path), with what a filter has to say of the sections there.
    pub(crate) fn place(&self, parent: PathId, source: Source, name: &str, spec: &Spec) -> Place {
        let mut paths = lock(&self.paths);
        let (path, callsite) = paths.path(parent, source, name, spec);
        let phase = spec.phase.or_else(|| Phase::infer(name)).map_or(0, |phase| phase as u8 + 1);
        if let Some(known) = self.path_phases.get(path.0 as usize).filter(|_| phase > 0) {
            known.store(phase, Ordering::Relaxed);
        }
        // (Others than sections leave, whatever a filter has to say of their names.)
        let span_filter = self.span_filter.as_ref().filter(|_| spec.kind() == SectionKind::Section);
        let depth = || paths.table.names(path).len();
        let one_in =
            span_filter.map_or(1, |span_filter| span_filter.one_in(path, parent, source, name, depth()));
        Place { path, callsite, fit: Fit::Plain, one_in }
    }

    /// What is known of path `id`.
    pub(crate) fn path_info(&self, id: PathId) -> PathInfo {
        lock(&self.paths).info.get(id.0 as usize).cloned().unwrap_or_default()
    }

    /// How many paths are known.
    pub(crate) fn path_count(&self) -> u32 {
        u32::try_from(lock(&self.paths).info.len()).unwrap_or(u32::MAX)
    }

    /// The callsites from number `first` on, for somebody who has those before.
    pub(crate) fn sources_from(&self, first: usize) -> Vec<Source> {
        lock(&self.paths).callsites.get(first..).unwrap_or_default().to_vec()
    }

    /// The section of span `key`, if it is recorded; as long as somebody has a handle of that span.
    #[inline]
    pub(crate) fn open_span(&self, key: u64) -> Option<&Open> {
        if span_key::is_own_span(key) { self.own_spans.find(key) } else { self.spans.find(key) }
    }

    /// As [`open_span`](Self::open_span), for a key that leads to a slot, too, as long as somebody keeps what is in there.
    pub(crate) fn kept_span(&self, key: u64) -> Option<&Open> {
        match span_key::slot(key) {
            Some(slot) => self.spans.at(slot),
            None => self.open_span(key),
        }
    }

    /// What children of span `key` need to know, if it is recorded and has not ended.
    pub(crate) fn span_parent(&self, key: u64) -> Option<Parent> {
        if span_key::is_own_span(key) { self.own_spans.parent(key) } else { self.spans.parent(key) }
    }

    /// Makes the calling thread known to the background thread; returns what they share and its number.
    pub(crate) fn register_thread(&self) -> (Arc<ThreadShared>, u64) {
        let number = self.next_thread.fetch_add(1, Ordering::Relaxed);
        let id = sys::thread_id();
        let name = thread::name().unwrap_or_else(|| format!("thread-{id}"));
        let shared = Arc::new(ThreadShared {
            ring: Ring::new(self.config.ring_bytes, self.config.overflow),
            aggregates: Aggregates::new(),
            deep_steps: Aggregates::new(),
            work: Work::new(),
            emitted: AtomicU64::new(0),
            ring_full: AtomicU64::new(0),
            left_out: std::array::from_fn(|_| AtomicU64::new(0)),
            id,
            name,
            seen: Mutex::default(),
            retired: AtomicBool::new(false),
        });
        self.thread_registry.begin(&shared);
        (shared, number)
    }

    /// What became of spans in each sink, as the background thread saw it last, of all those of `tally`.
    pub(crate) fn sinks(&self, tally: &Tally) -> Vec<(&'static str, SinkCounts)> {
        let sinks = lock(&self.sinks).clone().into_iter();
        sinks.map(|(name, counts)| (name, self.with_the_rest(counts, tally))).collect()
    }

    /// The background thread has died, and does for threads that end what they do by themselves from now on.
    pub(crate) fn orphan(&self) {
        // A thread that ends says so before it looks at this, and is looked for only then: one of the two sees the other.
        self.is_orphaned.store(true, Ordering::SeqCst);
        self.thread_registry.read().1.iter().for_each(|thread| self.part_with(thread));
    }

    /// Whether the background thread is gone, and the run is not.
    pub(crate) fn is_orphaned(&self) -> bool {
        self.is_orphaned.load(Ordering::SeqCst)
    }

    /// Where nobody else does, keeps what a thread that has ended counted.
    pub(crate) fn part_with(&self, thread: &Arc<ThreadShared>) {
        if self.is_orphaned() && thread.retired.load(Ordering::SeqCst) {
            self.thread_registry.end(thread);
        }
    }

    /// The run has ended, and everything that was there has left: what a thread was ending meanwhile comes too late.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }

    /// The counts of a sink to which those of `tally` were to go that were not lost before; where nothing leaves any more,
    /// since the run is over or the background thread has died, those that have not left are lost there, wherever they are.
    pub(crate) fn with_the_rest(&self, counts: SinkCounts, tally: &Tally) -> SinkCounts {
        let is_the_end = self.is_over.load(Ordering::SeqCst) || self.is_orphaned();
        if is_the_end { counts.without_the_rest(tally.emitted, &tally.lost) } else { counts }
    }

    pub(crate) fn set_sinks(&self, sinks: Vec<(&'static str, SinkCounts)>) {
        *lock(&self.sinks) = sinks;
    }
}

/// Whether nothing keeps a section from leaving that has a span by its level.
fn lets_all(span_filter: &Option<SpanFilter>, track: Track) -> bool {
    span_filter.is_none() && track.has_all_phases()
}
