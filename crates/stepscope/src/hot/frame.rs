//! A section that is entered on a thread: a place on the thread's stack of them. A `section!` lives here alone, in
//! few words, as long as nobody wants more of it than its time and its fields ([`Light`]); else its open section
//! stands beside it. How sections begin and leave is in `state`.

use std::cell::{Cell, OnceCell};

use stepscope_core::SectionKind;

use crate::hot::open::{Open, Parent, Start, Stay};
use crate::hot::recorder::Recorder;
use crate::os::memory::{self, Counters, PeakToken};
use crate::os::sys;
use crate::shared::aggregate::MemorySums;
use crate::shared::attrs::{self, FieldValue};
use crate::shared::trace::TraceState;

/// What stands behind a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// An open section: of the frame, or in the table of open spans.
    Whole,
    /// The frame itself; what it says beside is in `light`.
    Light,
    /// Nothing: only its time and its sums are kept. Whether it has the path of the section around it is in `light`.
    Sums,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Frame {
    /// As what is begun inside of it sees it.
    pub section: Parent,
    pub enter_ns: u64,
    /// Busy time and allocations of the sections entered inside this one.
    pub nested_busy_ns: u64,
    nested_alloc_bytes: u64,
    nested_free_bytes: u64,
    pub counters: Option<Counters>,
    peak: Option<PeakToken>,
    /// Of one that was whole from its begin.
    pub cpu_ns: Cell<Option<u64>>,
    pub form: Cell<Form>,
    /// A panic was unwinding its thread when it was entered: that one ends those around it. (One inside, caught in there, is
    /// not told from it.)
    began_in_panic: bool,
    pub light: Light,
    /// The section itself, where it lives here and not in the table of open spans; kept for the next one.
    pub open: OnceCell<Box<Open>>,
}

impl Frame {
    #[cold]
    pub(crate) fn new(section: Parent) -> Self {
        Self {
            section,
            enter_ns: 0,
            nested_busy_ns: 0,
            nested_alloc_bytes: 0,
            nested_free_bytes: 0,
            counters: None,
            peak: None,
            cpu_ns: Cell::new(None),
            form: Cell::new(Form::Whole),
            began_in_panic: false,
            light: Light::default(),
            open: OnceCell::new(),
        }
    }

    /// Makes it that of `section`, which is entered now; `counters`: the thread's, where its allocations are told.
    #[inline(always)]
    pub(crate) fn begin(&mut self, section: Parent, form: Form, counters: Option<Counters>) {
        self.section = section;
        self.nested_busy_ns = 0;
        self.form.set(form);
        self.began_in_panic = std::thread::panicking();
        self.counters = counters;
        if self.counters.is_some() {
            self.begin_counting();
        }
    }

    /// Whether it is left now because a panic unwinds its thread.
    pub(crate) fn is_left_by_panic(&self) -> bool {
        std::thread::panicking() && !self.began_in_panic
    }

    fn begin_counting(&mut self) {
        (self.nested_alloc_bytes, self.nested_free_bytes) = (0, 0);
        self.peak = Some(memory::peak_enter());
    }

    /// Adds to a stay what was measured beside its time; `counters`: the thread's at its end.
    pub(crate) fn measure(&mut self, counters: Option<Counters>, outer: Option<&mut Self>, stay: &mut Stay) {
        if let Some(before) = self.cpu_ns.get().filter(|_| self.form.get() == Form::Whole) {
            stay.cpu_ns = sys::thread_cpu_ns().map(|now| now.saturating_sub(before));
        }
        let Some((before, after)) = self.counters.zip(counters) else { return };
        let inside = after.since(&before);
        stay.peak_bytes = self.peak.take().and_then(memory::peak_exit);
        stay.memory = Some(MemorySums {
            alloc_bytes: inside.allocated_bytes,
            free_bytes: inside.freed_bytes,
            alloc_count: inside.allocs,
            free_count: inside.frees,
            self_alloc_bytes: inside.allocated_bytes.saturating_sub(self.nested_alloc_bytes),
            self_free_bytes: inside.freed_bytes.saturating_sub(self.nested_free_bytes),
        });
        if let Some(outer) = outer {
            outer.nested_alloc_bytes = outer.nested_alloc_bytes.wrapping_add(inside.allocated_bytes);
            outer.nested_free_bytes = outer.nested_free_bytes.wrapping_add(inside.freed_bytes);
        }
    }

    /// It is left at this time and with these counts before `above`, which was entered in it and stays: what that one had in
    /// here until now is not this one's own. `outer`, to which this one adds all of its own now and `above` all of its own once
    /// it is left, would have that twice.
    pub(crate) fn leave_below(
        &mut self,
        above: &Self,
        outer: Option<&mut Self>,
        exit_ns: u64,
        counters: Option<Counters>,
    ) {
        let busy_ns = exit_ns.saturating_sub(above.enter_ns);
        let inside = above.counters.zip(counters).map(|(before, after)| after.since(&before));
        let (alloc_bytes, free_bytes) =
            inside.map_or((0, 0), |inside| (inside.allocated_bytes, inside.freed_bytes));
        self.nested_busy_ns = self.nested_busy_ns.wrapping_add(busy_ns);
        self.nested_alloc_bytes = self.nested_alloc_bytes.wrapping_add(alloc_bytes);
        self.nested_free_bytes = self.nested_free_bytes.wrapping_add(free_bytes);
        if let Some(outer) = outer {
            outer.nested_busy_ns = outer.nested_busy_ns.wrapping_sub(busy_ns);
            outer.nested_alloc_bytes = outer.nested_alloc_bytes.wrapping_sub(alloc_bytes);
            outer.nested_free_bytes = outer.nested_free_bytes.wrapping_sub(free_bytes);
        }
    }

    /// The open section, if it lives here; made of the light one from the first look on. `owner`: this thread's number, and
    /// its id.
    pub(crate) fn open(&self, owner: (u64, u64), recorder: &Recorder) -> Option<&Open> {
        match self.form.get() {
            Form::Sums => return None,
            Form::Whole => {}
            Form::Light => self.make_whole(owner, recorder),
        }
        self.open.get().map(Box::as_ref)
    }

    #[cold]
    fn make_whole(&self, (number, thread): (u64, u64), recorder: &Recorder) {
        let open = self.open.get_or_init(Box::default);
        open.reset(number, thread);
        open.take_words(self.light.used, self.light.words());
        let Light { bits, parent_span_id, callsite, .. } = self.light;
        open.begin(&Start {
            trace: self.section.trace,
            trace_id: recorder.traces.get(self.section.trace).map_or([0; 2], TraceState::id_words),
            span_id: self.section.span_id,
            parent_span_id,
            path: self.section.path,
            callsite,
            kind: SectionKind::Section,
            phase: None,
            flags: bits,
        });
        open.set_start(self.enter_ns);
        // What is there is that of another section, which had this frame before.
        self.cpu_ns.set(None);
        self.form.set(Form::Whole);
    }
}

/// Words of fields that a light section has room for.
const WORDS: usize = 16;

/// What a `section!` without more than its fields says, beside what its frame says.
#[derive(Debug, Default)]
pub(crate) struct Light {
    /// Phase and flags, as in the bits of open sections.
    pub bits: u64,
    pub parent_span_id: u64,
    pub callsite: u32,
    /// How much of `words` is in use, as open sections have it.
    used: u64,
    words: [u64; WORDS],
}

impl Light {
    /// Takes the fields that a callsite declares; `None` where they have no room.
    #[inline(always)]
    pub(crate) fn put(&mut self, values: &[FieldValue<'_>]) -> Option<()> {
        self.used = match values {
            [] => 0,
            values => Open::used(attrs::put_declared(&mut self.words, values)?, values.len()),
        };
        Some(())
    }

    #[inline]
    pub(crate) fn words(&self) -> &[u64] {
        self.words.get(..Open::words_in(self.used)).unwrap_or_default()
    }
}
