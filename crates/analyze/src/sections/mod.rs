//! What is summed for one call path.

pub(crate) mod aggregate_view;
pub(crate) mod aggregates;
pub(crate) mod dominant;
pub(crate) mod finish;
pub(crate) mod observe;
pub(crate) mod orphans;
pub(crate) mod own_time;
pub(crate) mod paths;
pub(crate) mod resident;
pub(crate) mod slow_at_first;
pub(crate) mod slow_calls;
pub(crate) mod summary;
pub(crate) mod table;
pub(crate) mod tail;
pub(crate) mod tiny;

use serde::{Deserialize, Serialize};
use stepscope_core::SectionKind;
use stepscope_model::{Figure, FigureSet, Span};

use crate::accumulate::accumulate;
use crate::accumulate::distribution::Dist;
use crate::critical_path::{CriticalAcc, WINDOWS};
use crate::phases::PhaseKey;
use crate::steps::warmup_sections::Longest;
use crate::threads::section::SectionThreads;

pub(crate) use table::Sections;

/// A figure that not every span carries: how many did, and their sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Sum {
    pub(crate) spans: u64,
    pub(crate) sum: u128,
}

impl Sum {
    /// Adds the value of one span.
    #[inline]
    pub(crate) fn add(&mut self, value: Option<u64>) {
        if let Some(value) = value {
            self.spans = self.spans.saturating_add(1);
            self.sum = self.sum.saturating_add(u128::from(value));
        }
    }
}

accumulate!(Sum { sum: spans, sum; });

/// Figures that are summed as they are, inclusive of nested sections.
pub(crate) const SUMMED: [Figure; 11] = [
    Figure::BusyNs,
    Figure::IdleNs,
    Figure::CpuNs,
    Figure::RunQueueNs,
    Figure::AllocBytes,
    Figure::FreeBytes,
    Figure::AllocCount,
    Figure::Samples,
    Figure::Tokens,
    Figure::Bytes,
    Figure::Flops,
];

/// The same as a set, and by figure its position among them: a span has few of them.
const SUMMED_SET: FigureSet = FigureSet::of(&SUMMED);
const PLACES: [u8; Figure::ALL.len()] = {
    let mut places = [u8::MAX; Figure::ALL.len()];
    let mut place = 0;
    while place < SUMMED.len() {
        places[SUMMED[place] as usize] = place as u8;
        place += 1;
    }
    places
};

/// A section's part in the steps of one mode.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct InStepAcc {
    pub(crate) steps: u64,
    pub(crate) calls: u64,
    pub(crate) max_calls: u64,
    pub(crate) total_ns: u128,
    pub(crate) driving_ns: u128,
    pub(crate) exposed_ns: u128,
    /// Of calls in steps that have a number.
    pub(crate) longest: Longest,
}

accumulate!(InStepAcc { sum: steps, calls, total_ns, driving_ns, exposed_ns; max: max_calls; merge: longest; });

/// Sums of one call path.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct SectionAcc {
    /// Durations of spans that have a path of their own.
    pub(crate) durations: Dist,
    /// Spans whose time is inside that of another span of this path.
    pub(crate) collapsed: u64,
    pub(crate) self_ns: u128,
    /// Spans whose own time and allocations are not known: their children may not have been read, or are known to
    /// be in traces of their own.
    pub(crate) selfless: u64,
    /// The longest of the spans outside of steps, in traces of ours: steps and batches inside them are in traces of
    /// their own.
    pub(crate) outside_ns: Option<u64>,
    pub(crate) errors: u64,
    /// Calls that ran on an accelerator.
    pub(crate) device_calls: u64,
    /// Kinds seen, a bit each.
    pub(crate) kinds: u8,
    /// The smallest of the phases that spans name themselves.
    pub(crate) tag: Option<PhaseKey>,
    /// By position in [`SUMMED`].
    pub(crate) figures: [Sum; SUMMED.len()],
    pub(crate) self_alloc: u128,
    pub(crate) self_free: u128,
    pub(crate) peak: Option<u64>,
    pub(crate) resident: resident::ResidentAcc,
    /// By mode.
    pub(crate) in_steps: [InStepAcc; 3],
    /// By kind of window.
    pub(crate) critical: [CriticalAcc; WINDOWS],
    /// In deep steps.
    pub(crate) threads: Option<SectionThreads>,
}

/// What a span says about its section beyond its own figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpanFacts {
    pub(crate) duration_ns: u64,
    /// Absent where children may be missing.
    pub(crate) self_ns: Option<u64>,
    /// Whether steps and batches inside it would be in other traces.
    pub(crate) is_outside: bool,
    pub(crate) is_collapsed: bool,
    pub(crate) kind: SectionKind,
    /// Allocated and freed by direct children on the same thread.
    pub(crate) child_alloc: u64,
    pub(crate) child_free: u64,
}

impl SectionAcc {
    /// Adds one span; its tag apart, since most have the same. Gives the bytes that it left allocated itself: allocated
    /// less freed.
    #[inline]
    pub(crate) fn add(&mut self, span: &Span, facts: &SpanFacts) -> i64 {
        match facts.self_ns {
            Some(self_ns) => self.self_ns = self.self_ns.saturating_add(u128::from(self_ns)),
            None => self.selfless = self.selfless.saturating_add(1),
        }
        if facts.is_outside {
            self.outside_ns = self.outside_ns.max(Some(facts.duration_ns));
        }
        self.errors = self.errors.saturating_add(u64::from(span.is_error));
        let (alloc, free) = (span.amount(Figure::AllocBytes), span.amount(Figure::FreeBytes));
        let mut net = 0u64;
        if let Some(alloc) = alloc {
            let own = alloc.saturating_sub(facts.child_alloc);
            self.self_alloc = self.self_alloc.saturating_add(u128::from(own));
            net = net.wrapping_add(own);
        }
        if let Some(free) = free {
            let own = free.saturating_sub(facts.child_free);
            self.self_free = self.self_free.saturating_add(u128::from(own));
            net = net.wrapping_sub(own);
        }
        if facts.is_collapsed {
            self.collapsed = self.collapsed.saturating_add(1);
            return net.cast_signed();
        }
        self.durations.record(facts.duration_ns);
        self.kinds |= 1 << (facts.kind as u8);
        self.device_calls = self.device_calls.saturating_add(u64::from(span.is_on_device));
        for figure in span.figures_among(SUMMED_SET) {
            if let Some(sum) = self.figures.get_mut(usize::from(PLACES[figure as usize])) {
                sum.add(span.amount(figure));
            }
        }
        self.peak = self.peak.max(span.amount(Figure::PeakBytes));
        if span.figures_among(resident::SET).next().is_some() {
            self.resident.add(span);
        }
        net.cast_signed()
    }

    /// Notes the phase that a span names.
    #[inline]
    pub(crate) fn tag(&mut self, tag: &PhaseKey) {
        if self.tag.as_ref().is_none_or(|mine| tag < mine) {
            self.tag = Some(tag.clone());
        }
    }

    /// The sum of a figure of [`SUMMED`].
    pub(crate) fn figure(&self, figure: Figure) -> Option<Sum> {
        let at = SUMMED.iter().position(|&summed| summed == figure)?;
        self.figures.get(at).copied().filter(|sum| sum.spans > 0)
    }

    /// Adds a path that is cut into this one: what [`Self::add`] would have kept of its spans, had they been
    /// collapsed from the start.
    pub(crate) fn fold(&mut self, deeper: &Self) {
        self.collapsed =
            self.collapsed.saturating_add(deeper.collapsed).saturating_add(deeper.durations.count());
        self.self_ns = self.self_ns.saturating_add(deeper.self_ns);
        self.selfless = self.selfless.saturating_add(deeper.selfless);
        self.outside_ns = self.outside_ns.max(deeper.outside_ns);
        self.errors = self.errors.saturating_add(deeper.errors);
        self.self_alloc = self.self_alloc.saturating_add(deeper.self_alloc);
        self.self_free = self.self_free.saturating_add(deeper.self_free);
        for (mine, theirs) in self.in_steps.iter_mut().zip(&deeper.in_steps) {
            mine.exposed_ns = mine.exposed_ns.saturating_add(theirs.exposed_ns);
        }
        for (mine, theirs) in self.critical.iter_mut().zip(&deeper.critical) {
            mine.on_path_ns = mine.on_path_ns.saturating_add(theirs.on_path_ns);
        }
    }
}

accumulate!(SectionAcc { merge: durations, figures, in_steps, critical, threads, resident; sum: collapsed, self_ns, selfless, errors, device_calls, self_alloc, self_free; max: outside_ns, peak; bits: kinds; least: tag; });
