//! The bytes of a request: a message as it is or compressed, and in front of it what gRPC wants there.

use std::io::Write as _;

use bytes::Bytes;

use super::target::Target;
use crate::config::otlp::Compression;

/// In front of a message in gRPC: whether it is compressed, and its length in four bytes, big-endian.
const PREFIX: usize = 5;

/// The body of a request with this message. It is compressed quickly: the program's processor does it.
pub(super) fn pack(target: &Target, message: &[u8]) -> Bytes {
    let start = if target.protocol.is_grpc() { PREFIX } else { 0 };
    let mut body = vec![0; start];
    // Writing into memory does not fail.
    match target.compression {
        Compression::None => body.extend_from_slice(message),
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(body, flate2::Compression::fast());
            let _ = encoder.write_all(message);
            body = encoder.finish().unwrap_or_default();
        }
        #[cfg(feature = "zstd")]
        Compression::Zstd => body.extend(zstd::bulk::compress(message, 1).unwrap_or_default()),
    }
    let len = u32::try_from(body.len() - start).unwrap_or(u32::MAX);
    if let Some((prefix, _)) = body.split_first_chunk_mut::<PREFIX>().filter(|_| start > 0) {
        let [flag, length @ ..] = prefix;
        (*flag, *length) = (u8::from(target.compression != Compression::None), len.to_be_bytes());
    }
    body.into()
}
