//! One request of OTLP over HTTP/1.1, tried a few times, and what the answer means. Connections are not kept: a push has two
//! requests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use stepscope_otlp::{json, proto};

use super::target::Target;

/// A request that may be repeated is sent so often. All of them may: the same points again change nothing.
const TRIES: u32 = 3;
/// Pause before the next try, unless the receiver names one…
const PAUSE: Duration = Duration::from_secs(1);
/// …which is at most this.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// As much of an answer as is read.
const ANSWER_BYTES: u64 = 65_536;

/// A message in its encoding.
#[derive(Debug)]
pub(super) enum Body {
    Protobuf(Vec<u8>),
    Json(String),
}

impl Body {
    const fn parts(&self) -> (&'static str, &[u8]) {
        match self {
            Self::Protobuf(bytes) => ("application/x-protobuf", bytes.as_slice()),
            Self::Json(text) => ("application/json", text.as_bytes()),
        }
    }
}

/// What came of one try.
enum Outcome {
    Taken,
    /// Another try may help, after this time where the receiver says one.
    Later(String, Option<Duration>),
    Refused(String),
}

/// Sends it.
///
/// # Errors
/// Why it was not taken, with the address.
pub(super) fn post(target: &Target, body: &Body) -> Result<(), String> {
    let mut why = String::new();
    let addresses = addresses(&target.authority)
        .map_err(|error| format!("failed to push to {}: {error}; is the name right?", target.url))?;
    for left in (0..TRIES).rev() {
        let pause = match attempt(target, &addresses, body) {
            Outcome::Taken => return Ok(()),
            Outcome::Later(reason, pause) => {
                why = reason;
                pause
            }
            Outcome::Refused(reason) => {
                why = reason;
                break;
            }
        };
        if left > 0 {
            std::thread::sleep(pause.unwrap_or(PAUSE).min(LONGEST_PAUSE));
        }
    }
    Err(format!("failed to push to {}: {why}", target.url))
}

fn attempt(target: &Target, addresses: &[SocketAddr], body: &Body) -> Outcome {
    match exchange(target, addresses, body) {
        Ok(answer) => judge(&answer),
        // Nobody listens: that is so in a second, too.
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => Outcome::Refused(
            "nobody listens there; start a collector, or set OTEL_EXPORTER_OTLP_ENDPOINT".into(),
        ),
        Err(error) => Outcome::Later(error.to_string(), None),
    }
}

/// Sends the request and gives the whole answer.
fn exchange(target: &Target, addresses: &[SocketAddr], body: &Body) -> std::io::Result<Vec<u8>> {
    let deadline = Instant::now() + target.timeout;
    let (kind, bytes) = body.parts();
    let mut head = format!(
        "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\
         user-agent: stepscope/{}\r\n",
        target.path,
        target.authority,
        bytes.len(),
        env!("CARGO_PKG_VERSION")
    );
    for (name, value) in &target.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let mut stream = connect(addresses, target.timeout)?;
    let late = || {
        std::io::Error::new(std::io::ErrorKind::TimedOut, format!("no answer within {:?}", target.timeout))
    };
    let left = |deadline: Instant| {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(late()) } else { Ok(left) }
    };
    stream.set_write_timeout(Some(left(deadline)?))?;
    stream.write_all(head.as_bytes())?;
    stream.write_all(bytes)?;
    let mut answer = Vec::new();
    let mut chunk = [0; 4_096];
    while (answer.len() as u64) < ANSWER_BYTES && !is_whole(&answer) {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(&mut chunk) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error)
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
            {
                return Err(late());
            }
            // Who has answered may break the connection off.
            Err(error) if answer.is_empty() => return Err(error),
            Err(_) => break,
        }
    }
    Ok(answer)
}

/// The addresses of a host, with the usual port where it names none.
fn addresses(authority: &str) -> std::io::Result<Vec<SocketAddr>> {
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = if has_port { authority.to_owned() } else { format!("{authority}:80") };
    Ok(address.to_socket_addrs()?.collect())
}

/// A connection to the first address that has one.
fn connect(addresses: &[SocketAddr], timeout: Duration) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::other("the name has no address");
    for address in addresses {
        match TcpStream::connect_timeout(address, timeout) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Head and body of an answer, where its head is there.
fn parts(answer: &[u8]) -> Option<(&str, &[u8])> {
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(answer.get(..end)?).ok()?;
    Some((head, answer.get(end + 4..)?))
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let fields = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    fields.filter(|(key, _)| key.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).next()
}

/// Whether everything is there that the head announces; what ends with the connection is so at its end.
fn is_whole(answer: &[u8]) -> bool {
    let Some((head, body)) = parts(answer) else { return false };
    if is_chunked(head) {
        return body.ends_with(b"0\r\n\r\n");
    }
    let length = header(head, "content-length").and_then(|text| text.parse::<usize>().ok());
    length.is_some_and(|length| body.len() >= length)
}

fn is_chunked(head: &str) -> bool {
    header(head, "transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"))
}

/// The body of a chunked answer; what is cut off is left out.
fn joined(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|window| window == b"\r\n") {
        let size = body.get(..end).and_then(|line| std::str::from_utf8(line).ok());
        let size = size.and_then(|line| line.split(';').next());
        let size = size.and_then(|digits| usize::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0);
        let chunk = end.checked_add(2).and_then(|begin| body.get(begin..begin.checked_add(size)?));
        let Some(chunk) = chunk.filter(|chunk| !chunk.is_empty()) else { break };
        whole.extend_from_slice(chunk);
        body = body.get(end + 2 + size + 2..).unwrap_or_default();
    }
    whole
}

fn judge(answer: &[u8]) -> Outcome {
    let Some((head, body)) = parts(answer) else {
        let why = if answer.is_empty() {
            "it ends the connection without an answer"
        } else {
            "it does not speak HTTP/1.1"
        };
        return Outcome::Later(format!("{why}; it may speak gRPC or TLS"), None);
    };
    let status = head.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)?.parse::<u16>().ok());
    let body = if is_chunked(head) { joined(body) } else { body.to_vec() };
    match status {
        Some(200..=299) => accepted(&body),
        Some(code @ (429 | 502 | 503 | 504)) => {
            let pause =
                header(head, "retry-after").and_then(|text| text.parse().ok()).map(Duration::from_secs);
            Outcome::Later(format!("it answers with {code}"), pause)
        }
        Some(code @ (404 | 405)) => Outcome::Refused(format!(
            "it answers with {code}: has the collector a pipeline for this signal, and is this the base of OTLP/HTTP?"
        )),
        Some(code @ (401 | 403)) => Outcome::Refused(format!(
            "it answers with {code}: set OTEL_EXPORTER_OTLP_HEADERS, as in 'authorization=Bearer TOKEN'"
        )),
        Some(code) => Outcome::Refused(format!("it answers with {code}")),
        None => Outcome::Refused("it does not speak HTTP/1.1; it may speak gRPC".into()),
    }
}

/// Some answer in JSON whatever they are sent.
fn accepted(body: &[u8]) -> Outcome {
    let answer = proto::decode_export_response(body)
        .map(|(rejected, message)| (rejected, message.to_owned()))
        .or_else(|| json::decode_export_response(body));
    match answer {
        Some((rejected, message)) if rejected > 0 => {
            Outcome::Refused(format!("it rejected {rejected} of what was sent: {message}"))
        }
        Some(_) => Outcome::Taken,
        None => Outcome::Refused("its answer is not that of an OTLP receiver; is the endpoint right?".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(answer: &[u8]) -> Result<(), String> {
        match judge(answer) {
            Outcome::Taken => Ok(()),
            Outcome::Later(why, pause) => Err(format!("later {pause:?}: {why}")),
            Outcome::Refused(why) => Err(format!("refused: {why}")),
        }
    }

    #[test]
    fn answers_are_understood() {
        assert_eq!(judged(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"), Ok(()));
        assert_eq!(judged(b"HTTP/1.1 200 OK\r\n\r\n{\"partialSuccess\":{}}"), Ok(()));
        assert_eq!(
            judged(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
            Ok(())
        );
        let cases: [(&[u8], &str); 6] = [
            (b"HTTP/1.1 200 OK\r\n\r\n{\"partialSuccess\":{\"rejectedLogRecords\":\"2\",\"errorMessage\":\"no\"}}", "rejected 2"),
            (b"HTTP/1.1 200 OK\r\n\r\n<html>", "not that of an OTLP receiver"),
            (b"HTTP/1.1 503 Busy\r\nretry-after: 2\r\n\r\n", "later Some(2s)"),
            (b"HTTP/1.1 404 No\r\n\r\n", "a pipeline for this signal"),
            (b"HTTP/1.1 401 No\r\n\r\n", "OTEL_EXPORTER_OTLP_HEADERS"),
            (b"", "without an answer"),
        ];
        for (answer, why) in cases {
            let said = judged(answer);
            assert!(said.as_ref().is_err_and(|text| text.contains(why)), "{said:?}");
        }
    }

    #[test]
    fn an_answer_is_whole_when_all_is_there() {
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{"));
        assert!(is_whole(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"));
        assert!(!is_whole(b"HTTP/1.1 200 OK\r\n\r\n{}"), "it ends with the connection");
        assert!(is_whole(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"));
    }

    #[test]
    fn chunks_are_joined_and_cut_ones_left_out() {
        assert_eq!(joined(b"2;x=y\r\nab\r\n1\r\nc\r\n0\r\n\r\n"), b"abc");
        assert_eq!(joined(b"2\r\nab\r\nff\r\nc"), b"ab");
        assert_eq!(joined(b"ffffffffffffffff\r\nc"), b"");
        assert_eq!(joined(b"x"), b"");
    }
}
