//! The layer's settings, with their defaults and their environment variables. Precedence: environment below
//! code, as the builder applies it.

pub(crate) mod otlp;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use stepscope_core::Level;

use crate::capture::Capture;
use crate::demand::OnSignal;
use crate::filter::Filter;
use crate::ids::SpanIds;
use crate::ring::Overflow;

/// The resolved settings of a recorder.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// The environment has OpenTelemetry off: nothing is recorded, whatever the program says.
    pub is_disabled: bool,
    pub level: Level,
    /// Most verbose `tracing` level whose spans become sections.
    pub max_level: tracing::level_filters::LevelFilter,
    /// Names of spans that are steps.
    pub step_spans: Vec<String>,
    /// Fields whose `Debug`/`Display` values may be formatted.
    pub formatted_fields: Vec<String>,
    /// Which sections leave no span.
    pub filter: Filter,
    /// Whether sections are summed up by call path.
    pub sums: bool,
    /// Which steps are recorded more closely.
    pub capture: Option<Capture>,
    /// What SIGUSR2 does; nothing, and no handler, unless it is said.
    pub on_sigusr2: Option<OnSignal>,
    /// Whether spans carry file, line and module.
    pub locations: bool,
    pub ring_bytes: usize,
    /// What is left out when a ring is full.
    pub overflow: Overflow,
    pub directory: Option<PathBuf>,
    pub directory_bytes: u64,
    pub format: Format,
    pub otlp: otlp::Otlp,
    /// How often the directory is written, at the latest.
    pub flush_interval: Duration,
    /// How often aggregates are published.
    pub aggregate_interval: Duration,
    /// Time that the final flush may take.
    pub exit_timeout: Duration,
    /// What the roots of traces are linked to, beside the run.
    pub link_roots: Option<fn() -> Option<SpanIds>>,
    pub handle_signals: bool,
    pub hook_panics: bool,
    pub hook_exit: bool,
}

/// How the directory's files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// OTLP protobuf messages, each after its length in 4 bytes, big-endian.
    #[default]
    Protobuf,
    /// OTLP JSON, one message a line.
    JsonLines,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            is_disabled: false,
            level: Level::Detailed,
            max_level: tracing::level_filters::LevelFilter::INFO,
            step_spans: Vec::new(),
            formatted_fields: Vec::new(),
            filter: Filter::default(),
            sums: true,
            capture: None,
            on_sigusr2: None,
            locations: true,
            ring_bytes: 1 << 20,
            overflow: Overflow::default(),
            directory: None,
            directory_bytes: 1 << 30,
            format: Format::Protobuf,
            otlp: otlp::Otlp::default(),
            flush_interval: Duration::from_millis(500),
            aggregate_interval: Duration::from_secs(10),
            exit_timeout: Duration::from_secs(2),
            link_roots: None,
            handle_signals: true,
            hook_panics: true,
            hook_exit: true,
        }
    }
}

impl Config {
    /// The defaults, changed by the environment. Values that cannot be used are named in `warnings`.
    pub(crate) fn from_environment(
        raw: impl Fn(&str) -> Option<OsString>,
        warnings: &mut Vec<String>,
    ) -> Self {
        let mut config = Self::default();
        let variable = |name: &str| raw(name)?.into_string().ok();
        let text = |name: &str| variable(name).filter(|text| !text.trim().is_empty());
        let list = |name: &str| {
            text(name).map(|text| text.split(',').map(|item| item.trim().to_owned()).collect::<Vec<_>>())
        };
        let mut number = |name: &str| {
            let text = text(name)?;
            let parsed = text.trim().parse::<u64>().ok();
            if parsed.is_none() {
                warnings.push(format!("{name}={text} is not a whole number: ignored"));
            }
            parsed
        };
        if let Some(bytes) = number("STEPSCOPE_RING_BYTES") {
            config.ring_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
        if let Some(bytes) = number("STEPSCOPE_DIR_BYTES") {
            config.directory_bytes = bytes;
        }
        if let Some(ms) = number("OTEL_METRIC_EXPORT_INTERVAL") {
            config.aggregate_interval = Duration::from_millis(ms.max(1));
        }
        if let Some(ms) = number("STEPSCOPE_EXIT_TIMEOUT") {
            config.exit_timeout = Duration::from_millis(ms);
        }
        if let Some(name) = text("STEPSCOPE_LEVEL") {
            match Level::parse(&name.to_ascii_lowercase()) {
                Some(level) => config.level = level,
                None => warnings.push(format!(
                    "STEPSCOPE_LEVEL={name} is none of off, basic, detailed, comprehensive: ignored"
                )),
            }
        }
        match text("STEPSCOPE_FORMAT").as_deref() {
            None => {}
            Some("protobuf") => config.format = Format::Protobuf,
            Some("json") => config.format = Format::JsonLines,
            Some(other) => {
                warnings.push(format!("STEPSCOPE_FORMAT={other} is none of protobuf, json: ignored"));
            }
        }
        config.filter = Filter::parse(&text("STEPSCOPE_FILTER").unwrap_or_default(), |error| {
            warnings.push(format!("STEPSCOPE_FILTER: {error}: ignored"));
        });
        if let Some(name) = text("STEPSCOPE_SUMS") {
            match name.trim().to_ascii_lowercase().as_str() {
                "on" => {}
                "off" => config.sums = false,
                _ => warnings.push(format!("STEPSCOPE_SUMS={name} is none of on, off: ignored")),
            }
        }
        match text("STEPSCOPE_OVERFLOW").map(|text| text.trim().to_ascii_lowercase()).as_deref() {
            None => {}
            Some("newest") => config.overflow = Overflow::DropNewest,
            Some("steps") => config.overflow = Overflow::KeepSteps,
            Some(other) => {
                warnings.push(format!("STEPSCOPE_OVERFLOW={other} is none of newest, steps: ignored"));
            }
        }
        config.capture = text("STEPSCOPE_CAPTURE").and_then(|text| match text.parse() {
            Ok(capture) => Some(capture),
            Err(error) => {
                warnings.push(format!("STEPSCOPE_CAPTURE: {error}: ignored"));
                None
            }
        });
        config.on_sigusr2 = text("STEPSCOPE_SIGUSR2").and_then(|text| {
            let what = OnSignal::parse(text.trim());
            if what.is_none() {
                warnings.push(format!("STEPSCOPE_SIGUSR2={text} is none of level, capture: ignored"));
            }
            what
        });
        config.step_spans = list("STEPSCOPE_STEP_SPAN").unwrap_or_default();
        config.formatted_fields = list("STEPSCOPE_FORMAT_FIELDS").unwrap_or_default();
        config.directory =
            raw("STEPSCOPE_DIR").filter(|path| !path.to_string_lossy().trim().is_empty()).map(PathBuf::from);
        config.is_disabled =
            text("OTEL_SDK_DISABLED").is_some_and(|text| text.trim().eq_ignore_ascii_case("true"));
        config.otlp = otlp::Otlp::from_environment(variable, warnings);
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_changes_the_defaults_and_nonsense_is_named() {
        let variables = [
            ("STEPSCOPE_LEVEL", "Basic"),
            ("STEPSCOPE_STEP_SPAN", "train_step, val_step"),
            ("STEPSCOPE_RING_BYTES", "lots"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "3000"),
            ("OTEL_SDK_DISABLED", "no"),
            ("STEPSCOPE_FORMAT", "xml"),
            ("STEPSCOPE_EXIT_TIMEOUT", "250"),
            ("STEPSCOPE_FILTER", "depth=3,color=red"),
            ("STEPSCOPE_SUMS", "sometimes"),
            ("STEPSCOPE_OVERFLOW", "all"),
            ("STEPSCOPE_CAPTURE", "steps=3,wait=97"),
            ("STEPSCOPE_SIGUSR2", "sometimes"),
        ];
        let mut warnings = Vec::new();
        let find =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into());
        let config = Config::from_environment(find, &mut warnings);
        assert_eq!(config.level, Level::Basic);
        assert_eq!(config.step_spans, ["train_step", "val_step"]);
        assert_eq!(config.ring_bytes, Config::default().ring_bytes);
        assert_eq!(config.aggregate_interval, Duration::from_secs(3));
        assert_eq!(config.exit_timeout, Duration::from_millis(250));
        assert_eq!(config.filter, Filter::new().max_depth(3));
        assert_eq!(config.capture, Some(Capture::steps(3).wait(97)));
        assert_eq!(config.on_sigusr2, None);
        assert!(config.sums);
        assert_eq!(config.overflow, Overflow::DropNewest);
        assert_eq!(warnings.len(), 6, "{warnings:?}");
        let off = |name: &str| (name == "STEPSCOPE_SUMS").then(|| "off".into());
        assert!(!Config::from_environment(off, &mut warnings).sums && warnings.len() == 6);
        let steps = |name: &str| (name == "STEPSCOPE_OVERFLOW").then(|| "Steps".into());
        assert_eq!(Config::from_environment(steps, &mut warnings).overflow, Overflow::KeepSteps);
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_is_a_path_and_no_text() {
        use std::os::unix::ffi::OsStringExt as _;

        let path = OsString::from_vec(b"/data/\xff".to_vec());
        let find = |name: &str| (name == "STEPSCOPE_DIR").then(|| path.clone());
        assert_eq!(Config::from_environment(find, &mut Vec::new()).directory, Some(PathBuf::from(&path)));
    }
}
