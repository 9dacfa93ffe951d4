//! Where requests go: an endpoint's URL taken apart, with what is sent along with every request.

use std::net::Ipv6Addr;
#[cfg(feature = "tls")]
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "tls")]
use super::tls::Tls;
use crate::config::otlp::{Compression, Otlp, Protocol, Signal};

/// The paths of one signal, in OTLP/HTTP behind a base and in gRPC.
struct Paths {
    http: &'static str,
    grpc: &'static str,
}

const TRACES: Paths =
    Paths { http: "/v1/traces", grpc: "/opentelemetry.proto.collector.trace.v1.TraceService/Export" };

const METRICS: Paths =
    Paths { http: "/v1/metrics", grpc: "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export" };

/// Where requests of one signal go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub protocol: Protocol,
    pub host: String,
    pub port: u16,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub compression: Compression,
    pub timeout: Duration,
    /// Connections are such with TLS.
    #[cfg(feature = "tls")]
    pub tls: Option<Arc<Tls>>,
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
        let target = |signal: &Signal, paths: &Paths| match (&signal.endpoint, &otlp.endpoint) {
            (Some(url), _) => Target::parse(url, "", paths, signal).map(Some),
            (None, Some(base)) => Target::parse(base, paths.http, paths, signal).map(Some),
            (None, None) => Ok(None),
        };
        let traces = target(&otlp.traces, &TRACES)?.ok_or("no endpoint for traces is set")?;
        Ok(Self { traces, metrics: target(&otlp.metrics, &METRICS)? })
    }
}

impl Target {
    /// `added` is put behind the URL's path.
    fn parse(url: &str, added: &str, paths: &Paths, signal: &Signal) -> Result<Self, String> {
        let is_grpc = signal.protocol.is_grpc();
        let (whole, url) = (url, &without_secrets(url));
        let (is_tls, rest) = match whole.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (false, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (true, rest),
            // OpenTelemetry has gRPC endpoints without a scheme be such with TLS, unless told otherwise.
            None if is_grpc => (!signal.insecure, whole),
            _ => return Err(format!("the endpoint {url} does not start with http:// or https://")),
        };
        #[cfg(not(feature = "tls"))]
        if is_tls {
            return Err(format!(
                "the endpoint {url} wants TLS: enable the feature `tls` of the crate stepscope, or send by http:// to a \
                 collector on this host that goes on by TLS"
            ));
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(format!(
                "the endpoint {url} has a user in it: take that out, and have it sent as a header \
                 (OTEL_EXPORTER_OTLP_HEADERS=authorization=Basic%20…)"
            ));
        }
        let (host, port) = host_and_port(authority).map_err(|why| format!("the endpoint {url} {why}"))?;
        let port = port.unwrap_or(if is_tls { 443 } else { 80 });
        // The path of a base goes on behind what it says, which would be a part of the query; a signal's own URL may have one.
        let ends = if added.is_empty() { &['#'][..] } else { &['?', '#'] };
        if !is_grpc && path.contains(ends) {
            return Err(format!(
                "the endpoint {url} has a part behind its path, where the path of the signal would go: leave it out, or \
                 name the whole URL of the traces (OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)"
            ));
        }
        let path = if is_grpc { paths.grpc.to_owned() } else { joined(path, added) };
        if path.parse::<hyper::http::uri::PathAndQuery>().is_err() {
            return Err(format!("the endpoint {url} has a path that no request can have: percent-encode it"));
        }
        Ok(Self {
            protocol: signal.protocol,
            host: host.to_owned(),
            port,
            path,
            headers: signal.headers.clone(),
            compression: signal.compression,
            timeout: signal.timeout,
            #[cfg(feature = "tls")]
            tls: if is_tls { Some(Arc::new(Tls::new(&signal.tls, is_grpc)?)) } else { None },
        })
    }

    /// The scheme of a URL, as requests over HTTP/2 carry it.
    #[cfg(feature = "grpc")]
    pub(crate) fn scheme(&self) -> &'static str {
        #[cfg(feature = "tls")]
        if self.tls.is_some() {
            return "https";
        }
        "http"
    }

    /// Host and port as a URL has them.
    pub(crate) fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }

    /// Whether a connection to one is a connection to the other.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        #[cfg(feature = "tls")]
        if self.tls != other.tls {
            return false;
        }
        (self.protocol, self.port, &self.host) == (other.protocol, other.port, &other.host)
    }
}

/// The host that an authority names, without brackets, and the port if it names one; the error says what is wrong with it.
fn host_and_port(authority: &str) -> Result<(&str, Option<u16>), &'static str> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(bracketed) => {
            let (host, rest) = bracketed.split_once(']').ok_or(NO_ADDRESS)?;
            // (Behind a `%` the zone of an address of one link.)
            let address = host.split_once('%').map_or(host, |(address, _)| address);
            address.parse::<Ipv6Addr>().map_err(|_| NO_ADDRESS)?;
            (host, rest)
        }
        None => {
            let (host, rest) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
            if rest.matches(':').count() > 1 {
                return Err(NO_ADDRESS);
            }
            if host.is_empty() {
                return Err("names no host, as http://localhost:4318 does");
            }
            if !host.chars().all(|char| char.is_alphanumeric() || "-._~".contains(char)) {
                return Err("has no valid host, as http://localhost:4318 has");
            }
            (host, rest)
        }
    };
    let port = || rest.strip_prefix(':')?.parse().ok().filter(|&port| port > 0);
    match rest {
        "" => Ok((host, None)),
        _ => port().map(|port| (host, Some(port))).ok_or("has no valid port, as http://localhost:4318 has"),
    }
}

const NO_ADDRESS: &str = "has no valid address of IPv6, as http://[::1]:4318 has";

/// A URL as it may be shown: without a user and a password.
fn without_secrets(url: &str) -> String {
    url.rsplit_once('@').map_or_else(|| url.to_owned(), |(_, behind)| format!("…@{behind}"))
}

/// A base is a folder, with or without its slash; a signal's own URL, to which nothing is added, is taken as it is.
fn joined(path: &str, added: &str) -> String {
    if added.is_empty() {
        return format!("/{path}");
    }
    let path = path.trim_end_matches('/');
    if path.is_empty() { added.to_owned() } else { format!("/{path}{added}") }
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
        #[cfg(not(feature = "tls"))]
        assert!(parse("https://host").is_err_and(|error| error.contains("feature `tls`")));
        assert!(parse("host:4318").is_err());
        assert_eq!(parse("http://[fe80::1%eth0]"), Ok(("fe80::1%eth0".into(), 80, "/v1/traces".into())));
        for (url, why) in [
            ("http://", "names no host"),
            ("http://:4318", "names no host"),
            ("http:///v1", "names no host"),
            ("http://ho st:4318", "has no valid host"),
            ("http://host?a=b", "has no valid host"),
            ("http://localhost]:4318", "has no valid host"),
            ("http://[::1", "has no valid address of IPv6"),
            ("http://[]", "has no valid address of IPv6"),
            ("http://[host]:4318", "has no valid address of IPv6"),
            ("http://::1", "has no valid address of IPv6"),
            ("http://::1:4318", "has no valid address of IPv6"),
            ("http://host:port", "has no valid port"),
            ("http://host:", "has no valid port"),
            ("http://host:0", "has no valid port"),
            ("http://host:65536", "has no valid port"),
            ("http://[::1]4318", "has no valid port"),
            ("http://host/a b", "has a path that no request can have"),
            ("http://host/in?key=a", "has a part behind its path"),
            ("http://host/in#a", "has a part behind its path"),
        ] {
            let said = format!("the endpoint {url} {why}");
            assert!(parse(url).is_err_and(|error| error.starts_with(&said)), "{url}: {:?}", parse(url));
        }
        for url in
            ["http://me:secret@host:4318", "me:secret@host", "http://me:secret@", "http://me:secret/1@host"]
        {
            assert!(parse(url).is_err_and(|error| !error.contains("secret")), "{url}");
        }
        assert!(parse("http://me@host").is_err_and(|error| error.contains("OTEL_EXPORTER_OTLP_HEADERS")));
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
        assert_eq!(path("http://host:1/in?key=a"), "/in?key=a");
        assert!(Targets::parse(&Otlp::default()).is_err());
    }

    #[test]
    fn an_address_is_written_as_urls_have_it() {
        let authority = |url: &str| {
            let otlp = Otlp { endpoint: Some(url.into()), ..Otlp::default() };
            Targets::parse(&otlp).unwrap().traces.authority()
        };
        assert_eq!(authority("http://[::1]:4318/"), "[::1]:4318");
        assert_eq!(authority("HTTP://host"), "host:80");
    }

    #[cfg(feature = "grpc")]
    #[test]
    fn a_grpc_endpoint_is_an_address() {
        let parse = |url: &str, insecure: bool| {
            let mut otlp = Otlp { endpoint: Some(url.into()), ..Otlp::default() };
            for signal in [&mut otlp.traces, &mut otlp.metrics] {
                (signal.protocol, signal.insecure) = (Protocol::Grpc, insecure);
            }
            Targets::parse(&otlp).map(|Targets { traces, metrics }| {
                assert!(traces.path.ends_with("trace.v1.TraceService/Export"));
                assert!(metrics.unwrap().path.ends_with("metrics.v1.MetricsService/Export"));
                traces.authority()
            })
        };
        // The path is that of the method, whatever the URL has.
        for url in ["http://host:4317", "http://host:4317/", "http://host:4317/v1/traces"] {
            assert_eq!(parse(url, false), Ok("host:4317".into()));
        }
        assert_eq!(parse("host:4317", true), Ok("host:4317".into()));
        #[cfg(not(feature = "tls"))]
        for (url, insecure) in [("host:4317", false), ("https://host:4317", true)] {
            assert!(parse(url, insecure).is_err_and(|error| error.contains("feature `tls`")), "{url}");
        }
        assert!(parse("unix:///tmp/socket", true).is_err());
    }
}
