//! Tags: typed values, and the names under which Jaeger keeps what OTLP has fields for (the mapping of the
//! OpenTelemetry collector's Jaeger translator).

use stepscope_otlp::{SpanKind, StatusCode, Value, json};

use super::wire::Tag;
use crate::intake::integral;

pub(crate) const KIND: &str = "span.kind";
pub(crate) const ERROR: &str = "error";
pub(crate) const STATUS_CODE: &str = "otel.status_code";
pub(crate) const STATUS_MESSAGE: &str = "otel.status_description";
pub(crate) const SCOPE_NAME: &str = "otel.scope.name";
pub(crate) const SCOPE_VERSION: &str = "otel.scope.version";
/// The names of [`SCOPE_NAME`] and [`SCOPE_VERSION`] before scopes were called so.
pub(crate) const LIBRARY_NAME: &str = "otel.library.name";
pub(crate) const LIBRARY_VERSION: &str = "otel.library.version";
pub(crate) const TRACE_STATE: &str = "w3c.tracestate";
/// A span's warnings, as Jaeger itself keeps them among attributes.
pub(crate) const WARNINGS: &str = "@jaeger@warnings";
/// The field of a log that is an event's name.
pub(crate) const EVENT: &str = "event";
/// The attribute of a link that says what reference it was.
pub(crate) const REF_TYPE: &str = "opentracing.ref_type";
pub(crate) const CHILD_OF: &str = "child_of";
/// The member of a reference that has the attributes of a link: ours, which other readers pass over. Where it is, the
/// reference is a link, and has these attributes only.
pub(crate) const LINK_TAGS: &str = "tags";
pub(crate) const FOLLOWS_FROM: &str = "follows_from";

/// Names of span kinds; the position is the kind.
pub(crate) const KINDS: [&str; 6] = ["", "internal", "server", "client", "producer", "consumer"];

/// The text of a tag.
pub(super) fn text(tag: &Tag) -> Option<&str> {
    tag.value.as_str()
}

/// The kind that a tag names.
pub(super) fn kind(tag: &Tag) -> Option<SpanKind> {
    let name = text(tag).filter(|name| !name.is_empty())?;
    let number = KINDS.iter().position(|known| known.eq_ignore_ascii_case(name))?;
    i32::try_from(number).ok().map(SpanKind)
}

/// The status that a tag names.
pub(super) fn status(tag: &Tag) -> Option<StatusCode> {
    match (text(tag), tag.value.as_i64()) {
        (Some("OK" | "STATUS_CODE_OK"), _) | (_, Some(1)) => Some(StatusCode::OK),
        (Some("ERROR" | "STATUS_CODE_ERROR"), _) | (_, Some(2)) => Some(StatusCode::ERROR),
        (Some("UNSET" | "STATUS_CODE_UNSET"), _) | (_, Some(0)) => Some(StatusCode::UNSET),
        _ => None,
    }
}

/// Whether a tag says that its span failed.
pub(super) fn is_true(tag: &Tag) -> bool {
    tag.value.as_bool() == Some(true) || text(tag) == Some("true")
}

/// Calls `f` with the value of a tag, of the type that the tag names, or of its JSON type where it cannot be
/// of that. What is an object or a list stays JSON text.
pub(super) fn with(tag: &Tag, f: &mut dyn FnMut(Value<'_>)) {
    use serde_json::Value as Json;
    let kind = tag.kind.as_deref().unwrap_or_default().to_ascii_lowercase();
    match (kind.as_str(), &tag.value) {
        ("bool", Json::String(text)) if text == "true" || text == "false" => f(Value::Bool(text == "true")),
        ("int64", Json::String(text)) if text.parse::<i64>().is_ok() => {
            f(Value::Int(text.parse().unwrap_or_default()));
        }
        ("float64", Json::String(text)) if text.parse::<f64>().is_ok() => {
            f(Value::Double(text.parse().unwrap_or_default()));
        }
        ("binary", Json::String(text)) => match json::decode_base64(text) {
            Some(bytes) => f(Value::Bytes(&bytes)),
            None => f(Value::Str(text)),
        },
        (_, Json::String(text)) => f(Value::Str(text)),
        (_, Json::Bool(value)) if kind != "string" => f(Value::Bool(*value)),
        (_, Json::Number(number)) if kind != "string" => {
            let double = number.as_f64();
            match (kind.as_str(), number.as_i64(), double) {
                ("float64", _, Some(double)) => f(Value::Double(double)),
                ("int64", None, Some(double)) if number.is_f64() && integral(double).is_some() => {
                    f(Value::Int(integral(double).unwrap_or_default()));
                }
                (_, Some(integer), _) => f(Value::Int(integer)),
                (_, _, Some(double)) if number.is_f64() => f(Value::Double(double)),
                // More than 63 bits: digits are kept rather than rounded.
                _ => f(Value::Str(&number.to_string())),
            }
        }
        (_, Json::Null) => f(Value::Empty),
        (_, other) => f(Value::Str(&other.to_string())),
    }
}
