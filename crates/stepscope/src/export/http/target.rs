//! Where requests go: an endpoint's URL taken apart, with what is sent along with every request.

use std::time::Duration;

use crate::config::otlp::{Otlp, Signal};

/// Where requests of one signal go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub host: String,
    pub port: u16,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub gzip: bool,
    pub timeout: Duration,
}

/// Where all requests go.
#[derive(Debug, Clone)]
pub(crate) struct Targets {
    pub traces: Target,
    /// `None` where only traces have an endpoint.
    pub metrics: Option<Target>,
}

impl Targets {
    /// Reads the URLs. The error says what is wrong with them.
    pub(crate) fn parse(otlp: &Otlp) -> Result<Self, String> {
        let target = |signal: &Signal, path: &str| match (&signal.endpoint, &otlp.endpoint) {
            (Some(url), _) => Target::parse(url, "", signal).map(Some),
            (None, Some(base)) => Target::parse(base, path, signal).map(Some),
            (None, None) => Ok(None),
        };
        let traces = target(&otlp.traces, "/v1/traces")?.ok_or("no endpoint for traces is set")?;
        Ok(Self { traces, metrics: target(&otlp.metrics, "/v1/metrics")? })
    }
}

impl Target {
    fn parse(url: &str, path_of_signal: &str, signal: &Signal) -> Result<Self, String> {
        let rest = url.strip_prefix("http://").ok_or_else(|| {
            format!("the endpoint {url} does not start with http:// (this build has no TLS: send to a local collector)")
        })?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => {
                (host, port.parse().map_err(|_| format!("the endpoint {url} has no valid port"))?)
            }
            _ => (authority, 80),
        };
        let host = host.trim_matches(['[', ']']);
        if host.is_empty() {
            return Err(format!("the endpoint {url} names no host"));
        }
        // A base is a folder, with or without its slash; a signal's own URL is taken as it is.
        let path = match path_of_signal {
            "" => path,
            _ => path.trim_end_matches('/'),
        };
        let slash = if path.is_empty() && !path_of_signal.is_empty() { "" } else { "/" };
        Ok(Self {
            host: host.to_owned(),
            port,
            path: format!("{slash}{path}{path_of_signal}"),
            headers: signal.headers.clone(),
            gzip: signal.gzip,
            timeout: signal.timeout,
        })
    }

    /// Whether a connection to one is a connection to the other.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        (self.port, &self.host) == (other.port, &other.host)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<(String, u16, String), String> {
        let otlp = Otlp { endpoint: Some(url.into()), ..Otlp::default() };
        Targets::parse(&otlp).map(|Targets { traces, metrics }| {
            assert_eq!(metrics.map(|metrics| metrics.path), Some(traces.path.replace("traces", "metrics")));
            (traces.host, traces.port, traces.path)
        })
    }

    #[test]
    fn bases_are_read_as_users_write_them() {
        assert_eq!(parse("http://localhost:4318"), Ok(("localhost".into(), 4318, "/v1/traces".into())));
        assert_eq!(parse("http://[::1]:4318/"), Ok(("::1".into(), 4318, "/v1/traces".into())));
        assert_eq!(parse("http://host/otlp/"), Ok(("host".into(), 80, "/otlp/v1/traces".into())));
        assert!(parse("https://host").is_err_and(|error| error.contains("TLS")));
        assert!(parse("host:4318").is_err());
        assert!(parse("http://:4318").is_err());
        assert!(parse("http://host:port").is_err());
    }

    #[test]
    fn a_signals_own_url_is_taken_as_it_is() {
        let path = |url: &str| {
            let mut otlp = Otlp::default();
            otlp.traces.endpoint = Some(url.into());
            let targets = Targets::parse(&otlp).unwrap();
            assert_eq!(targets.metrics, None);
            targets.traces.path
        };
        assert_eq!(path("http://host:1/in/v2/"), "/in/v2/");
        assert_eq!(path("http://host:1"), "/");
        assert!(Targets::parse(&Otlp::default()).is_err());
    }
}
