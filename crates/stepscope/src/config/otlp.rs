//! What OpenTelemetry's variables say of the transport: endpoint, headers, compression and timeout of each signal. Which
//! of them are honoured is a table in docs/recording.md.

use std::time::Duration;

use crate::context::text::percent_decode;

/// The time that a request may take where nobody says.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How messages are carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// OTLP/HTTP with protobuf.
    Http,
    /// OTLP/gRPC.
    #[cfg(feature = "grpc")]
    Grpc,
}

impl Protocol {
    #[cfg(feature = "http")]
    pub(crate) fn is_grpc(self) -> bool {
        match self {
            Self::Http => false,
            #[cfg(feature = "grpc")]
            Self::Grpc => true,
        }
    }

    /// The one of OpenTelemetry's name, or what is to be said of a name that is not honoured.
    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "http/protobuf" => Ok(Self::Http),
            #[cfg(feature = "grpc")]
            "grpc" => Ok(Self::Grpc),
            #[cfg(not(feature = "grpc"))]
            "grpc" => Err("needs the feature `grpc` of the crate stepscope"),
            _ => Err("is not spoken here"),
        }
    }
}

/// How messages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    #[cfg(feature = "zstd")]
    Zstd,
}

impl Compression {
    /// The one of this name, or what is to be said of a name that is not honoured.
    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "none" => Ok(Self::None),
            "gzip" => Ok(Self::Gzip),
            #[cfg(feature = "zstd")]
            "zstd" => Ok(Self::Zstd),
            #[cfg(not(feature = "zstd"))]
            "zstd" => Err("needs the feature `zstd` of the crate stepscope"),
            _ => Err("is none of none, gzip, zstd"),
        }
    }

    /// The name that goes with the messages; `None` where they go as they are.
    #[cfg(feature = "http")]
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip => Some("gzip"),
            #[cfg(feature = "zstd")]
            Self::Zstd => Some("zstd"),
        }
    }
}

/// What a variable says, with its name for what may have to be told of it.
#[cfg(feature = "tls")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub name: String,
    pub value: String,
}

#[cfg(feature = "tls")]
impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// Files of TLS, in PEM.
#[cfg(feature = "tls")]
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TlsFiles {
    /// Whom to trust; those whom the system trusts where it is absent.
    pub certificate: Option<Named>,
    /// Who this end is, where a receiver asks: its certificate with those that lead to its authority, and its key.
    pub client_certificate: Option<Named>,
    pub client_key: Option<Named>,
}

/// Where and how the messages of one signal go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Signal {
    /// Whole URL; where it is absent, the base with the signal's path.
    pub endpoint: Option<String>,
    pub headers: Vec<(String, String)>,
    pub compression: Compression,
    pub timeout: Duration,
    pub protocol: Protocol,
    /// An endpoint that names no scheme is one without TLS. Only gRPC has such endpoints.
    pub insecure: bool,
    #[cfg(feature = "tls")]
    pub tls: TlsFiles,
}

/// The settings of the transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Otlp {
    /// Base URL, to which the path of the signal is added.
    pub endpoint: Option<String>,
    pub traces: Signal,
    pub metrics: Signal,
}

impl Default for Otlp {
    fn default() -> Self {
        let signal = Signal {
            endpoint: None,
            headers: Vec::new(),
            compression: Compression::None,
            timeout: TIMEOUT,
            protocol: Protocol::Http,
            insecure: false,
            #[cfg(feature = "tls")]
            tls: TlsFiles::default(),
        };
        Self { endpoint: None, traces: signal.clone(), metrics: signal }
    }
}

/// Whether a variable of these, which stands in place of a file's setting, says something that can be taken.
pub(crate) fn is_usable(name: &str, value: &std::ffi::OsStr) -> bool {
    let Some(text) = value.to_str() else { return false };
    match name.rsplit('_').next().unwrap_or_default() {
        "TIMEOUT" => text.trim().parse::<u64>().is_ok_and(|ms| ms > 0),
        "COMPRESSION" => Compression::parse(text.trim()).is_ok(),
        "PROTOCOL" => Protocol::parse(text.trim()).is_ok(),
        _ => true,
    }
}

impl Otlp {
    /// Whether spans are to be sent.
    pub(crate) fn is_set(&self) -> bool {
        self.endpoint.is_some() || self.traces.endpoint.is_some()
    }

    /// The program names the endpoint: all signals go there.
    pub(crate) fn set_endpoint(&mut self, url: String) {
        self.endpoint = Some(url);
        (self.traces.endpoint, self.metrics.endpoint) = (None, None);
    }

    /// As `variable` has it: what is to be called what it says, and that. What cannot be done is named in `warnings`.
    pub(crate) fn new(
        variable: impl Fn(&str) -> Option<(String, String)>,
        warnings: &mut Vec<String>,
    ) -> Self {
        let variable = |name: String| {
            let (name, text) = variable(&name).filter(|(_, text)| !text.trim().is_empty())?;
            Some((name, text.trim().to_owned()))
        };
        let of_all = |what: &str| variable(format!("OTEL_EXPORTER_OTLP_{what}"));
        let endpoint = of_all("ENDPOINT").map(|(_, url)| url);
        let mut signal = |signal: &str| {
            let of_it = |what: &str| variable(format!("OTEL_EXPORTER_OTLP_{signal}_{what}"));
            let either = |what: &str| of_it(what).or_else(|| of_all(what));
            let mut read =
                Signal { endpoint: of_it("ENDPOINT").map(|(_, url)| url), ..Self::default().traces };
            let mut warn = |text: String| {
                if !warnings.contains(&text) {
                    warnings.push(text);
                }
            };
            if let Some((name, text)) = either("HEADERS") {
                read.headers = headers(&text, |why| warn(format!("{name}: {why}: ignored")));
            }
            match either("COMPRESSION").map(|(name, text)| (Compression::parse(&text), name, text)) {
                Some((Ok(compression), ..)) => read.compression = compression,
                Some((Err(why), name, text)) => warn(format!("{name}={text} {why}: ignored")),
                None => {}
            }
            match either("TIMEOUT").map(|(name, text)| (text.parse().ok(), name, text)) {
                // OpenTelemetry has 0 mean no limit. Then a receiver that never answers would hold a request for good.
                Some((Some(0), name, _)) => {
                    warn(format!("{name}=0 would wait for ever: {} ms are taken", TIMEOUT.as_millis()));
                }
                Some((Some(ms), ..)) => read.timeout = Duration::from_millis(ms),
                Some((None, name, text)) => warn(format!("{name}={text} is not a whole number: ignored")),
                None => {}
            }
            match either("PROTOCOL").map(|(name, text)| (Protocol::parse(&text), name, text)) {
                Some((Ok(protocol), ..)) => read.protocol = protocol,
                Some((Err(why), name, text)) => warn(format!(
                    "{name}={text} {why}: http/protobuf is sent (a collector takes it on port 4318)"
                )),
                None => {}
            }
            read.insecure = either("INSECURE").is_some_and(|(_, text)| text.eq_ignore_ascii_case("true"));
            let files =
                [either("CERTIFICATE"), either("CLIENT_CERTIFICATE"), either("CLIENT_KEY")].into_iter();
            #[cfg(feature = "tls")]
            {
                let mut files = files.map(|file| file.map(|(name, value)| Named { name, value }));
                let mut next = || files.next().flatten();
                read.tls = TlsFiles { certificate: next(), client_certificate: next(), client_key: next() };
            }
            #[cfg(not(feature = "tls"))]
            for (name, _) in files.flatten() {
                warn(format!("{name} needs the feature `tls` of the crate stepscope: ignored"));
            }
            read
        };
        let (traces, metrics) = (signal("TRACES"), signal("METRICS"));
        let otlp = Self { endpoint, traces, metrics };
        if otlp.metrics.endpoint.is_some() && !otlp.is_set() {
            warnings.push(
                "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT is ignored: nothing is sent without an endpoint for traces".into(),
            );
        }
        otlp
    }
}

/// Headers that requests have anyway, or that say how they are carried: a second one would make another request of it.
const OF_THE_PROTOCOL: &[&str] = &[
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

/// `k=v,k=v`, values percent-encoded, without those that no request could carry. What is said of these does not have
/// their values: they may be secret.
fn headers(text: &str, mut refuse: impl FnMut(String)) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    for pair in text.split(',').filter(|pair| !pair.trim().is_empty()) {
        let Some((name, value)) = pair.split_once('=') else {
            refuse("one part has no `=`".to_owned());
            continue;
        };
        let (name, value) = (name.trim().to_ascii_lowercase(), percent_decode(value.trim()));
        // RFC 9110, 5.1 and 5.5.
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_name) {
            refuse(format!("{name:?} is no name of a header"));
        } else if OF_THE_PROTOCOL.contains(&name.as_str()) || name.starts_with("grpc-") {
            refuse(format!("{name} is the protocol's own"));
        } else if value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
            refuse(format!("the value of {name} has control characters"));
        } else {
            headers.push((name, value));
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> (Otlp, Vec<String>) {
        let mut warnings = Vec::new();
        let find = |name: &str| {
            let (_, value) = variables.iter().find(|(key, _)| *key == name)?;
            Some((name.to_owned(), (*value).to_owned()))
        };
        (Otlp::new(find, &mut warnings), warnings)
    }

    #[test]
    fn without_variables_nothing_is_sent() {
        assert_eq!(read(&[]), (Otlp::default(), vec![]));
        assert!(!read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]).0.is_set());
    }

    #[test]
    fn a_variable_of_a_signal_wins_over_that_of_all() {
        let (otlp, warnings) = read(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://base:4318"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://traces/in"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20x, a=b"),
            ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "a=c"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "none"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "50"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        ]);
        assert_eq!(warnings, [""; 0]);
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let traces = Signal {
            endpoint: Some("http://traces/in".into()),
            headers: vec![header("authorization", "Bearer x"), header("a", "b")],
            compression: Compression::Gzip,
            timeout: Duration::from_millis(50),
            ..Otlp::default().traces
        };
        let timeout = Duration::from_millis(250);
        let metrics = Signal { headers: vec![header("a", "c")], timeout, ..Otlp::default().metrics };
        assert_eq!(otlp, Otlp { endpoint: Some("http://base:4318".into()), traces, metrics });
    }

    #[test]
    fn a_header_that_cannot_be_sent_does_not_hold_up_the_others() {
        let (otlp, warnings) = read(&[(
            "OTEL_EXPORTER_OTLP_HEADERS",
            "bad key=secret,a=b,secret,c=secret%0A,=secret,,Content-Length=secret,\
                    grpc-timeout=secret,d=e",
        )]);
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(otlp.traces.headers, [header("a", "b"), header("d", "e")]);
        assert_eq!(warnings.len(), 6, "{warnings:?}");
        assert!(warnings.iter().all(|text| !text.contains("secret")), "{warnings:?}");
    }

    #[test]
    fn metrics_alone_are_not_sent() {
        let (otlp, warnings) = read(&[("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://metrics/in")]);
        assert!(!otlp.is_set() && otlp.metrics.endpoint.is_some());
        assert_eq!(warnings.len(), 1);
    }

    #[cfg(feature = "tls")]
    #[test]
    fn a_signal_may_have_its_own_files() {
        let (otlp, warnings) = read(&[
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.pem"),
            ("OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE", "/own.pem"),
            ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "/client.pem"),
            ("OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "/key.pem"),
        ]);
        assert_eq!(warnings, [""; 0]);
        let files = |files: TlsFiles| {
            [files.certificate, files.client_certificate, files.client_key]
                .map(|named| named.map_or_else(String::new, |named| named.to_string()))
        };
        let client = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=/client.pem";
        let (all, key) =
            ("OTEL_EXPORTER_OTLP_CERTIFICATE=/ca.pem", "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY=/key.pem");
        assert_eq!(files(otlp.traces.tls), [all, client, key]);
        assert_eq!(files(otlp.metrics.tls), ["OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE=/own.pem", client, ""]);
    }

    #[cfg(feature = "grpc")]
    #[test]
    fn a_signal_may_have_its_own_protocol() {
        let (otlp, warnings) = read(&[
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "http/protobuf"),
            ("OTEL_EXPORTER_OTLP_TRACES_INSECURE", "True"),
        ]);
        assert_eq!(warnings, [""; 0]);
        assert_eq!((otlp.traces.protocol, otlp.metrics.protocol), (Protocol::Grpc, Protocol::Http));
        assert_eq!((otlp.traces.insecure, otlp.metrics.insecure), (true, false));
    }

    #[cfg(not(feature = "grpc"))]
    #[test]
    fn a_protocol_that_was_left_out_names_its_feature() {
        let (_, warnings) = read(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
        assert!(warnings.iter().all(|text| text.contains("feature `grpc`")), "{warnings:?}");
    }

    #[cfg(not(feature = "zstd"))]
    #[test]
    fn a_compression_that_was_left_out_names_its_feature() {
        let (_, warnings) = read(&[("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd")]);
        assert!(warnings.iter().all(|text| text.contains("feature `zstd`")), "{warnings:?}");
    }

    #[test]
    fn what_cannot_be_done_is_named_once() {
        for (name, value) in [
            #[cfg(not(feature = "grpc"))]
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http"),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "snappy"),
            #[cfg(not(feature = "zstd"))]
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
            #[cfg(not(feature = "tls"))]
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/ca.pem"),
            #[cfg(not(feature = "tls"))]
            ("OTEL_EXPORTER_OTLP_METRICS_CLIENT_KEY", "/key.pem"),
        ] {
            let (otlp, warnings) = read(&[(name, value)]);
            assert_eq!((otlp, warnings.len()), (Otlp::default(), 1), "{name}: {warnings:?}");
            assert!(warnings[0].starts_with(name), "{warnings:?}");
        }
    }
}
