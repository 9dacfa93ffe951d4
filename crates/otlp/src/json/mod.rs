//! OTLP in JSON: [`Decoder`] and [`Encoder`]. Lines of files are not here: everything takes and gives one
//! bare message.

mod attributes;
mod decode;
mod detect;
mod encode;
mod encode_metrics;
mod field;
mod metrics;
mod number;
mod parser;
mod response;
mod scan;
mod spans;
mod text;
mod write;

pub use decode::Decoder;
pub(crate) use detect::detect;
pub use encode::Encoder;
pub use response::decode_export_response;
pub(crate) use write::attribute as write_attribute;

use crate::{DecodeError, DecodeStats, Visitor};

/// The bytes that base64 of either alphabet, padded or not, spells; `None` if it is none.
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    text::base64(text.as_bytes(), &mut bytes).then_some(bytes)
}

/// Bytes in base64 with padding, of the standard alphabet.
pub fn encode_base64(bytes: &[u8]) -> String {
    let mut quoted = Vec::new();
    write::base64(&mut quoted, bytes);
    quoted.iter().filter(|&&byte| byte != b'"').map(|&byte| char::from(byte)).collect()
}

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
