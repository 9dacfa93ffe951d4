//! OTLP in protobuf: [`Decoder`], [`Encoder`], [`validate`] and the answer to an export. Length prefixes of
//! files and gRPC frames are not here: everything takes and gives one bare message.

use crate::{DecodeError, DecodeStats, Signal, Visitor};

/// Reads `TracesData` (equally `ExportTraceServiceRequest`) with a fresh [`Decoder`].
///
/// # Errors
/// Where the message is damaged; what was whole before has been handed over.
pub fn decode_traces(bytes: &[u8], v: &mut impl Visitor) -> Result<DecodeStats, DecodeError> {
    Decoder::new().decode_traces(bytes, v)
}

/// Reads `MetricsData` (equally `ExportMetricsServiceRequest`) with a fresh [`Decoder`].
///
/// # Errors
/// Where the message is damaged; what was whole before has been handed over.
pub fn decode_metrics(bytes: &[u8], v: &mut impl Visitor) -> Result<DecodeStats, DecodeError> {
    Decoder::new().decode_metrics(bytes, v)
}

/// Decoder with scratch space that is reused from message to message.
#[derive(Debug, Default)]
pub struct Decoder {}

impl Decoder {
    /// A decoder with empty scratch space.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads one message of traces. See [`decode_traces`].
    ///
    /// # Errors
    /// Where the message is damaged; what was whole before has been handed over.
    pub fn decode_traces(&mut self, bytes: &[u8], v: &mut impl Visitor) -> Result<DecodeStats, DecodeError> {
        let _ = (bytes, v);
        Ok(DecodeStats::default())
    }

    /// Reads one message of metrics. See [`decode_metrics`].
    ///
    /// # Errors
    /// Where the message is damaged; what was whole before has been handed over.
    pub fn decode_metrics(&mut self, bytes: &[u8], v: &mut impl Visitor) -> Result<DecodeStats, DecodeError> {
        let _ = (bytes, v);
        Ok(DecodeStats::default())
    }
}

/// Whether `bytes` is one whole message of `signal`: every known field well-formed down to the last byte.
pub fn validate(bytes: &[u8], signal: Signal) -> bool {
    let _ = (bytes, signal);
    false
}

/// The `partial_success` of an export response: items rejected, and the server's message.
/// `None` if the response is damaged; `(0, "")` if everything was accepted.
pub fn decode_export_response(bytes: &[u8]) -> Option<(i64, &str)> {
    let _ = bytes;
    None
}

/// Writes one message from visitor calls. Output is canonical: fields ascending, defaults omitted,
/// minimal lengths. Calls for another signal than the encoder's are ignored.
#[derive(Debug)]
pub struct Encoder {
    out: Vec<u8>,
}

impl Encoder {
    /// An encoder of `TracesData`.
    pub fn traces() -> Self {
        Self { out: Vec::new() }
    }

    /// An encoder of `MetricsData`.
    pub fn metrics() -> Self {
        Self { out: Vec::new() }
    }

    /// Writes into `buffer` (cleared, its capacity kept).
    #[must_use]
    pub fn with_buffer(mut self, mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        self.out = buffer;
        self
    }

    /// Bytes written so far; at most a few bytes per open scope are still to come. For bounding batches.
    pub fn len(&self) -> usize {
        self.out.len()
    }

    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }

    /// Closes what is open and gives the message; it stays until [`clear`](Self::clear).
    pub fn finish(&mut self) -> &[u8] {
        &self.out
    }

    /// Closes what is open, gives the message away and starts afresh.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Starts afresh, keeping all allocations.
    pub fn clear(&mut self) {
        self.out.clear();
    }
}

impl Visitor for Encoder {}
