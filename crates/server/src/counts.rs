//! What a receiver has taken and refused so far.

use std::collections::BTreeMap;

/// Different reasons of refusals that are remembered; others are only counted.
const REASONS: usize = 16;

/// How a request came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// OTLP/HTTP with protobuf.
    HttpProtobuf,
    /// OTLP/HTTP with JSON.
    HttpJson,
    /// OTLP/gRPC.
    Grpc,
}

impl Way {
    /// The name that `OTEL_EXPORTER_OTLP_PROTOCOL` has for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HttpProtobuf => "http/protobuf",
            Self::HttpJson => "http/json",
            Self::Grpc => "grpc",
        }
    }
}

/// Sums since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests taken, those with empty messages included, by the way they came.
    pub requests: BTreeMap<Way, u64>,
    /// Of these, those whose message was compressed.
    pub compressed: u64,
    /// Spans in them, repeated ones too.
    pub spans: u64,
    /// Points of metrics in them.
    pub points: u64,
    /// Messages of logs in them.
    pub log_messages: u64,
    /// Items that the client was told are not taken.
    pub rejected: u64,
    /// Bytes of messages, decompressed.
    pub bytes: u64,
    /// Requests refused, and connections turned away.
    pub refused: u64,
    /// Why, and how often, for the first reasons met.
    pub reasons: BTreeMap<String, u64>,
}

impl Counts {
    /// Counts a refused request.
    pub(crate) fn refuse(&mut self, reason: &str) {
        self.refused += 1;
        if let Some(count) = self.reasons.get_mut(reason) {
            *count += 1;
        } else if self.reasons.len() < REASONS {
            self.reasons.insert(reason.to_owned(), 1);
        }
    }

    /// Requests taken, whichever way they came.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.requests.values().sum()
    }
}
