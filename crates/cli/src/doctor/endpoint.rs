//! Whether the endpoint that the layer would send to answers: an empty export, as the layer sends it, and what the
//! answer means.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::{Finding, broken, fine};
use crate::environment::ENDPOINT;

const CHECK: &str = "endpoint";

/// Longer than a collector that is well takes.
const LIMIT: Duration = Duration::from_secs(5);

/// As much of an answer as is looked at.
const ANSWER_BYTES: u64 = 4_096;

/// Tries the endpoint of the environment; `None` where there is none.
pub(crate) fn check(environment: &BTreeMap<String, String>) -> Option<Finding> {
    let url = environment.get(ENDPOINT).map(|url| url.trim()).filter(|url| !url.is_empty())?;
    let headers = environment.get("OTEL_EXPORTER_OTLP_HEADERS").map_or("", String::as_str);
    Some(probe(url, headers))
}

fn probe(url: &str, headers: &str) -> Finding {
    let Some(rest) = url.strip_prefix("http://") else {
        let text =
            format!("{ENDPOINT}={url} is not http://, and the layer has no TLS: nothing would be sent.");
        return broken(
            CHECK,
            text,
            "Send to a collector on the same host, http://127.0.0.1:4318, and let it go on by TLS.",
        );
    };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let path = path.trim_matches('/');
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let address = if has_port { authority.to_owned() } else { format!("{authority}:80") };
    let prefix = if path.is_empty() { String::new() } else { format!("/{path}") };
    match exchange(&address, authority, &prefix, headers) {
        Ok(answer) => judge(url, path, &answer),
        Err(error) => broken(
            CHECK,
            format!("{url} does not answer: {error}."),
            "Start the collector there, or unset OTEL_EXPORTER_OTLP_ENDPOINT to write to profiles/ instead.",
        ),
    }
}

fn exchange(address: &str, host: &str, prefix: &str, headers: &str) -> std::io::Result<Vec<u8>> {
    let mut last = std::io::Error::other("the name has no address");
    for address in address.to_socket_addrs()? {
        let mut stream = match TcpStream::connect_timeout(&address, LIMIT) {
            Ok(stream) => stream,
            Err(error) => {
                last = error;
                continue;
            }
        };
        stream.set_read_timeout(Some(LIMIT))?;
        stream.set_write_timeout(Some(LIMIT))?;
        let mut request = format!(
            "POST {prefix}/v1/traces HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/x-protobuf\r\n\
             content-length: 0\r\nconnection: close\r\n"
        );
        for (name, value) in headers.split(',').filter_map(|pair| pair.split_once('=')) {
            let (name, value) = (name.trim(), value.trim());
            if !name.is_empty() && !format!("{name}{value}").contains(['\r', '\n']) {
                request.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        match stream.take(ANSWER_BYTES).read_to_end(&mut answer) {
            Err(error) if answer.is_empty() => return Err(error),
            _ => return Ok(answer),
        }
    }
    Err(last)
}

fn judge(url: &str, path: &str, answer: &[u8]) -> Finding {
    const HTTP: &str = "Name the port for OTLP/HTTP (4318 of a collector; 4317 is for gRPC, which the layer does not speak).";
    let head = String::from_utf8_lossy(answer);
    let status = head
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.get(2..5))
        .and_then(|code| code.parse::<u16>().ok());
    match status {
        Some(200..=299) => fine(CHECK, format!("{url} takes OTLP/HTTP.")),
        Some(code @ (404 | 405)) => {
            let fix = if path.contains("v1/") {
                "Leave /v1/traces away: the endpoint is the base, the layer adds the rest."
            } else {
                "Name the base URL of an OTLP/HTTP receiver; /v1/traces is added to it."
            };
            broken(CHECK, format!("{url} answers with {code} to an export."), fix)
        }
        Some(code @ (401 | 403)) => broken(
            CHECK,
            format!("{url} answers with {code}: it wants to know who sends."),
            "Set OTEL_EXPORTER_OTLP_HEADERS, as in 'authorization=Bearer TOKEN'.",
        ),
        Some(code @ (429 | 502 | 503 | 504)) => broken(
            CHECK,
            format!("{url} answers with {code}: it takes nothing at the moment."),
            "Read the collector's log; the layer tries again, and drops what does not fit into 16 MiB.",
        ),
        Some(code) => broken(CHECK, format!("{url} answers with {code} to an empty export."), HTTP),
        None if answer.is_empty() => broken(
            CHECK,
            format!("{url} ends the connection without an answer; it may speak gRPC or TLS."),
            HTTP,
        ),
        None => broken(CHECK, format!("{url} does not speak HTTP/1.1; it may speak gRPC."), HTTP),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;
    use std::net::TcpListener;

    /// Answers once with `answer`.
    fn server(answer: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let work = move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4_096];
            let read = stream.read(&mut request).unwrap();
            let request = String::from_utf8_lossy(&request[..read]);
            assert!(request.contains("\r\nauthorization: Bearer x\r\n"), "{request}");
            stream.write_all(answer).unwrap();
        };
        std::thread::Builder::new().name("server".into()).spawn(work).unwrap();
        url
    }

    #[test]
    fn answers_are_understood() {
        let cases: [(&'static [u8], State, &str); 6] = [
            (b"HTTP/1.1 200 OK\r\n\r\n", State::Fine, "takes OTLP/HTTP"),
            (b"HTTP/1.1 404 Not Found\r\n\r\n", State::Broken, "404"),
            (b"HTTP/1.1 401 Unauthorized\r\n\r\n", State::Broken, "who sends"),
            (b"HTTP/1.1 503 Unavailable\r\n\r\n", State::Broken, "nothing at the moment"),
            (b"\0\0\x06\x04\0\0\0\0\0\0\x05\0\0\x40\0", State::Broken, "gRPC"),
            (b"", State::Broken, "without an answer"),
        ];
        for (answer, state, words) in cases {
            let found = probe(&server(answer), "Authorization=x,authorization=Bearer x");
            assert_eq!(found.state, state, "{found:?}");
            assert!(found.text.contains(words), "{found:?}");
        }
    }

    #[test]
    fn what_cannot_be_reached_is_told() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let found = probe(&format!("http://{free}"), "");
        assert!(found.state == State::Broken && found.text.contains("refused"), "{found:?}");
        assert!(probe("https://collector:4318", "").text.contains("no TLS"));
        assert!(probe("collector:4318", "").text.contains("not http://"));
    }
}
