//! OTLP/gRPC: the three `Export` methods, one message each way. A message is a flag (compressed or not), its length
//! in four bytes, big-endian, and its bytes; the outcome is in trailers.

use hyper::body::Incoming;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Request, Response, Version};
use stepscope_otlp::{Encoding, Signal};

use crate::answer::{self, Answer};
use crate::body;
use crate::counts::Way;
use crate::refusal::{Kind, Refusal};
use crate::shared::Shared;
use crate::unpack::{Message, Unpacker};

const CONTENT_TYPE: &str = "application/grpc";
const STATUS: HeaderName = HeaderName::from_static("grpc-status");
const MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
const ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");

/// Flag and length.
const PREFIX: usize = 5;

/// Whether a request is gRPC.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.strip_prefix(CONTENT_TYPE).is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';']))
}

/// Answers a call.
pub(crate) async fn answer(request: Request<Incoming>, shared: &Shared) -> Response<Answer> {
    let mut response = match take(request, shared).await {
        Ok(message) => {
            let mut framed = vec![0];
            framed.extend_from_slice(&u32::try_from(message.len()).unwrap_or(0).to_be_bytes());
            framed.extend_from_slice(&message);
            let mut trailers = HeaderMap::new();
            trailers.insert(STATUS, HeaderValue::from_static("0"));
            Response::new(Answer::with_trailers(framed, trailers))
        }
        Err(refusal) => {
            shared.counts().refuse(&refusal.reason);
            let mut response = Response::new(Answer::default());
            response.headers_mut().insert(STATUS, HeaderValue::from(u16::from(refusal.code())));
            if let Ok(message) = HeaderValue::try_from(answer::percent_encoded(&refusal.reason)) {
                response.headers_mut().insert(MESSAGE, message);
            }
            response
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity,gzip"));
    response
}

async fn take(request: Request<Incoming>, shared: &Shared) -> Result<Vec<u8>, Refusal> {
    if request.version() != Version::HTTP_2 {
        return Err(Refusal::new(Kind::Unsupported, "gRPC needs HTTP/2"));
    }
    let signal = match request.uri().path() {
        "/opentelemetry.proto.collector.trace.v1.TraceService/Export" => Signal::Traces,
        "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export" => Signal::Metrics,
        "/opentelemetry.proto.collector.logs.v1.LogsService/Export" => Signal::Logs,
        path => return Err(Refusal::new(Kind::NotFound, format!("there is no method {path:.200}"))),
    };
    let compression = match request.headers().get(&ENCODING).map(HeaderValue::as_bytes) {
        None | Some(b"" | b"identity") => Compression::None,
        Some(b"gzip") => Compression::Gzip,
        Some(_) => Compression::Unknown,
    };
    let most = shared.limits.message_bytes;
    let mut call = Call {
        prefix: Vec::with_capacity(PREFIX),
        left: 0,
        compression,
        is_compressed: false,
        most,
        message: Some(Message::new(&shared.budget, most)),
        unpacker: None,
    };
    body::feed(request.into_body(), &shared.limits, |bytes| call.feed(bytes)).await?;
    let compressed = call.is_compressed;
    let message = call.finish()?;
    let checked = shared.accept(message, Way::Grpc, signal, compressed)?;
    Ok(answer::export_response(Encoding::Proto, signal, &checked))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Compression {
    None,
    Gzip,
    Unknown,
}

/// A call while its body comes.
struct Call {
    prefix: Vec<u8>,
    /// Bytes of the message that have not come.
    left: usize,
    compression: Compression,
    is_compressed: bool,
    most: usize,
    message: Option<Message>,
    unpacker: Option<Unpacker>,
}

impl Call {
    fn feed(&mut self, mut bytes: &[u8]) -> Result<(), Refusal> {
        while let [byte, rest @ ..] = bytes
            && self.prefix.len() < PREFIX
        {
            self.prefix.push(*byte);
            bytes = rest;
            if self.prefix.len() == PREFIX {
                self.begin()?;
            }
        }
        if bytes.len() > self.left {
            return Err(Refusal::new(Kind::Cardinality, "a call carries one message"));
        }
        self.left -= bytes.len();
        self.unpacker.as_mut().map_or(Ok(()), |unpacker| unpacker.feed(bytes))
    }

    /// The prefix is there.
    fn begin(&mut self) -> Result<(), Refusal> {
        let &[flag, ref len @ ..] = self.prefix.as_slice() else { return Ok(()) };
        let len = len.try_into().map_or(0, u32::from_be_bytes);
        let is_compressed = match flag {
            0 => false,
            1 => true,
            _ => return Err(Refusal::new(Kind::Invalid, "the flag of the message is neither 0 nor 1")),
        };
        match self.compression {
            Compression::Unknown if is_compressed => {
                let reason = "a compression other than gzip (set OTEL_EXPORTER_OTLP_COMPRESSION=gzip)";
                return Err(Refusal::new(Kind::Unsupported, reason));
            }
            Compression::None if is_compressed => {
                return Err(Refusal::new(Kind::Invalid, "compressed, but no grpc-encoding says how"));
            }
            _ => {}
        }
        self.left = usize::try_from(len).unwrap_or(usize::MAX);
        if self.left > self.most {
            return Err(Refusal::new(
                Kind::TooLarge,
                format!("the message has more than {} bytes", self.most),
            ));
        }
        self.is_compressed = is_compressed;
        self.unpacker = self.message.take().map(|message| Unpacker::new(message, is_compressed));
        Ok(())
    }

    fn finish(self) -> Result<Message, Refusal> {
        match self.unpacker {
            Some(unpacker) if self.left == 0 => unpacker.finish(),
            None if self.prefix.is_empty() => {
                Err(Refusal::new(Kind::Cardinality, "a call carries one message"))
            }
            _ => Err(Refusal::new(Kind::Invalid, "the message is shorter than its length says")),
        }
    }
}
