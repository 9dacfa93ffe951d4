//! The server's answer to an export of traces or metrics. Status codes and retries are the exporter's.

use std::time::Duration;

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

/// The type of the detail that names a pause, after the last slash of its URL.
const RETRY_INFO: &[u8] = b"google.rpc.RetryInfo";

/// The pause before the next try that a `google.rpc.Status` names in a `google.rpc.RetryInfo` among its details.
/// `None` if it names none, or is damaged; a negative one is zero.
pub fn decode_retry_delay(status: &[u8]) -> Option<Duration> {
    read_details(status).ok().flatten()
}

fn read_details(status: &[u8]) -> Result<Option<Duration>> {
    let mut delay = None;
    let mut r = Reader::new(status);
    while !r.at_end() {
        match r.tag()? {
            0x1a => {
                let (mut url, mut value) = (&[][..], &[][..]);
                let mut detail = r.message()?;
                while !detail.at_end() {
                    match detail.tag()? {
                        0x0a => url = detail.bytes()?,
                        0x12 => value = detail.bytes()?,
                        tag => detail.skip_unknown(tag, "detail", 0b110)?,
                    }
                }
                if url.rsplit(|&byte| byte == b'/').next() == Some(RETRY_INFO) {
                    delay = Some(read_retry_info(value)?);
                }
            }
            tag => r.skip_unknown(tag, "status", 0b1000)?,
        }
    }
    Ok(delay)
}

/// `google.rpc.RetryInfo`, in which a `google.protobuf.Duration` is the first field.
fn read_retry_info(bytes: &[u8]) -> Result<Duration> {
    let (mut seconds, mut nanos) = (0_i64, 0_i32);
    let mut r = Reader::new(bytes);
    while !r.at_end() {
        match r.tag()? {
            0x0a => {
                let mut delay = r.message()?;
                while !delay.at_end() {
                    match delay.tag()? {
                        0x08 => seconds = delay.varint()? as i64,
                        0x10 => nanos = delay.int32()?,
                        tag => delay.skip_unknown(tag, "duration", 0b110)?,
                    }
                }
            }
            tag => r.skip_unknown(tag, "retry info", 0b10)?,
        }
    }
    let whole = Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    Ok(whole.saturating_add(Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{decode_export_response, decode_retry_delay};

    /// `Status { code: 8, message: "later", details: [RetryInfo { retry_delay: 2.5 s }] }`.
    const LATER: &[u8] = b"\x08\x08\x12\x05later\x1a\x36\x0a\x28type.googleapis.com/google.rpc.RetryInfo\
        \x12\x0a\x0a\x08\x08\x02\x10\x80\xca\xb5\xee\x01";

    #[test]
    fn a_pause_is_found_among_the_details() {
        assert_eq!(decode_retry_delay(LATER), Some(Duration::from_millis(2_500)));
        // Another detail beside it, and none at all.
        let other = b"\x1a\x05\x0a\x03a/b";
        assert_eq!(decode_retry_delay(&[other, LATER].concat()), Some(Duration::from_millis(2_500)));
        assert_eq!(decode_retry_delay(other), None);
        assert_eq!(decode_retry_delay(b""), None);
        // No delay is said: at once.
        let url = b"\x1a\x2a\x0a\x28type.googleapis.com/google.rpc.RetryInfo";
        assert_eq!(decode_retry_delay(url), Some(Duration::ZERO));
    }

    #[test]
    fn a_damaged_status_names_no_pause() {
        for end in 9..LATER.len() {
            assert_eq!(decode_retry_delay(&LATER[..end]), None, "{end}");
        }
        // Negative: -1 s.
        let negative = b"\x1a\x39\x0a\x28type.googleapis.com/google.rpc.RetryInfo\
            \x12\x0d\x0a\x0b\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
        assert_eq!(decode_retry_delay(negative), Some(Duration::ZERO));
    }

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
