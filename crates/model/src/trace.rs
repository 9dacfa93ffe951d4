//! A trace as analyses see it: every span of one step (or of anything else that has a trace of its own) with
//! its known attributes typed, in arenas that are reused from trace to trace. How spans get here from bytes
//! is the business of the readers and of assembly.

use stepscope_core::identity::TraceId;
use stepscope_core::{Mode, Phase, SectionKind, Signal, ThreadState};

use crate::resource::Resource;

/// A piece of text in a trace's arena; see [`Trace::text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Text {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl Text {
    /// Whether there is no text.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// The poll intervals of a span in a trace's arena; see [`Trace::polls`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Polls {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

impl Polls {
    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// An interval in which a span was entered once, or often and shortly after each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Poll {
    /// Its first entry, nanoseconds since the Unix epoch; not before the span's start.
    pub start_ns: u64,
    /// Its last exit; not before `start_ns`, nor after the span's end.
    pub end_ns: u64,
    /// Its thread, in the process of the span; `None` where there were several.
    pub thread: Option<i64>,
    /// How often the span was entered in it: between two times it was idle.
    pub count: u64,
}

/// What a thread did at one moment of a deep step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ThreadSample {
    /// When, nanoseconds since the Unix epoch; within the step.
    pub time_ns: u64,
    /// The operating system's id of the thread, in the process of the step.
    pub thread: i64,
    /// What it did.
    pub state: ThreadState,
    /// The address of the futex that it waited for; 0 of all other states.
    pub address: u64,
}

macro_rules! figures {
    ($($(#[$doc:meta])+ $name:ident = $key:ident),+ $(,)?) => {
        /// An integer attribute of a span that analyses use.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Figure { $($(#[$doc])+ $name),+ }

        impl Figure {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The attribute that carries it.
            #[must_use]
            pub const fn key(self) -> &'static str {
                match self { $(Self::$name => stepscope_core::attr::$key),+ }
            }
        }
    };
}

figures! {
    /// Time entered on some thread.
    BusyNs = BUSY_NS,
    /// Time open but entered nowhere.
    IdleNs = IDLE_NS,
    /// CPU time of the thread.
    CpuNs = CPU_NS,
    /// Time in which the thread could have run and had no processor.
    RunQueueNs = RUN_QUEUE_NS,
    /// Bytes allocated, inclusive.
    AllocBytes = MEM_ALLOC_BYTES,
    /// Bytes freed, inclusive.
    FreeBytes = MEM_FREE_BYTES,
    /// Allocations, inclusive.
    AllocCount = MEM_ALLOC_COUNT,
    /// Deallocations, inclusive.
    FreeCount = MEM_FREE_COUNT,
    /// Peak of live bytes above the start.
    PeakBytes = MEM_PEAK_BYTES,
    /// Live bytes of the process at the end.
    LiveBytes = MEM_LIVE_BYTES,
    /// Resident bytes of the process at the end.
    RssBytes = MEM_RSS_BYTES,
    /// Change of resident bytes.
    RssDeltaBytes = MEM_RSS_DELTA_BYTES,
    /// Most resident bytes inside, by sample.
    RssPeakBytes = MEM_RSS_PEAK_BYTES,
    /// Samples processed.
    Samples = SAMPLES,
    /// Tokens processed.
    Tokens = TOKENS,
    /// Bytes processed.
    Bytes = BYTES,
    /// Floating-point operations.
    Flops = FLOPS,
    /// Identity of a batch.
    BatchId = BATCH_ID,
    /// Time the batch took to make.
    BatchProduceNs = BATCH_PRODUCE_NS,
    /// Time the batch lay in the queue.
    BatchQueueNs = BATCH_QUEUE_NS,
    /// Finished batches in the queue.
    BatchQueueDepth = BATCH_QUEUE_DEPTH,
    /// Time for which the thread of a batch waited for a place in the queue before it began it.
    BatchSlotWaitNs = BATCH_SLOT_WAIT_NS,
    /// Time for which the thread of a step waited for batches before it began, in no step.
    InputBeforeNs = INPUT_BEFORE_NS,
    /// Step number.
    Step = STEP,
    /// Epoch number.
    Epoch = EPOCH,
    /// Operating system's thread id.
    ThreadId = THREAD_ID,
    /// Spans of the trace, on its root.
    TraceSpans = TRACE_SPANS,
    /// Spans lost before the root ended, on the root.
    TraceDropped = TRACE_DROPPED,
    /// Sections of the trace that were left out on purpose, on the root.
    TraceLeftOut = TRACE_LEFT_OUT,
    /// Traces that continue this one and are not in it, on the root; absent where all are.
    TraceParts = TRACE_PARTS,
    /// Page faults that needed no storage.
    MinorFaults = FAULTS_MINOR,
    /// 1 on the root of a deep step.
    StepDeep = STEP_DEEP,
    /// Looks at threads that were due in a deep step and are not there, on its root.
    SamplesDropped = THREAD_SAMPLES_DROPPED,
    /// CPU time of all processes when a deep step ended, on its root.
    HostCpuNs = HOST_CPU_NS,
    /// CPU time of the process when a deep step ended, on its root.
    ProcessCpuNs = PROCESS_CPU_NS,
    /// Time of a small allocation and its release, on the run's spans.
    AllocCostNs = ALLOC_COST_NS,
    /// Time of a page fault that needs no storage, on the run's spans.
    FaultCostNs = FAULT_COST_NS,
}

const _: () = assert!(Figure::ALL.len() <= u64::BITS as usize, "a mask has a bit for each figure");

/// Some of the figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FigureSet(u64);

impl FigureSet {
    /// These.
    #[must_use]
    pub const fn of(figures: &[Figure]) -> Self {
        let (mut set, mut at) = (0, 0);
        while at < figures.len() {
            set |= 1u64 << (figures[at] as u32);
            at += 1;
        }
        Self(set)
    }
}

/// Phase of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PhaseTag {
    /// No attribute.
    #[default]
    Absent,
    /// One of ours.
    Known(Phase),
    /// The user's own word.
    Custom(Text),
}

/// One span.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// Its id, big-endian bytes as a number; unique within the trace.
    pub id: u64,
    /// Its parent's id; `None` for a root. The parent may be missing from the trace.
    pub parent: Option<u64>,
    /// Its name.
    pub name: Text,
    /// Start, nanoseconds since the Unix epoch.
    pub start_ns: u64,
    /// End; never before `start_ns` (damage is repaired to `start_ns` and reported).
    pub end_ns: u64,
    /// What it is.
    pub kind: SectionKind,
    /// Mode of a step.
    pub mode: Mode,
    /// Its phase as written; inference by name is the analysis's business.
    pub phase: PhaseTag,
    /// OTLP span kind number.
    pub span_kind: i32,
    /// Whether its status is an error.
    pub is_error: bool,
    /// Whether it ran on an accelerator: kernels, copies and annotations of streams, by the category of the trace event that
    /// it was.
    pub is_on_device: bool,
    /// Whether it is such an annotation: it says what the work of a stream is for, from its first kernel to its last, and is
    /// no work itself.
    pub is_device_annotation: bool,
    /// The signal that its error names: on the span of a run the one that ended it.
    pub signal: Option<Signal>,
    /// Which process wrote it: a number that is the same in every input for equal attributes of the resource, and
    /// in all likelihood another for others.
    pub process: u32,
    /// Name of its thread where written.
    pub thread_name: Text,
    /// Path of the section around it, where it was the root of a trace that continues another.
    pub parent_path: Text,
    /// Name of the loader that made its batch, where written.
    pub loader: Text,
    /// When it was entered, where written: of spans that were suspended.
    pub polls: Polls,
    pub(crate) figures: [i64; Figure::ALL.len()],
    pub(crate) present: u64,
}

impl Span {
    /// The value of an integer attribute; absent is not zero.
    #[must_use]
    pub fn figure(&self, figure: Figure) -> Option<i64> {
        let index = figure as usize;
        if self.present & (1 << index) == 0 {
            return None;
        }
        self.figures.get(index).copied()
    }

    /// The value where it is a count or size: negative values are damage and absent.
    #[must_use]
    pub fn amount(&self, figure: Figure) -> Option<u64> {
        self.figure(figure).and_then(|value| u64::try_from(value).ok())
    }

    /// Which of these integer attributes it has.
    #[inline]
    pub fn figures_among(&self, set: FigureSet) -> impl Iterator<Item = Figure> {
        let mut left = self.present & set.0;
        std::iter::from_fn(move || {
            let figure = Figure::ALL.get(left.trailing_zeros() as usize).copied()?;
            left &= left - 1;
            Some(figure)
        })
    }

    /// Sets the value of an integer attribute.
    pub fn set_figure(&mut self, figure: Figure, value: i64) {
        if let Some(slot) = self.figures.get_mut(figure as usize) {
            *slot = value;
            self.present |= 1 << (figure as usize);
        }
    }

    /// Takes an integer attribute away.
    pub(crate) fn clear_figure(&mut self, figure: Figure) {
        self.present &= !(1 << (figure as usize));
    }

    /// Wall-clock duration.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

impl Default for Span {
    fn default() -> Self {
        Self {
            id: 0,
            parent: None,
            name: Text::default(),
            start_ns: 0,
            end_ns: 0,
            kind: SectionKind::Section,
            mode: Mode::Train,
            phase: PhaseTag::Absent,
            span_kind: 0,
            is_error: false,
            is_on_device: false,
            is_device_annotation: false,
            signal: None,
            process: 0,
            thread_name: Text::default(),
            parent_path: Text::default(),
            loader: Text::default(),
            polls: Polls::default(),
            figures: [0; Figure::ALL.len()],
            present: 0,
        }
    }
}

/// A link from a span of this trace to a span elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Id of the span that holds the link.
    pub span: u64,
    /// Trace it points to.
    pub trace: TraceId,
    /// Span it points to.
    pub target: u64,
}

/// A user metric of a step (`stepscope.value.*`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UserValue {
    /// Id of the span that holds it.
    pub span: u64,
    /// Its name without the prefix.
    pub name: Text,
    /// Its value.
    pub value: f64,
}

/// Whether all spans of a trace are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Completeness {
    /// As many spans as the root announced, or a foreign trace with a root at the end of the input.
    Complete,
    /// Fewer than announced, or the root is missing.
    Incomplete,
}

impl Completeness {
    pub(crate) const fn of(is_complete: bool) -> Self {
        if is_complete { Self::Complete } else { Self::Incomplete }
    }
}

/// All spans of one trace and of those that continue it, sorted by (start, end descending, id). Reused by the reader: copy
/// what must stay.
#[derive(Debug, Clone)]
pub struct Trace {
    /// Its id.
    pub id: TraceId,
    /// Who wrote it.
    pub resource: std::sync::Arc<Resource>,
    /// Whether all spans are there.
    pub completeness: Completeness,
    /// Whether stepscope's layer wrote it (instrumentation scope).
    pub is_ours: bool,
    /// The spans.
    pub spans: Vec<Span>,
    /// Links out of the trace.
    pub links: Vec<Link>,
    /// User metrics.
    pub values: Vec<UserValue>,
    /// What threads did during the trace's deep step, by (time, thread).
    pub samples: Vec<ThreadSample>,
    pub(crate) texts: String,
    pub(crate) polls: Vec<Poll>,
}

impl Trace {
    /// An empty trace, to be filled with [`Self::push_text`] and the public vectors (also by tests).
    #[must_use]
    pub fn new(id: TraceId, resource: std::sync::Arc<Resource>) -> Self {
        Self {
            id,
            resource,
            completeness: Completeness::Complete,
            is_ours: true,
            spans: Vec::new(),
            links: Vec::new(),
            values: Vec::new(),
            samples: Vec::new(),
            texts: String::new(),
            polls: Vec::new(),
        }
    }

    /// Bytes of memory that it holds, room that is not used included.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        fn held<T>(of: &Vec<T>) -> usize {
            of.capacity().saturating_mul(size_of::<T>())
        }
        let items = held(&self.links) + held(&self.values) + held(&self.polls) + held(&self.samples);
        held(&self.spans) + items + self.texts.capacity()
    }

    /// The text that a span refers to.
    #[must_use]
    pub fn text(&self, text: Text) -> &str {
        let start = text.start as usize;
        self.texts.get(start..start + text.len as usize).unwrap_or_default()
    }

    /// Puts text into the arena.
    pub fn push_text(&mut self, text: &str) -> Text {
        let start = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let len = u32::try_from(text.len()).unwrap_or(0);
        if start.checked_add(len).is_none() {
            return Text::default();
        }
        self.texts.push_str(text);
        Text { start, len }
    }
    /// The poll intervals that a span refers to, by their starts. They may overlap.
    #[must_use]
    pub fn polls(&self, polls: Polls) -> &[Poll] {
        let start = polls.start as usize;
        self.polls.get(start..start + polls.len as usize).unwrap_or_default()
    }

    /// Puts poll intervals into the arena, which are in the order of their starts.
    pub fn push_polls(&mut self, polls: &[Poll]) -> Polls {
        let (Ok(start), Ok(len)) = (u32::try_from(self.polls.len()), u32::try_from(polls.len())) else {
            return Polls::default();
        };
        self.polls.extend_from_slice(polls);
        Polls { start, len }
    }
}
