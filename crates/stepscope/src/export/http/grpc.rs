//! What gRPC adds to a request and its answer: headers, the statuses in trailers, and what OTLP makes of them. The
//! prefix of messages is `pack`'s, connections are `connection`'s.

use std::io::Read as _;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{self, HeaderMap};
use hyper::{Method, Request, StatusCode};
use stepscope_otlp::proto::decode_retry_delay;

use super::exchange::{Outcome, accepted};
use super::pack::Body;
use super::target::Target;
use crate::context::text::percent_decode;

/// Of an answer, unpacked; the rest of a longer one is not read.
const MAX_MESSAGE_BYTES: u64 = 64 << 10;

const STATUS: &str = "grpc-status";
const MESSAGE: &str = "grpc-message";
const DETAILS: &str = "grpc-status-details-bin";
const CONTENT_TYPE: &str = "application/grpc";

/// A time in a header has eight digits at most.
const MOST_DIGITS: u128 = 99_999_999;

/// A call of the target's method, with the user's headers as metadata.
pub(super) fn request(target: &Target, body: &Body) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(format!("{}://{}{}", target.scheme(), target.authority(), target.path))
        .header(header::CONTENT_TYPE, CONTENT_TYPE)
        .header(header::TE, "trailers")
        .header(header::USER_AGENT, concat!("stepscope/", env!("CARGO_PKG_VERSION")))
        .header("grpc-timeout", timeout(target.timeout));
    if let Some(name) = body.compression.name() {
        request = request.header("grpc-encoding", name);
    }
    for (name, value) in &target.headers {
        request = request.header(name, value);
    }
    request.body(Full::new(body.bytes.clone()))
}

/// The deadline as gRPC writes it.
fn timeout(timeout: Duration) -> String {
    match timeout.as_millis() {
        ms @ ..=MOST_DIGITS => format!("{ms}m"),
        ms => format!("{}S", (ms / 1_000).min(MOST_DIGITS)),
    }
}

/// The outcome of a call whose answer has come to its end.
pub(super) fn judge(
    status: StatusCode,
    headers: &HeaderMap,
    trailers: Option<&HeaderMap>,
    body: &[u8],
) -> Outcome {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if status != StatusCode::OK || !content_type.is_some_and(|value| value.starts_with(CONTENT_TYPE)) {
        return judge_other(status);
    }
    // An answer without a message has its status in front.
    let trailers = trailers.filter(|trailers| trailers.contains_key(STATUS)).unwrap_or(headers);
    let text = |name: &str| trailers.get(name).and_then(|value| value.to_str().ok());
    let Some(code) = text(STATUS).and_then(|text| text.parse::<u32>().ok()) else {
        return Outcome::Unknown("the answer has no status".into());
    };
    if code == 0 {
        return message_in(body)
            .and_then(|message| accepted(&message))
            .unwrap_or_else(|| Outcome::Unknown("the answer has a message that is not understood".into()));
    }
    let message = text(MESSAGE).map(percent_decode).unwrap_or_default();
    let why = format!("gRPC status {code} {}: {message}", name(code)).trim_end_matches([':', ' ']).to_owned();
    let pause = text(DETAILS).and_then(base64).and_then(|details| decode_retry_delay(&details));
    // The statuses that the OTLP specification calls retryable. Of those, one says that nothing was taken; another one
    // says so only where it names a pause.
    match code {
        14 => Outcome::Retry { why, pause, is_in_doubt: false },
        8 if pause.is_some() => Outcome::Retry { why, pause, is_in_doubt: false },
        1 | 4 | 10 | 11 | 15 => Outcome::Retry { why, pause, is_in_doubt: true },
        _ => Outcome::Refused(why),
    }
}

/// The message of an answer, unpacked; an empty one where there is none. `None` where it is cut off or damaged, or compressed
/// by what is not read.
fn message_in(body: &[u8]) -> Option<Vec<u8>> {
    let Some((head, message)) = body.split_first_chunk::<5>() else {
        return body.is_empty().then(Vec::new);
    };
    let [flag, length @ ..] = *head;
    if usize::try_from(u32::from_be_bytes(length)) != Ok(message.len()) {
        return None;
    }
    match flag {
        _ if message.is_empty() => Some(Vec::new()),
        0 => Some(message.to_vec()),
        1 => unpacked(message),
        _ => None,
    }
}

/// Some servers compress their answer as the request was, asked for or not; which of the two it is, its first bytes tell.
fn unpacked(message: &[u8]) -> Option<Vec<u8>> {
    const GZIP: &[u8] = b"\x1f\x8b";
    if message.starts_with(GZIP) {
        let mut unpacked = Vec::new();
        let gzip = flate2::read::GzDecoder::new(message);
        return gzip.take(MAX_MESSAGE_BYTES).read_to_end(&mut unpacked).is_ok().then_some(unpacked);
    }
    #[cfg(feature = "zstd")]
    return zstd::bulk::decompress(message, MAX_MESSAGE_BYTES as usize).ok();
    #[cfg(not(feature = "zstd"))]
    None
}

/// Who answers is no gRPC server, but something in front of one, or another program.
fn judge_other(status: StatusCode) -> Outcome {
    let why = format!("{status}, not from a gRPC server (a collector's is on port 4317)");
    match status.as_u16() {
        429 | 503 => Outcome::Retry { why, pause: None, is_in_doubt: false },
        502 | 504 => Outcome::Retry { why, pause: None, is_in_doubt: true },
        _ => Outcome::Refused(why),
    }
}

/// Whether a request has surely not been worked on: its stream was refused, or came after the last one that the
/// receiver takes.
pub(super) fn was_not_taken(error: &hyper::Error) -> bool {
    of_http2(error).is_some_and(|error| {
        let is_refused = error.reason() == Some(h2::Reason::REFUSED_STREAM);
        let is_late = error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR);
        error.is_remote() && (is_refused || is_late)
    })
}

fn of_http2(error: &hyper::Error) -> Option<&h2::Error> {
    std::iter::successors(std::error::Error::source(error), |error| error.source())
        .find_map(|error| error.downcast_ref::<h2::Error>())
}

fn name(code: u32) -> &'static str {
    let names = [
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    ];
    names.get(code as usize).copied().unwrap_or_default()
}

/// Undoes base64, with or without its padding; `None` where something else is in it.
fn base64(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0_u32, 0_u32);
    for byte in text.trim_end_matches('=').bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        (bits, count) = (bits << 6 | u32::from(six), count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests;
