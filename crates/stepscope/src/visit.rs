//! Reads the fields of `tracing` spans and events. `Debug` and `Display` values are not formatted unless the
//! configuration names the field (formatting a tensor can synchronise a device); the message of a warning
//! or error is.

use std::fmt::{self, Write};

use stepscope_core::{Mode, Phase, SectionKind, attr};
use tracing::field::{Field, Visit};

use crate::attrs::{Attrs, Entry, FieldValue, MAX_TEXT_BYTES};
use crate::open::Spec;

/// Visits the fields of a span.
pub(crate) struct SpanVisitor<'a> {
    pub attrs: &'a mut Attrs,
    pub spec: &'a mut Spec,
    pub is_error: &'a mut bool,
    /// `otel.name`, where given.
    pub name: &'a mut Option<String>,
    /// Fields that may be formatted.
    pub formatted: &'a [String],
}

impl SpanVisitor<'_> {
    fn number(&mut self, field: &Field, value: FieldValue<'_>, unsigned: Option<u64>) {
        match field.name() {
            attr::STEP if unsigned.is_some() => self.spec.step = unsigned,
            attr::EPOCH if unsigned.is_some() => {
                self.spec.epoch = unsigned;
                self.attrs.push(Entry::Field(attr::EPOCH, value));
            }
            name => match name.strip_prefix(attr::VALUE_PREFIX) {
                Some(short) => self.attrs.push(Entry::UserValue(short, as_double(value))),
                None => self.attrs.push_declared(field.index(), value),
            },
        }
    }
}

fn as_double(value: FieldValue<'_>) -> f64 {
    match value {
        FieldValue::Int(value) => value as f64,
        FieldValue::Uint(value) => value as f64,
        FieldValue::Double(value) => value,
        FieldValue::Bool(value) => f64::from(u8::from(value)),
        FieldValue::Str(_) => f64::NAN,
    }
}

impl Visit for SpanVisitor<'_> {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.number(field, FieldValue::Int(value), u64::try_from(value).ok());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.number(field, FieldValue::Uint(value), Some(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.number(field, FieldValue::Double(value), None);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.attrs.push_declared(field.index(), FieldValue::Bool(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            attr::PHASE => match Phase::parse(value) {
                Some(phase) => self.spec.phase = Some(phase),
                None => self.attrs.push(Entry::Field(attr::PHASE, FieldValue::Str(value))),
            },
            attr::SECTION_KIND => self.spec.kind = SectionKind::parse(value).or(self.spec.kind),
            attr::MODE => self.spec.mode = Mode::parse(value).or(self.spec.mode),
            "otel.name" => *self.name = Some(crate::attrs::truncate(value).to_owned()),
            "otel.status_code" => {
                *self.is_error = value.eq_ignore_ascii_case("error");
                self.attrs.push(Entry::Field("otel.status_code", FieldValue::Str(value)));
            }
            _ => self.attrs.push_declared(field.index(), FieldValue::Str(value)),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if self.formatted.iter().any(|name| name == field.name()) {
            // The value's own code may log: on a section that is locked right now.
            let text = crate::thread::quietly(|| format_bounded(value));
            self.record_str(field, &text);
        }
    }
}

/// Visits the fields of an event for its message.
#[derive(Default)]
pub(crate) struct EventVisitor {
    pub message: String,
}

impl Visit for EventVisitor {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            self.message = crate::attrs::truncate(value).to_owned();
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.message = format_bounded(value);
        }
    }
}

/// Formats a value and stops where no more of it would be kept.
fn format_bounded(value: &dyn fmt::Debug) -> String {
    struct Bounded(String);

    impl Write for Bounded {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.push_str(crate::attrs::truncate(text));
            if self.0.len() < MAX_TEXT_BYTES { Ok(()) } else { Err(fmt::Error) }
        }
    }

    let mut text = Bounded(String::new());
    // An error only means that the rest is not wanted.
    let _ = write!(text, "{value:?}");
    crate::attrs::truncate(&text.0).to_owned()
}
