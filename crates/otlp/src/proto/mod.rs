//! OTLP in protobuf: [`Decoder`], [`Encoder`], [`validate`] and the answer to an export. Length prefixes of
//! files and gRPC frames are not here: everything takes and gives one bare message.

mod attributes;
mod behind;
mod decode;
mod detect;
mod encode;
mod encode_metrics;
mod front;
mod metrics;
mod response;
mod spans;
mod usual;
mod validate;
mod wire;
mod write;

pub use behind::{Behind, behind};
pub use decode::Decoder;
pub(crate) use detect::detect;
pub use encode::Encoder;
pub(crate) use front::Front;
pub use response::{decode_export_response, decode_retry_delay};
pub use validate::validate;
pub(crate) use write::span_attribute as write_span_attribute;

use crate::{DecodeError, DecodeStats, Visitor};

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
