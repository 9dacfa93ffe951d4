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
    "STEPSCOPE_DEEP_STEPS",
    "STEPSCOPE_FILTER",
    "STEPSCOPE_FORMAT",
    "STEPSCOPE_FORMAT_FIELDS",
    "STEPSCOPE_HANDLE_SIGNALS",
    "STEPSCOPE_HOOK_EXIT",
    "STEPSCOPE_HOOK_PANICS",
    "STEPSCOPE_LOCATIONS",
    "STEPSCOPE_MEMORY_SAMPLE_BYTES",
    "STEPSCOPE_MEMORY_SEND",
    "STEPSCOPE_METRICS_ADDR",
    "STEPSCOPE_METRICS_ALLOW_REMOTE",
    "STEPSCOPE_METRICS_FACADE",
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
mod tests;
