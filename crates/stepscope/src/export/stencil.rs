//! What all spans of a callsite have in common, put together once: its location as it is written, the names of the
//! fields that it declares, and which attributes are not a field's to say.

use stepscope_core::attr;
use stepscope_otlp::{Constants, Key};

use super::encode::full_name;
use crate::callsite::Source;

/// See the module.
#[derive(Debug)]
pub(crate) struct Stencil {
    /// File, line and function.
    pub location: Constants,
    /// No two of the fields that the callsite declares have the same name.
    pub names_differ: bool,
    /// By the number of a declared field its name, where nobody but the field says what it stands for.
    keys: Vec<Option<Key>>,
}

impl Stencil {
    pub(crate) fn new(source: Source, fields: &[&'static str]) -> Self {
        let is_new = |(number, name)| fields.iter().take(number).all(|other| other != name);
        let key =
            |name: &'static str| owner(name).is_none().then(|| Key::new(full_name(Some(&source), name)));
        Self {
            location: location(source),
            names_differ: fields.iter().enumerate().all(is_new),
            keys: fields.iter().map(|name| key(name)).collect(),
        }
    }

    /// The name of the declared field of this number, if it needs no second look.
    #[inline]
    pub(crate) fn key(&self, number: usize) -> Option<&Key> {
        self.keys.get(number)?.as_ref()
    }
}

fn location(source: Source) -> Constants {
    let mut location = Constants::default();
    if let Some(file) = source.file() {
        location.push_str(attr::CODE_FILE_PATH, file);
    }
    if let Some(line) = source.line() {
        location.push_int(attr::CODE_LINE_NUMBER, line.into());
    }
    // A `section!` has no function's name.
    if let Source::Span(metadata) = source {
        location.push_str(attr::CODE_FUNCTION_NAME, &format!("{}::{}", source.module(), metadata.name()));
    }
    location
}

/// Who says what an attribute stands for, where it is not a field alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The layer, of every section that it is true of.
    Layer,
    /// The layer, where the section has a phase.
    WithPhase,
    /// The layer, where the section has the number of an epoch.
    WithEpoch,
    /// The layer, where locations are recorded.
    WithLocations,
    /// A field, but a span has a place for it beside its attributes.
    Head,
}

/// Who says what `key` stands for; `None` if a field does.
pub(super) fn owner(key: &str) -> Option<Owner> {
    Some(match key {
        attr::PHASE => Owner::WithPhase,
        attr::EPOCH => Owner::WithEpoch,
        attr::CODE_FILE_PATH | attr::CODE_LINE_NUMBER | attr::CODE_FUNCTION_NAME => Owner::WithLocations,
        "otel.name"
        | "otel.kind"
        | "otel.status_code"
        | "otel.status_message"
        | "otel.status_description" => Owner::Head,
        attr::SECTION_KIND
        | attr::STEP
        | attr::MODE
        | attr::TRACE_SPANS
        | attr::TRACE_DROPPED
        | attr::TRACE_LEFT_OUT
        | attr::PARENT_PATH
        | attr::BUSY_NS
        | attr::IDLE_NS
        | attr::POLLS
        | attr::CPU_NS
        | attr::MEM_ALLOC_BYTES
        | attr::MEM_FREE_BYTES
        | attr::MEM_ALLOC_COUNT
        | attr::MEM_FREE_COUNT
        | attr::MEM_PEAK_BYTES
        | attr::MEM_LIVE_BYTES
        | attr::MEM_RSS_BYTES
        | attr::MEM_RSS_DELTA_BYTES
        | attr::THREAD_ID
        | attr::THREAD_NAME => Owner::Layer,
        _ => return None,
    })
}
