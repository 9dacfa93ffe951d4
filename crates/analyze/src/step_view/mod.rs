//! One trace into the accumulators of its run. This is the hot path: one pass to place spans (path, phase,
//! thread), one for the time that children cover, one for the sums, one sweep for exposed time; memory is
//! reused, and nothing is allocated per span.

pub(crate) mod forest;
pub(crate) mod group;
pub(crate) mod phase_slots;
pub(crate) mod place;

use stepscope_core::{Level, Mode, SectionKind};
use stepscope_model::{Completeness, Figure, Span, Trace};

use crate::accumulate::Merge;
use crate::config::Bounds;
use crate::exemplars::Exemplars;
use crate::memory::retained::{NetAllocations, RetainedMemory};
use crate::step_view::forest::{Forest, NONE};
use crate::steps::warmup_sections::{Part, WarmupSections};

use crate::accumulate::path_sums::ByPath;
use crate::accumulate::step_series::{StepIndex, StepSeries};
use crate::phases::exposed_time::{BlockedOn, Member, PollSlice, Sweep};
use crate::phases::phase_point::PhasePoint;
use crate::run::{Instance, InstanceAcc, RunAcc, Tally};
use crate::sections::SectionAcc;
use crate::steps::StepRecord;
use crate::steps::step_point::StepPoint;
use crate::steps::values::RecordedValue;

use crate::step_view::phase_slots::{SlotSum, Slots};
use crate::step_view::place::{Node, Role};

/// More spans than a trace can have: roots that say so are not believed.
const MAX_TRACE_SPANS: u64 = 1_000_000;

/// A path in the last group that had it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    pub(crate) group: u64,
    pub(crate) calls: u64,
    pub(crate) longest_ns: u64,
}

/// Memory that is reused from trace to trace. It holds nothing of any run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fold {
    pub(crate) forest: Forest,
    pub(crate) nodes: Vec<Node>,
    /// The path of each span of the last trace, of any run: the next one is often the same.
    pub(crate) last_paths: Vec<u32>,
    pub(crate) slots: Slots,
    /// (anchor, span): the spans of each group in time order; empty where the trace is one group.
    pub(crate) groups: Vec<(u32, u32)>,
    pub(crate) members: Vec<u32>,
    pub(crate) sums: Vec<SlotSum>,
    pub(crate) sweep: Sweep,
    pub(crate) sweep_members: Vec<Member>,
    pub(crate) sweep_nodes: Vec<u32>,
    /// When those of the sweep ran that were suspended.
    pub(crate) poll_slices: Vec<PollSlice>,
    /// What the driving thread of the group at hand waited for on other threads.
    pub(crate) joins: Vec<BlockedOn>,
    pub(crate) exposed: Vec<u64>,
    pub(crate) paths: crate::critical_path::observe::Paths,
    pub(crate) workers: Vec<crate::phases::workers::Worked>,
    /// The waits for batches of the group at hand.
    pub(crate) waiting: Vec<u32>,
    /// Sections of the driving thread that waited for others: from, to, place among the members of the sweep; by start.
    pub(crate) waiters: Vec<(u64, u64, u32)>,
    pub(crate) families: place::Families,
    /// By path.
    pub(crate) seen: Vec<Seen>,
    pub(crate) group: u64,
    /// Which spans have steps inside of them; empty where none has.
    pub(crate) around_steps: Vec<bool>,
    /// Processes and threads that poll, sorted; empty where each interval of the trace says its thread.
    pub(crate) pollers: Vec<(u32, i64)>,
    pub(crate) record: StepRecord,
    /// Exposed time of the step at hand by section.
    pub(crate) section_time: ByPath<u64>,
    /// Where the step at hand is, if it has a number.
    pub(crate) place: Option<StepIndex>,
    /// Whether it is kept with what its sections take: their parts in it, and the time of its own on the critical path.
    pub(crate) is_in_warmup_sections: bool,
    pub(crate) parts: ByPath<Part>,
    pub(crate) own_ns: u64,
    pub(crate) nets: NetAllocations,
    /// Whether every span of the trace at hand was read, so that own times and phases are known.
    pub(crate) is_whole: bool,
    /// Whether the group at hand is outside of steps, in a trace of ours.
    pub(crate) is_outside: bool,
}

impl Fold {
    /// Adds a trace to its run. `instance` is absent from the run where instances are too many.
    pub(crate) fn add(&mut self, trace: &Trace, run: &mut RunAcc, instance: &Instance, bounds: &Bounds) {
        if !trace.spans.is_sorted_by_key(|span| span.start_ns) {
            let mut sorted = trace.clone();
            sorted.spans.sort_by_key(|span| (span.start_ns, std::cmp::Reverse(span.end_ns), span.id));
            return self.add(&sorted, run, instance, bounds);
        }
        self.forest.build(&trace.spans);
        loop {
            self.place(trace, &mut run.sections, &mut run.orphans);
            if !run.sections.enforce(bounds.paths) && !run.orphans.enforce(bounds.paths) {
                break;
            }
            run.bound_section_time();
        }
        self.cover(trace);
        let tally = self.tally(trace);
        run.tally.absorb(&tally);
        // At `basic` a step's sections are never exported, however many its root counts, unless it says otherwise.
        let is_shallow = match self.left_out(trace) {
            Some(sections) => sections > 0,
            None => Level::parse(&trace.resource.level) == Some(Level::Basic),
        };
        self.is_whole = !is_shallow && tally.missing_spans == 0 && tally.dropped_spans == 0;
        let mut owner = run.instances.get_mut(instance);
        if let Some(owner) = &mut owner {
            owner.tally.absorb(&tally);
        }
        self.group_spans();
        self.paths.read_links(trace);
        let mut target = Target {
            sections: &mut run.sections,
            orphans: &mut run.orphans,
            series: &mut run.series,
            phase_series: &mut run.phase_series,
            retained: &mut run.retained,
            warmup_sections: &mut run.warmup_sections,
            examples: &mut run.examples,
            waits: &mut run.waits,
            named_waits: &mut run.named_waits,
            windows: &mut run.windows,
            linked: &mut run.linked,
            instance: owner,
            rank: trace.resource.rank,
            bounds,
        };
        if self.groups.is_empty() {
            self.members.clear();
            self.members.extend(0..self.nodes.len() as u32);
            if let Some(anchor) = self.nodes.first().map(|node| node.anchor) {
                self.group(trace, anchor, &mut target);
            }
        } else {
            let groups = std::mem::take(&mut self.groups);
            for group in groups.chunk_by(|a, b| a.0 == b.0) {
                let Some(&(anchor, _)) = group.first() else { continue };
                self.members.clear();
                self.members.extend(group.iter().map(|&(_, span)| span));
                self.group(trace, anchor, &mut target);
            }
            self.groups = groups;
        }
        if run.sections.tree().cut() == 0 {
            run.sections.forget_steps_of_root();
        }
        run.bound_paths();
        self.values(trace, run, bounds);
    }

    /// Time of each span that its children cover, and what they allocated on its thread.
    fn cover(&mut self, trace: &Trace) {
        for (index, span) in trace.spans.iter().enumerate() {
            let Some(node) = self.nodes.get(index) else { continue };
            let (around, start_ns, end_ns, thread) = (node.parent, node.start_ns, node.end_ns, node.thread);
            let Some(parent) = self.nodes.get_mut(around as usize) else { continue };
            parent.cover(start_ns, end_ns);
            if parent.thread == thread {
                let (alloc, free) = (span.amount(Figure::AllocBytes), span.amount(Figure::FreeBytes));
                parent.child_alloc = parent.child_alloc.saturating_add(alloc.unwrap_or(0));
                parent.child_free = parent.child_free.saturating_add(free.unwrap_or(0));
            }
        }
    }

    /// Groups spans by their anchors, in time order. A step inside another group's span is in that group as
    /// well: its time there is its own.
    fn group_spans(&mut self) {
        self.groups.clear();
        let Some(first) = self.nodes.first().map(|node| node.anchor) else { return };
        if self.nodes.iter().all(|node| node.anchor == first) {
            return;
        }
        for (index, node) in self.nodes.iter().enumerate() {
            let index = index as u32;
            self.groups.push((node.anchor, index));
            if node.role == Role::Step
                && let Some(parent) = self.nodes.get(node.parent as usize)
                && parent.role != Role::Container
            {
                self.groups.push((parent.anchor, index));
            }
        }
        self.groups.sort_unstable();
    }

    fn tally(&self, trace: &Trace) -> Tally {
        let mut tally = Tally {
            first_ns: trace.spans.first().map(|span| span.start_ns),
            last_ns: trace.spans.iter().map(|span| span.end_ns).max(),
            traces: 1,
            spans: trace.spans.len() as u64,
            incomplete_traces: u64::from(trace.completeness == Completeness::Incomplete),
            is_ours: trace.is_ours,
            ..Tally::default()
        };
        let mut announced = 0;
        for (span, node) in trace.spans.iter().zip(&self.nodes) {
            tally.errors += u64::from(span.is_error);
            if node.parent == NONE {
                announced = announced.max(spans_said(span, Figure::TraceSpans));
                let dropped = spans_said(span, Figure::TraceDropped);
                tally.dropped_spans = tally.dropped_spans.saturating_add(dropped);
            }
            match (node.role, span.kind) {
                (Role::Marker, SectionKind::Run) => tally.has_started = true,
                (Role::Marker, _) => tally.epochs_started += 1,
                (_, SectionKind::Run) => {
                    tally.has_ended = true;
                    tally.ended_by = tally.ended_by.max(span.signal);
                }
                (_, SectionKind::Epoch) => tally.epochs_ended += 1,
                _ => {}
            }
        }
        tally.missing_spans = announced.saturating_sub(tally.spans);
        tally
    }

    /// Sections without a span that the trace's roots tell of.
    fn left_out(&self, trace: &Trace) -> Option<i64> {
        let roots = trace.spans.iter().zip(&self.nodes).filter(|(_, node)| node.parent == NONE);
        roots.filter_map(|(span, _)| span.figure(Figure::TraceLeftOut)).max()
    }

    fn values(&mut self, trace: &Trace, run: &mut RunAcc, bounds: &Bounds) {
        for value in &trace.values {
            let index = self.forest.index_of(&trace.spans, value.span);
            let node = index.and_then(|index| self.nodes.get(index as usize));
            let anchor = node.and_then(|node| trace.spans.get(node.anchor as usize));
            let own = index.and_then(|index| trace.spans.get(index as usize));
            let figure = |figure: Figure| {
                let of = |span: Option<&Span>| span.and_then(|span| span.amount(figure));
                of(anchor).or_else(|| of(own))
            };
            let said = RecordedValue {
                epoch: figure(Figure::Epoch),
                step: figure(Figure::Step),
                start_ns: anchor.map_or(0, |span| span.start_ns),
                trace: trace.id,
                span: value.span,
            };
            run.values.add(trace.text(value.name), value.value, said, bounds.values, bounds.points);
        }
    }
}

/// A number of spans that a root says; none where that cannot be.
fn spans_said(span: &Span, figure: Figure) -> u64 {
    let said = span.figure(figure).and_then(|said| u64::try_from(said).ok());
    said.filter(|&said| said <= MAX_TRACE_SPANS).unwrap_or(0)
}

/// Where a group's figures go.
pub(crate) struct Target<'a> {
    pub(crate) sections: &'a mut crate::sections::Sections,
    pub(crate) orphans: &'a mut crate::sections::Sections,
    pub(crate) series: &'a mut [StepSeries<StepPoint>; 3],
    pub(crate) phase_series: &'a mut [StepSeries<PhasePoint>; 3],
    pub(crate) retained: &'a mut RetainedMemory,
    pub(crate) warmup_sections: &'a mut [WarmupSections; 3],
    pub(crate) examples: &'a mut [Exemplars; 3],
    pub(crate) waits: &'a mut crate::loaders::batches::Waits,
    pub(crate) named_waits: &'a mut crate::loaders::batches::NamedWaits,
    pub(crate) windows: &'a mut [crate::critical_path::WindowSums],
    pub(crate) linked: &'a mut crate::critical_path::Linked,
    pub(crate) instance: Option<&'a mut InstanceAcc>,
    pub(crate) rank: Option<i64>,
    pub(crate) bounds: &'a Bounds,
}

impl Target<'_> {
    /// The sums of a span's section.
    pub(crate) fn acc(&mut self, node: &Node) -> &mut SectionAcc {
        if node.is_orphan { self.orphans.acc(node.path) } else { self.sections.acc(node.path) }
    }

    /// Where a wait for a batch goes: in a step to those of the run, where the thread waited that drives it; else to those of
    /// its thread, of which it may be known later only whether it drives steps.
    pub(crate) fn waits_of(
        &mut self,
        node: &Node,
        is_step: bool,
    ) -> Option<&mut crate::loaders::batches::Waits> {
        if is_step {
            return node.is_driving.then_some(&mut *self.waits);
        }
        self.instance.as_mut()?.outside.waits(node.thread, self.bounds.threads)
    }

    pub(crate) fn point(&mut self, mode: Mode, place: Option<StepIndex>, point: &StepPoint) {
        if let (Some(place), Some(series)) = (place, self.series.get_mut(mode as usize)) {
            series.add(place, point, self.bounds.points);
        }
    }
}
