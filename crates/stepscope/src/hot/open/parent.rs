//! What a section says about itself when it starts, and what it needs to know of the section around it.

use stepscope_core::{Mode, PathId, Phase, SectionKind};

use super::flag;
use crate::shared::trace::TraceRef;

/// What a section says about itself when it starts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spec {
    pub kind: Option<SectionKind>,
    pub phase: Option<Phase>,
    pub step: Option<u64>,
    pub epoch: Option<u64>,
    pub mode: Option<Mode>,
    /// Of a step: it is a deep one.
    pub is_deep: bool,
}

impl Spec {
    /// The kind, implied by a step number where it is not given.
    #[inline]
    pub(crate) fn kind(&self) -> SectionKind {
        self.kind.unwrap_or(if self.step.is_some() { SectionKind::Step } else { SectionKind::Section })
    }
}

/// What a new section needs to know of the section around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parent {
    pub trace: TraceRef,
    pub span_id: u64,
    pub path: PathId,
    pub kind: SectionKind,
    /// Where its open section is: the key of its frame or span; 0 for the run.
    pub key: u64,
    /// Its flags from [`flag::LEAVING`] up: whether it leaves as a span, or why not.
    pub leaving: u8,
}

impl Parent {
    /// Of its flags those that say whether it leaves as a span, or why not.
    #[inline]
    pub(crate) fn leaving(&self) -> u64 {
        u64::from(self.leaving) << flag::LEAVING
    }

    /// Whether it leaves as a span, as far as is known before its end.
    pub(crate) fn leaves(&self) -> bool {
        self.leaving() & flag::EXPORTED != 0
    }

    /// The flag of what is recorded as a part of a deep step, if it is.
    #[inline]
    pub(crate) fn depth(&self) -> u64 {
        self.leaving() & flag::DEEP
    }

    /// Whether work inside of it belongs to it: the run and its epochs have only themselves in their trace.
    pub(crate) fn takes_work(&self) -> bool {
        !matches!(self.kind, SectionKind::Run | SectionKind::Epoch)
    }
}
