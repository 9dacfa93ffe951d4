//! One request and its answer, over a connection that is kept for the next ones; what an answer means.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Method, Request, StatusCode, header};
use stepscope_otlp::proto::decode_export_response;

use super::connection::Connection;
use super::pack::Body;
use super::target::Target;

/// A response may be this long; it only carries a count and a message.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// What is said of an answer that is not whole.
const BROKE_OFF: &str = "the answer began, and its end did not come";

/// What is said of one that says that what was not sent has been taken.
const TOO_EARLY: &str = "the answer came before the end of the request";

/// Of what was written so much may be on its way when an answer comes, without being of the request: HTTP/2 acknowledges what it is
/// told, and a head comes before the body.
const BESIDE_BYTES: u64 = 1 << 10;

/// How a request ended.
#[derive(Debug)]
pub(super) enum Outcome {
    Accepted {
        rejected: u64,
        message: String,
    },
    Retry {
        why: String,
        /// The receiver named this time to try it again.
        pause: Option<Duration>,
        /// It may have taken the request all the same.
        is_in_doubt: bool,
    },
    Refused(String),
    /// Sent, but the connection broke before the answer, or in it, or it is none that can be understood.
    Unknown(String),
}

/// An exchange that ended: with an outcome, or before anything was sent.
enum Exchange {
    Answered(Outcome, Option<Connection>),
    NotSent(String),
}

/// Sends `body` over the connection that was kept, or a new one; how that went, and the connection if it can be used
/// again. `is_sent` is set while the receiver may have got it.
pub(super) async fn send(
    target: Arc<Target>,
    body: Body,
    kept: Option<Connection>,
    is_sent: Arc<AtomicBool>,
) -> (Outcome, Option<Connection>) {
    if let Some(connection) = kept {
        // That the other end has closed it meanwhile is noticed only while the runtime turns.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        if let Exchange::Answered(outcome, kept) = exchange(connection, &target, &body, &is_sent).await {
            return (outcome, kept);
        }
    }
    // As long as nothing was sent, nothing is in doubt.
    let not_sent = |why| (Outcome::Retry { why, pause: None, is_in_doubt: false }, None);
    let connection = match Connection::open(&target).await {
        Ok(connection) => connection,
        Err(why) => return not_sent(why),
    };
    match exchange(connection, &target, &body, &is_sent).await {
        Exchange::Answered(outcome, kept) => (outcome, kept),
        Exchange::NotSent(why) => not_sent(why),
    }
}

async fn exchange(
    mut connection: Connection,
    target: &Target,
    body: &Body,
    is_sent: &AtomicBool,
) -> Exchange {
    let request = match request(target, body) {
        Ok(request) => request,
        Err(error) => {
            let outcome = Outcome::Refused(format!("a header cannot be sent: {error}"));
            return Exchange::Answered(outcome, Some(connection));
        }
    };
    let len = body.bytes.len() as u64;
    let answer = async {
        if let Err(error) = connection.ready().await {
            return Exchange::NotSent(connection.refusal().unwrap_or_else(|| error.to_string()));
        }
        is_sent.store(true, Ordering::Relaxed);
        let written_before = connection.progress().written();
        let response = match connection.send(request).await {
            Ok(response) => response,
            Err(mut error) => {
                let is_back = error.take_message().is_some();
                let error = error.into_error();
                let refusal = connection.refusal();
                if is_back || refusal.is_some() || was_not_taken(&error) {
                    is_sent.store(false, Ordering::Relaxed);
                    return Exchange::NotSent(refusal.unwrap_or_else(|| with_causes(&error)));
                }
                let why = format!("the connection broke before the answer: {}", with_causes(&error));
                return Exchange::Answered(Outcome::Unknown(why), None);
            }
        };
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await;
        let is_whole = body.is_ok();
        let body = body.unwrap_or_default();
        let taken = connection.progress().taken_before_answer().saturating_sub(written_before);
        let is_early = taken.saturating_add(BESIDE_BYTES) < len;
        let kept = if is_early {
            connection.break_off();
            None
        } else {
            is_whole.then_some(connection)
        };
        #[cfg(feature = "grpc")]
        if target.protocol.is_grpc() {
            let trailers = body.trailers().cloned();
            let outcome =
                match super::grpc::judge(parts.status, &parts.headers, trailers.as_ref(), &body.to_bytes()) {
                    Outcome::Accepted { .. } if !is_whole => Outcome::Unknown(BROKE_OFF.into()),
                    Outcome::Accepted { .. } if is_early => Outcome::Unknown(TOO_EARLY.into()),
                    outcome => outcome,
                };
            return Exchange::Answered(outcome, kept);
        }
        if parts.status.is_success() && !is_whole {
            // Of what is missing nobody knows whether it says that some were rejected.
            return Exchange::Answered(Outcome::Unknown(BROKE_OFF.into()), None);
        }
        let outcome = match judge(parts.status, parts.headers.get(header::RETRY_AFTER), &body.to_bytes()) {
            Outcome::Accepted { .. } if is_early => Outcome::Unknown(TOO_EARLY.into()),
            outcome => outcome,
        };
        Exchange::Answered(outcome, kept)
    };
    match tokio::time::timeout(target.timeout, answer).await {
        Ok(exchange) => exchange,
        Err(_) => {
            let why = format!("no answer within {:?}", target.timeout);
            if is_sent.load(Ordering::Relaxed) {
                Exchange::Answered(Outcome::Unknown(why), None)
            } else {
                Exchange::NotSent(why)
            }
        }
    }
}

/// Whether the receiver says that it has not worked on a request, which is so of streams alone.
fn was_not_taken(error: &hyper::Error) -> bool {
    #[cfg(feature = "grpc")]
    return super::grpc::was_not_taken(error);
    #[cfg(not(feature = "grpc"))]
    {
        let _ = error;
        false
    }
}

/// An error with those that led to it.
fn with_causes(error: &hyper::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

fn request(target: &Target, body: &Body) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
    #[cfg(feature = "grpc")]
    if target.protocol.is_grpc() {
        return super::grpc::request(target, body);
    }
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(&target.path)
        .header(header::HOST, target.authority())
        .header(header::CONTENT_TYPE, "application/x-protobuf")
        .header(header::USER_AGENT, concat!("stepscope/", env!("CARGO_PKG_VERSION")));
    if let Some(name) = body.compression.name() {
        request = request.header(header::CONTENT_ENCODING, name);
    }
    for (name, value) in &target.headers {
        request = request.header(name, value);
    }
    request.body(Full::new(body.bytes.clone()))
}

fn judge(status: StatusCode, retry_after: Option<&header::HeaderValue>, body: &[u8]) -> Outcome {
    if status.is_success() {
        return accepted(body).unwrap_or_else(|| {
            Outcome::Unknown(format!("{status}, but no answer of an OTLP receiver: is the endpoint right?"))
        });
    }
    // The statuses that the OTLP specification calls retryable. Two of them come from something in front of the
    // receiver, which may have got it.
    if matches!(status.as_u16(), 429 | 502 | 503 | 504) {
        let seconds = retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        return Outcome::Retry {
            why: status.to_string(),
            pause: seconds.map(Duration::from_secs),
            is_in_doubt: matches!(status.as_u16(), 502 | 504),
        };
    }
    Outcome::Refused(status.to_string())
}

/// What a receiver says that has taken a request; `None` where it says nothing that can be understood.
pub(super) fn accepted(body: &[u8]) -> Option<Outcome> {
    // Some answer in JSON whatever they are sent.
    let answer = decode_export_response(body)
        .map(|(rejected, message)| (rejected, message.to_owned()))
        .or_else(|| stepscope_otlp::json::decode_export_response(body));
    answer.map(|(rejected, message)| Outcome::Accepted {
        rejected: u64::try_from(rejected).unwrap_or(0),
        message,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_judged_as_the_specification_says() {
        // partial_success { rejected: 3, error_message: "no" }
        let partial = [0x0a, 0x06, 0x08, 0x03, 0x12, 0x02, b'n', b'o'];
        assert!(matches!(judge(StatusCode::OK, None, &partial), Outcome::Accepted { rejected: 3, .. }));
        assert!(matches!(judge(StatusCode::OK, None, b""), Outcome::Accepted { rejected: 0, .. }));
        for (body, all) in [
            (&b"{}"[..], 0),
            (b"{ \"partialSuccess\": {}\r\n}\n", 0),
            (br#"{"partialSuccess":{"rejectedSpans":"0","errorMessage":""}}"#, 0),
            (br#"{"partialSuccess":{"rejectedSpans":3}}"#, 3),
        ] {
            let outcome = judge(StatusCode::OK, None, body);
            assert!(matches!(outcome, Outcome::Accepted { rejected, .. } if rejected == all), "{outcome:?}");
        }
        // Who answers so is no receiver, or says something that is not understood.
        let strange = [&b"<html>hi</html>"[..], b"ok", br#"{"error":"no such tenant"}"#, &partial[..4]];
        for body in strange {
            assert!(matches!(judge(StatusCode::OK, None, body), Outcome::Unknown(_)), "{body:?}");
        }
        assert!(matches!(judge(StatusCode::BAD_REQUEST, None, b""), Outcome::Refused(_)));
        let after = header::HeaderValue::from_static("2");
        for status in [429, 502, 503, 504] {
            let status = StatusCode::from_u16(status).unwrap();
            let retry = judge(status, Some(&after), b"");
            let named = Some(Duration::from_secs(2));
            let doubt = status.as_u16() == 502 || status.as_u16() == 504;
            assert!(
                matches!(retry, Outcome::Retry { pause, is_in_doubt, .. } if (pause, is_in_doubt) == (named, doubt))
            );
        }
        // A date is not read: then the pause is our own.
        let date = header::HeaderValue::from_static("Wed, 21 Oct 2026 07:28:00 GMT");
        let retry = judge(StatusCode::BAD_GATEWAY, Some(&date), b"");
        assert!(matches!(retry, Outcome::Retry { pause: None, .. }));
    }
}
