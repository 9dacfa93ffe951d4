//! What `tracing`'s calls about spans and events do here, whichever subscriber of ours they come through: spans become
//! sections. How one becomes part of a program's subscriber is in `layer` and `root`.
//!
//! A span has a key in here: the id that another subscriber gave it, or one of ours ([`crate::hot::span_slab`]).

use std::sync::Arc;

use stepscope_core::{LossReason, PathId, SectionKind, attr};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Record};
use tracing::{Event, Level, Metadata};

use crate::hot::field_visitor::{EventVisitor, LATER_NAME, OTEL_NAME, PlainVisitor, SpanVisitor};
use crate::hot::open::{Open, Parent, Spec, flag};
use crate::hot::recorder::Recorder;
use crate::hot::span_key;
use crate::hot::span_slab;
use crate::hot::state::ThreadState;
use crate::hot::thread;
use crate::os::clock::now_ns;
use crate::os::memory;
use crate::shared::attrs::Entry;
use crate::shared::callsite::Source;

/// Events less severe than this are nothing to a section.
const MAX_EVENT_LEVEL: Level = Level::WARN;

/// Finds the innermost section around a new span of another subscriber by asking that one: where what is next around it
/// is not recorded, and what is around that may be. Asked where we know of none ourselves.
pub(crate) type Further<'a> = &'a dyn Fn(&Recorder) -> Option<Parent>;

/// The calls, and the recorder that they reach.
#[derive(Debug, Clone)]
pub(crate) struct Hooks {
    /// `None`: recording is off, or another recorder is at work in this process.
    recorder: Option<Arc<Recorder>>,
}

impl Hooks {
    pub(crate) fn new(recorder: Option<Arc<Recorder>>) -> Self {
        Self { recorder }
    }

    /// The recorder, when this thread and this moment are to be recorded.
    #[inline]
    fn active(&self) -> Option<&Arc<Recorder>> {
        self.recorder.as_ref().filter(|recorder| recorder.is_current() && !thread::is_suppressed())
    }

    /// As [`active`](Self::active), for something new: at level `off` there is none.
    #[inline]
    fn beginning(&self) -> Option<&Arc<Recorder>> {
        self.recorder.as_ref().filter(|recorder| recorder.is_beginning() && !thread::is_suppressed())
    }

    /// The most verbose level of what is wanted, `None` where nothing is.
    pub(crate) fn max_level(&self) -> Option<LevelFilter> {
        self.recorder.as_ref().map(|recorder| recorder.config.max_level)
    }

    /// Whether what a callsite makes is ever of use.
    pub(crate) fn wants(&self, metadata: &Metadata<'_>) -> bool {
        let Some(recorder) = &self.recorder else { return false };
        match metadata.is_span() {
            true => *metadata.level() <= recorder.config.max_level,
            false => *metadata.level() <= MAX_EVENT_LEVEL,
        }
    }

    /// Whether spans have ids of ours.
    pub(crate) fn has_own_spans(&self) -> bool {
        self.recorder.as_ref().is_some_and(|recorder| recorder.own_spans.is_used())
    }

    /// A span that another subscriber has given the id `key`, which tells us of its end behind those of all spans inside.
    #[inline]
    pub(crate) fn new_span(&self, attributes: &Attributes<'_>, key: u64, further: Further<'_>) {
        self.begin_for_other(attributes, key, further, |_, _, _, _| ());
    }

    /// As [`new_span`](Self::new_span), where it does not: when a span ends there says nothing of what begins inside only here, and
    /// the end of its last child may be told behind its own.
    #[inline]
    pub(crate) fn new_inner_span(&self, attributes: &Attributes<'_>, key: u64) {
        self.begin_for_other(attributes, key, &|_| None, keep_around);
    }

    #[inline]
    fn begin_for_other(
        &self,
        attributes: &Attributes<'_>,
        key: u64,
        further: Further<'_>,
        keep_around: impl FnOnce(&Recorder, &ThreadState, &Open, u64),
    ) {
        let Some(recorder) = self.beginning() else { return };
        let _own = memory::own_call();
        if *attributes.metadata().level() > recorder.config.max_level {
            return;
        }
        let Some(open) = recorder.spans.insert(key) else {
            recorder.lose(LossReason::OpenSpans, 1);
            return;
        };
        let begun = thread::with(recorder, |state| {
            let around = begin(recorder, state, attributes, open, further)?;
            keep_around(recorder, state, open, around);
            Some(())
        });
        match begun {
            Some(Some(())) => {}
            Some(None) => recorder.lose(LossReason::OpenSpans, 1),
            None => {
                // Not begun, whoever had the slot before.
                open.reset(0, 0);
                recorder.lose(LossReason::ThreadTeardown, 1);
            }
        }
    }

    /// A span that gets an id of ours; that of nobody where it is not recorded.
    #[inline]
    pub(crate) fn new_own_span(&self, attributes: &Attributes<'_>) -> u64 {
        self.begin_own(attributes).unwrap_or_else(|| self.nobody())
    }

    #[cold]
    fn nobody(&self) -> u64 {
        self.recorder.as_ref().map_or_else(span_slab::nobody, |recorder| recorder.own_spans.nobody())
    }

    #[inline]
    fn begin_own(&self, attributes: &Attributes<'_>) -> Option<u64> {
        let recorder = self.beginning()?;
        let _own = memory::own_call();
        if *attributes.metadata().level() > recorder.config.max_level {
            return None;
        }
        let begun = thread::with(recorder, |state| {
            let place = state.slots.take(&recorder.own_spans)?;
            let (key, open) = recorder.own_spans.start(place)?;
            let Some(around) = begin(recorder, state, attributes, open, &|_| None) else {
                recorder.own_spans.release(key);
                state.slots.free(&recorder.own_spans, place);
                return None;
            };
            keep_around(recorder, state, open, around);
            Some(key)
        });
        match begun {
            Some(Some(begun)) => return Some(begun),
            Some(None) => recorder.lose(LossReason::OpenSpans, 1),
            None => recorder.lose(LossReason::ThreadTeardown, 1),
        }
        None
    }

    /// One handle more of a span with an id of ours.
    #[inline]
    pub(crate) fn clone_own(&self, key: u64) {
        if let Some(recorder) = &self.recorder {
            recorder.own_spans.hold(key);
        }
    }

    /// One handle less of a span with an id of ours, which ends with its last one. If that was it: what it has kept from
    /// ending, to be [released](Self::release), 0 for nothing.
    #[inline]
    pub(crate) fn close_own(&self, key: u64) -> Option<u64> {
        let recorder = self.recorder.as_ref()?;
        let (place, open) = recorder.own_spans.release(key)?;
        let _own = memory::own_call();
        let held = open.pending_parent();
        let free = |state: &mut ThreadState| state.slots.free(&recorder.own_spans, place);
        // (Nothing begins any more in a recorder that is not current: then nobody misses the place.)
        if recorder.is_current() && !end(recorder, open, free) {
            recorder.own_spans.free(place);
        }
        Some(held)
    }

    /// A span whose id another subscriber gave it has ended there. If its record ends with that: what it has kept from
    /// ending, to be [released](Self::release), 0 for nothing.
    #[inline]
    pub(crate) fn close(&self, key: u64) -> u64 {
        // Not `active`: a slot must be freed even when recording has just stopped.
        let Some(recorder) = &self.recorder else { return 0 };
        let _own = memory::own_call();
        recorder.spans.end(key).map_or(0, |(slot, open)| end_slot(recorder, slot, open))
    }

    /// Releases what an ended span has kept from ending, and what ends with that.
    pub(crate) fn release(&self, mut held: u64) {
        while held != 0 {
            held = match span_key::slot(held) {
                Some(slot) => self.release_slot(slot),
                None => self.close_own(held).unwrap_or(0),
            };
        }
    }

    /// One less that keeps what is in a slot; as [`close`](Self::close) where it ends with that.
    fn release_slot(&self, slot: usize) -> u64 {
        let Some(recorder) = &self.recorder else { return 0 };
        let _own = memory::own_call();
        recorder.spans.release(slot).map_or(0, |(slot, open)| end_slot(recorder, slot, open))
    }

    pub(crate) fn record(&self, key: u64, values: &Record<'_>) {
        let Some(recorder) = self.active() else { return };
        let _own = memory::own_call();
        let Some(open) = recorder.open_span(key) else { return };
        let owned = thread::with(recorder, |state| open.is_owned_by(state.number)).unwrap_or(false);
        // Kind and step are settled at the start; a phase may still come, and so may another name for the span that leaves.
        let (mut spec, mut name) = (Spec::default(), None);
        values.record(&mut SpanVisitor {
            open,
            owned,
            at_start: false,
            spec: &mut spec,
            name: &mut name,
            formatted: &recorder.config.formatted_fields,
        });
        if let Some(name) = name {
            open.push(owned, Entry::Field(LATER_NAME, name.as_str().into()));
        }
        if spec.phase.is_some() {
            open.set_phase(owned, spec.phase);
        }
    }

    pub(crate) fn follows_from(&self, key: u64, follows: u64) {
        let Some(recorder) = self.active() else { return };
        let _own = memory::own_call();
        // A span that has ended already is not known any more: then there is nothing to link to.
        let Some(cause) = recorder.span_parent(follows) else { return };
        let about = recorder.traces.about(cause.trace).filter(|about| about.root_leaves);
        let Some(about) = about else { return };
        thread::with(recorder, |state| {
            let (open, owned) = state.open(key)?;
            open.push(owned, Entry::Link(about.id, state.sure_span_id(&cause)?));
            Some(())
        });
    }

    /// Keeps an error or a warning with the innermost section around it that leaves a span, or with the run.
    pub(crate) fn event(&self, event: &Event<'_>, further: Further<'_>) {
        if *event.metadata().level() > MAX_EVENT_LEVEL {
            return;
        }
        let Some(recorder) = self.beginning() else { return };
        let _own = memory::own_call();
        let is_error = *event.metadata().level() == Level::ERROR;
        // Formatted before any state of ours is borrowed: a message may log by itself.
        let mut visitor = EventVisitor::new(event.metadata());
        event.record(&mut visitor);
        let (time_ns, text) = (now_ns(), visitor.text);
        let explicit = event.parent().map(tracing::Id::into_u64);
        let kept = thread::with(recorder, |state| {
            let around = if event.is_contextual() {
                state.innermost_leaving().or_else(|| state.innermost_span())
            } else {
                explicit
            };
            let key = around.and_then(|key| leaving_around(recorder, key));
            let key = key.or_else(|| further(recorder).map(|parent| parent.key));
            let (open, owned) = key.and_then(|key| state.open(key))?;
            open.push(owned, Entry::Event(time_ns, is_error, &text));
            if is_error {
                open.set_error(owned, true);
            }
            Some(())
        });
        if kept.flatten().is_none() {
            recorder.orphan_events.keep(time_ns, is_error, text);
        }
    }

    /// Whether the span is one that is recorded.
    #[inline]
    pub(crate) fn enter(&self, key: u64) -> bool {
        let Some(recorder) = self.active() else { return false };
        let _own = memory::own_call();
        let Some(section) = recorder.open_span(key).and_then(|open| open.as_parent(key)) else {
            return false;
        };
        thread::with(recorder, |state| state.enter_span(section));
        true
    }

    #[inline]
    pub(crate) fn exit(&self, key: u64) {
        let Some(recorder) = self.active() else { return };
        let _own = memory::own_call();
        thread::with(recorder, |state| {
            if !state.leave(key) {
                state.leave_stranger(key);
            }
        });
    }

    /// A span that is not recorded, of another subscriber beside which some are, is entered.
    #[cold]
    pub(crate) fn enter_stranger(&self, key: u64) {
        let Some(recorder) = self.active() else { return };
        let _own = memory::own_call();
        thread::with(recorder, |state| state.enter_stranger(key));
    }

    /// The innermost span that is entered on this thread, if it is one with an id of ours.
    pub(crate) fn current_own(&self) -> Option<(u64, &'static Metadata<'static>)> {
        let recorder = self.active()?;
        let _own = memory::own_call();
        let found = thread::with(recorder, |state| {
            let key = state.innermost_span()?;
            let open = recorder.own_spans.find(key)?;
            match state.source(open.callsite())? {
                Source::Span(metadata) => Some((key, metadata)),
                Source::Section(_) => None,
            }
        });
        found.flatten()
    }
}

/// The key of the innermost section that leaves a span: that of `key`, or one that it has kept from ending.
fn leaving_around(recorder: &Recorder, mut key: u64) -> Option<u64> {
    // (What is not recorded holds nothing: no way is long, and none goes round.)
    while !span_key::is_section(key) {
        let open = recorder.kept_span(key)?;
        if open.as_parent(key)?.leaves() {
            break;
        }
        key = Some(open.pending_parent()).filter(|&held| held != 0)?;
    }
    Some(key)
}

/// Has a new span keep the record of the span around it from ending. `around`: the key of the section around it.
#[inline]
fn keep_around(recorder: &Recorder, state: &ThreadState, open: &Open, around: u64) {
    let span = match span_key::is_section(around) {
        true => state.innermost_recorded_span().unwrap_or(0),
        false => around,
    };
    if span_key::is_own_span(span) {
        if recorder.own_spans.hold(span) {
            open.set_pending_parent(span);
        }
    } else if span != 0
        && let Some(slot) = recorder.spans.keep(span)
    {
        // A span of another subscriber: it ends there when it will, and its id leads to nothing then.
        let slot = span_key::of_slot(slot);
        open.set_pending_parent(slot);
        if span == around {
            open.set_around(slot);
        }
    }
}

/// Begins the section of a new span; returns the key of the one around it, 0 for none, or `None` when there is no room
/// for its trace.
#[inline]
fn begin(
    recorder: &Arc<Recorder>,
    state: &mut ThreadState,
    attributes: &Attributes<'_>,
    open: &Open,
    further: Further<'_>,
) -> Option<u64> {
    open.reset(state.number, state.shared.id);
    if attributes.is_contextual()
        && let Some(&parent) = state.current()
        && parent.takes_work()
        && let Some(place) = state.plain_place(parent.path, attributes.metadata())
    {
        attributes.record(&mut PlainVisitor(open));
        return state.begin_plain(open, place, None, parent).then_some(parent.key);
    }
    begin_any(recorder, state, attributes, open, further)
}

/// As [`begin`], wherever the span is and whatever its fields say of it.
#[cold]
fn begin_any(
    recorder: &Arc<Recorder>,
    state: &mut ThreadState,
    attributes: &Attributes<'_>,
    open: &Open,
    further: Further<'_>,
) -> Option<u64> {
    let parent = match attributes.parent() {
        Some(id) => recorder.span_parent(id.into_u64()).or_else(|| further(recorder)),
        None if attributes.is_contextual() => state.current().copied().or_else(|| further(recorder)),
        None => None,
    };
    let metadata = attributes.metadata();
    let around = parent.filter(Parent::takes_work);
    let path = around.map_or(PathId::ROOT, |parent| parent.path);
    // An epoch that was given need not be entered here.
    let epoch = parent.filter(|parent| parent.kind == SectionKind::Epoch);
    let epoch = epoch.and_then(|epoch| state.open(epoch.key)?.0.epoch());
    let has_begun = match state.plain_place(path, metadata) {
        Some(place) => {
            attributes.record(&mut PlainVisitor(open));
            state.begin_at(open, place, &Spec { epoch, ..Spec::default() }, around)
        }
        None => begin_special(recorder, state, attributes, open, parent, epoch),
    };
    has_begun.then(|| parent.map_or(0, |parent| parent.key))
}

/// Ends the section of a span that has begun, and runs `then` on the thread's state; `false` where there is none.
#[inline]
fn end(recorder: &Arc<Recorder>, open: &Open, then: impl FnOnce(&mut ThreadState)) -> bool {
    // (Its place may be another's afterwards.)
    let epoch = (open.kind() == SectionKind::Epoch).then(|| open.span_id());
    let ended = thread::with(recorder, |state| {
        state.finish(open);
        then(state);
    });
    if ended.is_none() {
        recorder.lose(LossReason::ThreadTeardown, 1);
        let (exported, held) = (flag::EXPORTED, flag::EXPORTED | flag::IS_ROOT);
        if let Some(trace) = open.trace() {
            recorder.traces.abandon(trace, open.has(exported), open.has(held));
        }
    }
    if let Some(span_id) = epoch {
        recorder.end_epoch(span_id);
    }
    ended.is_some()
}

/// Ends the record in a slot of the table of spans, and frees it: what that one has kept from ending.
#[inline]
fn end_slot(recorder: &Arc<Recorder>, slot: usize, open: &Open) -> u64 {
    let held = open.pending_parent();
    if recorder.is_current() && open.trace().is_some() {
        end(recorder, open, |_| ());
    }
    recorder.spans.free(slot);
    held
}

/// Begins a span whose fields or name say what it is, in `epoch` where they do not say which.
#[cold]
fn begin_special(
    recorder: &Arc<Recorder>,
    state: &mut ThreadState,
    attributes: &Attributes<'_>,
    open: &Open,
    parent: Option<Parent>,
    epoch: Option<u64>,
) -> bool {
    let metadata = attributes.metadata();
    let (mut spec, mut name) = (Spec::default(), None);
    attributes.record(&mut SpanVisitor {
        open,
        owned: true,
        at_start: true,
        spec: &mut spec,
        name: &mut name,
        formatted: &recorder.config.formatted_fields,
    });
    recognise_step(recorder, metadata, parent, &mut spec);
    let said = spec.epoch;
    if spec.kind() != SectionKind::Epoch {
        spec.epoch = spec.epoch.or(epoch);
    }
    if let Some(epoch) = said {
        let epoch = epoch.into();
        // The number of an epoch is the layer's word, anything else's a field where it is the root of no trace.
        open.push(
            true,
            match spec.kind() {
                SectionKind::Epoch => Entry::Own(attr::EPOCH, epoch),
                _ => Entry::Field(attr::EPOCH, epoch),
            },
        );
    }
    let begun = state.begin(open, Source::Span(metadata), name.as_deref(), &spec, parent);
    if spec.kind() == SectionKind::Epoch {
        state.mark(Source::Section(&crate::hot::recorder::EPOCH_STARTED), SectionKind::Epoch, spec.epoch);
    }
    if let Some(name) = name {
        open.push(true, Entry::Field(OTEL_NAME, name.as_str().into()));
    }
    begun
}

/// A span with a configured name is a step, unless it is inside of one.
fn recognise_step(recorder: &Recorder, metadata: &Metadata<'_>, parent: Option<Parent>, spec: &mut Spec) {
    if spec.kind.is_none() && recorder.config.step_spans.iter().any(|name| name == metadata.name()) {
        let around = parent.and_then(|parent| recorder.traces.about(parent.trace));
        if around.is_none_or(|around| around.root_kind != SectionKind::Step) {
            spec.kind = Some(SectionKind::Step);
            spec.step = spec.step.or_else(|| Some(recorder.count_step()));
        }
    }
}
