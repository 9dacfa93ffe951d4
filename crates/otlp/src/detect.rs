//! Tells what one message is by looking at its first item. Framings (lines, length prefixes, compression)
//! are the reader's business.

use crate::{json, proto};

/// How a message is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Protobuf.
    Proto,
    /// JSON by the OTLP/JSON mapping.
    Json,
}

/// What a message carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Spans.
    Traces,
    /// Metrics.
    Metrics,
    /// Log records; recognised, not decoded.
    Logs,
}

/// What [`detect`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detected {
    /// How the message is written.
    pub encoding: Encoding,
    /// What it carries; `None` for a valid message without items that could be any of them.
    pub signal: Option<Signal>,
}

/// Tells what `bytes`, one message or the beginning of one, is; `None` if it is not OTLP.
///
/// In JSON the name of the outermost member decides. In protobuf all signals share their frame, so the first
/// item of the first scope that has one decides; it must be there as a whole. A message without items must
/// be valid to its end.
pub fn detect(bytes: &[u8]) -> Option<Detected> {
    if let Some(signal) = json::detect(bytes) {
        return Some(Detected { encoding: Encoding::Json, signal });
    }
    proto::detect(bytes).map(|signal| Detected { encoding: Encoding::Proto, signal })
}
