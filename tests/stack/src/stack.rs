//! The real programs, run by `scripts/stack` on free ports, in a folder that goes with them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use stepscope_testkit::{TempFolder, binaries, process};

use crate::http;
use crate::program::{LIMIT, command};

/// How long is waited for figures that programs reach by themselves.
const PATIENCE: Duration = Duration::from_secs(120);

/// Running programs; stopped when dropped.
#[derive(Debug)]
pub struct Stack {
    folder: TempFolder,
    addresses: BTreeMap<String, String>,
    settings: Vec<(String, String)>,
}

/// A call of `scripts/stack`.
#[must_use]
pub fn script(arguments: &[&str]) -> Command {
    command(&binaries::repository().join("scripts/stack"), arguments)
}

fn run(command: &mut Command) -> Result<String, String> {
    let ended =
        process::run(command, LIMIT).map_err(|error| format!("failed to start {command:?}: {error}"))?;
    Ok(ended.success().map_err(|problem| format!("{command:?}: {problem}"))?.stdout_text())
}

/// Where the built program `name` is.
///
/// # Errors
/// When there is none of that name.
pub fn path(name: &str) -> Result<PathBuf, String> {
    Ok(PathBuf::from(run(&mut script(&["path", name]))?.trim_end()))
}

impl Stack {
    /// Starts collector and Jaeger, or those of them that `arguments` name; `arguments` are further ones for
    /// `scripts/stack start`, `settings` further variables of the programs' environment.
    ///
    /// # Errors
    /// When one does not start, with the end of its log.
    pub fn start(arguments: &[&str], settings: &[(&str, &str)]) -> Result<Self, String> {
        let folder = TempFolder::new("stack").map_err(|error| format!("failed to make a folder: {error}"))?;
        let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        let mut stack =
            Self { folder, addresses: BTreeMap::new(), settings: settings.iter().map(own).collect() };
        let mut start = script(&["start", "--free-ports", "--dir"]);
        start.arg(stack.folder.path()).args(arguments).envs(settings.iter().copied());
        run(&mut start)?;
        let file = stack.folder.join("env");
        let text =
            std::fs::read_to_string(&file).map_err(|error| format!("failed to read {file:?}: {error}"))?;
        stack.addresses = text
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Ok(stack)
    }

    /// The address or setting of this name in the programs' environment; empty if there is none.
    #[must_use]
    pub fn address(&self, name: &str) -> &str {
        self.addresses.get(name).map_or("", String::as_str)
    }

    /// Where the layer sends to.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        self.address("OTEL_EXPORTER_OTLP_ENDPOINT")
    }

    /// A file or folder that the collector wrote.
    #[must_use]
    pub fn data(&self, name: &str) -> PathBuf {
        self.folder.join("data").join(name)
    }

    /// The log of one of the programs.
    #[must_use]
    pub fn log(&self, program: &str) -> String {
        std::fs::read_to_string(self.folder.join(format!("{program}.log"))).unwrap_or_default()
    }

    /// Has `scripts/stack` start, stop or kill one of the programs; with the settings of the first start.
    ///
    /// # Errors
    /// When that fails.
    pub fn change(&self, what: &str, program: &str) -> Result<(), String> {
        let settings = self.settings.iter().map(|(name, value)| (name, value));
        run(script(&[what, program, "--dir"]).arg(self.folder.path()).envs(settings)).map(drop)
    }

    /// The sum of a counter of the collector's own telemetry, over its series that contain `label`.
    ///
    /// # Errors
    /// When the collector does not answer.
    pub fn collector_count(&self, name: &str, label: &str) -> Result<u64, String> {
        sum(&http::get(self.address("COLLECTOR_METRICS"), "/metrics")?, name, label)
    }

    /// The same of Jaeger.
    ///
    /// # Errors
    /// When Jaeger does not answer.
    pub fn jaeger_count(&self, name: &str, label: &str) -> Result<u64, String> {
        sum(&http::get(self.address("JAEGER_METRICS"), "/metrics")?, name, label)
    }

    /// Waits until Jaeger has stored `spans` spans, or more.
    ///
    /// # Errors
    /// When it has fewer after a time that is long enough for any.
    pub fn wait_for_stored(&self, spans: u64) -> Result<u64, String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let stored = self.stored()?;
            if stored >= spans {
                return Ok(stored);
            }
            if Instant::now() > deadline {
                return Err(format!("Jaeger has {stored} of {spans} spans after {PATIENCE:?}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Spans that Jaeger has stored.
    ///
    /// # Errors
    /// When Jaeger does not answer.
    pub fn stored(&self) -> Result<u64, String> {
        self.jaeger_count("otelcol_exporter_sent_spans", "jaeger_storage_exporter")
    }
}

/// Sums what Prometheus text has under this name; 0 where there is no such series yet.
fn sum(text: &str, name: &str, label: &str) -> Result<u64, String> {
    let mut sum = 0.0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let series = line.split(['{', ' ']).next().unwrap_or_default();
        if series.strip_suffix("_total").unwrap_or(series) == name && line.contains(label) {
            let value = line.rsplit(' ').next().unwrap_or_default();
            sum += value.parse::<f64>().map_err(|error| format!("{line}: {error}"))?;
        }
    }
    Ok(sum as u64)
}

impl Drop for Stack {
    fn drop(&mut self) {
        // A test that has passed must not fail here, and one that has failed has said why.
        let _ = run(script(&["kill", "--dir"]).arg(self.folder.path()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_summed_by_name_and_label() {
        let text =
            "# HELP a b\na{x=\"1\",y=\"2\"} 3\na{x=\"2\"} 4\nab{x=\"1\"} 100\na_total{x=\"1\"} 1e+06\n";
        assert_eq!(sum(text, "a", "x=\"1\""), Ok(1_000_003));
        assert_eq!(sum(text, "a", ""), Ok(1_000_007));
        assert_eq!(sum(text, "b", ""), Ok(0));
        assert!(sum("a{} x\n", "a", "").is_err());
    }
}
