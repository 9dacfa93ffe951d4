//! OTLP/HTTP: a message a POST, protobuf or JSON, perhaps through gzip. The answer is in the encoding of the
//! question, errors as `google.rpc.Status`.

use hyper::body::{Body, Incoming};
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use stepscope_otlp::{Encoding, Signal};

use crate::answer::{self, Answer};
use crate::body;
use crate::check::Checked;
use crate::counts::Way;
use crate::refusal::{Kind, Refusal};
use crate::shared::Shared;
use crate::unpack::{Message, Unpacker};

const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

/// Seconds after which a client is told to try again.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// Answers a request that is not gRPC.
pub(crate) async fn answer(request: Request<Incoming>, shared: &Shared) -> Response<Answer> {
    let encoding = encoding(request.headers());
    match take(request, encoding, shared).await {
        Ok((encoding, signal, checked)) => {
            let mut response =
                Response::new(Answer::data(answer::export_response(encoding, signal, &checked)));
            response.headers_mut().insert(header::CONTENT_TYPE, content_type(encoding));
            response
        }
        Err(refusal) => {
            shared.counts().refuse(&refusal.reason);
            // Who sent neither is most likely a person.
            refuse(&refusal, encoding.unwrap_or(Encoding::Json))
        }
    }
}

fn refuse(refusal: &Refusal, encoding: Encoding) -> Response<Answer> {
    let mut response = Response::new(Answer::data(answer::status(encoding, refusal.code(), &refusal.reason)));
    *response.status_mut() = refusal.http();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, content_type(encoding));
    match refusal.http() {
        StatusCode::SERVICE_UNAVAILABLE => drop(headers.insert(header::RETRY_AFTER, RETRY_AFTER)),
        StatusCode::METHOD_NOT_ALLOWED => {
            headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        StatusCode::UNSUPPORTED_MEDIA_TYPE => {
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        _ => {}
    }
    response
}

async fn take(
    request: Request<Incoming>,
    encoding: Option<Encoding>,
    shared: &Shared,
) -> Result<(Encoding, Signal, Checked), Refusal> {
    let signal = match request.uri().path() {
        "/v1/traces" => Signal::Traces,
        "/v1/metrics" => Signal::Metrics,
        "/v1/logs" => Signal::Logs,
        _ => {
            let reason = "nothing is here; OTLP is taken at /v1/traces, /v1/metrics and /v1/logs";
            return Err(Refusal::new(Kind::NotFound, reason));
        }
    };
    if request.method() != Method::POST {
        return Err(Refusal::new(Kind::Method, "OTLP is sent with POST"));
    }
    let Some(encoding) = encoding else {
        let reason = format!("the content type is neither {PROTOBUF} nor {JSON}");
        return Err(Refusal::new(Kind::Unsupported, reason));
    };
    let is_gzip = is_gzip(request.headers())?;
    let announced = request.body().size_hint().exact().unwrap_or(0);
    if announced > shared.limits.message_bytes as u64 {
        let reason = format!("the message has more than {} bytes", shared.limits.message_bytes);
        let refusal = Refusal::new(Kind::TooLarge, reason);
        // Who asks before sending is told so; who does not is heard to the end, or never listens.
        if !request.headers().contains_key(header::EXPECT) {
            return Err(body::feed(request.into_body(), &shared.limits, |_| Err(refusal.clone()))
                .await
                .err()
                .unwrap_or(refusal));
        }
        return Err(refusal);
    }
    let message = Message::new(&shared.budget, shared.limits.message_bytes);
    let mut unpacker = Unpacker::new(message, is_gzip);
    body::feed(request.into_body(), &shared.limits, |bytes| unpacker.feed(bytes)).await?;
    let way = if encoding == Encoding::Json { Way::HttpJson } else { Way::HttpProtobuf };
    let checked = shared.accept(unpacker.finish()?, way, signal, is_gzip)?;
    Ok((encoding, signal, checked))
}

fn encoding(headers: &HeaderMap) -> Option<Encoding> {
    let value = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let kind = value.split(';').next().unwrap_or_default().trim();
    match kind {
        _ if kind.eq_ignore_ascii_case(PROTOBUF) => Some(Encoding::Proto),
        _ if kind.eq_ignore_ascii_case(JSON) => Some(Encoding::Json),
        _ => None,
    }
}

fn content_type(encoding: Encoding) -> HeaderValue {
    HeaderValue::from_static(match encoding {
        Encoding::Proto => PROTOBUF,
        Encoding::Json => JSON,
    })
}

fn is_gzip(headers: &HeaderMap) -> Result<bool, Refusal> {
    let Some(value) = headers.get(header::CONTENT_ENCODING) else { return Ok(false) };
    let value = value.to_str().unwrap_or("?").trim();
    match value {
        _ if value.eq_ignore_ascii_case("gzip") => Ok(true),
        _ if value.is_empty() || value.eq_ignore_ascii_case("identity") => Ok(false),
        _ => Err(Refusal::new(
            Kind::Unsupported,
            "a compression other than gzip (set OTEL_EXPORTER_OTLP_COMPRESSION=gzip)",
        )),
    }
}
