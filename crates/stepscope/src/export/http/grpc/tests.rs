//! Answers of gRPC, judged.

use hyper::header::{HeaderName, HeaderValue};

use super::*;

/// `Status { details: [RetryInfo { retry_delay: 2 s }] }`, in base64 by another program.
const TWO_SECONDS: &str = "GjAKKHR5cGUuZ29vZ2xlYXBpcy5jb20vZ29vZ2xlLnJwYy5SZXRyeUluZm8SBAoCCAI=";

fn map(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    let pair = |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
    pairs.iter().map(pair).collect()
}

fn judged(trailers: &[(&'static str, &'static str)], body: &[u8]) -> Outcome {
    judge(StatusCode::OK, &map(&[("content-type", "application/grpc+proto")]), Some(&map(trailers)), body)
}

#[test]
fn statuses_are_judged_as_the_specification_says() {
    let codes = [
        ("1", 'd'),
        ("2", 'r'),
        ("3", 'r'),
        ("4", 'd'),
        ("5", 'r'),
        ("6", 'r'),
        ("7", 'r'),
        ("8", 'r'),
        ("9", 'r'),
        ("10", 'd'),
        ("11", 'd'),
        ("12", 'r'),
        ("13", 'r'),
        ("14", 'a'),
        ("15", 'd'),
        ("16", 'r'),
        ("17", 'r'),
    ];
    for (code, expected) in codes {
        let got = match judged(&[("grpc-status", code)], b"") {
            Outcome::Retry { pause: None, is_in_doubt: true, .. } => 'd',
            Outcome::Retry { pause: None, is_in_doubt: false, .. } => 'a',
            Outcome::Refused(_) => 'r',
            other => panic!("{code}: {other:?}"),
        };
        assert_eq!(got, expected, "{code}");
        let with_pause = judged(&[("grpc-status", code), ("grpc-status-details-bin", TWO_SECONDS)], b"");
        let named = matches!(&with_pause, Outcome::Retry { pause: Some(pause), .. } if pause.as_secs() == 2);
        assert_eq!(named, expected != 'r' || code == "8", "{with_pause:?}");
    }
}

#[test]
fn what_was_rejected_is_read() {
    let message = b"\0\0\0\0\x08\x0a\x06\x08\x03\x12\x02no";
    let outcome = judged(&[("grpc-status", "0")], message);
    assert!(matches!(outcome, Outcome::Accepted { rejected: 3, message } if message == "no"));
    // Compressed as the request was.
    for packed in packed(message.get(5..).unwrap()) {
        let outcome = judged(&[("grpc-status", "0")], &packed);
        assert!(
            matches!(&outcome, Outcome::Accepted { rejected: 3, message } if message == "no"),
            "{outcome:?}"
        );
    }
    for whole in
        [b"".to_vec(), b"\0\0\0\0\0".to_vec(), b"\x01\0\0\0\0".to_vec()].into_iter().chain(packed(b""))
    {
        let outcome = judged(&[("grpc-status", "0")], &whole);
        assert!(matches!(outcome, Outcome::Accepted { rejected: 0, .. }), "{whole:?}");
    }
}

#[test]
fn what_cannot_be_read_of_an_answer_does_not_say_that_all_was_taken() {
    // Cut off, no message of this kind, of another codec, of a flag that does not exist, longer than it says.
    let strange =
        [&b"\0\0"[..], b"\0\0\0\0\x03abc", b"\x01\0\0\0\x03abc", b"\x02\0\0\0\x01a", b"\0\0\0\0\0\0\0\0\0\0"];
    let packed = packed(b"\x0a\x06\x08\x03\x12\x02no");
    let damaged = packed.iter().map(|whole| {
        // Its length is right, and its end is missing.
        let message = whole.get(5..whole.len() - 6).unwrap();
        framed(message)
    });
    for strange in strange.into_iter().map(<[u8]>::to_vec).chain(damaged) {
        let outcome = judged(&[("grpc-status", "0")], &strange);
        assert!(matches!(outcome, Outcome::Unknown(_)), "{strange:?} {outcome:?}");
    }
}

/// A message that is compressed, behind its prefix.
fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&b"\x01"[..], &length, message].concat()
}

/// The same message, compressed by what is read.
fn packed(message: &[u8]) -> Vec<Vec<u8>> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, message).unwrap();
    #[cfg_attr(not(feature = "zstd"), expect(unused_mut, reason = "one codec only"))]
    let mut packed = vec![framed(&gzip.finish().unwrap())];
    #[cfg(feature = "zstd")]
    packed.push(framed(&zstd::bulk::compress(message, 1).unwrap()));
    packed
}

#[test]
fn a_status_may_be_in_front_or_missing() {
    let front = map(&[
        ("content-type", "application/grpc"),
        ("grpc-status", "12"),
        ("grpc-message", "no such %22thing%22"),
    ]);
    let refused = judge(StatusCode::OK, &front, None, b"");
    assert!(
        matches!(&refused, Outcome::Refused(why) if why == "gRPC status 12 UNIMPLEMENTED: no such \"thing\""),
        "{refused:?}"
    );
    assert!(matches!(judged(&[], b""), Outcome::Unknown(_)));
    assert!(matches!(judged(&[("grpc-status", "many")], b""), Outcome::Unknown(_)));
}

#[test]
fn who_does_not_speak_grpc_is_judged_by_the_status_of_http() {
    for (status, expected) in [(200, 'r'), (404, 'r'), (429, 'a'), (502, 'd'), (503, 'a'), (504, 'd')] {
        let html = map(&[("content-type", "text/html")]);
        let got = match judge(StatusCode::from_u16(status).unwrap(), &html, None, b"<html>") {
            Outcome::Retry { is_in_doubt: true, .. } => 'd',
            Outcome::Retry { is_in_doubt: false, .. } => 'a',
            Outcome::Refused(_) => 'r',
            other => panic!("{status}: {other:?}"),
        };
        assert_eq!(got, expected, "{status}");
    }
}

#[test]
fn base64_is_undone() {
    for (text, bytes) in [
        ("", &b""[..]),
        ("Zg==", b"f"),
        ("Zg", b"f"),
        ("Zm8", b"fo"),
        ("Zm9v", b"foo"),
        ("+/8=", b"\xfb\xff"),
    ] {
        assert_eq!(base64(text).as_deref(), Some(bytes), "{text}");
    }
    assert_eq!(base64("Zg=x"), None);
}

#[test]
fn a_deadline_has_eight_digits_at_most() {
    assert_eq!(timeout(Duration::from_millis(250)), "250m");
    assert_eq!(timeout(Duration::from_millis(99_999_999)), "99999999m");
    assert_eq!(timeout(Duration::from_millis(100_000_999)), "100000S");
    assert_eq!(timeout(Duration::MAX), "99999999S");
}
