//! Reads the fields of `tracing` spans and events. `Debug` and `Display` values are not formatted unless the
//! configuration names the field (formatting a tensor can synchronise a device) or it is one of OpenTelemetry's for the
//! span itself; the message of a warning or error is, or else its error.

use std::fmt::{self, Write};

use stepscope_core::{Mode, Phase, SectionKind, attr};
use tracing::Metadata;
use tracing::field::{Field, Visit};

use crate::config::Config;
use crate::hot::open::{Open, Spec};
use crate::os::catch_panic::catch_panic;
use crate::shared::attrs::{Declared, Entry, FieldValue, MAX_TEXT_BYTES};

/// Fields that say something of their section, beside those that start with [`attr::VALUE_PREFIX`].
const MEANINGFUL: [&str; 7] =
    [attr::STEP, attr::EPOCH, attr::PHASE, attr::SECTION_KIND, attr::MODE, OTEL_NAME, OTEL_STATUS_CODE];

pub(crate) const OTEL_NAME: &str = "otel.name";
/// Under what it is kept where it is recorded later than at the begin: another field, or the section's own name was lost.
pub(crate) const LATER_NAME: &str = "otel.name, later";
const OTEL_STATUS_CODE: &str = "otel.status_code";

/// Whether a field is for the head of the span: it is text by its meaning, and short, so that `%` and `?` are formatted.
fn is_of_head(name: &str) -> bool {
    matches!(
        name.strip_prefix("otel."),
        Some("name" | "kind" | "status_code" | "status_message" | "status_description")
    )
}

/// Whether the fields of a callsite are fields and nothing else, none of them is to be formatted, and its name says
/// nothing of its kind: then [`PlainVisitor`] is enough.
pub(crate) fn is_plain(metadata: &Metadata<'_>, config: &Config) -> bool {
    let is_step = config.step_spans.iter().any(|name| name == metadata.name());
    let is_special = |name: &str| {
        MEANINGFUL.contains(&name)
            || name.starts_with(attr::VALUE_PREFIX)
            || config.formatted_fields.iter().any(|formatted| formatted == name)
    };
    !is_step && !metadata.fields().iter().any(|field| is_special(field.name()))
}

/// Visits the fields of a span whose callsite is plain.
pub(crate) struct PlainVisitor<'a>(pub &'a Open);

impl Visit for PlainVisitor<'_> {
    #[inline]
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.push_declared(field.index(), FieldValue::Int(value));
    }

    #[inline]
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.push_declared(field.index(), FieldValue::Uint(value));
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        match i64::try_from(value) {
            Ok(value) => self.record_i64(field, value),
            Err(_) => self.record_str(field, &value.to_string()),
        }
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        match u64::try_from(value) {
            Ok(value) => self.record_u64(field, value),
            Err(_) => self.record_str(field, &value.to_string()),
        }
    }

    #[inline]
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.push_declared(field.index(), FieldValue::Double(value));
    }

    #[inline]
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.push_declared(field.index(), FieldValue::Bool(value));
    }

    #[inline]
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push_declared(field.index(), FieldValue::Str(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if is_of_head(field.name()) {
            self.record_str(field, &format_quietly(value));
        }
    }
}

/// Visits the fields of any span.
pub(crate) struct SpanVisitor<'a> {
    pub open: &'a Open,
    /// Whether the calling thread is the owner of the section.
    pub owned: bool,
    /// Whether the section begins with them: kind, step, epoch and mode are settled then, and fields of their names mean
    /// nothing later.
    pub at_start: bool,
    pub spec: &'a mut Spec,
    /// `otel.name`, where given.
    pub name: &'a mut Option<String>,
    /// Fields that may be formatted.
    pub formatted: &'a [String],
}

impl SpanVisitor<'_> {
    fn number(&mut self, field: &Field, value: FieldValue<'_>, unsigned: Option<u64>) {
        match field.name() {
            attr::STEP if unsigned.is_some() && self.at_start => self.spec.step = unsigned,
            attr::EPOCH if unsigned.is_some() && self.at_start => self.spec.epoch = unsigned,
            name => match name.strip_prefix(attr::VALUE_PREFIX) {
                Some(short) => self.open.push(self.owned, Entry::UserValue(short, as_double(value))),
                None => self.declared(field, value),
            },
        }
    }

    /// A number that no integer of OTLP holds: its digits, or what is next to it where numbers are wanted.
    fn too_wide(&mut self, field: &Field, digits: &str, rounded: f64) {
        match field.name().starts_with(attr::VALUE_PREFIX) {
            true => self.number(field, FieldValue::Double(rounded), None),
            false => self.declared(field, FieldValue::Str(digits)),
        }
    }

    fn declared(&mut self, field: &Field, value: FieldValue<'_>) {
        self.open.push(self.owned, Declared(field.index(), value));
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

    fn record_i128(&mut self, field: &Field, value: i128) {
        match i64::try_from(value) {
            Ok(value) => self.record_i64(field, value),
            Err(_) => self.too_wide(field, &value.to_string(), value as f64),
        }
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        match u64::try_from(value) {
            Ok(value) => self.record_u64(field, value),
            Err(_) => self.too_wide(field, &value.to_string(), value as f64),
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.number(field, FieldValue::Double(value), None);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.declared(field, FieldValue::Bool(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            attr::PHASE => match Phase::parse(value) {
                Some(phase) => self.spec.phase = Some(phase),
                None => self.open.push(self.owned, Entry::Field(attr::PHASE, FieldValue::Str(value))),
            },
            // There is one run, and its span is the layer's.
            attr::SECTION_KIND => match SectionKind::parse(value).filter(|&kind| kind != SectionKind::Run) {
                Some(kind) if self.at_start => self.spec.kind = Some(kind),
                _ => self.declared(field, FieldValue::Str(value)),
            },
            attr::MODE => match Mode::parse(value) {
                Some(mode) if self.at_start => self.spec.mode = Some(mode),
                _ => self.declared(field, FieldValue::Str(value)),
            },
            OTEL_NAME => *self.name = Some(crate::shared::attrs::truncate(value).to_owned()),
            OTEL_STATUS_CODE => {
                self.open.set_error(self.owned, value.eq_ignore_ascii_case("error"));
                self.open.push(self.owned, Entry::Field(OTEL_STATUS_CODE, FieldValue::Str(value)));
            }
            _ => self.declared(field, FieldValue::Str(value)),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if is_of_head(field.name()) || self.formatted.iter().any(|name| name == field.name()) {
            self.record_str(field, &format_quietly(value));
        }
    }
}

/// Fields that say what an event is about, the first of which it has is its text. `#[instrument(err)]` makes events with an
/// `error` and no message.
const TEXTS: [&str; 4] = ["message", "error", "err", "exception.message"];

/// Visits the fields of an event for its text; no other is formatted.
pub(crate) struct EventVisitor {
    wanted: Option<Field>,
    pub text: String,
}

impl EventVisitor {
    pub(crate) fn new(metadata: &Metadata<'_>) -> Self {
        Self { wanted: TEXTS.iter().find_map(|name| metadata.fields().field(name)), text: String::new() }
    }
}

impl Visit for EventVisitor {
    fn record_str(&mut self, field: &Field, value: &str) {
        if self.wanted.as_ref() == Some(field) {
            self.text = crate::shared::attrs::truncate(value).to_owned();
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if self.wanted.as_ref() == Some(field) {
            self.text = format_bounded(value);
        }
    }
}

/// As [`format_bounded`] where the value's own code must not be recorded if it logs: on a section that is locked right now.
fn format_quietly(value: &dyn fmt::Debug) -> String {
    crate::hot::thread::quietly(|| format_bounded(value))
}

/// Formats a value and keeps the beginning. It is told of no error, which its code may take for impossible, and a panic of its
/// own ends here: without us nobody might have formatted it.
fn format_bounded(value: &dyn fmt::Debug) -> String {
    struct Bounded(String);

    impl Write for Bounded {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            if self.0.len() < MAX_TEXT_BYTES {
                self.0.push_str(crate::shared::attrs::truncate(text));
            }
            Ok(())
        }
    }

    let mut text = Bounded(String::new());
    // What there was before an error or a panic stays.
    catch_panic(|| write!(text, "{value:?}"));
    crate::shared::attrs::truncate(&text.0).to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing::{Event, Subscriber, error, warn};
    use tracing_subscriber::Layer;
    use tracing_subscriber::layer::{Context, SubscriberExt as _};

    use super::*;

    /// The texts of all events.
    #[derive(Default, Clone)]
    struct Texts(Arc<Mutex<Vec<String>>>);

    impl<S: Subscriber> Layer<S> for Texts {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            let mut visitor = EventVisitor::new(event.metadata());
            event.record(&mut visitor);
            self.0.lock().unwrap().push(visitor.text);
        }
    }

    #[test]
    fn an_event_without_a_message_says_its_error_and_formats_nothing_else() {
        #[tracing::instrument(err)]
        fn failing() -> Result<(), std::num::ParseIntError> {
            "x".parse::<u8>().map(|_| ())
        }

        let texts = Texts::default();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(texts.clone()), || {
            let never = || Rows(1, true);
            assert!(failing().is_err());
            error!(code = 3, error = %"shown");
            error!(error = ?Rows(1, true));
            error!(error = &fmt::Error as &dyn std::error::Error);
            error!(err = "short", other = ?never());
            error!(exception.message = "of OpenTelemetry");
            error!(error = ?never(), "message {}", 1);
            tracing::event!(tracing::Level::WARN, error = ?never(), message = "last");
            warn!(count = 3);
        });
        let expected = [
            "invalid digit found in string",
            "shown",
            "row 000;",
            "an error occurred when formatting an argument",
            "short",
            "of OpenTelemetry",
            "message 1",
            "last",
            "",
        ];
        assert_eq!(*texts.0.lock().unwrap(), expected);
    }

    /// Writes so many times, and takes it for granted that it can; then it may panic.
    struct Rows(usize, bool);

    impl fmt::Debug for Rows {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            for row in 0..self.0 {
                write!(f, "row {row:03};").unwrap();
            }
            assert!(!self.1, "on purpose");
            Ok(())
        }
    }

    #[test]
    fn what_is_formatted_is_cut_and_whoever_formats_is_not_told() {
        let rows = |count: usize| (0..count).map(|row| format!("row {row:03};")).collect::<String>();
        assert_eq!(format_bounded(&Rows(3, false)), rows(3));
        assert_eq!(format_bounded(&Rows(200, false)), rows(32));
        assert_eq!(format_bounded(&Rows(3, true)), rows(3));
        assert_eq!(format_bounded(&"é".repeat(200)).len(), 255);
    }
}
