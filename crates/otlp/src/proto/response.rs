//! The server's answer to an export of traces or metrics. Status codes and retries are the exporter's.

use super::decode::Result;
use super::wire::Reader;

/// The `partial_success` of an export response: items rejected, and the server's message.
/// `None` if the response is damaged; `(0, "")` if everything was accepted.
pub fn decode_export_response(bytes: &[u8]) -> Option<(i64, &str)> {
    read(bytes).ok().and_then(|(rejected, message)| Some((rejected, str::from_utf8(message).ok()?)))
}

fn read(bytes: &[u8]) -> Result<(i64, &[u8])> {
    let (mut rejected, mut message) = (0, &[][..]);
    let mut r = Reader::new(bytes);
    while !r.at_end() {
        match r.tag()? {
            0x0a => {
                let mut partial = r.message()?;
                while !partial.at_end() {
                    match partial.tag()? {
                        0x08 => rejected = partial.varint()? as i64,
                        0x12 => message = partial.bytes()?,
                        tag => partial.skip_unknown(tag, "partial success", 0b110)?,
                    }
                }
            }
            tag => r.skip_unknown(tag, "export response", 0b10)?,
        }
    }
    Ok((rejected, message))
}

#[cfg(test)]
mod tests {
    use super::decode_export_response;

    #[test]
    fn full_and_partial_success() {
        assert_eq!(decode_export_response(b""), Some((0, "")));
        assert_eq!(decode_export_response(b"\x0a\x00"), Some((0, "")));
        assert_eq!(decode_export_response(b"\x0a\x08\x08\x07\x12\x04full"), Some((7, "full")));
        assert_eq!(decode_export_response(b"\x0a\x04\x12\x02ok\x10\x01"), Some((0, "ok")));
    }

    #[test]
    fn damage_is_no_answer() {
        for damaged in [&b"\x0a"[..], b"\x0a\x05\x08\x07", b"\x08\x01", b"\x0a\x03\x12\x01\xff", b"<html>"] {
            assert_eq!(decode_export_response(damaged), None, "{damaged:?}");
        }
    }
}
