//! A span with everything that belongs to it, owned, while the spans of its trace are gathered.

use serde::{Deserialize, Serialize};
use stepscope_otlp::{SpanHead, Value};

/// A value of an attribute. Doubles are kept by their bits: not all of them are JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Any {
    Empty,
    Str(String),
    Bool(bool),
    Int(i64),
    Double(u64),
    Bytes(Vec<u8>),
    Array(Vec<Any>),
    Map(Vec<(String, Any)>),
}

pub(super) type Attributes = Vec<(String, Any)>;

/// Who wrote a span.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Process {
    pub(super) attributes: Attributes,
    pub(super) scope: String,
    pub(super) version: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Event {
    pub(super) time_ns: u64,
    pub(super) name: String,
    pub(super) attributes: Attributes,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Link {
    pub(super) trace_id: Vec<u8>,
    pub(super) span_id: Vec<u8>,
    pub(super) attributes: Attributes,
}

/// A span.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Item {
    pub(super) span_id: Vec<u8>,
    pub(super) parent_span_id: Vec<u8>,
    pub(super) name: String,
    pub(super) kind: i32,
    pub(super) flags: u32,
    pub(super) trace_state: String,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) status: i32,
    pub(super) status_message: String,
    pub(super) attributes: Attributes,
    pub(super) events: Vec<Event>,
    pub(super) links: Vec<Link>,
}

impl Any {
    pub(super) fn of(value: Value<'_>) -> Self {
        match value {
            Value::Empty => Self::Empty,
            Value::Str(text) => Self::Str(text.to_owned()),
            Value::Bool(value) => Self::Bool(value),
            Value::Int(value) => Self::Int(value),
            Value::Double(value) => Self::Double(value.to_bits()),
            Value::Bytes(bytes) => Self::Bytes(bytes.to_vec()),
            Value::Array(items) => Self::Array(items.iter().map(|&item| Self::of(item)).collect()),
            Value::Map(items) => {
                Self::Map(items.iter().map(|item| (item.key.to_owned(), Self::of(item.value))).collect())
            }
        }
    }

    /// As plain JSON: bytes as base64, doubles that JSON lacks as text.
    pub(super) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Self::Empty => Json::Null,
            Self::Str(text) => Json::String(text.clone()),
            Self::Bool(value) => Json::Bool(*value),
            Self::Int(value) => Json::from(*value),
            Self::Double(bits) => {
                let value = f64::from_bits(*bits);
                serde_json::Number::from_f64(value)
                    .map_or_else(|| Json::String(value.to_string()), Json::Number)
            }
            Self::Bytes(bytes) => Json::String(stepscope_otlp::json::encode_base64(bytes)),
            Self::Array(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Self::Map(items) => Json::Object(items.iter().map(|(k, v)| (k.clone(), v.to_json())).collect()),
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        if let Self::Str(text) = self { Some(text) } else { None }
    }
}

/// The value of an attribute.
pub(super) fn find<'a>(attributes: &'a Attributes, key: &str) -> Option<&'a Any> {
    attributes.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

impl Item {
    /// Takes over the head.
    pub(super) fn head(&mut self, head: &SpanHead<'_>) {
        self.span_id = head.span_id.to_vec();
        self.parent_span_id = head.parent_span_id.to_vec();
        head.name.clone_into(&mut self.name);
        self.kind = head.kind.0;
        self.flags = head.flags;
        head.trace_state.clone_into(&mut self.trace_state);
        (self.start_ns, self.end_ns) = (head.start_unix_ns, head.end_unix_ns);
        self.status = head.status.0;
        head.status_message.clone_into(&mut self.status_message);
    }
}
