//! Thins a long run once its directory has used half of its bound: first steps, slow steps, marked ones and a sample stay
//! whole, of the others only the root stays. Decided when a trace is complete; until then its records wait
//! here, bounded in number and time: what is known to be slow before it ends is written, and so is everything when somebody
//! waits for it.

use std::collections::{HashMap, VecDeque};

use stepscope_core::identity::TraceId;
use stepscope_core::{Distribution, SectionKind};

use super::kept_steps;
use crate::shared::record::SectionRecord;

/// The first steps of a run are always kept whole: so many.
const FIRST_STEPS: u64 = 200;

/// One trace in this many is kept whole, chosen by the sampling bits of its id.
const SAMPLE: u64 = 20;

/// So long a trace waits for its root at least, even if that would be slow.
const WAIT_NS: u64 = 1_000_000_000;

/// Words of records that may wait: 32 MiB.
const MAX_WAITING_WORDS: usize = 1 << 22;

/// Words that a record takes beside its entries.
const WORDS_OF_RECORD: usize = size_of::<Waiting>() / 8;

/// Words that an allocation takes beside what was asked for, as allocators round it up.
const WORDS_OF_ALLOCATION: usize = 2;

/// Words that a trace takes beside its records and the list of these. The table has room for as many again, and is there twice
/// while it grows; the order has traces that have gone, too, and room for as many again.
const WORDS_OF_TRACE: usize =
    3 * size_of::<(TraceId, Trace)>() / 8 + 6 * size_of::<(TraceId, u64)>() / 8 + WORDS_OF_ALLOCATION;

/// Traces that have gone may still be in the order: fewer than those that wait, and these.
const MAX_GONE: usize = 1_024;

/// A record that waits.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub record: SectionRecord,
    /// The attached entries.
    pub entries: Vec<u8>,
    /// Belongs to the first steps.
    pub is_first: bool,
    /// Belongs to a trace that is kept whole for its mark alone.
    pub is_marked: bool,
}

/// What to write for one record that came in.
#[derive(Debug, Default)]
pub(crate) struct Decision {
    pub write: Vec<Waiting>,
    pub thinned: u64,
}

/// A trace that is not complete.
#[derive(Debug, Default)]
struct Trace {
    root: Option<Root>,
    children: Vec<Waiting>,
    /// When the first of them to begin has begun.
    since_ns: u64,
    /// A tick has passed since the first of them came: a root that had ended by then has come, too, however late records are
    /// taken in.
    is_late: bool,
    /// Children that were written before its root has come, and the file that was open when the first of them were.
    written: usize,
    file: u32,
    /// Written without so many spans, which follow when they come.
    lacks: usize,
    is_first: bool,
    /// Its number in the order.
    number: u64,
}

#[derive(Debug)]
struct Root {
    waiting: Waiting,
    keeps: Keeps,
    /// A tick has passed since it came.
    is_late: bool,
}

/// What is kept of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeps {
    Root,
    All,
    /// All of it, which without its mark would be the root.
    Marked,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Thinner {
    waiting: HashMap<TraceId, Trace>,
    waiting_words: usize,
    /// Traces by how long they have waited, longest first, each with its number: one that comes back has another.
    order: VecDeque<(TraceId, u64)>,
    last: u64,
    steps: u64,
    durations: Distribution,
    median_ns: Option<u64>,
    /// Since when records wait here.
    begun: Begun,
}

/// Since when records wait.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Begun {
    #[default]
    Never,
    /// The last tick: what came before was written, of traces too that are not complete.
    Now,
    Before,
}

/// Words that entries take that wait.
fn words(entries: &[u8]) -> usize {
    entries.len().div_ceil(8) + WORDS_OF_ALLOCATION
}

impl Thinner {
    /// Learns what a usual step takes; called for every record, thinned or not. Whether the record belongs to
    /// the first steps, or came before them.
    pub(crate) fn observe(&mut self, record: &SectionRecord) -> bool {
        let is_first = self.steps < FIRST_STEPS;
        if record.kind == SectionKind::Step {
            self.steps += 1;
            self.durations.record(record.end_ns.saturating_sub(record.start_ns));
            // The median moves slowly: looking now and then is enough.
            if self.durations.count().is_power_of_two() || self.durations.count().is_multiple_of(1_024) {
                self.median_ns = self.durations.p50();
            }
        }
        is_first
    }

    /// Takes a record; what is decided by it is to be written. `is_first` is what [`Self::observe`] said; the trace of a root
    /// that `is_marked` stays whole.
    pub(crate) fn add(
        &mut self,
        record: &SectionRecord,
        entries: &[u8],
        is_first: bool,
        is_marked: bool,
    ) -> Decision {
        let is_first = is_first && record.kind == SectionKind::Step;
        let waiting = Waiting { record: *record, entries: entries.to_vec(), is_first, is_marked: false };
        if matches!(record.kind, SectionKind::Run | SectionKind::Epoch) {
            return Decision { write: vec![waiting], ..Decision::default() };
        }
        if let Some(trace) = self.waiting.get_mut(&record.trace_id).filter(|trace| trace.lacks > 0) {
            trace.lacks -= 1;
            let (is_first, is_last) = (trace.is_first, trace.lacks == 0);
            if is_last {
                self.take(&record.trace_id);
            }
            return Decision { write: vec![Waiting { is_first, ..waiting }], ..Decision::default() };
        }
        let is_root = record.root.is_some_and(|root| root.announces);
        let keeps = match is_root && (is_first || self.keeps(record)) {
            true => Keeps::All,
            false if is_marked => Keeps::Marked,
            false => Keeps::Root,
        };
        if !self.waiting.contains_key(&record.trace_id) {
            self.begin(record.trace_id, Trace { since_ns: record.start_ns, ..Trace::default() });
        }
        let trace = self.waiting.entry(record.trace_id).or_default();
        self.waiting_words += words(entries);
        if self.begun == Begun::Never {
            self.begun = Begun::Now;
        }
        if is_root {
            trace.root = Some(Root { waiting, keeps, is_late: false });
        } else {
            trace.since_ns = trace.since_ns.min(record.start_ns);
            let room = trace.children.capacity();
            trace.children.push(waiting);
            self.waiting_words += (trace.children.capacity() - room) * WORDS_OF_RECORD;
        }
        if trace.is_complete() {
            let trace = self.take(&record.trace_id);
            return trace.map(Trace::decide).unwrap_or_default();
        }
        if is_root && self.begun == Begun::Now {
            // What it lacks was written right before: it follows that, into the same file.
            return self.write(|trace| trace.root.is_some(), 0);
        }
        self.make_room()
    }

    /// A trace begins to wait.
    fn begin(&mut self, id: TraceId, trace: Trace) {
        if self.order.len() > 2 * self.waiting.len() + MAX_GONE {
            let number = |id: &TraceId| self.waiting.get(id).map(|trace| trace.number);
            self.order.retain(|(id, then)| number(id) == Some(*then));
        }
        self.last += 1;
        self.order.push_back((id, self.last));
        self.waiting.insert(id, Trace { number: self.last, ..trace });
        self.waiting_words += WORDS_OF_TRACE;
    }

    /// Roots that do not come: traces are kept rather than held for ever, those first that have waited longest.
    fn make_room(&mut self) -> Decision {
        let mut decision = Decision::default();
        while self.waiting_words > MAX_WAITING_WORDS {
            let Some((id, number)) = self.order.pop_front() else { return self.release() };
            if self.waiting.get(&id).is_some_and(|trace| trace.number == number)
                && let Some(trace) = self.take(&id)
            {
                decision.write.extend(trace.records());
            }
        }
        decision
    }

    /// Time passes, until `now_ns`, and file number `file` is open: traces whose root came before the last tick, and not all of their children since, will
    /// not be complete any more (a part of them was written before, or lost, or is still open). They are kept, and so is what
    /// has come of a trace that takes so long that it will be: of a step that hangs, it says where.
    pub(crate) fn tick(&mut self, now_ns: u64, file: u32) -> Decision {
        let median_ns = self.median_ns;
        let is_overdue = |trace: &Trace| {
            let age_ns = now_ns.saturating_sub(trace.since_ns);
            trace.is_late
                && age_ns >= WAIT_NS
                && median_ns.is_none_or(|median| kept_steps::is_slow(age_ns, median))
        };
        let is_due = |trace: &Trace| match &trace.root {
            Some(root) => root.is_late,
            None => is_overdue(trace),
        };
        let decision = self.write(is_due, file);
        self.has_ticked();
        for trace in self.waiting.values_mut() {
            trace.is_late = true;
            if let Some(root) = &mut trace.root {
                root.is_late = true;
            }
        }
        decision
    }

    fn has_ticked(&mut self) {
        if self.begun == Begun::Now {
            self.begun = Begun::Before;
        }
    }

    /// Somebody waits for what has come: none of it waits here any more.
    pub(crate) fn flush(&mut self, file: u32) -> Decision {
        self.has_ticked();
        self.write(|_| true, file)
    }

    /// What has come of these traces, which are kept whole then: what follows is written when it comes, where the root has
    /// told how much that is, and else when the root does.
    fn write(&mut self, is_due: impl Fn(&Trace) -> bool, file: u32) -> Decision {
        let has_come = |trace: &Trace| trace.root.is_some() || !trace.children.is_empty();
        let due = self.waiting.iter().filter(|(_, trace)| has_come(trace) && is_due(trace));
        let due: Vec<TraceId> = due.map(|(&id, _)| id).collect();
        let mut decision = Decision::default();
        for id in due {
            let Some(trace) = self.take(&id) else { continue };
            let left = match &trace.root {
                Some(root) => {
                    Trace { lacks: trace.lacks(), is_first: root.waiting.is_first, ..Trace::default() }
                }
                None => Trace {
                    written: trace.written + trace.children.len(),
                    file: if trace.written > 0 { trace.file } else { file },
                    since_ns: trace.since_ns,
                    is_late: true,
                    ..Trace::default()
                },
            };
            self.begin(id, left);
            // Whether it is one of the first steps, its root has yet to say.
            let may_be_first = trace.root.is_none() && self.steps < FIRST_STEPS;
            let records = trace.records();
            decision.write.extend(
                records.map(|waiting| Waiting { is_first: waiting.is_first || may_be_first, ..waiting }),
            );
        }
        decision
    }

    /// Gives back everything that waits.
    pub(crate) fn release(&mut self) -> Decision {
        self.waiting_words = 0;
        self.order.clear();
        Decision { write: self.waiting.drain().flat_map(|(_, trace)| trace.records()).collect(), thinned: 0 }
    }

    fn take(&mut self, id: &TraceId) -> Option<Trace> {
        let trace = self.waiting.remove(id)?;
        let root = trace.root.iter().map(|root| &root.waiting);
        let words: usize = trace.children.iter().chain(root).map(|waiting| words(&waiting.entries)).sum();
        let room = trace.children.capacity() * WORDS_OF_RECORD;
        self.waiting_words = self.waiting_words.saturating_sub(words + room + WORDS_OF_TRACE);
        Some(trace)
    }

    /// The duration that half of the steps so far do not exceed; `None` before the first step.
    pub(crate) fn median_ns(&self) -> Option<u64> {
        self.median_ns
    }

    /// The file in which a trace begins whose root has just come, where that was known before.
    pub(crate) fn first_file(&self, id: &TraceId) -> Option<u32> {
        self.waiting.get(id).filter(|trace| trace.written > 0).map(|trace| trace.file)
    }

    /// Whether a trace with this root stays whole, without a mark.
    pub(crate) fn keeps(&self, root: &SectionRecord) -> bool {
        let duration_ns = root.end_ns.saturating_sub(root.start_ns);
        let is_slow = root.kind == SectionKind::Step
            && self.median_ns.is_some_and(|median| kept_steps::is_slow(duration_ns, median));
        is_slow
            || kept_steps::sampling_bits(&root.trace_id).is_multiple_of(SAMPLE)
            || self.first_file(&root.trace_id).is_some()
    }
}

impl Trace {
    fn is_complete(&self) -> bool {
        self.root.is_some() && self.lacks() == 0
    }

    /// How many spans its root announces beside those that have come.
    fn lacks(&self) -> usize {
        let announced = self.root.as_ref().and_then(|root| root.waiting.record.root);
        let came = self.written + self.children.len() + 1;
        announced.map_or(0, |root| (root.trace_spans as usize).saturating_sub(came))
    }

    fn records(self) -> impl Iterator<Item = Waiting> {
        let is_first = self.root.as_ref().is_some_and(|root| root.waiting.is_first);
        let is_marked = self.root.as_ref().is_some_and(|root| root.keeps == Keeps::Marked);
        let records = self.children.into_iter().chain(self.root.map(|root| root.waiting));
        records.map(move |waiting| Waiting { is_first, is_marked, ..waiting })
    }

    /// What is left of a complete trace.
    fn decide(self) -> Decision {
        if self.root.as_ref().is_none_or(|root| root.keeps != Keeps::Root) {
            return Decision { write: self.records().collect(), thinned: 0 };
        }
        let thinned = self.children.len() as u64;
        let mut alone = self.root.map(|root| root.waiting);
        if let Some(root) = alone.as_mut().and_then(|waiting| waiting.record.root.as_mut()) {
            root.trace_dropped = root.trace_dropped.saturating_add(root.trace_spans.saturating_sub(1));
            root.trace_spans = 1;
        }
        Decision { write: alone.into_iter().collect(), thinned }
    }
}

#[cfg(test)]
mod tests;
