//! From the records of one trace to a [`Trace`]: repeated spans once, sorted, cycles of parents cut,
//! oddities counted. Buffers are reused from trace to trace.

use std::sync::Arc;

use stepscope_core::SectionKind;

use super::ids::Ids;
use super::joined;
use super::open::OpenTrace;
use super::services::Services;
use super::skew::Early;
use crate::issues::Issues;
use crate::record::{Arena, Record, flag, records};
use crate::{Completeness, IssueKind, Span, Trace};

/// A span that lies further than this outside of its trace's root tells of a clock that jumped.
const CLOCK_JUMP_NS: u64 = 3_600 * 1_000_000_000;

/// No parent within the trace.
pub(super) const NONE: u32 = u32::MAX;

/// What is known of a span and those around it: whether one of them is a step.
const UNKNOWN: u32 = 0;
const OUTSIDE: u32 = 1;
const INSIDE: u32 = 2;

/// What is needed of a record to sort it and to find it again.
#[derive(Debug, Clone, Copy)]
struct Key {
    id: u64,
    start_ns: u64,
    end_ns: u64,
    /// Where the record begins.
    at: usize,
    flags: u8,
}

/// Makes traces out of records.
#[derive(Debug)]
pub(crate) struct Deliverer {
    trace: Trace,
    /// One key a span, as they came.
    keys: Vec<Key>,
    /// Index of the key of each id.
    by_id: Ids,
    /// `(start, index of the key)`, in the trace's order.
    order: Vec<(u64, u32)>,
    /// Position in the trace of each key.
    places: Vec<u32>,
    /// Position of each span's parent, or `NONE`.
    parents: Vec<u32>,
    /// For cycles: the walk in which a span was met. For steps: whether it is in one.
    walks: Vec<u32>,
    /// Records that repeat the id of another one.
    repeated: u64,
    /// Of those, records that say something else than the one that stands.
    different: u64,
    /// Spans that begin before their parents.
    early: Early,
}

impl Default for Deliverer {
    fn default() -> Self {
        Self {
            trace: Trace::new([0; 16], Arc::default()),
            keys: Vec::new(),
            by_id: Ids::default(),
            order: Vec::new(),
            places: Vec::new(),
            parents: Vec::new(),
            walks: Vec::new(),
            repeated: 0,
            different: 0,
            early: Early::default(),
        }
    }
}

fn record_at(bytes: &[u8], at: usize) -> Option<Record<'_>> {
    bytes.get(at..).and_then(Record::first).map(|(record, _)| record)
}

/// Of several spans with one id the smallest by (start, end, name, everything else, process) stands.
fn smallest(bytes: &[u8], group: &[Key]) -> Option<Key> {
    group.iter().copied().min_by(|a, b| {
        let content = |key: &Key| record_at(bytes, key.at).map(|r| (r.name(), r.content(), r.process()));
        (a.start_ns, a.end_ns).cmp(&(b.start_ns, b.end_ns)).then_with(|| content(a).cmp(&content(b)))
    })
}

impl Deliverer {
    /// Looks through the records: gives the number of different spans, and of those of our layer.
    pub(crate) fn index(&mut self, bytes: &[u8]) -> (u32, u32) {
        self.keys.clear();
        let end = bytes.len();
        let mut rest = bytes;
        while let Some((record, after)) = Record::first(rest) {
            self.keys.push(Key {
                id: record.id(),
                start_ns: record.start_ns(),
                end_ns: record.end_ns(),
                at: end - rest.len(),
                flags: record.flags(),
            });
            rest = after;
        }
        let before = self.keys.len();
        self.different = 0;
        if !self.by_id.fill(&self.keys, |key| key.id) {
            self.keys.sort_by_key(|key| key.id);
            let keys = std::mem::take(&mut self.keys);
            for group in keys.chunk_by(|a, b| a.id == b.id) {
                let Some(stands) = smallest(bytes, group) else { continue };
                let content = |key: &Key| record_at(bytes, key.at).map(|record| record.content());
                if group.len() > 1 {
                    let stands = content(&stands);
                    self.different += group.iter().filter(|key| content(key) != stands).count() as u64;
                }
                self.keys.push(stands);
            }
            self.by_id.fill(&self.keys, |key| key.id);
        }
        self.repeated = (before - self.keys.len()) as u64;
        let ours = self.keys.iter().map(|key| u32::from(key.flags & flag::OURS != 0)).sum();
        (u32::try_from(self.keys.len()).unwrap_or(u32::MAX), ours)
    }

    /// Repeated records that the last [`Self::index`] found.
    pub(crate) fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Of the repeated records those with an id of another span, which is no repetition.
    pub(crate) fn different(&self) -> u64 {
        self.different
    }

    /// Spans of the trace of the last [`Self::build`] that begin before their parents.
    pub(crate) fn early(&self) -> Early {
        self.early
    }

    /// The trace of the records that were given to [`Self::index`]. The next one is written over it, or over what is left
    /// in its place.
    pub(crate) fn build(
        &mut self,
        open: &OpenTrace,
        completeness: Completeness,
        services: &Services,
        issues: &mut Issues,
    ) -> &mut Trace {
        let trace = &mut self.trace;
        trace.id = open.id;
        trace.resource = Arc::clone(&open.resource);
        trace.completeness = completeness;
        trace.is_ours = open.is_ours();
        let mut arena = Arena::of(trace);
        // Not by doubling: a trace of a million spans would for a moment be there twice.
        trace.spans.reserve_exact(self.keys.len().saturating_sub(trace.spans.len()));
        // What stands there is written over.
        trace.spans.resize(self.keys.len(), Span::default());
        let keys = &self.keys;
        let start = |index: u32| keys.get(index as usize).map_or(0, |key| key.start_ns);
        if self.order.len() == keys.len() {
            // A loop does the same again: in the order of the trace before there is mostly nothing left to sort.
            self.order.iter_mut().for_each(|(start_ns, index)| *start_ns = start(*index));
        } else {
            self.order.clear();
            self.order.extend((0u32..).take(keys.len()).map(|index| (start(index), index)));
        }
        self.order.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| {
                let rank =
                    |index: u32| keys.get(index as usize).map(|key| (std::cmp::Reverse(key.end_ns), key.id));
                rank(a.1).cmp(&rank(b.1))
            })
        });
        self.places.clear();
        self.places.resize(self.keys.len(), NONE);
        for ((position, &(_, index)), span) in (0u32..).zip(&self.order).zip(&mut trace.spans) {
            let Some(key) = self.keys.get(index as usize) else { continue };
            if let Some(place) = self.places.get_mut(index as usize) {
                *place = position;
            }
            if let Some(record) = record_at(&open.bytes, key.at) {
                record.deliver(span, &mut arena);
            }
        }
        arena.give_back(trace);
        if !open.joined.is_empty() {
            joined::settle(trace, &open.joined, open.missing_parts);
        }
        if services.may_differ(&self.trace) {
            self.find_parents();
            services.name(&mut self.trace, &self.parents);
        }
        self.early = Early::default();
        if open.is_ours() && completeness == Completeness::Complete && self.is_plain_tree() {
            return &mut self.trace;
        }
        self.examine(open, completeness, issues);
        &mut self.trace
    }

    /// Finds every span's parent; whether all are there and none comes after its child, and no span lies
    /// far away: then there is nothing to repair.
    fn is_plain_tree(&mut self) -> bool {
        self.find_parents();
        // The first span can only be a root, or the test below fails.
        let root_end = self.trace.spans.first().map_or(0, |root| root.end_ns);
        let last_start = self.trace.spans.last().map_or(0, |last| last.start_ns);
        last_start <= root_end.saturating_add(CLOCK_JUMP_NS)
            && (0u32..).zip(&self.trace.spans).zip(&self.parents).all(|((position, span), &parent)| {
                if span.parent.is_none() { parent == NONE } else { parent < position }
            })
    }

    fn find_parents(&mut self) {
        self.parents.clear();
        let mut last = (0u64, NONE);
        for span in &self.trace.spans {
            let parent = match span.parent {
                None => NONE,
                Some(id) if id == last.0 => last.1,
                Some(id) => {
                    let is_it = |index: u32| self.keys.get(index as usize).is_some_and(|key| key.id == id);
                    let index = self.by_id.find(id, is_it);
                    let position = index.and_then(|index| self.places.get(index as usize));
                    let position = position.copied().unwrap_or(NONE);
                    last = (id, position);
                    position
                }
            };
            self.parents.push(parent);
        }
    }

    /// The slow road: counts missing parents and clock jumps, cuts cycles, and takes the kind `step` from
    /// spans inside of a step.
    fn examine(&mut self, open: &OpenTrace, completeness: Completeness, issues: &mut Issues) {
        self.find_parents();
        let id = hex(&open.id);
        let missing = self
            .trace
            .spans
            .iter()
            .zip(&self.parents)
            .filter(|(span, parent)| span.parent.is_some() && **parent == NONE)
            .count();
        if completeness == Completeness::Complete {
            issues.add(open.file, IssueKind::MissingParent, None, missing as u64, || {
                format!(
                    "trace {id} names parents that are not in it; they may be in a file that was not given"
                )
            });
        }
        let cycles = self.cut_cycles();
        issues.add(open.file, IssueKind::ParentCycle, None, cycles, || {
            format!("in trace {id} spans are their own ancestors; the cycle was cut at its smallest span id")
        });
        // The parts of a run lie hours apart, and its own span comes last.
        let jumps = if open.only_run { 0 } else { self.clock_jumps() };
        issues.add(open.file, IssueKind::ClockJump, None, jumps, || {
            format!(
                "in trace {id} spans lie more than an hour outside of the root; check the clocks of its hosts"
            )
        });
        if !open.only_run {
            self.note_early();
        }
        self.demote_inner_steps();
    }

    /// Makes one span of each cycle a root; gives the number of cycles.
    fn cut_cycles(&mut self) -> u64 {
        let mut cycles = 0;
        self.walks.clear();
        self.walks.resize(self.parents.len(), 0);
        for (start, walk) in (0..self.parents.len()).zip(1u32..) {
            let mut at = start;
            loop {
                match self.walks.get_mut(at) {
                    Some(met @ 0) => *met = walk,
                    // Met in this very walk: `at` is on a cycle.
                    Some(met) if *met == walk => {
                        self.cut_cycle_at(at);
                        cycles += 1;
                        break;
                    }
                    _ => break,
                }
                match self.parents.get(at) {
                    Some(&parent) if parent != NONE => at = parent as usize,
                    _ => break,
                }
            }
        }
        cycles
    }

    fn cut_cycle_at(&mut self, on_cycle: usize) {
        let id = |at: usize| self.trace.spans.get(at).map_or(u64::MAX, |span| span.id);
        let parent = |at: usize| self.parents.get(at).map_or(on_cycle, |&parent| parent as usize);
        let (mut smallest, mut at) = (on_cycle, parent(on_cycle));
        while at != on_cycle {
            if id(at) < id(smallest) {
                smallest = at;
            }
            at = parent(at);
        }
        if let (Some(span), Some(parent)) =
            (self.trace.spans.get_mut(smallest), self.parents.get_mut(smallest))
        {
            span.parent = None;
            *parent = NONE;
        }
    }

    fn clock_jumps(&self) -> u64 {
        let roots = self.trace.spans.iter().filter(|span| span.parent.is_none());
        let window =
            roots.map(|root| (root.start_ns, root.end_ns)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let Some((start, end)) = window else { return 0 };
        let (first, last) = (start.saturating_sub(CLOCK_JUMP_NS), end.saturating_add(CLOCK_JUMP_NS));
        let outside = self.trace.spans.iter().filter(|span| span.start_ns > last || span.end_ns < first);
        outside.count() as u64
    }

    /// Spans that begin before their parents. What is hours away is a clock that was set, and of a parent of no length it may
    /// not be known when it began.
    fn note_early(&mut self) {
        for ((position, span), &parent) in (0u32..).zip(&self.trace.spans).zip(&self.parents) {
            // Spans are in the order of their starts.
            if parent == NONE || parent < position {
                continue;
            }
            let Some(parent) = self.trace.spans.get(parent as usize) else { continue };
            let early_ns = parent.start_ns.saturating_sub(span.start_ns);
            let parent_ns = parent.end_ns.saturating_sub(parent.start_ns);
            if early_ns <= CLOCK_JUMP_NS && parent_ns > 0 {
                self.early.note(early_ns, parent_ns, parent.process != span.process);
            }
        }
    }

    /// Foreign writers put the step number on every span of a step: only the outermost is the step.
    fn demote_inner_steps(&mut self) {
        self.walks.clear();
        self.walks.resize(self.parents.len(), UNKNOWN);
        for position in 0..self.order.len() {
            let parent = self.parents.get(position).copied().filter(|&parent| parent != NONE);
            let inner =
                self.is_inferred(position) && parent.is_some_and(|parent| self.is_in_step(parent as usize));
            if inner && let Some(span) = self.trace.spans.get_mut(position) {
                span.kind = SectionKind::Section;
            }
        }
    }

    /// Whether a span is a step because of its step number alone.
    fn is_inferred(&self, position: usize) -> bool {
        let key = self.order.get(position).and_then(|&(_, index)| self.keys.get(index as usize));
        key.is_some_and(|key| key.flags & flag::INFERRED_STEP != 0)
    }

    /// Whether a span or one around it is a step, as they were written. What is found on the way up is kept, so
    /// that long chains of parents are walked once.
    fn is_in_step(&mut self, start: usize) -> bool {
        let up = |parents: &[u32], at: usize| {
            parents.get(at).filter(|&&parent| parent != NONE).map(|&parent| parent as usize)
        };
        let mut next = Some(start);
        let mut found = OUTSIDE;
        while let Some(at) = next {
            let known = self.walks.get(at).copied().unwrap_or(OUTSIDE);
            let is_step = self.trace.spans.get(at).is_some_and(|span| span.kind == SectionKind::Step);
            if known != UNKNOWN {
                found = known;
                break;
            } else if is_step || self.is_inferred(at) {
                found = INSIDE;
                break;
            }
            next = up(&self.parents, at);
        }
        let end = next;
        let mut next = Some(start);
        while let Some(at) = next {
            if let Some(walk) = self.walks.get_mut(at) {
                *walk = found;
            }
            next = if next == end { None } else { up(&self.parents, at) };
        }
        found == INSIDE
    }
}

/// A trace id as people see it.
pub(crate) fn hex(id: &[u8]) -> String {
    id.iter().fold(String::with_capacity(id.len() * 2), |mut text, byte| {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or('?'));
        }
        text
    })
}

/// Number of records, for counting what is left out.
pub(crate) fn count(bytes: &[u8]) -> u64 {
    records(bytes).count() as u64
}
