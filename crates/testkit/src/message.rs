//! OTLP messages in either format, and how files frame them. What is in a message is decided elsewhere.

use stepscope_otlp::{
    LinkHead, MetricHead, PointHead, ResourceHead, ScopeHead, SpanHead, Value, Visitor, json, proto,
};

/// How a run is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Protobuf, a 4-byte big-endian length before each message.
    Proto,
    /// JSON, one message a line.
    Json,
}

impl Format {
    /// The format called `proto` or `json`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "proto" => Some(Self::Proto),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    /// Appends `message` to `file` as files of this format hold it.
    pub fn frame(self, message: &[u8], file: &mut Vec<u8>) {
        match self {
            Self::Proto => {
                let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
                file.extend_from_slice(&length.to_be_bytes());
                file.extend_from_slice(message);
            }
            Self::Json => {
                file.extend_from_slice(message);
                file.push(b'\n');
            }
        }
    }
}

/// An encoder of either format.
#[derive(Debug)]
pub(crate) enum Encoder {
    Proto(Box<proto::Encoder>),
    Json(Box<json::Encoder>),
}

macro_rules! each {
    ($self:ident, $encoder:ident => $call:expr) => {
        match $self {
            Self::Proto($encoder) => $call,
            Self::Json($encoder) => $call,
        }
    };
}

impl Encoder {
    pub(crate) fn traces(format: Format) -> Self {
        match format {
            Format::Proto => Self::Proto(Box::new(proto::Encoder::traces())),
            Format::Json => Self::Json(Box::new(json::Encoder::traces())),
        }
    }

    pub(crate) fn metrics(format: Format) -> Self {
        match format {
            Format::Proto => Self::Proto(Box::new(proto::Encoder::metrics())),
            Format::Json => Self::Json(Box::new(json::Encoder::metrics())),
        }
    }

    pub(crate) fn finish(&mut self) -> &[u8] {
        each!(self, encoder => encoder.finish())
    }

    pub(crate) fn clear(&mut self) {
        each!(self, encoder => encoder.clear());
    }
}

// Only what generated runs contain.
impl Visitor for Encoder {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        each!(self, encoder => encoder.resource_attribute(key, value));
    }
    fn resource(&mut self, head: &ResourceHead<'_>) {
        each!(self, encoder => encoder.resource(head));
    }
    fn scope(&mut self, head: &ScopeHead<'_>) {
        each!(self, encoder => encoder.scope(head));
    }
    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        each!(self, encoder => encoder.span_attribute(key, value));
    }
    fn link(&mut self, head: &LinkHead<'_>) {
        each!(self, encoder => encoder.link(head));
    }
    fn span(&mut self, head: &SpanHead<'_>) {
        each!(self, encoder => encoder.span(head));
    }
    fn metric(&mut self, head: &MetricHead<'_>) {
        each!(self, encoder => encoder.metric(head));
    }
    fn point_attribute(&mut self, key: &str, value: Value<'_>) {
        each!(self, encoder => encoder.point_attribute(key, value));
    }
    fn point(&mut self, head: &PointHead<'_>) {
        each!(self, encoder => encoder.point(head));
    }
    fn metric_end(&mut self) {
        each!(self, encoder => encoder.metric_end());
    }
}
