//! One request and its answer, over a connection that is kept for the next ones; what an answer means.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use stepscope_otlp::proto::decode_export_response;

use super::target::Target;

/// A response may be this long; it only carries a count and a message.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// A connection between two requests.
pub(super) type Connection = http1::SendRequest<Full<Bytes>>;

/// How a request ended.
#[derive(Debug)]
pub(super) enum Outcome {
    Accepted {
        rejected: u64,
        message: String,
    },
    /// Try again, after this time if the receiver named one.
    Retry(String, Option<Duration>),
    Refused(String),
    /// Sent, but the connection broke before the answer.
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
    body: Bytes,
    kept: Option<Connection>,
    is_sent: Arc<AtomicBool>,
) -> (Outcome, Option<Connection>) {
    let timeout = target.timeout;
    if let Some(connection) = kept {
        // That the other end has closed it meanwhile is noticed only while the runtime turns.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        if let Exchange::Answered(outcome, kept) = exchange(connection, &target, &body, &is_sent).await {
            return (outcome, kept);
        }
    }
    let connect = tokio::net::TcpStream::connect((target.host.as_str(), target.port));
    let stream = match tokio::time::timeout(timeout, connect).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return (Outcome::Retry(error.to_string(), None), None),
        // Nothing was sent, so nothing is in doubt.
        Err(_) => return (Outcome::Retry(format!("no connection within {timeout:?}"), None), None),
    };
    // Requests are whole when they are written: there is nothing to wait for.
    let _ = stream.set_nodelay(true);
    let sender = match http1::handshake(TokioIo::new(stream)).await {
        Ok((sender, connection)) => {
            tokio::spawn(connection);
            sender
        }
        Err(error) => return (Outcome::Retry(error.to_string(), None), None),
    };
    match exchange(sender, &target, &body, &is_sent).await {
        Exchange::Answered(outcome, kept) => (outcome, kept),
        Exchange::NotSent(why) => (Outcome::Retry(why, None), None),
    }
}

async fn exchange(mut sender: Connection, target: &Target, body: &Bytes, is_sent: &AtomicBool) -> Exchange {
    let request = match request(target, body) {
        Ok(request) => request,
        Err(error) => {
            let outcome = Outcome::Refused(format!("a header cannot be sent: {error}"));
            return Exchange::Answered(outcome, Some(sender));
        }
    };
    let answer = async {
        if let Err(error) = sender.ready().await {
            return Exchange::NotSent(error.to_string());
        }
        is_sent.store(true, Ordering::Relaxed);
        let response = match sender.try_send_request(request).await {
            Ok(response) => response,
            Err(mut error) => {
                let is_back = error.take_message().is_some();
                let why = error.into_error().to_string();
                if is_back {
                    is_sent.store(false, Ordering::Relaxed);
                    return Exchange::NotSent(why);
                }
                return Exchange::Answered(Outcome::Unknown(why), None);
            }
        };
        let (parts, body) = response.into_parts();
        let body = Limited::new(body, MAX_RESPONSE_BYTES).collect().await;
        let is_whole = body.is_ok();
        let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let outcome = judge(parts.status, parts.headers.get(header::RETRY_AFTER), &body);
        Exchange::Answered(outcome, is_whole.then_some(sender))
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

fn request(target: &Target, body: &Bytes) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(&target.path)
        .header(header::HOST, format!("{}:{}", target.host, target.port))
        .header(header::CONTENT_TYPE, "application/x-protobuf")
        .header(header::USER_AGENT, concat!("stepscope/", env!("CARGO_PKG_VERSION")));
    if target.gzip {
        request = request.header(header::CONTENT_ENCODING, "gzip");
    }
    for (name, value) in &target.headers {
        request = request.header(name, value);
    }
    request.body(Full::new(body.clone()))
}

fn judge(status: StatusCode, retry_after: Option<&header::HeaderValue>, body: &[u8]) -> Outcome {
    if status.is_success() {
        let (rejected, message) = decode_export_response(body).unwrap_or((0, ""));
        return Outcome::Accepted {
            rejected: u64::try_from(rejected).unwrap_or(0),
            message: message.to_owned(),
        };
    }
    // The statuses that the OTLP specification calls retryable.
    if matches!(status.as_u16(), 429 | 502 | 503 | 504) {
        let seconds = retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        return Outcome::Retry(status.to_string(), seconds.map(Duration::from_secs));
    }
    Outcome::Refused(status.to_string())
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
        assert!(matches!(judge(StatusCode::BAD_REQUEST, None, b""), Outcome::Refused(_)));
        let after = header::HeaderValue::from_static("2");
        for status in [429, 502, 503, 504] {
            let status = StatusCode::from_u16(status).unwrap();
            let retry = judge(status, Some(&after), b"");
            assert!(matches!(retry, Outcome::Retry(_, Some(pause)) if pause == Duration::from_secs(2)));
        }
        // A date is not read: then the pause is our own.
        let date = header::HeaderValue::from_static("Wed, 21 Oct 2026 07:28:00 GMT");
        assert!(matches!(judge(StatusCode::BAD_GATEWAY, Some(&date), b""), Outcome::Retry(_, None)));
    }
}
