//! What all spans of a callsite have in common, put together once: its location as it is written, the names of the
//! fields that it declares, and which attributes are not a field's to say.

use std::collections::HashMap;
use std::sync::LazyLock;

use stepscope_core::attr;
use stepscope_core::vocabulary::{Attribute, Place};
use stepscope_otlp::{Constants, Key};

use crate::shared::callsite::{Source, full_name};

/// See the module.
#[derive(Debug)]
pub(crate) struct SpanTemplate {
    /// File, line and function.
    pub location: Constants,
    /// No two of the fields that the callsite declares have the same name.
    pub names_differ: bool,
    /// By the number of a declared field its name, where nobody but the field says what it stands for.
    keys: Vec<Option<Key>>,
}

impl SpanTemplate {
    pub(crate) fn new(source: Source, fields: &[&'static str]) -> Self {
        let full = |name: &'static str| full_name(Some(&source), name);
        let is_new = |(number, &name): (usize, &&'static str)| {
            fields.iter().take(number).all(|&other| full(other) != full(name))
        };
        // A value of a name may come beside the field of it.
        let needs_look = |name: &str| owner(name).is_some() || name.starts_with(attr::VALUE_PREFIX);
        let key = |name: &'static str| (!needs_look(name)).then(|| Key::new(full(name)));
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

/// Whether `key` is a part of the location of a callsite.
pub(super) fn is_located(source: Source, key: &str) -> bool {
    match key {
        attr::CODE_FILE_PATH => source.file().is_some(),
        attr::CODE_LINE_NUMBER => source.line().is_some(),
        _ => matches!(source, Source::Span(_)),
    }
}

/// Who says what an attribute stands for, where it is not a field alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The layer, of every section that it is true of.
    Layer,
    /// The layer, where the section has a phase.
    WithPhase,
    /// The layer, where the section has the number of an epoch, or is one.
    WithEpoch,
    /// The layer, where it writes locations.
    WithLocations,
    /// A field, but a span has a place for it beside its attributes.
    Head,
}

/// The attributes of spans that are a field's to say: amounts, and what the layer says of sections of its own alone, or
/// of events. All others of the vocabulary are the layer's.
const FIELDS: [&str; 19] = [
    attr::SAMPLES,
    attr::TOKENS,
    attr::BYTES,
    attr::FLOPS,
    attr::GPU_MEM_DELTA_BYTES,
    attr::VALUE_PREFIX,
    attr::BATCH_ID,
    attr::BATCH_LOADER,
    attr::BATCH_PRODUCE_NS,
    attr::BATCH_QUEUE_NS,
    attr::BATCH_QUEUE_DEPTH,
    attr::BATCH_SLOT_WAIT_NS,
    attr::BATCH_WORKER,
    attr::LEAK_VERDICT,
    attr::LEAK_BYTES_PER_STEP,
    attr::LEAK_SINCE_STEP,
    attr::LEAK_TIME_LEFT,
    attr::ERROR_TYPE,
    attr::LEVEL_TEXT,
];

/// Who says what an attribute of this name stands for, of all that are not a field's.
static OWNERS: LazyLock<HashMap<&'static str, Owner>> = LazyLock::new(|| {
    let is_of_spans = |row: &&Attribute| matches!(row.place, Place::Root | Place::Span | Place::Wait);
    let owned = attr::TABLE.iter().filter(is_of_spans).map(|row| row.key).filter(|key| !FIELDS.contains(key));
    let owner = |key| match key {
        attr::PHASE => Owner::WithPhase,
        attr::EPOCH => Owner::WithEpoch,
        attr::CODE_FILE_PATH | attr::CODE_LINE_NUMBER | attr::CODE_FUNCTION_NAME => Owner::WithLocations,
        _ => Owner::Layer,
    };
    let head =
        ["otel.name", "otel.kind", "otel.status_code", "otel.status_message", "otel.status_description"];
    owned.map(|key| (key, owner(key))).chain(head.map(|key| (key, Owner::Head))).collect()
});

/// Who says what `key` stands for; `None` if a field does.
pub(super) fn owner(key: &str) -> Option<Owner> {
    OWNERS.get(key).copied()
}
