//! Where a signal goes, from OpenTelemetry's variables: the endpoint of the signal, else the base's, else a collector on this
//! machine; headers and the time that a request may take.

use std::time::Duration;

use crate::environment::{ENDPOINT, SIGNAL_ENDPOINTS};
use crate::headers;

/// Where a collector listens unless told otherwise.
const DEFAULT: &str = "http://localhost:4318";
/// Time that a request may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Metrics,
    Logs,
}

impl Signal {
    /// As variables name it.
    const fn name(self) -> &'static str {
        match self {
            Self::Metrics => "METRICS",
            Self::Logs => "LOGS",
        }
    }

    /// Its path behind a base.
    const fn path(self) -> &'static str {
        match self {
            Self::Metrics => "/v1/metrics",
            Self::Logs => "/v1/logs",
        }
    }

    const fn endpoint(self) -> &'static str {
        let [_, metrics, logs] = SIGNAL_ENDPOINTS;
        match self {
            Self::Metrics => metrics,
            Self::Logs => logs,
        }
    }
}

/// Where requests of a signal go.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The whole URL, as messages name it.
    pub(super) url: String,
    /// Host and port, as the URL has them.
    pub(super) authority: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) timeout: Duration,
}

impl Target {
    /// Absent where the signal is not wanted.
    ///
    /// # Errors
    /// What is wrong with the variables.
    pub(super) fn of(
        signal: Signal,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, String> {
        let name = signal.name();
        if variable(&format!("OTEL_{name}_EXPORTER")).as_deref() == Some("none") {
            return Ok(None);
        }
        let either = |what: &str| {
            variable(&format!("OTEL_EXPORTER_OTLP_{name}_{what}"))
                .or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{what}")))
        };
        let url = match variable(signal.endpoint()) {
            Some(own) => own,
            None => {
                let base = variable(ENDPOINT).unwrap_or_else(|| DEFAULT.to_owned());
                // One without a host stays as it is, and is told below.
                let base = if base.ends_with("://") { &base } else { base.trim_end_matches('/') };
                format!("{base}{}", signal.path())
            }
        };
        if either("PROTOCOL").as_deref() == Some("grpc") {
            return Err(format!(
                "failed to push to {url}: the protocol is gRPC, and only OTLP/HTTP is spoken here; set {}, as {DEFAULT}{}, and \
                 OTEL_EXPORTER_OTLP_{name}_PROTOCOL=http/protobuf",
                signal.endpoint(),
                signal.path()
            ));
        }
        let (authority, path) = taken_apart(&url).map_err(|why| format!("failed to push to {url}: {why}"))?;
        let timeout = match either("TIMEOUT").map(|text| text.parse::<u64>()) {
            Some(Ok(ms)) if ms > 0 => Duration::from_millis(ms),
            _ => TIMEOUT,
        };
        let headers = either("HEADERS").unwrap_or_default();
        Ok(Some(Self { authority, path, headers: headers::pairs(&headers), timeout, url }))
    }
}

/// Host with port, and path.
fn taken_apart(url: &str) -> Result<(String, String), &'static str> {
    let (scheme, rest) = url.split_once("://").ok_or("it does not begin with http://")?;
    match &*scheme.to_ascii_lowercase() {
        "http" => {}
        "https" => return Err("https is not spoken here: a collector on this machine can forward it"),
        _ => return Err("it does not begin with http://"),
    }
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.is_empty() || authority.contains('@') {
        return Err("it needs a host, and no user before it (OTEL_EXPORTER_OTLP_HEADERS has secrets)");
    }
    if url.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
        return Err("it has blanks in it: percent-encode them");
    }
    Ok((authority.to_owned(), format!("/{path}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(signal: Signal, given: &[(&str, &str)]) -> Result<Option<Target>, String> {
        Target::of(signal, &|name| {
            given.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_signal_goes_to_its_own_endpoint_else_behind_the_base() {
        let url = |signal, given: &[(&str, &str)]| of(signal, given).unwrap().unwrap().url;
        assert_eq!(url(Signal::Metrics, &[]), "http://localhost:4318/v1/metrics");
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:1/otlp/");
        assert_eq!(url(Signal::Logs, &[base]), "http://c:1/otlp/v1/logs");
        let own = ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://l/in");
        assert_eq!(url(Signal::Logs, &[base, own]), "http://l/in");
        assert_eq!(url(Signal::Metrics, &[base, own]), "http://c:1/otlp/v1/metrics");
    }

    #[test]
    fn headers_and_times_are_those_of_the_signal() {
        let given = [
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x, bad name=1,b=2"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "50"),
            ("OTEL_EXPORTER_OTLP_LOGS_TIMEOUT", "0"),
        ];
        let metrics = of(Signal::Metrics, &given).unwrap().unwrap();
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(metrics.headers, [header("authorization", "Bearer x"), header("b", "2")]);
        assert_eq!(metrics.timeout, Duration::from_millis(50));
        assert_eq!(of(Signal::Logs, &given).unwrap().unwrap().timeout, TIMEOUT);
    }

    #[test]
    fn what_is_not_wanted_or_not_spoken_is_told_apart() {
        assert_eq!(of(Signal::Logs, &[("OTEL_LOGS_EXPORTER", "none")]), Ok(None));
        let cases = [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "gRPC"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c", "https is not spoken"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4318", "does not begin with http://"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://", "needs a host"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c d", "blanks"),
        ];
        for (name, value, why) in cases {
            let error = of(Signal::Metrics, &[(name, value)]).unwrap_err();
            assert!(error.starts_with("failed to push to ") && error.contains(why), "{error}");
        }
    }
}
