//! The bytes of a request: a message as it is or compressed, and in front of it what gRPC wants there.

use std::io::{self, Write as _};

use bytes::Bytes;

use super::target::Target;
use crate::config::otlp::Compression;

/// In front of a message in gRPC: whether it is compressed, and its length in four bytes, big-endian.
const PREFIX: usize = 5;

/// The body of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Body {
    pub bytes: Bytes,
    /// How the message in it is compressed.
    pub compression: Compression,
}

/// The body of a request with this message. It is compressed quickly: the program's processor does it.
pub(super) fn pack(target: &Target, message: &[u8]) -> Body {
    pack_by(target, message, compress)
}

/// As it is where `compress` fails, as it does without memory: the receiver is told so with the request.
fn pack_by(
    target: &Target,
    message: &[u8],
    compress: impl Fn(Compression, &[u8], Vec<u8>) -> io::Result<Vec<u8>>,
) -> Body {
    let start = if target.protocol.is_grpc() { PREFIX } else { 0 };
    let (mut body, compression) = match compress(target.compression, message, vec![0; start]) {
        Ok(body) => (body, target.compression),
        Err(_) => ([&vec![0; start], message].concat(), Compression::None),
    };
    let len = u32::try_from(body.len() - start).unwrap_or(u32::MAX);
    if let Some((prefix, _)) = body.split_first_chunk_mut::<PREFIX>().filter(|_| start > 0) {
        let [flag, length @ ..] = prefix;
        (*flag, *length) = (u8::from(compression != Compression::None), len.to_be_bytes());
    }
    Body { bytes: body.into(), compression }
}

/// Adds the message to `body`.
fn compress(compression: Compression, message: &[u8], mut body: Vec<u8>) -> io::Result<Vec<u8>> {
    match compression {
        Compression::None => body.extend_from_slice(message),
        Compression::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(body, flate2::Compression::fast());
            encoder.write_all(message)?;
            body = encoder.finish()?;
        }
        #[cfg(feature = "zstd")]
        Compression::Zstd => body.extend(zstd::bulk::compress(message, 1)?),
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::otlp::Otlp;
    use crate::export::http::Targets;

    fn target() -> Target {
        let mut otlp = Otlp { endpoint: Some("http://host".into()), ..Otlp::default() };
        otlp.traces.compression = Compression::Gzip;
        Targets::parse(&otlp).unwrap().traces
    }

    #[test]
    fn what_cannot_be_compressed_goes_as_it_is() {
        let fails = |_, _: &[u8], _| Err(io::Error::other("no memory"));
        let Body { bytes, compression } = pack_by(&target(), b"message", fails);
        assert_eq!((&bytes[..], compression), (&b"message"[..], Compression::None));
        let Body { bytes, compression } = pack(&target(), b"message");
        assert_eq!((&bytes[..2], compression), (&[0x1f, 0x8b][..], Compression::Gzip));
    }

    #[cfg(feature = "grpc")]
    #[test]
    fn the_prefix_says_what_the_message_is() {
        let target = Target { protocol: crate::config::otlp::Protocol::Grpc, ..target() };
        let body = pack_by(&target, b"message", |_, _, _| Err(io::Error::other("no memory")));
        assert_eq!(&body.bytes[..], b"\0\0\0\0\x07message");
        let body = pack(&target, b"message");
        let bytes = body.bytes;
        let length = u32::from_be_bytes(bytes[1..5].try_into().unwrap());
        assert_eq!((bytes[0], length), (1, bytes.len() as u32 - 5));
    }
}
