//! An open section: everything known of it until it ends. Lives in a thread's frame (`section!`) or in the
//! table of open spans (`tracing`), and is reused.

use std::sync::Arc;

use stepscope_core::identity::TraceId;
use stepscope_core::{Mode, PathId, Phase, SectionKind};

use crate::aggregate::MemorySums;
use crate::attrs::Attrs;
use crate::trace::TraceState;

/// What a section says about itself when it starts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spec {
    pub kind: Option<SectionKind>,
    pub phase: Option<Phase>,
    pub step: Option<u64>,
    pub epoch: Option<u64>,
    pub mode: Option<Mode>,
}

impl Spec {
    /// The kind, implied by a step number where it is not given.
    pub(crate) fn kind(&self) -> SectionKind {
        self.kind.unwrap_or(if self.step.is_some() { SectionKind::Step } else { SectionKind::Section })
    }
}

/// What a new section needs to know of the section around it.
#[derive(Debug, Clone)]
pub(crate) struct Parent {
    pub trace: Arc<TraceState>,
    pub span_id: u64,
    pub path: PathId,
    pub kind: SectionKind,
    /// Where its open section is: the key of its frame or span; 0 for the run.
    pub key: u64,
}

/// An open section.
#[derive(Debug)]
pub(crate) struct Open {
    pub trace: Option<Arc<TraceState>>,
    /// Whether a span leaves for it, beside its part in the aggregates.
    pub exported: bool,
    pub is_root: bool,
    pub span_id: u64,
    pub parent_span_id: u64,
    /// The section around this one whose trace was full: its path, trace and span.
    pub continues: Option<(PathId, TraceId, u64)>,
    /// The trace that takes this section's children since its own is full.
    pub continuation: Option<Arc<TraceState>>,
    pub path: PathId,
    pub collapsed: bool,
    pub callsite: u32,
    pub kind: SectionKind,
    pub phase: Option<Phase>,
    pub start_ns: u64,
    pub last_exit_ns: u64,
    pub busy_ns: u64,
    pub self_busy_ns: u64,
    pub enters: u32,
    pub memory: Option<MemorySums>,
    pub peak_bytes: Option<u64>,
    pub cpu_ns: Option<u64>,
    pub rss_start_bytes: Option<u64>,
    pub thread: u64,
    pub is_error: bool,
    /// Ended without being what it was opened as (a step without work): nothing is recorded.
    pub discarded: bool,
    pub attrs: Attrs,
}

impl Default for Open {
    fn default() -> Self {
        Self {
            trace: None,
            exported: false,
            is_root: false,
            span_id: 0,
            parent_span_id: 0,
            continues: None,
            continuation: None,
            path: PathId::ROOT,
            collapsed: false,
            callsite: 0,
            kind: SectionKind::Section,
            phase: None,
            start_ns: 0,
            last_exit_ns: 0,
            busy_ns: 0,
            self_busy_ns: 0,
            enters: 0,
            memory: None,
            peak_bytes: None,
            cpu_ns: None,
            rss_start_bytes: None,
            thread: 0,
            is_error: false,
            discarded: false,
            attrs: Attrs::default(),
        }
    }
}

impl Open {
    /// Makes it fit for the next section; the buffer of entries keeps its room.
    pub(crate) fn reset(&mut self) {
        // Field by field: most have their first value already, and no copy of the whole is made.
        let Self {
            trace,
            exported,
            is_root,
            span_id,
            parent_span_id,
            continues,
            continuation,
            path,
            collapsed,
            callsite,
            kind,
            phase,
            start_ns,
            last_exit_ns,
            busy_ns,
            self_busy_ns,
            enters,
            memory,
            peak_bytes,
            cpu_ns,
            rss_start_bytes,
            thread,
            is_error,
            discarded,
            attrs,
        } = self;
        attrs.clear();
        (*trace, *continues, *continuation) = (None, None, None);
        (*exported, *is_root, *collapsed) = (false, false, false);
        (*span_id, *parent_span_id, *path, *callsite) = (0, 0, PathId::ROOT, 0);
        (*kind, *phase) = (SectionKind::Section, None);
        (*start_ns, *last_exit_ns, *busy_ns, *self_busy_ns, *enters) = (0, 0, 0, 0, 0);
        (*memory, *peak_bytes, *cpu_ns, *rss_start_bytes) = (None, None, None, None);
        (*thread, *is_error, *discarded) = (0, false, false);
    }

    /// Adds what one stay inside the section measured.
    pub(crate) fn add(&mut self, stay: &Stay) {
        self.enters = self.enters.saturating_add(1);
        self.busy_ns = self.busy_ns.saturating_add(stay.busy_ns);
        self.self_busy_ns = self.self_busy_ns.saturating_add(stay.self_busy_ns);
        self.last_exit_ns = self.last_exit_ns.max(stay.exit_ns);
        if let Some(stay) = &stay.memory {
            let sums = self.memory.get_or_insert_default();
            sums.alloc_bytes = sums.alloc_bytes.wrapping_add(stay.alloc_bytes);
            sums.free_bytes = sums.free_bytes.wrapping_add(stay.free_bytes);
            sums.alloc_count = sums.alloc_count.wrapping_add(stay.alloc_count);
            sums.free_count = sums.free_count.wrapping_add(stay.free_count);
            sums.self_alloc_bytes = sums.self_alloc_bytes.wrapping_add(stay.self_alloc_bytes);
            sums.self_free_bytes = sums.self_free_bytes.wrapping_add(stay.self_free_bytes);
        }
        self.peak_bytes = self.peak_bytes.max(stay.peak_bytes);
        if let Some(cpu_ns) = stay.cpu_ns {
            self.cpu_ns = Some(self.cpu_ns.unwrap_or(0).saturating_add(cpu_ns));
        }
    }
}

/// What one stay inside a section (from enter to exit, on one thread) measured.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stay {
    pub exit_ns: u64,
    pub busy_ns: u64,
    pub self_busy_ns: u64,
    pub memory: Option<MemorySums>,
    pub peak_bytes: Option<u64>,
    pub cpu_ns: Option<u64>,
}
