//! Every bound of a receiver, in one place.

use std::time::Duration;

/// What a receiver takes at most.
///
/// Memory is bounded by `in_flight_bytes` for messages, `connections` times about 0.4 MiB for what connections
/// keep before anybody looks at it, and one `message_bytes` for the JSON that is being looked through.
#[derive(Debug, Clone)]
pub struct Limits {
    /// A message, decompressed.
    pub message_bytes: usize,
    /// All messages that are being received or looked at, together.
    pub in_flight_bytes: usize,
    /// Connections at the same time.
    pub connections: usize,
    /// Bytes of all files together; what comes after is rejected, and counted.
    pub stored_bytes: u64,
    /// A file is followed by the next when it has grown to this size.
    pub file_bytes: u64,
    /// From connecting to the end of the first request's headers.
    pub first_request: Duration,
    /// Between two requests of a connection, headers of the second included.
    pub idle: Duration,
    /// From the end of a request's headers to that of its body.
    pub body: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes: 64 << 20,
            in_flight_bytes: 256 << 20,
            connections: 512,
            stored_bytes: 64 << 30,
            file_bytes: 256 << 20,
            first_request: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            body: Duration::from_secs(30),
        }
    }
}
