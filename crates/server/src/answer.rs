//! The bytes of answers: `Export…ServiceResponse` and `google.rpc.Status` in protobuf and JSON, and the body that
//! carries them, with trailers for gRPC. Which status goes with which refusal is `refusal`'s.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::body::{Body, Frame, SizeHint};
use stepscope_otlp::{Encoding, Signal};

use crate::check::Checked;

/// What an answer holds: at most one piece of data and trailers.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    frames: VecDeque<Frame<Bytes>>,
}

impl Answer {
    /// Data alone.
    pub(crate) fn data(bytes: Vec<u8>) -> Self {
        let frames = if bytes.is_empty() { VecDeque::new() } else { [Frame::data(bytes.into())].into() };
        Self { frames }
    }

    /// Data, then trailers.
    pub(crate) fn with_trailers(bytes: Vec<u8>, trailers: HeaderMap) -> Self {
        Self { frames: [Frame::data(bytes.into()), Frame::trailers(trailers)].into() }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.frames.pop_front().map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.frames.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let data = self.frames.iter().filter_map(|frame| frame.data_ref());
        SizeHint::with_exact(data.map(|data| data.len() as u64).sum())
    }
}

/// The response to an export that was taken, with what was rejected of it.
pub(crate) fn export_response(encoding: Encoding, signal: Signal, checked: &Checked) -> Vec<u8> {
    let everything_taken = checked.rejected == 0;
    match encoding {
        Encoding::Proto if everything_taken => Vec::new(),
        Encoding::Json if everything_taken => b"{}".to_vec(),
        Encoding::Proto => {
            let mut partial = vec![0x08];
            varint(&mut partial, checked.rejected);
            text(&mut partial, 0x12, &checked.reason);
            let mut response = vec![0x0a];
            varint(&mut response, partial.len() as u64);
            response.extend_from_slice(&partial);
            response
        }
        Encoding::Json => {
            let items = match signal {
                Signal::Traces => "rejectedSpans",
                Signal::Metrics => "rejectedDataPoints",
                Signal::Logs => "rejectedLogRecords",
            };
            let (rejected, reason) = (checked.rejected, json_string(&checked.reason));
            format!("{{\"partialSuccess\":{{\"{items}\":\"{rejected}\",\"errorMessage\":{reason}}}}}")
                .into_bytes()
        }
    }
}

/// `google.rpc.Status`.
pub(crate) fn status(encoding: Encoding, code: u8, message: &str) -> Vec<u8> {
    match encoding {
        Encoding::Proto => {
            let mut status = vec![0x08];
            varint(&mut status, u64::from(code));
            text(&mut status, 0x12, message);
            status
        }
        Encoding::Json => format!("{{\"code\":{code},\"message\":{}}}", json_string(message)).into_bytes(),
    }
}

/// A message as `grpc-message` carries it: everything but printable ASCII percent-encoded.
pub(crate) fn percent_encoded(message: &str) -> String {
    let mut encoded = String::with_capacity(message.len());
    for byte in message.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn text(out: &mut Vec<u8>, tag: u8, text: &str) {
    out.push(tag);
    varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn json_string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\u{0}'..='\u{1f}' => quoted.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepscope_otlp::proto::decode_export_response;

    #[test]
    fn rejections_are_read_back() {
        let checked = Checked { rejected: 300, reason: "why \"not\"\n".into(), ..Checked::default() };
        let response = export_response(Encoding::Proto, Signal::Traces, &checked);
        assert_eq!(decode_export_response(&response), Some((300, "why \"not\"\n")));
        let response = export_response(Encoding::Json, Signal::Metrics, &checked);
        let expected =
            r#"{"partialSuccess":{"rejectedDataPoints":"300","errorMessage":"why \"not\"\u000a"}}"#;
        assert_eq!(String::from_utf8(response).unwrap(), expected);
        assert!(export_response(Encoding::Proto, Signal::Logs, &Checked::default()).is_empty());
    }

    #[test]
    fn statuses_are_those_of_google() {
        assert_eq!(status(Encoding::Proto, 3, "bad"), b"\x08\x03\x12\x03bad");
        assert_eq!(status(Encoding::Json, 3, "bad"), br#"{"code":3,"message":"bad"}"#);
        assert_eq!(percent_encoded("100 % ü\n"), "100 %25 %C3%BC%0A");
    }
}
