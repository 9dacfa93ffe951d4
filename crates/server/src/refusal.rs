//! Why a request is refused, and what that is called in HTTP and in gRPC.

use hyper::StatusCode;

/// The classes of refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The message, its framing or its compression is damaged.
    Invalid,
    /// There is nothing at this path.
    NotFound,
    /// Another method than POST.
    Method,
    /// A content type or a compression that is not taken.
    Unsupported,
    /// Another number of messages than one.
    Cardinality,
    /// Larger than a message may be.
    TooLarge,
    /// The client was too slow.
    TooSlow,
    /// No room at the moment; try again.
    Busy,
}

/// A refused request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) kind: Kind,
    pub(crate) reason: String,
}

impl Refusal {
    pub(crate) fn new(kind: Kind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }

    /// The status of HTTP. OTLP has clients try again after 429, 502, 503 and 504 only.
    pub(crate) fn http(&self) -> StatusCode {
        match self.kind {
            Kind::Invalid | Kind::Cardinality => StatusCode::BAD_REQUEST,
            Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::Method => StatusCode::METHOD_NOT_ALLOWED,
            Kind::Unsupported => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Kind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Kind::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Kind::Busy => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The code of gRPC (`google.rpc.Code`). OTLP has clients try again after UNAVAILABLE; after RESOURCE_EXHAUSTED
    /// only where details say when.
    pub(crate) fn code(&self) -> u8 {
        match self.kind {
            Kind::Invalid => 3,
            Kind::NotFound | Kind::Method | Kind::Unsupported | Kind::Cardinality => 12,
            Kind::TooLarge => 8,
            Kind::TooSlow => 4,
            Kind::Busy => 14,
        }
    }
}
