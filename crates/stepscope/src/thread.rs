//! What a thread keeps while it records: the stack of entered sections, its ring, its aggregates, its ids.
//! Everything on the hot path happens here, without locks and, once warm, without allocation.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use stepscope_core::identity::mix;
use stepscope_core::{Level, LossReason, PathId, PathTable, SectionKind, attr};

use crate::aggregate::{Aggregates, Ended, MemorySums};
use crate::attrs::Entry;
use crate::callsite::Source;
use crate::clock::now_ns;
use crate::memory::{self, Counters, PeakToken};
use crate::open::{Open, Parent, Spec, Stay};
use crate::record::{MemoryRecord, RootRecord, SectionRecord};
use crate::recorder::Recorder;
use crate::ring::Ring;
use crate::sys;
use crate::trace::{TracePool, TraceState};

/// What the background thread sees of a recording thread.
#[derive(Debug)]
pub(crate) struct ThreadShared {
    pub ring: Ring,
    pub aggregates: Aggregates,
    /// Spans that ended and were meant to be exported.
    pub emitted: AtomicU64,
    /// Of those, the ones lost because the ring was full.
    pub ring_full: AtomicU64,
    pub id: u64,
    pub name: String,
    /// The thread has ended: what the ring holds is the last of it.
    pub retired: AtomicBool,
}

/// A section that is entered on this thread right now.
#[derive(Debug)]
struct Frame {
    key: u64,
    parent: Parent,
    enter_ns: u64,
    /// Busy time and allocations of the sections entered inside this one.
    nested_busy_ns: u64,
    nested: Counters,
    counters: Option<Counters>,
    peak: Option<PeakToken>,
    cpu_ns: Option<u64>,
    /// The section itself, where it lives here and not in the table of open spans.
    open: Option<Box<Open>>,
}

/// The state of one thread for one recorder.
#[derive(Debug)]
pub(crate) struct ThreadState {
    recorder: Arc<Recorder>,
    shared: Arc<ThreadShared>,
    stack: Vec<Frame>,
    paths: HashMap<(PathId, usize), (PathId, u32), BuildHasherDefault<PairHasher>>,
    traces: TracePool,
    #[expect(clippy::vec_box, reason = "frames own boxed sections: moving one is a pointer, not 300 bytes")]
    spare: Vec<Box<Open>>,
    span_base: u64,
    spans: u64,
    sections: u64,
}

/// Keys of frames that are not `tracing` spans have this bit, which no span id of the registry has.
const SECTION_KEY: u64 = 1 << 63;

/// A thread remembers this many callsites; beyond, the shared table is asked each time.
const MAX_CACHED_PATHS: usize = 8_192;

impl ThreadState {
    pub(crate) fn new(recorder: Arc<Recorder>) -> Self {
        let (shared, number) = recorder.register_thread();
        Self {
            span_base: recorder.span_nonce.wrapping_add(number << 40),
            recorder,
            shared,
            stack: Vec::with_capacity(32),
            paths: HashMap::default(),
            traces: TracePool::default(),
            spare: Vec::new(),
            spans: 0,
            sections: 0,
        }
    }

    pub(crate) fn recorder(&self) -> &Arc<Recorder> {
        &self.recorder
    }

    /// The innermost section entered on this thread.
    pub(crate) fn current(&self) -> Option<Parent> {
        self.stack.last().map(|frame| frame.parent.clone())
    }

    /// Keys of the entered sections, innermost first, with their kinds.
    pub(crate) fn entered(&self) -> impl Iterator<Item = (u64, SectionKind)> + '_ {
        self.stack.iter().rev().map(|frame| (frame.key, frame.parent.kind))
    }

    /// The open section of frame `key`, where it lives on this thread's stack.
    pub(crate) fn open_mut(&mut self, key: u64) -> Option<&mut Open> {
        self.stack.iter_mut().rev().find(|frame| frame.key == key).and_then(|frame| frame.open.as_deref_mut())
    }

    /// A section object to fill.
    pub(crate) fn take_open(&mut self) -> Box<Open> {
        self.spare.pop().unwrap_or_default()
    }

    fn next_span_id(&mut self) -> u64 {
        loop {
            self.spans += 1;
            // A bijection of (thread number, counter): unique in the process, and spread.
            let id = mix(self.span_base.wrapping_add(self.spans));
            if id != 0 {
                return id;
            }
        }
    }

    /// Gives `open` its identity and its place: trace, parent, path. `name` overrides the callsite's.
    pub(crate) fn begin(
        &mut self,
        open: &mut Open,
        source: Source,
        name: Option<&str>,
        spec: &Spec,
        parent: Option<Parent>,
    ) {
        let kind = spec.kind();
        open.kind = kind;
        open.phase = spec.phase;
        open.thread = self.shared.id;
        open.span_id = self.next_span_id();
        let level = self.recorder.level();
        open.exported = level >= Level::Detailed || kind != SectionKind::Section;
        // The run and its epochs are no parents of work: it has traces of its own, linked to the run.
        let parent = match (kind, parent) {
            (SectionKind::Epoch, _) => Some(self.recorder.run_parent()),
            (kind, Some(parent))
                if !kind.starts_trace() && !matches!(parent.kind, SectionKind::Run | SectionKind::Epoch) =>
            {
                Some(parent)
            }
            _ => None,
        };
        let mut path_parent = PathId::ROOT;
        let mut around = None;
        if let Some(parent) = parent {
            path_parent = parent.path;
            if !open.exported {
                // Whatever is exported inside of it belongs to the innermost span that is there.
                open.span_id = parent.span_id;
            }
            if !open.exported || parent.trace.join() {
                open.parent_span_id = parent.span_id;
                open.trace = Some(parent.trace);
            } else {
                open.continues = Some((parent.path, parent.trace.id, parent.span_id));
                open.trace = self.continue_trace(&parent);
                around = Some(parent.trace);
            }
        }
        (open.path, open.callsite) = self.path(path_parent, source, name, spec);
        open.collapsed = PathTable::is_collapsed(path_parent, open.path);
        if open.trace.is_none() {
            open.is_root = true;
            let step = around.as_ref().map_or(spec.step, |around| around.step);
            let id = self.recorder.next_trace_id(step);
            let state = match around {
                Some(around) => around.continuation(id, self.shared.id),
                None => {
                    let mut state = TraceState::new(id, kind);
                    state.step = step;
                    state.epoch = spec.epoch.or_else(|| self.recorder.epoch());
                    state.mode = spec.mode.unwrap_or(stepscope_core::Mode::Train);
                    state.root_thread = self.shared.id;
                    state
                }
            };
            let trace = self.traces.take(state);
            if open.exported {
                trace.join();
            }
            open.trace = Some(trace);
        }
        if kind != SectionKind::Section {
            open.rss_start_bytes = memory::rss_bytes();
        }
        open.start_ns = now_ns();
    }

    /// The trace for a section inside `parent`, whose own trace has no room: one after the other, each up to
    /// the bound. `None` when the open section of `parent` is gone.
    #[cold]
    fn continue_trace(&mut self, parent: &Parent) -> Option<Arc<TraceState>> {
        let current = self.with_continuation(parent, |slot| slot.clone())?;
        if let Some(trace) = current.filter(|trace| trace.join()) {
            return Some(trace);
        }
        let id = self.recorder.next_trace_id(parent.trace.step);
        let next = Arc::new(parent.trace.continuation(id, self.shared.id));
        next.join();
        let full = self.with_continuation(parent, |slot| slot.replace(Arc::clone(&next)))?;
        if let Some(full) = full {
            self.end_continuation(&full);
        }
        Some(next)
    }

    fn with_continuation<R>(
        &mut self,
        parent: &Parent,
        f: impl FnOnce(&mut Option<Arc<TraceState>>) -> R,
    ) -> Option<R> {
        if parent.key & SECTION_KEY != 0 {
            return self.open_mut(parent.key).map(|open| f(&mut open.continuation));
        }
        // Keys of spans come back: another span may have this one by now.
        let mut open = self.recorder.spans.get(parent.key).filter(|open| open.span_id == parent.span_id)?;
        Some(f(&mut open.continuation))
    }

    #[cold]
    fn end_continuation(&mut self, trace: &TraceState) {
        if let Some(ended) = trace.end_continuation() {
            self.write(&ended.0, trace, &ended.1);
        }
    }

    fn path(&mut self, parent: PathId, source: Source, name: Option<&str>, spec: &Spec) -> (PathId, u32) {
        if let Some(name) = name {
            return self.recorder.path(parent, source, name, spec);
        }
        let key = (parent, source.address());
        if let Some(&found) = self.paths.get(&key) {
            return found;
        }
        let found = self.recorder.path(parent, source, source.name(), spec);
        if self.paths.len() < MAX_CACHED_PATHS {
            self.paths.insert(key, found);
        }
        found
    }

    /// Enters a `tracing` span on this thread.
    pub(crate) fn enter_span(&mut self, key: u64, parent: Parent) {
        self.push(key, parent, None);
    }

    /// Enters a section that lives on the stack; returns its key.
    pub(crate) fn enter_section(&mut self, mut open: Box<Open>) -> u64 {
        self.sections += 1;
        let key = self.sections | SECTION_KEY;
        if let Some(trace) = &open.trace {
            let parent = Parent {
                trace: Arc::clone(trace),
                span_id: open.span_id,
                path: open.path,
                kind: open.kind,
                key,
            };
            let start_ns = open.start_ns;
            open.enters = 0;
            self.push(key, parent, Some(open));
            if let Some(frame) = self.stack.last_mut() {
                // One clock read serves as start and as entry.
                frame.enter_ns = start_ns;
            }
        }
        key
    }

    fn push(&mut self, key: u64, parent: Parent, open: Option<Box<Open>>) {
        let timed_by_system_call =
            parent.kind != SectionKind::Section || self.recorder.level() == Level::Comprehensive;
        let cpu_ns = if timed_by_system_call { sys::thread_cpu_ns() } else { None };
        let counters = memory::thread_counters();
        let peak = counters.is_some().then(memory::peak_enter);
        let nested = Counters::default();
        let enter_ns = if open.is_some() { 0 } else { now_ns() };
        self.stack.push(Frame {
            key,
            parent,
            enter_ns,
            nested_busy_ns: 0,
            nested,
            counters,
            peak,
            cpu_ns,
            open,
        });
    }

    /// Leaves section `key`; what the stay measured, and the section if it lived on the stack.
    pub(crate) fn exit(&mut self, key: u64) -> Option<(Stay, Option<Box<Open>>)> {
        let exit_ns = now_ns();
        let counters = memory::thread_counters();
        // Guards may be dropped out of order; the one asked for leaves, the others stay.
        let is_innermost = self.stack.last().is_some_and(|frame| frame.key == key);
        let (position, frame) = if is_innermost {
            (self.stack.len() - 1, self.stack.pop()?)
        } else {
            let position = self.stack.iter().rposition(|frame| frame.key == key)?;
            (position, self.stack.remove(position))
        };
        let busy_ns = exit_ns.saturating_sub(frame.enter_ns);
        let inside = frame.counters.and_then(|before| counters.map(|after| after.since(&before)));
        let peak_bytes = frame.peak.and_then(memory::peak_exit);
        let cpu_ns =
            frame.cpu_ns.and_then(|before| sys::thread_cpu_ns().map(|now| now.saturating_sub(before)));
        if let Some(outer) = position.checked_sub(1).and_then(|outer| self.stack.get_mut(outer)) {
            outer.nested_busy_ns = outer.nested_busy_ns.saturating_add(busy_ns);
            if let Some(inside) = &inside {
                outer.nested.allocated_bytes =
                    outer.nested.allocated_bytes.wrapping_add(inside.allocated_bytes);
                outer.nested.freed_bytes = outer.nested.freed_bytes.wrapping_add(inside.freed_bytes);
            }
        }
        let stay = Stay {
            exit_ns,
            busy_ns,
            self_busy_ns: busy_ns.saturating_sub(frame.nested_busy_ns),
            memory: inside.map(|inside| MemorySums {
                alloc_bytes: inside.allocated_bytes,
                free_bytes: inside.freed_bytes,
                alloc_count: inside.allocs,
                free_count: inside.frees,
                self_alloc_bytes: inside.allocated_bytes.saturating_sub(frame.nested.allocated_bytes),
                self_free_bytes: inside.freed_bytes.saturating_sub(frame.nested.freed_bytes),
            }),
            peak_bytes,
            cpu_ns,
        };
        Some((stay, frame.open))
    }

    /// Ends a section: into the aggregates first, then into the ring.
    pub(crate) fn finish(&mut self, open: &mut Open) {
        let Some(trace) = open.trace.take() else { return };
        if let Some(continuation) = open.continuation.take() {
            self.end_continuation(&continuation);
        }
        // An entered section ends at its last exit: a handle kept for longer does not make it longer.
        let end_ns = if open.enters > 0 { open.last_exit_ns } else { now_ns() };
        let duration_ns = end_ns.saturating_sub(open.start_ns);
        if open.discarded {
            open.kind = SectionKind::Section;
        }
        let ended = Ended {
            duration_ns,
            collapsed: open.collapsed,
            self_busy_ns: open.self_busy_ns,
            memory: open.memory,
        };
        self.shared.aggregates.record(open.path.0, &ended);
        if open.exported {
            self.export(open, &trace, end_ns);
        }
        if open.is_root {
            self.traces.give(trace);
        }
    }

    fn export(&mut self, open: &Open, trace: &TraceState, end_ns: u64) {
        let coarse = open.kind != SectionKind::Section;
        let rss_bytes = if coarse { memory::rss_bytes() } else { None };
        let is_part = !open.is_root && open.continues.is_some();
        let root = (open.is_root || is_part).then(|| RootRecord {
            mode: trace.mode,
            announces: open.is_root,
            trace_spans: 0,
            trace_dropped: 0,
            step: trace.step.filter(|_| !open.discarded),
            epoch: trace.epoch,
            continues: open.continues.map(|(path, trace, span)| (path.0, trace, span)),
        });
        let mut record = SectionRecord {
            trace_id: trace.id,
            span_id: open.span_id,
            parent_span_id: open.parent_span_id,
            start_ns: open.start_ns,
            end_ns,
            busy_ns: open.busy_ns,
            enters: open.enters,
            kind: open.kind,
            phase: open.phase,
            is_error: open.is_error,
            callsite: open.callsite,
            thread: open.thread,
            left_out: open.attrs.left_out(),
            on_foreign_thread: open.thread != trace.root_thread,
            root,
            memory: open.memory.map(|memory| MemoryRecord {
                alloc_bytes: memory.alloc_bytes,
                free_bytes: memory.free_bytes,
                alloc_count: memory.alloc_count,
                free_count: memory.free_count,
            }),
            cpu_ns: open.cpu_ns,
            peak_bytes: open.peak_bytes,
            live_bytes: if coarse { memory::live_bytes() } else { None },
            rss_bytes,
            rss_delta_bytes: rss_bytes.zip(open.rss_start_bytes).map(|(end, start)| end.wrapping_sub(start)),
        };
        if is_part {
            if let Some(ended) = trace.end_root(Box::new((record, open.attrs.words().to_vec()))) {
                self.write(&ended.0, trace, &ended.1);
            }
            return;
        }
        if let Some(root) = record.root.as_mut() {
            (root.trace_spans, root.trace_dropped) = trace.close();
        }
        self.write(&record, trace, open.attrs.words());
    }

    /// Writes a record and what is attached to it into the ring.
    fn write(&mut self, record: &SectionRecord, trace: &TraceState, attached: &[u64]) {
        let packed = record.pack();
        // Single writer: a load and a store are enough.
        let emitted = self.shared.emitted.load(Ordering::Relaxed);
        self.shared.emitted.store(emitted + 1, Ordering::Relaxed);
        let is_urgent = record.root.is_some_and(|root| root.announces);
        if !self.shared.ring.push(packed.words(), attached, is_urgent) {
            self.shared.ring_full.fetch_add(1, Ordering::Relaxed);
            trace.lose_one();
        }
    }

    /// Writes a zero-length span of the run's trace: it says that a run or an epoch has started, should the
    /// real span never come. Not part of the aggregates.
    pub(crate) fn mark(&mut self, source: Source, kind: SectionKind, epoch: Option<u64>) {
        let run = self.recorder.run_parent();
        if !run.trace.join() {
            return;
        }
        let spec = Spec { kind: Some(kind), ..Spec::default() };
        let mut open = self.take_open();
        (_, open.callsite) = self.recorder.path(run.path, source, source.name(), &spec);
        open.kind = kind;
        open.span_id = self.next_span_id();
        open.parent_span_id = run.span_id;
        open.thread = self.shared.id;
        open.start_ns = now_ns();
        if let Some(epoch) = epoch {
            open.attrs.push(Entry::Field(attr::EPOCH, epoch.into()));
        }
        self.export(&open, &run.trace, open.start_ns);
        open.reset();
        self.spare.push(open);
    }

    /// Marks the start of the run.
    pub(crate) fn mark_run(&mut self) {
        self.mark(Source::Section(&crate::recorder::RUN_STARTED), SectionKind::Run, None);
    }

    /// Ends the run: its span, and what it adds to the aggregates. A signal that ended it makes it failed.
    pub(crate) fn finish_run(&mut self, signal: Option<i32>) {
        let run = self.recorder.run_parent();
        let mut open = self.take_open();
        let spec = Spec { kind: Some(SectionKind::Run), ..Spec::default() };
        let source = Source::Section(&crate::recorder::RUN);
        (open.path, open.callsite) = self.recorder.path(PathId::ROOT, source, source.name(), &spec);
        open.kind = SectionKind::Run;
        open.span_id = run.span_id;
        open.thread = self.shared.id;
        open.start_ns = self.recorder.run_start_ns;
        open.is_root = true;
        open.exported = true;
        open.trace = Some(run.trace);
        if let Some(signal) = signal {
            open.is_error = true;
            open.attrs.push(Entry::Field(attr::ERROR_TYPE, sys::signal_name(signal).into()));
        }
        self.finish_section(open);
    }

    /// Ends a section that lived on the stack and keeps its object for the next one.
    pub(crate) fn finish_section(&mut self, mut open: Box<Open>) {
        self.finish(&mut open);
        open.reset();
        if self.spare.len() < 64 {
            self.spare.push(open);
        }
    }
}

impl Drop for ThreadState {
    fn drop(&mut self) {
        self.shared.retired.store(true, Ordering::Release);
    }
}

/// Mixes a path id and an address; both are small and well spread after one multiplication each.
#[derive(Debug, Default)]
pub(crate) struct PairHasher(u64);

impl Hasher for PairHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

/// The state of a thread, made on first use. What it frees at the end of the thread is the layer's own.
struct Slot(Option<Box<ThreadState>>);

impl Drop for Slot {
    fn drop(&mut self) {
        let _own = memory::own_call();
        self.0 = None;
    }
}

thread_local! {
    static STATE: RefCell<Slot> = const { RefCell::new(Slot(None)) };
    static SUPPRESSED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f` on this thread's state for `recorder`, made on first use. The caller has begun an own call. `None` while the thread is being torn
/// down, and when called from inside `f`.
pub(crate) fn with<R>(recorder: &Arc<Recorder>, f: impl FnOnce(&mut ThreadState) -> R) -> Option<R> {
    STATE
        .try_with(|cell| {
            let mut slot = cell.try_borrow_mut().ok()?;
            let is_ours = slot.0.as_ref().is_some_and(|state| state.recorder.id == recorder.id);
            if !is_ours {
                slot.0 = Some(Box::new(ThreadState::new(Arc::clone(recorder))));
            }
            slot.0.as_deref_mut().map(f)
        })
        .ok()
        .flatten()
}

/// As [`with`], for the recorder that is current in the process; `None` when there is none.
pub(crate) fn with_current<R>(f: impl FnOnce(&mut ThreadState) -> R) -> Option<R> {
    let id = crate::recorder::current_id();
    if id == 0 || is_suppressed() {
        return None;
    }
    let _own = memory::own_call();
    STATE
        .try_with(|cell| {
            let mut slot = cell.try_borrow_mut().ok()?;
            let is_ours = slot.0.as_ref().is_some_and(|state| state.recorder.id == id);
            if !is_ours {
                slot.0 = Some(Box::new(ThreadState::new(crate::recorder::current()?)));
            }
            slot.0.as_deref_mut().map(f)
        })
        .ok()
        .flatten()
}

/// Counts a section that could not begin because its thread has begun to tear down.
#[cold]
pub(crate) fn lose_in_teardown() {
    if crate::recorder::current_id() != 0
        && !is_suppressed()
        && STATE.try_with(|_| ()).is_err()
        && let Some(recorder) = crate::recorder::current()
    {
        recorder.lose(LossReason::ThreadTeardown, 1);
    }
}

/// Runs `f`, a call back into the program, without recording what it does: state of ours may be locked.
pub(crate) fn quietly<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool);

    impl Drop for Restore {
        fn drop(&mut self) {
            let _ = SUPPRESSED.try_with(|flag| flag.set(self.0));
        }
    }

    let _restore = Restore(SUPPRESSED.try_with(|flag| flag.replace(true)).unwrap_or(true));
    f()
}

/// Makes everything that this thread does invisible to the layer, for its whole life.
pub(crate) fn suppress() {
    let _ = SUPPRESSED.try_with(|flag| flag.set(true));
}

/// Whether this thread is one of ours.
pub(crate) fn is_suppressed() -> bool {
    SUPPRESSED.try_with(Cell::get).unwrap_or(true)
}
