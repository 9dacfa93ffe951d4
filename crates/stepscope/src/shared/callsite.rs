//! Where a section is written in the source: a `tracing` callsite or one of our macros'. Known to the
//! background thread by a number, so that no name is copied per section.

use stepscope_core::{Phase, attr};
use tracing::Metadata;

use crate::shared::phase_bits::phase_bits;

/// The place of a `section!`, `step!`, `epoch!` or batch. Made by the macros.
#[derive(Debug)]
pub struct Callsite {
    pub(crate) name: &'static str,
    pub(crate) phase: Option<Phase>,
    /// The phase as open sections have it.
    pub(crate) phase_bits: u64,
    pub(crate) module: &'static str,
    pub(crate) file: &'static str,
    pub(crate) line: u32,
    /// Names of the fields that every section of it gets.
    pub(crate) fields: &'static [&'static str],
}

impl Callsite {
    /// For the macros.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(
        name: &'static str,
        phase: Option<Phase>,
        module: &'static str,
        file: &'static str,
        line: u32,
        fields: &'static [&'static str],
    ) -> Self {
        Self { name, phase, phase_bits: phase_bits(phase), module, file, line, fields }
    }
}

/// A callsite of either kind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source {
    Span(&'static Metadata<'static>),
    Section(&'static Callsite),
}

impl Source {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Span(metadata) => metadata.name(),
            Self::Section(callsite) => callsite.name,
        }
    }

    /// The name of the field with this number.
    pub(crate) fn field(self, number: usize) -> Option<&'static str> {
        match self {
            Self::Span(metadata) => metadata.fields().iter().nth(number).map(|field| field.name()),
            Self::Section(callsite) => callsite.fields.get(number).copied(),
        }
    }

    pub(crate) fn module(self) -> &'static str {
        match self {
            Self::Span(metadata) => metadata.module_path().unwrap_or_else(|| metadata.target()),
            Self::Section(callsite) => callsite.module,
        }
    }

    /// What a filter by target looks at.
    pub(crate) fn target(self) -> &'static str {
        match self {
            Self::Span(metadata) => metadata.target(),
            Self::Section(callsite) => callsite.module,
        }
    }

    pub(crate) fn file(self) -> Option<&'static str> {
        match self {
            Self::Span(metadata) => metadata.file(),
            Self::Section(callsite) => Some(callsite.file),
        }
    }

    pub(crate) fn line(self) -> Option<u32> {
        match self {
            Self::Span(metadata) => metadata.line(),
            Self::Section(callsite) => Some(callsite.line),
        }
    }

    /// Identity: the address of the static that describes it.
    pub(crate) fn address(self) -> usize {
        match self {
            Self::Span(metadata) => std::ptr::from_ref(metadata).addr(),
            Self::Section(callsite) => std::ptr::from_ref(callsite).addr(),
        }
    }
}

/// The short names that our macros take, and what the vocabulary calls them.
pub(crate) const SHORT_NAMES: [(&str, &str); 4] =
    [("samples", attr::SAMPLES), ("tokens", attr::TOKENS), ("bytes", attr::BYTES), ("flops", attr::FLOPS)];

/// The vocabulary's name for the short names that our macros take.
pub(crate) fn full_name<'a>(source: Option<&Source>, key: &'a str) -> &'a str {
    if matches!(source, Some(Source::Section(_))) {
        for (short, full) in SHORT_NAMES {
            if key == short {
                return full;
            }
        }
    }
    key
}
