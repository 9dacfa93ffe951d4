//! Environment variables: values that cannot be used, names that nobody reads, and those of the OpenTelemetry SDKs
//! that our layer does not follow. A test holds the lists against the layer's own source.

use std::collections::BTreeMap;

use stepscope::__settings::look_around;
use stepscope_core::Level;

use super::{Finding, broken, fine, note};
use crate::environment::{ENDPOINT, SIGNAL_ENDPOINTS};

const CHECK: &str = "variables";
/// The check of log filters.
pub(crate) const FILTER: &str = "filter";

/// Settings of the layer; `docs/recording.md` says what they do.
pub(crate) const OURS: &[&str] = &[
    "STEPSCOPE_CONFIG",
    "STEPSCOPE_LEVEL",
    "STEPSCOPE_MAX_LEVEL",
    "STEPSCOPE_STEP_SPAN",
    "STEPSCOPE_DIR",
    "STEPSCOPE_DIR_BYTES",
    "STEPSCOPE_EXIT_TIMEOUT",
    "STEPSCOPE_CAPTURE",
    "STEPSCOPE_FILTER",
    "STEPSCOPE_FORMAT",
    "STEPSCOPE_FORMAT_FIELDS",
    "STEPSCOPE_HANDLE_SIGNALS",
    "STEPSCOPE_HOOK_EXIT",
    "STEPSCOPE_HOOK_PANICS",
    "STEPSCOPE_LOCATIONS",
    "STEPSCOPE_METRICS_ADDR",
    "STEPSCOPE_METRICS_ALLOW_REMOTE",
    "STEPSCOPE_OVERFLOW",
    "STEPSCOPE_RING_BYTES",
    "STEPSCOPE_SIGUSR2",
    "STEPSCOPE_SUMS",
    "STEPSCOPE_TRACK",
    "STEPSCOPE_REPORT",
    "STEPSCOPE_RUN_ID",
    "STEPSCOPE_RUN_ATTEMPT",
    "STEPSCOPE_RANK",
    "STEPSCOPE_WORLD_SIZE",
];

/// Of these a whole number is expected.
const NUMBERS: &[&str] = &[
    "STEPSCOPE_DIR_BYTES",
    "STEPSCOPE_EXIT_TIMEOUT",
    "STEPSCOPE_RING_BYTES",
    "STEPSCOPE_RUN_ATTEMPT",
    "STEPSCOPE_RANK",
    "STEPSCOPE_WORLD_SIZE",
    "OTEL_METRIC_EXPORT_INTERVAL",
];

/// Variables of OpenTelemetry that the layer follows, too; the exporters' are made of [`EXPORTER_FOLLOWED`].
const FOLLOWED: &[&str] = &[
    "OTEL_SERVICE_NAME",
    "OTEL_RESOURCE_ATTRIBUTES",
    "OTEL_METRIC_EXPORT_INTERVAL",
    "OTEL_SDK_DISABLED",
    // With its feature `metrics`.
    "OTEL_METRICS_EXPORTER",
    "OTEL_EXPORTER_PROMETHEUS_HOST",
    "OTEL_EXPORTER_PROMETHEUS_PORT",
];

/// Others that its specification knows; the exporters' are made of [`EXPORTER`].
const SPECIFIED: &[&str] = &[
    "OTEL_CONFIG_FILE",
    "OTEL_EXPERIMENTAL_CONFIG_FILE",
    "OTEL_LOG_LEVEL",
    "OTEL_PROPAGATORS",
    "OTEL_TRACES_SAMPLER",
    "OTEL_TRACES_SAMPLER_ARG",
    "OTEL_BSP_SCHEDULE_DELAY",
    "OTEL_BSP_EXPORT_TIMEOUT",
    "OTEL_BSP_MAX_QUEUE_SIZE",
    "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
    "OTEL_BLRP_SCHEDULE_DELAY",
    "OTEL_BLRP_EXPORT_TIMEOUT",
    "OTEL_BLRP_MAX_QUEUE_SIZE",
    "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE",
    "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "OTEL_ATTRIBUTE_COUNT_LIMIT",
    "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT",
    "OTEL_SPAN_EVENT_COUNT_LIMIT",
    "OTEL_SPAN_LINK_COUNT_LIMIT",
    "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT",
    "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT",
    "OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT",
    "OTEL_TRACES_EXPORTER",
    "OTEL_LOGS_EXPORTER",
    "OTEL_METRICS_EXEMPLAR_FILTER",
    "OTEL_METRIC_EXPORT_TIMEOUT",
    "OTEL_SEMCONV_STABILITY_OPT_IN",
    "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE",
    "OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION",
];

/// The exporters' variables: [`EXPORTER`], a signal or nothing, and one of these, which the layer follows; for logs,
/// which it does not make, only SDKs do.
const EXPORTER_FOLLOWED: &[&str] = &[
    "ENDPOINT",
    "HEADERS",
    "COMPRESSION",
    "TIMEOUT",
    "PROTOCOL",
    "INSECURE",
    CERTIFICATE,
    CLIENT_CERTIFICATE,
    CLIENT_KEY,
];
/// Those that name files of TLS.
const CERTIFICATE: &str = "CERTIFICATE";
const CLIENT_CERTIFICATE: &str = "CLIENT_CERTIFICATE";
const CLIENT_KEY: &str = "CLIENT_KEY";
const EXPORTER: &str = "OTEL_EXPORTER_OTLP_";
/// The signals that the layer sends.
const SIGNALS: &[&str] = &["", "TRACES_", "METRICS_"];
const LOGS: &str = "LOGS_";

/// What belongs to the SDK of one language, whatever follows.
const LANGUAGES: &[&str] = &[
    "OTEL_PYTHON_",
    "OTEL_JAVA",
    "OTEL_INSTRUMENTATION_",
    "OTEL_GO_",
    "OTEL_DOTNET_",
    "OTEL_NODE_",
    "OTEL_PHP_",
    "OTEL_RUBY_",
];

/// Names further apart than this are different names.
const MAX_SLIPS: usize = 2;

/// Looks through the environment. `effective`: with what stands in the file of settings where no variable wins over it, which
/// decides what one variable is beside another.
pub(crate) fn check(
    environment: &BTreeMap<String, String>,
    effective: &BTreeMap<String, String>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, value) in environment.iter().filter(|(_, value)| !value.trim().is_empty()) {
        findings.extend(value_of(name, value.trim()).or_else(|| name_of(name)));
    }
    findings.extend(metrics_alone(effective));
    findings.extend(half_of_a_pair(effective));
    findings.extend(said_by_the_layer(environment, effective, &findings));
    if findings.is_empty() {
        findings.push(fine(CHECK, "Every setting in the environment is one that is followed."));
    }
    findings.push(filter(environment));
    findings
}

/// What the layer says of the rest, but for variables of which more is known here, and for what stands in the file, which is
/// another check's.
fn said_by_the_layer(
    environment: &BTreeMap<String, String>,
    effective: &BTreeMap<String, String>,
    findings: &[Finding],
) -> Vec<Finding> {
    let is_of = |text: &str, name: &str| {
        let rest = text.strip_prefix(name);
        rest.is_some_and(|rest| !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_'))
    };
    let is_told = |name: &String| findings.iter().any(|finding| is_of(&finding.text, name));
    let is_of_the_file = |name: &String| environment.get(name).is_none_or(|value| value.trim().is_empty());
    let is_anothers = |problem: &str| {
        effective.keys().any(|name| is_of(problem, name) && (is_told(name) || is_of_the_file(name)))
    };
    let problems = look_around(|name| effective.get(name).cloned());
    let others = problems.into_iter().filter(|problem| !is_anothers(problem));
    others
        .map(|problem| broken(CHECK, format!("{problem}."), "See docs/recording.md for what it takes."))
        .collect()
}

/// Whether `OTEL_EXPORTER_OTLP_…` is that of one of these, for a signal that the layer sends.
fn exporter_s<'e>(name: &str, ends: &[&'e str]) -> Option<&'e str> {
    let rest = name.strip_prefix(EXPORTER)?;
    let of_signal = |end: &str| SIGNALS.iter().any(|signal| rest.strip_prefix(signal) == Some(end));
    ends.iter().copied().find(|end| of_signal(end))
}

/// An endpoint for metrics where none is for traces.
fn metrics_alone(environment: &BTreeMap<String, String>) -> Option<Finding> {
    let of = |name| environment.get(name).map(|url: &String| url.trim()).filter(|url| !url.is_empty());
    let [traces, metrics, _] = SIGNAL_ENDPOINTS;
    let url = of(metrics).filter(|_| of(ENDPOINT).or_else(|| of(traces)).is_none())?;
    Some(broken(
        CHECK,
        format!("{metrics}={url} is ignored: nothing is sent without an endpoint for traces."),
        format!("Set {ENDPOINT}, or {traces}, too."),
    ))
}

pub(crate) fn value_of(name: &str, value: &str) -> Option<Finding> {
    let exporter_s = |end| exporter_s(name, &[end]).is_some();
    if (NUMBERS.contains(&name) || exporter_s("TIMEOUT")) && value.parse::<u64>().is_err() {
        return Some(broken(
            CHECK,
            format!("{name}={value} is not a whole number: ignored."),
            "Set a whole number.",
        ));
    }
    match (name, value.to_ascii_lowercase().as_str()) {
        ("STEPSCOPE_LEVEL", level) => match Level::parse(level) {
            None => Some(broken(
                CHECK,
                format!("STEPSCOPE_LEVEL={value} is no level: ignored."),
                "Set off, basic, detailed or comprehensive.",
            )),
            Some(Level::Off) => Some(broken(CHECK, "STEPSCOPE_LEVEL=off: nothing is recorded.", "Unset it.")),
            Some(Level::Basic) => Some(note(
                CHECK,
                "STEPSCOPE_LEVEL=basic: sections leave no spans, only sums.",
                "Set detailed, the default, to see inside single steps.",
            )),
            Some(_) => None,
        },
        ("STEPSCOPE_FORMAT", format) if !matches!(format, "protobuf" | "json") => Some(broken(
            CHECK,
            format!("STEPSCOPE_FORMAT={value} is no format: ignored."),
            "Set protobuf or json.",
        )),
        ("OTEL_SDK_DISABLED", "true") => Some(broken(
            CHECK,
            format!("OTEL_SDK_DISABLED={value}: nothing is recorded, as with STEPSCOPE_LEVEL=off."),
            "Unset it.",
        )),
        ("OTEL_SDK_DISABLED", said) if said != "false" => Some(note(
            CHECK,
            format!("OTEL_SDK_DISABLED={value} is neither true nor false: recording goes on."),
            "Set true to have nothing recorded, or unset it.",
        )),
        // These the layer takes as they are written.
        _ if exporter_s("COMPRESSION") && value == "zstd" => Some(note(
            CHECK,
            format!(
                "{name}=zstd: the layer follows it with its feature `zstd`; without it, nothing is compressed."
            ),
            "Enable the feature, or set gzip.",
        )),
        _ if exporter_s("COMPRESSION") && !matches!(value, "gzip" | "none") => Some(broken(
            CHECK,
            format!("{name}={value} is none of none, gzip, zstd: ignored, and requests are not compressed."),
            "Set gzip or none.",
        )),
        _ if exporter_s("PROTOCOL") && value == "grpc" => Some(note(
            CHECK,
            format!(
                "{name}=grpc: the layer follows it with its feature `grpc`; without it, http/protobuf is sent."
            ),
            "Enable the feature, or have the endpoint take OTLP/HTTP (port 4318 of a collector).",
        )),
        _ if exporter_s("PROTOCOL") && !matches!(value, "http/protobuf" | "http/json") => Some(broken(
            CHECK,
            format!("{name}={value} is none of http/protobuf, grpc: http/protobuf is sent."),
            "Set one of these.",
        )),
        _ if exporter_s("PROTOCOL") && value != "http/protobuf" => Some(note(
            CHECK,
            format!("{name}={value}: an SDK follows it, stepscope's layer does not; it sends http/protobuf."),
            "Have the endpoint take OTLP/HTTP (port 4318 of a collector).",
        )),
        _ if exporter_s(CERTIFICATE) || exporter_s(CLIENT_CERTIFICATE) => {
            Some(file_of_tls(name, value, " CERTIFICATE-----"))
        }
        _ if exporter_s(CLIENT_KEY) => Some(file_of_tls(name, value, " PRIVATE KEY-----")),
        _ => None,
    }
}

/// A file that holds what begins with a line that ends so.
fn file_of_tls(name: &str, path: &str, line: &str) -> Finding {
    let text = match std::fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) => {
            return broken(
                CHECK,
                format!("{name}={path} cannot be read: {error}. Nothing would be sent by https://."),
                "Name a file in PEM that the program may read.",
            );
        }
    };
    if !text.lines().any(|read| read.starts_with("-----BEGIN ") && read.trim_end().ends_with(line)) {
        return broken(
            CHECK,
            format!("{name}={path} has no line `-----BEGIN{line}`. Nothing would be sent by https://."),
            "Name a file in PEM; a key must not be under a password.",
        );
    }
    note(
        CHECK,
        format!(
            "{name}={path}: the layer follows it with its feature `tls`; without it, it sends by http:// only."
        ),
        "Enable the feature.",
    )
}

/// A client's certificate without its key, or the other way round.
fn half_of_a_pair(environment: &BTreeMap<String, String>) -> impl Iterator<Item = Finding> {
    let is_set = |name: &str| environment.get(name).is_some_and(|path| !path.trim().is_empty());
    let halves = SIGNALS.iter().skip(1).filter_map(move |signal| {
        let either = |end: &str| {
            let names = [format!("{EXPORTER}{signal}{end}"), format!("{EXPORTER}{end}")];
            names.into_iter().find(|name| is_set(name))
        };
        match (either(CLIENT_CERTIFICATE), either(CLIENT_KEY)) {
            (Some(half), None) => Some((half, CLIENT_KEY)),
            (None, Some(half)) => Some((half, CLIENT_CERTIFICATE)),
            _ => None,
        }
    });
    let halves: BTreeMap<String, &str> = halves.collect();
    halves.into_iter().map(|(half, other)| {
        broken(
            CHECK,
            format!("{half} is of no use alone. Nothing would be sent by https://."),
            format!("Set {EXPORTER}{other}, too."),
        )
    })
}

fn name_of(name: &str) -> Option<Finding> {
    let is_ours = name.starts_with("STEPSCOPE_");
    let is_known = |known: &[&str]| known.contains(&name);
    let is_language_s = LANGUAGES.iter().any(|prefix| name.starts_with(prefix));
    if is_known(OURS)
        || is_known(FOLLOWED)
        || exporter_s(name, EXPORTER_FOLLOWED).is_some()
        || is_language_s
        || !(name.starts_with("STEP") || name.starts_with("OT"))
    {
        return None;
    }
    let exporters: Vec<String> = SIGNALS
        .iter()
        .chain([&LOGS])
        .flat_map(|signal| EXPORTER_FOLLOWED.iter().map(move |end| format!("{EXPORTER}{signal}{end}")))
        .collect();
    if is_known(SPECIFIED) || exporters.iter().any(|exporter| exporter == name) {
        return Some(note(
            CHECK,
            format!("{name} is set; an SDK follows it, stepscope's layer does not."),
            "Nothing, where it is meant for an SDK; docs/recording.md has the layer's settings.",
        ));
    }
    let known =
        OURS.iter().chain(FOLLOWED).chain(SPECIFIED).copied().chain(exporters.iter().map(String::as_str));
    let nearest = known.map(|known| (slips(name, known), known)).min()?;
    match nearest {
        (slips, known) if slips <= MAX_SLIPS => Some(broken(
            CHECK,
            format!("{name} is set, but nobody reads a variable of that name."),
            format!("{known} is probably meant."),
        )),
        _ if is_ours => Some(note(
            CHECK,
            format!("{name} is set, but it is no setting of stepscope's."),
            "See docs/recording.md for the settings.",
        )),
        _ => None,
    }
}

/// Changes of one letter that make one word of the other (Levenshtein's distance).
fn slips(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.bytes().enumerate() {
        let mut diagonal = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, right) in b.bytes().enumerate() {
            let (above, before) = (row.get(j + 1).copied().unwrap_or(0), row.get(j).copied().unwrap_or(0));
            let here = (diagonal + usize::from(left != right)).min(above + 1).min(before + 1);
            diagonal = above;
            if let Some(cell) = row.get_mut(j + 1) {
                *cell = here;
            }
        }
    }
    row.last().copied().unwrap_or(0)
}

/// Whether what `RUST_LOG` says leaves spans of level INFO alone where no directive names a target.
pub(crate) fn lets_sections_through(directives: &str) -> bool {
    let general = directives.split(',').map(str::trim).filter(|directive| !directive.contains(['=', '[']));
    let mut levels = general.filter(|directive| !directive.is_empty());
    levels
        .next_back()
        .is_some_and(|level| matches!(level.to_ascii_lowercase().as_str(), "info" | "debug" | "trace"))
}

/// What an `EnvFilter` over the whole program would do.
pub(crate) const FILTER_FIX: &str = "Put the filter on the layer that it is meant for, as in \
    fmt::layer().with_filter(EnvFilter::from_default_env()); or set RUST_LOG=info.";

fn filter(environment: &BTreeMap<String, String>) -> Finding {
    match environment.get("RUST_LOG").map(|value| value.trim()).filter(|value| !value.is_empty()) {
        Some(directives) if !lets_sections_through(directives) => note(
            FILTER,
            format!(
                "RUST_LOG={directives}: an EnvFilter over the whole program would keep #[instrument] and info_span! \
                 from the layer; `stepscope doctor -- CMD` tries it."
            ),
            FILTER_FIX,
        ),
        Some(directives) => fine(FILTER, format!("RUST_LOG={directives} lets sections through.")),
        None => fine(FILTER, "RUST_LOG is not set."),
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;
    use std::collections::BTreeSet;

    fn found(name: &str, value: &str) -> Vec<(State, String, Option<String>)> {
        let environment = BTreeMap::from([(name.to_owned(), value.to_owned())]);
        let findings = check(&environment, &environment).into_iter().filter(|finding| finding.check == CHECK);
        findings.map(|finding| (finding.state, finding.text, finding.fix)).collect()
    }

    #[test]
    fn slips_of_the_pen_are_named_with_what_is_meant() {
        for (wrong, meant) in [
            ("STEPSCOPE_LEVLE", "STEPSCOPE_LEVEL"),
            ("STEPSCOPE_STEPSPAN", "STEPSCOPE_STEP_SPAN"),
            ("STEPSCOP_DIR", "STEPSCOPE_DIR"),
            ("OTEL_EXPORTER_OTPL_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
            ("OTEL_EXPORTER_OTLP_TRACE_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"),
            ("OTEL_SERVICENAME", "OTEL_SERVICE_NAME"),
        ] {
            let found = found(wrong, "x");
            assert_eq!(found[0].0, State::Broken, "{wrong}: {found:?}");
            assert!(found[0].2.as_ref().unwrap().starts_with(&format!("{meant} ")), "{wrong}: {found:?}");
        }
    }

    #[test]
    fn values_that_cannot_be_used_are_broken() {
        for (name, value, state) in [
            ("STEPSCOPE_LEVEL", "loud", State::Broken),
            ("STEPSCOPE_LEVEL", "off", State::Broken),
            ("STEPSCOPE_LEVEL", "basic", State::Note),
            ("STEPSCOPE_LEVEL", "Detailed", State::Fine),
            ("STEPSCOPE_RING_BYTES", "1 MiB", State::Broken),
            ("STEPSCOPE_FORMAT", "xml", State::Broken),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", State::Note),
            ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", State::Note),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "foo", State::Broken),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf", State::Fine),
            ("OTEL_SDK_DISABLED", "TRUE", State::Broken),
            ("OTEL_SDK_DISABLED", "false", State::Fine),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1000", State::Fine),
            ("OTEL_METRIC_EXPORT_INTERVAL", "1s", State::Broken),
            ("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "zstd", State::Note),
            ("OTEL_EXPORTER_OTLP_METRICS_COMPRESSION", "snappy", State::Broken),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip", State::Fine),
            ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "1s", State::Broken),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/v1/traces", State::Fine),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=b", State::Fine),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/absent/c.pem", State::Broken),
            (
                "OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE",
                concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
                State::Broken,
            ),
            ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "http://l", State::Note),
            ("OTEL_TRACES_SAMPLER", "always_on", State::Note),
            ("OTEL_EXPORTER_OTLP_LOGS_CLIENT_KEY", "k", State::Note),
            ("STEPSCOPE_OF_MINE", "x", State::Note),
            ("OTEL_PYTHON_LOG_LEVEL", "x", State::Fine),
            ("OTHER", "x", State::Fine),
            ("STEPSCOPE_DIR", "  ", State::Fine),
            ("OTEL_SDK_DISABLED", "yes", State::Note),
            ("STEPSCOPE_FILTER", "min=20us,depth=3", State::Fine),
            ("STEPSCOPE_REPORT", "a.html,b.md", State::Fine),
            ("STEPSCOPE_DIR_BYTES", "5000000", State::Fine),
            ("WORLD_SIZE", "4", State::Fine),
            ("BAGGAGE", "a=b", State::Fine),
        ] {
            assert_eq!(found(name, value)[0].0, state, "{name}={value}: {:?}", found(name, value));
        }
    }

    #[test]
    fn what_the_layer_says_of_a_value_is_said_here_once() {
        for (name, value) in [
            ("STEPSCOPE_SIGUSR2", "foo"),
            ("STEPSCOPE_CAPTURE", "steps=0"),
            ("STEPSCOPE_FILTER", "min=20"),
            ("STEPSCOPE_TRACK", "gpus"),
            ("STEPSCOPE_SUMS", "maybe"),
            ("STEPSCOPE_MAX_LEVEL", "loud"),
            ("STEPSCOPE_OVERFLOW", "x"),
            ("STEPSCOPE_LOCATIONS", "x"),
            ("STEPSCOPE_HOOK_EXIT", "x"),
            ("STEPSCOPE_HOOK_PANICS", "x"),
            ("STEPSCOPE_HANDLE_SIGNALS", "x"),
            ("STEPSCOPE_REPORT", "out.pdf"),
            ("STEPSCOPE_RING_BYTES", "100"),
            ("STEPSCOPE_DIR_BYTES", "10"),
            ("STEPSCOPE_EXIT_TIMEOUT", "soon"),
            ("WORLD_SIZE", "0"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "abc"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://m"),
            ("OTEL_RESOURCE_ATTRIBUTES", "foo"),
            ("TRACEPARENT", "zz"),
            ("BAGGAGE", ",,="),
        ] {
            let found = found(name, value);
            let [(state, text, _)] = found.as_slice() else { panic!("{name}={value}: {found:?}") };
            assert_eq!(*state, State::Broken, "{name}={value}");
            assert!(text.starts_with(name), "{name}={value}: {text}");
        }
    }

    #[test]
    fn filters_are_read_as_far_as_they_are_general() {
        for (directives, through) in [
            ("info", true),
            ("my_crate=trace,info", true),
            ("warn", false),
            ("debug,hyper=off", true),
            ("my_crate=debug", false),
            ("", false),
        ] {
            assert_eq!(lets_sections_through(directives), through, "{directives}");
        }
    }

    #[test]
    fn files_of_tls_are_looked_into() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.into_os_string().into_string().unwrap()
        };
        let key = file("key.pem", "-----BEGIN EC PRIVATE KEY-----\nAA==\n-----END EC PRIVATE KEY-----\n");
        let certificate = file("c.pem", "Subject: CN=a\r\n-----BEGIN CERTIFICATE-----\r\nAA==\r\n");
        let states = |variables: &[(&str, &String)]| {
            let given = variables.iter().map(|(end, path)| (format!("{EXPORTER}{end}"), (*path).clone()));
            let given = given.collect();
            let found = check(&given, &given).into_iter().filter(|finding| finding.check == CHECK);
            found.map(|finding| finding.state).collect::<Vec<_>>()
        };
        assert_eq!(states(&[("CERTIFICATE", &certificate)]), [State::Note]);
        assert_eq!(states(&[("CERTIFICATE", &key)]), [State::Broken]);
        let whole = [("CLIENT_CERTIFICATE", &certificate), ("CLIENT_KEY", &key)];
        assert_eq!(states(&whole), [State::Note, State::Note]);
        assert_eq!(states(&whole[..1]), [State::Note, State::Broken]);
        assert_eq!(states(&whole[1..]), [State::Note, State::Broken]);
        // Each signal has a whole one.
        let own =
            [("CLIENT_CERTIFICATE", &certificate), ("TRACES_CLIENT_KEY", &key), ("METRICS_CLIENT_KEY", &key)];
        assert_eq!(states(&own), [State::Note; 3]);
    }

    #[test]
    fn metrics_alone_go_nowhere() {
        let metrics = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT".to_owned(), "http://m/in".to_owned());
        let alone = BTreeMap::from([metrics.clone()]);
        let states = |environment: BTreeMap<String, String>| {
            check(&environment, &environment).into_iter().map(|finding| finding.state).max()
        };
        assert_eq!(states(alone.clone()), Some(State::Broken));
        for other in ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] {
            let both = BTreeMap::from([metrics.clone(), (other.to_owned(), "http://t".to_owned())]);
            assert_eq!(states(both.clone()), Some(State::Fine));
            // The other one may stand in the file of settings.
            let found = check(&alone, &both);
            assert!(found.iter().all(|finding| finding.state == State::Fine), "{found:?}");
        }
    }

    #[test]
    fn what_is_wrong_in_the_file_is_not_told_of_variables() {
        let [level, track, wrong] = ["STEPSCOPE_MAX_LEVEL", "STEPSCOPE_TRACK", "3"].map(str::to_owned);
        let environment = BTreeMap::from([(level.clone(), wrong.clone())]);
        let effective = BTreeMap::from([(level, wrong.clone()), (track, wrong)]);
        let found = check(&environment, &effective);
        let texts: Vec<&str> = found
            .iter()
            .filter(|finding| finding.state == State::Broken)
            .map(|finding| finding.text.as_str())
            .collect();
        assert!(matches!(texts[..], [text] if text.starts_with("STEPSCOPE_MAX_LEVEL=3")), "{texts:?}");
    }

    /// The product code of the layer, without its tests.
    fn source_of_the_layer(folder: &std::path::Path, text: &mut String) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                source_of_the_layer(&path, text);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let source = std::fs::read_to_string(&path).unwrap();
                *text += source.split("#[cfg(test)]\nmod tests {").next().unwrap();
            }
        }
    }

    /// What stands in capitals between quotes behind any of `before`.
    fn capitals<'s>(source: &'s str, before: &str) -> BTreeSet<&'s str> {
        let name = |(at, _): (usize, &str)| {
            let (name, _) = source[at + before.len()..].split_once('"')?;
            let is_name =
                name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
            is_name.then_some(name).filter(|name| !name.is_empty())
        };
        source.match_indices(before).filter_map(name).collect()
    }

    /// The layer's own code names no variable that is missing here, and none is here that it does not name.
    #[test]
    fn the_lists_are_those_of_the_layer() {
        let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../stepscope/src"));
        let mut source = String::new();
        source_of_the_layer(folder, &mut source);
        let named = capitals(&source, "\"").into_iter();
        let mut named: BTreeSet<&str> =
            named.filter(|name| name.starts_with("STEPSCOPE_") || name.starts_with("OTEL_")).collect();
        named.insert(stepscope_core::setting::FILE_VARIABLE);
        let known: BTreeSet<&str> = OURS.iter().chain(FOLLOWED).copied().collect();
        assert_eq!(known, named, "doctor must know what the layer reads: see OURS and FOLLOWED above");

        // The exporters' variables are put together: `of_all` and `either` look for all signals and for one.
        let source = std::fs::read_to_string(folder.join("config/otlp.rs")).unwrap();
        let source = source.split("#[cfg(test)]").next().unwrap();
        for parts in ["{what}\"", "{signal}_{what}\""] {
            assert!(source.contains(&format!("\"{EXPORTER}{parts}")), "{parts}");
        }
        let read: BTreeSet<&str> =
            ["of_all(\"", "of_it(\"", "either(\""].iter().flat_map(|call| capitals(source, call)).collect();
        assert_eq!(read, EXPORTER_FOLLOWED.iter().copied().collect());
        let others: BTreeSet<&str> =
            capitals(source, "\"").into_iter().filter(|name| !read.contains(name)).collect();
        let signals = ["TRACES", "METRICS"];
        assert_eq!(others, signals.into());
        assert_eq!(SIGNALS[1..], signals.map(|signal| format!("{signal}_")));
    }
}
