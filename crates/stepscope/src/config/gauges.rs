//! Whether and where the gauges of the machine, its devices and the process are published: `STEPSCOPE_METRICS_ADDR`, and what
//! OpenTelemetry's variables say of exporters of metrics. The sums of sections go their own way whatever stands here.

use std::net::SocketAddr;

/// What stands in OpenTelemetry's specification for an exporter to Prometheus.
const PROMETHEUS: &str = "127.0.0.1";
const PROMETHEUS_PORT: u16 = 9464;

/// The settings of the gauges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gauges {
    /// Where scrapes are answered on local rank 0; the next rank of the machine has the next port.
    pub address: Option<SocketAddr>,
    pub allow_remote: bool,
    /// Whether they go to the endpoint, where there is one.
    pub sends: bool,
    /// Whether they go to the directory, where there is one.
    pub keeps: bool,
    /// Whether what the program records by the facade `metrics` is among them.
    #[cfg(feature = "facade")]
    pub has_facade: bool,
}

impl Default for Gauges {
    fn default() -> Self {
        Self {
            address: None,
            allow_remote: false,
            sends: true,
            keeps: true,
            #[cfg(feature = "facade")]
            has_facade: false,
        }
    }
}

impl Gauges {
    /// Takes what OpenTelemetry's variables say; `text` is that of a variable. What cannot be done is named in `warnings`.
    pub(crate) fn apply(&mut self, text: impl Fn(&str) -> Option<String>, warnings: &mut Vec<String>) {
        let text = |name: &str| text(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let Some(list) = text("OTEL_METRICS_EXPORTER") else { return };
        self.sends = false;
        let names = || list.split(',').map(str::trim).filter(|name| !name.is_empty());
        self.keeps = names().any(|name| name != "none");
        for name in names() {
            match name {
                "otlp" => self.sends = true,
                "none" => {}
                "prometheus" => {
                    let host = text("OTEL_EXPORTER_PROMETHEUS_HOST");
                    let host = host.filter(|host| host != "localhost").unwrap_or_else(|| PROMETHEUS.into());
                    let port = text("OTEL_EXPORTER_PROMETHEUS_PORT");
                    let port = port.unwrap_or_else(|| PROMETHEUS_PORT.to_string());
                    // What is ours wins.
                    match format!("{host}:{port}").parse() {
                        Ok(address) => self.address = self.address.or(Some(address)),
                        Err(_) => warnings.push(format!(
                            "OTEL_EXPORTER_PROMETHEUS_HOST and OTEL_EXPORTER_PROMETHEUS_PORT give {host}:{port}, \
                             which is no address as 127.0.0.1:9464: no scrapes are answered"
                        )),
                    }
                }
                _ => warnings
                    .push(format!("OTEL_METRICS_EXPORTER={name} is none of otlp, prometheus, none: ignored")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exporters_are_those_of_the_specification() {
        let of = |variables: &[(&str, &str)]| {
            let (mut gauges, mut warnings) = (Gauges::default(), Vec::new());
            let text = |name: &str| {
                variables.iter().find(|(key, _)| *key == name).map(|(_, text)| (*text).to_owned())
            };
            gauges.apply(text, &mut warnings);
            (gauges.address.map(|address| address.to_string()), gauges.sends, gauges.keeps, warnings.len())
        };
        let exporter = |list| ("OTEL_METRICS_EXPORTER", list);
        assert_eq!(of(&[]), (None, true, true, 0));
        assert_eq!(of(&[exporter("none")]), (None, false, false, 0));
        assert_eq!(of(&[exporter("otlp, prometheus")]), (Some("127.0.0.1:9464".into()), true, true, 0));
        let port = ("OTEL_EXPORTER_PROMETHEUS_PORT", "1");
        assert_eq!(of(&[exporter("prometheus"), port]), (Some("127.0.0.1:1".into()), false, true, 0));
        let host = ("OTEL_EXPORTER_PROMETHEUS_HOST", "here");
        assert_eq!(of(&[exporter("prometheus,console"), host]), (None, false, true, 2));
    }
}
