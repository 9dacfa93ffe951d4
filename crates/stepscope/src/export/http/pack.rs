//! The bytes of a request: a message as it is or compressed, and in front of it what gRPC wants there.

use std::io::Write as _;

use bytes::Bytes;

use super::target::Target;

/// In front of a message in gRPC: whether it is compressed, and its length in four bytes, big-endian.
const PREFIX: usize = 5;

/// The body of a request with this message.
pub(super) fn pack(target: &Target, message: &[u8]) -> Bytes {
    let start = if target.protocol.is_grpc() { PREFIX } else { 0 };
    let mut body = vec![0; start];
    if target.gzip {
        // Quickly: it is the program's processor that does it. Writing into memory does not fail.
        let mut encoder = flate2::write::GzEncoder::new(body, flate2::Compression::fast());
        let _ = encoder.write_all(message);
        body = encoder.finish().unwrap_or_default();
    } else {
        body.extend_from_slice(message);
    }
    let len = u32::try_from(body.len() - start).unwrap_or(u32::MAX);
    if let Some((prefix, _)) = body.split_first_chunk_mut::<PREFIX>().filter(|_| start > 0) {
        let [flag, length @ ..] = prefix;
        (*flag, *length) = (u8::from(target.gzip), len.to_be_bytes());
    }
    body.into()
}
