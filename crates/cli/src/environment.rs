//! What a program finds in its environment when it is recorded: where to send, and nothing in the way of it.

use std::ffi::OsString;

/// The base URL of an OTLP endpoint.
pub(crate) const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// Endpoints for one signal: they win over the base, so they must not stay.
pub(crate) const SIGNAL_ENDPOINTS: [&str; 3] = [
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
];

/// What is set where the user has set nothing, and why.
const DEFAULTS: &[(&str, &str)] = &[
    // What the specification recommends, and all that our own layer speaks. gRPC is taken at the same place.
    ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
    ("OTEL_TRACES_EXPORTER", "otlp"),
    // SDKs that look for TLS here and not in the endpoint's scheme.
    ("OTEL_EXPORTER_OTLP_INSECURE", "true"),
    // SDKs drop what does not fit in their queue of 2048 spans, and a fast loop makes more in a moment.
    ("OTEL_BSP_MAX_QUEUE_SIZE", "65536"),
];

/// Lists of hosts that are not asked through a proxy; programs read one or the other.
const NO_PROXY: [&str; 2] = ["NO_PROXY", "no_proxy"];
const LOOPBACK: &str = "127.0.0.1,localhost";

/// Settings of the user's that keep spans from being sent at all.
const OBSTACLES: &[(&str, &str)] = &[
    ("OTEL_SDK_DISABLED", "true"),
    ("OTEL_TRACES_EXPORTER", "none"),
    ("OTEL_TRACES_SAMPLER", "always_off"),
    ("STEPSCOPE_LEVEL", "off"),
];

/// How the environment of the program differs from ours.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) set: Vec<(&'static str, OsString)>,
    pub(crate) remove: Vec<&'static str>,
    /// What the user should know about it.
    pub(crate) notes: Vec<String>,
}

/// The changes for a program that sends to `endpoint`.
pub(crate) fn for_program(endpoint: &str, variable: impl Fn(&str) -> Option<OsString>) -> Changes {
    let given = |name: &str| variable(name).filter(|value| !value.is_empty());
    let mut changes = Changes::default();
    for name in [ENDPOINT].into_iter().chain(SIGNAL_ENDPOINTS) {
        if let Some(value) = given(name) {
            let value = value.to_string_lossy();
            changes
                .notes
                .push(format!("{name}={value} is not used: the program's telemetry is recorded here"));
        }
    }
    changes.remove = SIGNAL_ENDPOINTS.into_iter().filter(|name| variable(name).is_some()).collect();
    changes.set.push((ENDPOINT, endpoint.into()));
    for &(name, value) in DEFAULTS {
        if given(name).is_none() {
            changes.set.push((name, value.into()));
        }
    }
    for name in NO_PROXY {
        let mut hosts = given(name).unwrap_or_default();
        if !hosts.is_empty() {
            hosts.push(",");
        }
        hosts.push(LOOPBACK);
        changes.set.push((name, hosts));
    }
    for &(name, obstacle) in OBSTACLES {
        if given(name).is_some_and(|value| value.eq_ignore_ascii_case(obstacle)) {
            changes.notes.push(format!("{name}={obstacle} stays, so the program may send no spans"));
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(given: &[(&str, &str)]) -> Changes {
        for_program("http://127.0.0.1:9", |name| {
            given.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
        })
    }

    fn set<'c>(changes: &'c Changes, name: &str) -> Option<&'c str> {
        changes.set.iter().find(|(key, _)| *key == name).and_then(|(_, value)| value.to_str())
    }

    #[test]
    fn an_empty_environment_gets_everything() {
        let changes = changes(&[("OTEL_TRACES_EXPORTER", "")]);
        assert_eq!(set(&changes, ENDPOINT), Some("http://127.0.0.1:9"));
        assert_eq!(set(&changes, "OTEL_EXPORTER_OTLP_PROTOCOL"), Some("http/protobuf"));
        assert_eq!(set(&changes, "OTEL_TRACES_EXPORTER"), Some("otlp"));
        assert_eq!(set(&changes, "no_proxy"), Some("127.0.0.1,localhost"));
        assert!(changes.remove.is_empty() && changes.notes.is_empty());
    }

    #[test]
    fn settings_of_the_user_stay_and_endpoints_are_named() {
        let changes = changes(&[
            (ENDPOINT, "http://collector:4318"),
            ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://metrics:1/v1/metrics"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "10"),
            ("NO_PROXY", "intern"),
            ("OTEL_SDK_DISABLED", "True"),
        ]);
        assert_eq!(set(&changes, ENDPOINT), Some("http://127.0.0.1:9"));
        assert_eq!(set(&changes, "OTEL_EXPORTER_OTLP_PROTOCOL"), None);
        assert_eq!(set(&changes, "OTEL_BSP_MAX_QUEUE_SIZE"), None);
        assert_eq!(set(&changes, "NO_PROXY"), Some("intern,127.0.0.1,localhost"));
        assert_eq!(changes.remove, ["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"]);
        assert_eq!(changes.notes.len(), 3, "{:?}", changes.notes);
        assert!(changes.notes[0].contains("http://collector:4318"));
        assert!(changes.notes[2].contains("OTEL_SDK_DISABLED"));
    }
}
