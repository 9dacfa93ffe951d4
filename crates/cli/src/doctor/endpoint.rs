//! Whether the endpoint that the layer would send to answers: an empty export, as the layer sends it, and what the
//! answer means.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use super::{Finding, broken, fine, note};
use crate::environment::{ENDPOINT, SIGNAL_ENDPOINTS};
use crate::headers::pairs;

const CHECK: &str = "endpoint";

/// Longer than a collector that is well takes.
const LIMIT: Duration = Duration::from_secs(5);

/// As much of an answer as is looked at.
const ANSWER_BYTES: u64 = 4_096;

/// Paths of the signals behind a base URL, in the order of [`SIGNAL_ENDPOINTS`].
const SIGNAL_PATHS: [&str; 2] = ["/v1/traces", "/v1/metrics"];
const SIGNALS: [&str; 2] = ["TRACES", "METRICS"];

/// Tries where traces of this environment would go, and metrics where they go somewhere else; nothing where there is
/// no endpoint.
pub(crate) fn check(environment: &BTreeMap<String, String>) -> Vec<Finding> {
    let of = |name: &str| environment.get(name).map(|text| text.trim()).filter(|text| !text.is_empty());
    let base = of(ENDPOINT).map(|url| (ENDPOINT, url));
    let own = SIGNAL_ENDPOINTS.map(|name| of(name).map(|url| (name, url)));
    let [traces, metrics, _] = own;
    if traces.or(base).is_none() {
        return Vec::new();
    }
    // One is tried of those behind the base.
    let places = [(traces.or(base), 0), (metrics.or_else(|| traces.and(base)), 1)];
    let probes = places.into_iter().filter_map(|(place, signal)| {
        let (variable, url) = place?;
        let protocol = format!("OTEL_EXPORTER_OTLP_{}_PROTOCOL", SIGNALS.get(signal)?);
        if of(&protocol).or_else(|| of("OTEL_EXPORTER_OTLP_PROTOCOL")) == Some("grpc") {
            return Some(note(
                CHECK,
                format!("{url} is for gRPC, which is not tried here."),
                "Look for a line of the layer on the program's standard error: it says once what cannot be sent.",
            ));
        }
        let headers = format!("OTEL_EXPORTER_OTLP_{}_HEADERS", SIGNALS.get(signal)?);
        let headers = of(&headers).or_else(|| of("OTEL_EXPORTER_OTLP_HEADERS")).unwrap_or("");
        let path = if variable == ENDPOINT { SIGNAL_PATHS.get(signal)? } else { "" };
        Some(probe(variable, url, path, headers))
    });
    probes.collect()
}

/// Asks `url` with `suffix` behind it; `variable` has named it.
fn probe(variable: &str, url: &str, suffix: &str, headers: &str) -> Finding {
    let absent = |error| {
        broken(
            CHECK,
            format!("{url} does not answer: {error}."),
            format!("Start the collector there, or unset {variable} to write to profiles/ instead."),
        )
    };
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    match scheme.to_ascii_lowercase().as_str() {
        "http" => {}
        "https" => {
            return match connect(&with_port(authority, 443)) {
                Ok(_) => note(
                    CHECK,
                    format!("{url} takes connections; TLS is not tried here."),
                    "Build the program with the layer's feature `tls`; it says once on standard error what is wrong with \
                     a certificate.",
                ),
                Err(error) => absent(error),
            };
        }
        _ => {
            return broken(
                CHECK,
                format!("{variable}={url} begins with neither http:// nor https://: nothing would be sent."),
                "Name the whole URL, as in http://127.0.0.1:4318.",
            );
        }
    }
    let is_base = !suffix.is_empty();
    let target = if is_base {
        format!("/{path}").trim_end_matches('/').to_owned() + suffix
    } else {
        format!("/{path}")
    };
    match exchange(&with_port(authority, 80), authority, &target, headers) {
        Ok(answer) => judge(url, (path, is_base), &answer),
        Err(error) => absent(error),
    }
}

fn with_port(authority: &str, default: u16) -> String {
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { authority.to_owned() } else { format!("{authority}:{default}") }
}

/// A connection to the first address of that name that has one.
fn connect(address: &str) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::other("the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, LIMIT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn exchange(address: &str, host: &str, target: &str, headers: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = connect(address)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.set_write_timeout(Some(LIMIT))?;
    let mut request = format!(
        "POST {target} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/x-protobuf\r\n\
         content-length: 0\r\nconnection: close\r\n"
    );
    for (name, value) in pairs(headers) {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    match stream.take(ANSWER_BYTES).read_to_end(&mut answer) {
        Err(error) if answer.is_empty() => Err(error),
        _ => Ok(answer),
    }
}

fn judge(url: &str, (path, is_base): (&str, bool), answer: &[u8]) -> Finding {
    const HTTP: &str = "Name the port for OTLP/HTTP (4318 of a collector; 4317 is for gRPC: OTEL_EXPORTER_OTLP_PROTOCOL=grpc, with the layer's feature `grpc`).";
    let head = String::from_utf8_lossy(answer);
    let status = head
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.get(2..5))
        .and_then(|code| code.parse::<u16>().ok());
    match status {
        Some(200..=299) => fine(CHECK, format!("{url} takes OTLP/HTTP.")),
        Some(code @ (404 | 405)) => {
            let fix = if !is_base {
                "Name the whole URL, with /v1/traces or /v1/metrics: nothing is added to the endpoint of one signal."
            } else if path.contains("v1/") {
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

    /// Answers once with `answer`, where it is asked for `target` with the header that it wants.
    fn server(target: &'static str, answer: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let work = move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4_096];
            let read = stream.read(&mut request).unwrap();
            let request = String::from_utf8_lossy(&request[..read]);
            assert!(request.contains("\r\nauthorization: Bearer x\r\n"), "{request}");
            assert!(request.starts_with(&format!("POST {target} HTTP/1.1\r\n")), "{request}");
            stream.write_all(answer).unwrap();
        };
        std::thread::Builder::new().name("server".into()).spawn(work).unwrap();
        url
    }

    #[test]
    fn what_goes_over_grpc_is_not_tried() {
        let environment = [(ENDPOINT, "http://127.0.0.1:1"), ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc")];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let found = check(&environment.into());
        assert_eq!(found.iter().map(|found| found.state).collect::<Vec<_>>(), [State::Note], "{found:?}");
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
            let found = probe(
                ENDPOINT,
                &server("/v1/traces", answer),
                "/v1/traces",
                "Authorization=x,authorization=Bearer%20x",
            );
            assert_eq!(found.state, state, "{found:?}");
            assert!(found.text.contains(words), "{found:?}");
        }
    }

    #[test]
    fn each_signal_is_tried_where_it_would_go() {
        const OK: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";
        const HEADERS: (&str, &str) = ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x");
        let [traces, metrics, _] = SIGNAL_ENDPOINTS;
        let tried = |variables: &[(&str, String)]| {
            let given = variables.iter().map(|(name, url)| ((*name).to_owned(), url.clone()));
            let headers = (HEADERS.0.to_owned(), HEADERS.1.to_owned());
            let findings = check(&given.chain([headers]).collect());
            findings.into_iter().map(|finding| finding.state).collect::<Vec<_>>()
        };
        assert_eq!(tried(&[(ENDPOINT, server("/base/v1/traces", OK) + "/base/")]), [State::Fine]);
        assert_eq!(tried(&[(traces, server("/in", OK) + "/in")]), [State::Fine]);
        let both = [(ENDPOINT, server("/v1/metrics", OK)), (traces, server("/in", OK) + "/in")];
        assert_eq!(tried(&both), [State::Fine, State::Fine]);
        let apart = [(ENDPOINT, server("/v1/traces", OK)), (metrics, server("/m", OK) + "/m")];
        assert_eq!(tried(&apart), [State::Fine, State::Fine]);
        assert_eq!(tried(&[(metrics, "http://127.0.0.1:1/m".to_owned())]), []);
    }

    #[test]
    fn what_cannot_be_reached_is_told() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let found = probe(ENDPOINT, &format!("http://{free}"), "/v1/traces", "");
        assert!(found.state == State::Broken && found.text.contains("refused"), "{found:?}");
        let found = probe(ENDPOINT, &format!("https://{free}"), "/v1/traces", "");
        assert!(found.state == State::Broken && found.text.contains("refused"), "{found:?}");
        assert!(probe(ENDPOINT, "collector:4318", "/v1/traces", "").text.contains("neither http://"));
    }

    #[test]
    fn an_endpoint_with_tls_is_looked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("HTTPS://{}", listener.local_addr().unwrap());
        let found = probe(ENDPOINT, &url, "/v1/traces", "");
        assert!(found.state == State::Note && found.fix.unwrap().contains("feature `tls`"));
    }
}
