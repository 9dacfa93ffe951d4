//! The layer's settings, with their defaults and their environment variables. Precedence: a file below the environment,
//! and that below code, as the builder applies it.

pub(crate) mod capture;
pub(crate) mod check;
pub(crate) mod file;
pub(crate) mod filter;
#[cfg(feature = "metrics")]
pub(crate) mod gauges;
pub(crate) mod memory_request;
pub(crate) mod on_signal;
pub(crate) mod otlp;
pub(crate) mod ring;
mod toml;
pub(crate) mod track;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use stepscope_core::{Level, setting};
use tracing::level_filters::LevelFilter;

use self::file::{File, SettingValue};
use self::on_signal::OnSignal;
use self::ring::{Overflow, RING_BYTES};
use crate::config::capture::Capture;
use crate::config::filter::Filter;
use crate::config::track::Track;
use crate::context::ids::SpanIds;
use crate::context::text::number_from;

/// The smallest bound that can be held: room for the metrics twice (a new file is written before the old one
/// goes), some of the first steps, the steps that are kept, twice, and the file that is written to.
pub(crate) const MIN_BOUND_BYTES: u64 = 1_000_000;
/// Live memory that is chosen more often takes a good part of the time of a program.
const FEW_SAMPLE_BYTES: u64 = 1_024;

/// The resolved settings of a recorder.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// The environment has OpenTelemetry off: nothing is recorded, whatever the program says.
    pub is_disabled: bool,
    pub level: Level,
    /// Most verbose `tracing` level whose spans become sections.
    pub max_level: LevelFilter,
    /// Names of spans that are steps.
    pub step_spans: Vec<String>,
    /// Fields whose `Debug`/`Display` values may be formatted.
    pub formatted_fields: Vec<String>,
    /// Which sections leave no span.
    pub filter: Filter,
    /// What is recorded beside times, and of which phases there are spans.
    pub track: Track,
    /// Whether sections are summed up by call path.
    pub sums: bool,
    /// Which steps are recorded more closely.
    pub capture: Option<Capture>,
    /// Whether some steps are deep ones.
    pub deep_steps: bool,
    /// What SIGUSR2 does; nothing, and no handler, unless it is said.
    pub on_sigusr2: Option<OnSignal>,
    /// Whether spans carry file, line and module.
    pub locations: bool,
    pub ring_bytes: usize,
    /// Of so many allocated bytes one is chosen and its block remembered while it is live; 0 for none. By the level where absent.
    pub memory_sample_bytes: Option<u64>,
    /// Whether live memory goes to the endpoint, too: whoever keeps series of what comes there would have thousands of it.
    pub sends_live_memory: bool,
    /// What is left out when a ring is full.
    pub overflow: Overflow,
    pub directory: Option<PathBuf>,
    pub directory_bytes: u64,
    pub format: Format,
    /// Files that reports are to be written to when the run ends, by those who can.
    pub reports: Vec<PathBuf>,
    pub otlp: otlp::Otlp,
    #[cfg(feature = "metrics")]
    pub gauges: gauges::Gauges,
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
            max_level: LevelFilter::INFO,
            step_spans: Vec::new(),
            formatted_fields: Vec::new(),
            filter: Filter::default(),
            track: Track::all(),
            sums: true,
            capture: None,
            deep_steps: true,
            on_sigusr2: None,
            locations: true,
            ring_bytes: 1 << 20,
            memory_sample_bytes: None,
            sends_live_memory: true,
            overflow: Overflow::default(),
            directory: None,
            directory_bytes: 1 << 30,
            format: Format::Protobuf,
            reports: Vec::new(),
            otlp: otlp::Otlp::default(),
            #[cfg(feature = "metrics")]
            gauges: gauges::Gauges::default(),
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
    /// The defaults, changed by a file and by the environment. Values that cannot be used are named in `warnings`.
    pub(crate) fn new(
        file: &File,
        raw: impl Fn(&str) -> Option<OsString>,
        warnings: &mut Vec<String>,
    ) -> Self {
        let mut config = Self::default();
        let of_file = |name: &str| file.get(name).cloned();
        let of_environment = |name: &str| Some(SettingValue { name: name.to_owned(), value: raw(name)? });
        config.apply(of_file, warnings);
        config.apply(of_environment, warnings);
        config.is_disabled = of_environment("OTEL_SDK_DISABLED")
            .is_some_and(|said| said.value.to_string_lossy().trim().eq_ignore_ascii_case("true"));
        let mut unusable = Vec::new();
        for name in file.settings().iter().map(|taken| taken.setting.variable) {
            let said = of_environment(name).filter(SettingValue::is_something);
            if let Some(said) = said.filter(|said| !otlp::is_usable(name, &said.value)) {
                let (said, file) = (said.value.to_string_lossy().into_owned(), &of_file(name));
                let holds = file.as_ref().map_or("the file", |file| &file.name);
                warnings.push(format!("{name}={said} cannot be used: ignored; {holds} holds"));
                unusable.push(name);
            }
        }
        let of_both = |name: &str| {
            let said = of_environment(name).filter(|said| said.is_something() && !unusable.contains(&name));
            let said = said.or_else(|| of_file(name))?;
            Some((said.name, said.value.into_string().ok()?))
        };
        config.otlp = otlp::Otlp::new(of_both, warnings);
        #[cfg(feature = "metrics")]
        config.gauges.apply(|name| raw(name)?.into_string().ok(), warnings);
        config
    }

    /// Takes what one place says.
    fn apply(&mut self, said: impl Fn(&str) -> Option<SettingValue>, warnings: &mut Vec<String>) {
        if let Some(directory) = said("STEPSCOPE_DIR").filter(SettingValue::is_something) {
            self.directory = Some(PathBuf::from(directory.value));
        }
        let mut reader = Reader { said, warnings };
        if let Some(names) = reader.list("STEPSCOPE_STEP_SPAN") {
            self.step_spans = names;
        }
        if let Some(names) = reader.list("STEPSCOPE_FORMAT_FIELDS") {
            self.formatted_fields = names;
        }
        if let Some(paths) = reader.list("STEPSCOPE_REPORT") {
            self.reports = paths.into_iter().filter(|path| !path.is_empty()).map(PathBuf::from).collect();
            if self.reports.iter().any(|path| setting::report_format(path).is_none()) {
                reader.warn(
                    "STEPSCOPE_REPORT",
                    "has a file that ends in none of .html, .json, .md, .txt: it is not written",
                );
            }
        }
        if let Some(bytes) = reader.number("STEPSCOPE_RING_BYTES") {
            self.ring_bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            let (least, most) = (*RING_BYTES.start(), *RING_BYTES.end());
            if !RING_BYTES.contains(&self.ring_bytes) {
                self.ring_bytes = self.ring_bytes.clamp(least, most);
                let taken = self.ring_bytes;
                reader.warn(
                    "STEPSCOPE_RING_BYTES",
                    &format!("is not from {least} to {most}: {taken} is taken"),
                );
            }
        }
        if let Some(bytes) = reader.number("STEPSCOPE_MEMORY_SAMPLE_BYTES") {
            self.memory_sample_bytes = Some(bytes);
            if (1..FEW_SAMPLE_BYTES).contains(&bytes) {
                let many = format!("is below {FEW_SAMPLE_BYTES}: so many samples slow the program down");
                reader.warn("STEPSCOPE_MEMORY_SAMPLE_BYTES", &many);
            }
        }
        if let Some(bytes) = reader.number("STEPSCOPE_DIR_BYTES") {
            self.directory_bytes = bytes.max(MIN_BOUND_BYTES);
            if bytes < MIN_BOUND_BYTES {
                reader.warn("STEPSCOPE_DIR_BYTES", &format!("is too small: {MIN_BOUND_BYTES} is taken"));
            }
        }
        if let Some(ms) = reader.number_from("OTEL_METRIC_EXPORT_INTERVAL", 1) {
            self.aggregate_interval = Duration::from_millis(ms);
        }
        if let Some(ms) = reader.number("STEPSCOPE_EXIT_TIMEOUT") {
            self.exit_timeout = Duration::from_millis(ms);
        }
        let levels = "off, basic, detailed, comprehensive";
        if let Some(level) = reader.one_of("STEPSCOPE_LEVEL", levels, Level::parse) {
            self.level = level;
        }
        let verbosities = "off, error, warn, info, debug, trace";
        if let Some(level) = reader.one_of("STEPSCOPE_MAX_LEVEL", verbosities, verbosity) {
            self.max_level = level;
        }
        if let Some(format) = reader.one_of("STEPSCOPE_FORMAT", "protobuf, json", Format::parse) {
            self.format = format;
        }
        if let Some(overflow) = reader.one_of("STEPSCOPE_OVERFLOW", "newest, oldest, steps", Overflow::parse)
        {
            self.overflow = overflow;
        }
        if let Some(what) = reader.one_of("STEPSCOPE_SIGUSR2", "level, capture", OnSignal::parse) {
            self.on_sigusr2 = Some(what);
        }
        for (name, is_on) in [
            ("STEPSCOPE_SUMS", &mut self.sums),
            ("STEPSCOPE_MEMORY_SEND", &mut self.sends_live_memory),
            ("STEPSCOPE_DEEP_STEPS", &mut self.deep_steps),
            ("STEPSCOPE_LOCATIONS", &mut self.locations),
            ("STEPSCOPE_HANDLE_SIGNALS", &mut self.handle_signals),
            ("STEPSCOPE_HOOK_PANICS", &mut self.hook_panics),
            ("STEPSCOPE_HOOK_EXIT", &mut self.hook_exit),
        ] {
            *is_on = reader.one_of(name, "on, off", switch).unwrap_or(*is_on);
        }
        #[cfg(feature = "metrics")]
        {
            if let Some((name, text)) = reader.text("STEPSCOPE_METRICS_ADDR") {
                match text.parse() {
                    Ok(address) => self.gauges.address = Some(address),
                    Err(_) => reader
                        .warnings
                        .push(format!("{name}={text} is no address as 127.0.0.1:9101: ignored")),
                }
            }
            let allowed = reader.one_of("STEPSCOPE_METRICS_ALLOW_REMOTE", "on, off", switch);
            self.gauges.allow_remote = allowed.unwrap_or(self.gauges.allow_remote);
        }
        #[cfg(feature = "facade")]
        {
            let taken = reader.one_of("STEPSCOPE_METRICS_FACADE", "on, off", switch);
            self.gauges.has_facade = taken.unwrap_or(self.gauges.has_facade);
        }
        #[cfg(not(feature = "facade"))]
        reader.warn("STEPSCOPE_METRICS_FACADE", "needs the feature `facade` of the crate stepscope: ignored");
        #[cfg(not(feature = "metrics"))]
        for name in ["STEPSCOPE_METRICS_ADDR", "STEPSCOPE_METRICS_ALLOW_REMOTE"] {
            reader.warn(name, "needs the feature `metrics` of the crate stepscope: ignored");
        }
        if let Some(filter) = reader.parts("STEPSCOPE_FILTER", |text, refuse| Filter::parse(text, refuse)) {
            self.filter = filter;
        }
        if let Some(track) = reader.parts("STEPSCOPE_TRACK", |text, refuse| Track::parse(text, refuse)) {
            self.track = track;
        }
        if let Some((name, text)) = reader.text("STEPSCOPE_CAPTURE") {
            match text.parse() {
                Ok(capture) => self.capture = Some(capture),
                Err(error) => reader.warnings.push(format!("{name}: {error}: ignored")),
            }
        }
    }
}

impl Format {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "protobuf" => Some(Self::Protobuf),
            "json" => Some(Self::JsonLines),
            _ => None,
        }
    }
}

fn verbosity(text: &str) -> Option<LevelFilter> {
    let names = ["off", "error", "warn", "info", "debug", "trace"];
    // The type takes numbers, too, which nobody could tell from our own levels.
    names.contains(&text).then(|| text.parse().ok())?
}

fn switch(text: &str) -> Option<bool> {
    match text {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

/// Reads what one place says, and names what cannot be used.
struct Reader<'a, F> {
    said: F,
    warnings: &'a mut Vec<String>,
}

impl<F: Fn(&str) -> Option<SettingValue>> Reader<'_, F> {
    /// What the place calls it, and its text, if it has one.
    fn text(&mut self, variable: &str) -> Option<(String, String)> {
        let SettingValue { name, value } = (self.said)(variable)?;
        let Ok(text) = value.into_string() else {
            self.warnings.push(format!("{name} is no text in UTF-8: ignored"));
            return None;
        };
        let text = text.trim().to_owned();
        (!text.is_empty()).then_some((name, text))
    }

    /// Names what the place says of it, and `what` is to be said of that.
    fn warn(&mut self, variable: &str, what: &str) {
        if let Some((name, text)) = self.text(variable) {
            self.warnings.push(format!("{name}={text} {what}"));
        }
    }

    fn list(&mut self, variable: &str) -> Option<Vec<String>> {
        let (_, text) = self.text(variable)?;
        Some(text.split(',').map(|item| item.trim().to_owned()).collect())
    }

    fn number(&mut self, variable: &str) -> Option<u64> {
        self.number_from(variable, 0)
    }

    fn number_from(&mut self, variable: &str, least: u64) -> Option<u64> {
        let (name, text) = self.text(variable)?;
        let number = number_from(&name, &text, least);
        number.map_err(|error| self.warnings.push(format!("{error}: ignored"))).ok()
    }

    /// What `parse` makes of its parts; those that it refuses are named. Of what says nothing that can be used nothing is
    /// taken.
    fn parts<T: Default + PartialEq, E: std::fmt::Display>(
        &mut self,
        variable: &str,
        parse: impl Fn(&str, &mut dyn FnMut(E)) -> T,
    ) -> Option<T> {
        let (name, text) = self.text(variable)?;
        let mut is_refused = false;
        let value = parse(&text, &mut |error| {
            is_refused = true;
            self.warnings.push(format!("{name}: {error}: ignored"));
        });
        (!is_refused || value != T::default()).then_some(value)
    }

    /// What `parse` makes of it, in small letters; `known` is all that it knows.
    fn one_of<T>(&mut self, variable: &str, known: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let (name, text) = self.text(variable)?;
        let value = parse(&text.to_ascii_lowercase());
        if value.is_none() {
            self.warnings.push(format!("{name}={text} is none of {known}: ignored"));
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepscope_core::setting::SETTINGS;

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
        let config = Config::new(&File::default(), find, &mut warnings);
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
        #[cfg(unix)]
        for (variable, value) in [("STEPSCOPE_LEVEL", &b"\xff"[..]), ("OTEL_METRIC_EXPORT_INTERVAL", b"0")] {
            let of_one = |name: &str| {
                let value = std::os::unix::ffi::OsStringExt::from_vec(value.to_vec());
                (name == variable).then_some(value)
            };
            let mut warnings = Vec::new();
            let config = Config::new(&File::default(), of_one, &mut warnings);
            assert_eq!(config.aggregate_interval, Config::default().aggregate_interval);
            let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
            assert!(warning.starts_with(variable) && warning.ends_with(": ignored"), "{warning}");
        }
        for (text, taken) in [("0", 16_384), ("16383", 16_384), ("99999999999999", 1 << 31)] {
            let of_one = |name: &str| (name == "STEPSCOPE_RING_BYTES").then(|| text.into());
            let mut warnings = Vec::new();
            assert_eq!(Config::new(&File::default(), of_one, &mut warnings).ring_bytes, taken);
            let said =
                format!("STEPSCOPE_RING_BYTES={text} is not from 16384 to 2147483648: {taken} is taken");
            assert_eq!(warnings, [said]);
        }
        let off = |name: &str| (name == "STEPSCOPE_SUMS").then(|| "off".into());
        assert!(!Config::new(&File::default(), off, &mut warnings).sums && warnings.len() == 6);
        let oldest = |name: &str| (name == "STEPSCOPE_OVERFLOW").then(|| "oldest".into());
        let overflow = Config::new(&File::default(), oldest, &mut warnings).overflow;
        assert_eq!(overflow, Overflow::DropOldest);
        let steps = |name: &str| (name == "STEPSCOPE_OVERFLOW").then(|| "Steps".into());
        assert_eq!(Config::new(&File::default(), steps, &mut warnings).overflow, Overflow::KeepSteps);
    }

    #[test]
    fn every_setting_of_a_file_does_something_and_the_environment_wins_over_it() {
        let default = format!("{:?}", Config::default());
        for setting in SETTINGS.iter().filter(|setting| setting.key != "service_name") {
            let text = format!("[recording]\n{} = {}\n", setting.key, setting.example);
            let mut warnings = Vec::new();
            let file = File::parse("s.toml", &text, &mut warnings);
            let changed = format!("{:?}", Config::new(&file, |_| None, &mut warnings));
            // What a build has no feature for is named, with its place.
            let is_named =
                warnings.iter().any(|text| text.starts_with(&format!("s.toml:2: {}=", setting.key)));
            assert!(changed != default || is_named, "{}: {warnings:?}", setting.key);
        }
        let text = "[recording]\nlevel = \"basic\"\nfilter = \"depth=2\"\ndir = \"of-file\"\nsums = false\n\
                    step_span = [\"a\"]\nendpoint = \"http://file:4318\"\nring_bytes = 65_536\n";
        let file = File::parse("s.toml", text, &mut Vec::new());
        let variables = [
            ("STEPSCOPE_LEVEL", "comprehensive"),
            ("STEPSCOPE_DIR", " "),
            ("STEPSCOPE_STEP_SPAN", "b"),
            ("STEPSCOPE_RING_BYTES", "lots"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://variable:4318"),
        ];
        let find =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into());
        let mut warnings = Vec::new();
        let config = Config::new(&file, find, &mut warnings);
        assert_eq!((config.level, config.sums), (Level::Comprehensive, false));
        assert_eq!((config.filter, config.step_spans), (Filter::new().max_depth(2), vec!["b".to_owned()]));
        assert_eq!(config.directory, Some("of-file".into()));
        assert_eq!(config.otlp.endpoint.as_deref(), Some("http://variable:4318"));
        // A variable that cannot be used leaves what the file says.
        assert_eq!((config.ring_bytes, warnings.len()), (65_536, 1), "{warnings:?}");
    }

    #[cfg(unix)]
    #[test]
    fn what_the_environment_says_in_vain_leaves_all_that_the_file_says() {
        let text = "[recording]\nfilter = \"depth=2\"\ntimeout = 2_000\ncompression = \"none\"\nprotocol = \"http/protobuf\"\n";
        let value = |name: &str| {
            use std::os::unix::ffi::OsStringExt as _;
            Some(match name {
                "STEPSCOPE_FILTER" => "dpeth=3".into(),
                "OTEL_EXPORTER_OTLP_TIMEOUT" => "2s".into(),
                "OTEL_EXPORTER_OTLP_COMPRESSION" => OsString::from_vec(vec![b'g', 0xff]),
                "OTEL_EXPORTER_OTLP_PROTOCOL" => "smoke".into(),
                _ => return None,
            })
        };
        let mut warnings = Vec::new();
        let file = File::parse("s.toml", text, &mut warnings);
        let config = Config::new(&file, value, &mut warnings);
        let alone = Config::new(&file, |_| None, &mut Vec::new());
        assert_eq!(
            (config.filter, format!("{:?}", config.otlp)),
            (Filter::new().max_depth(2), format!("{:?}", alone.otlp))
        );
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        assert!(
            warnings
                .iter()
                .any(|said| said.contains("TIMEOUT=2s cannot be used: ignored; s.toml:3: timeout holds"))
        );
    }

    #[test]
    fn values_of_a_file_that_cannot_be_used_are_named_with_their_line() {
        let text = "[recording]\nlevel = \"loud\"\nfilter = [\"depth=2\", \"color=red\"]\ncapture = \"9\"\n\
                    max_level = \"3\"\nprotocol = \"smoke\"\n";
        let mut warnings = Vec::new();
        let config = Config::new(&File::parse("s.toml", text, &mut warnings), |_| None, &mut warnings);
        let starts = [
            "s.toml:2: level=loud is none of off, basic, detailed, comprehensive: ignored",
            "s.toml:5: max_level=3 is none of off, error,",
            "s.toml:3: filter: \"color=red\" is none of name=NAME",
            "s.toml:4: capture: ",
            "s.toml:6: protocol=smoke is not spoken here",
        ];
        assert_eq!(warnings.len(), starts.len(), "{warnings:?}");
        assert!(warnings.iter().zip(starts).all(|(said, start)| said.starts_with(start)), "{warnings:?}");
        assert_eq!((config.level, config.filter), (Level::Detailed, Filter::new().max_depth(2)));
    }

    /// The documentation's table has each setting in one row, in all three places, and the builder has the method.
    #[test]
    fn the_documented_settings_are_those_that_there_are() {
        let document = include_str!("../../../../docs/recording.md");
        let (_, table) =
            document.split_once("| builder | `stepscope.toml` | environment | default |\n").unwrap();
        let rows: Vec<Vec<&str>> = table
            .lines()
            .skip(1)
            .take_while(|line| line.starts_with('|'))
            .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
            .collect();
        let builder = include_str!("../api/builder.rs");
        for setting in SETTINGS {
            let row =
                rows.iter().find(|row| row[1].split(", ").any(|key| key == format!("`{}`", setting.key)));
            let row = row.unwrap_or_else(|| panic!("{} is not documented", setting.key));
            assert!(row[2].contains(&format!("`{}`", setting.variable)), "{row:?}");
            if let Some(method) = setting.builder {
                assert!(row[0].contains(&format!("`{method}`")), "{row:?}");
                assert!(builder.contains(&format!("pub fn {method}(")), "{method}");
            }
        }
        let keys = rows.iter().flat_map(|row| row[1].split(", ")).filter(|key| !key.is_empty());
        assert_eq!(keys.count(), SETTINGS.len(), "a documented key that there is not");
        let methods = builder.matches("    pub fn ").count();
        // Those that begin and those that hand things over; all others are settings.
        let ends = ["build", "subscriber", "install", "install_root"];
        let documented = rows.iter().flat_map(|row| row[0].split(", ")).filter(|name| !name.is_empty());
        assert_eq!(documented.count(), methods - ends.len(), "a method of the builder without its row");
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_is_a_path_and_no_text() {
        use std::os::unix::ffi::OsStringExt as _;

        let path = OsString::from_vec(b"/data/\xff".to_vec());
        let find = |name: &str| (name == "STEPSCOPE_DIR").then(|| path.clone());
        assert_eq!(
            Config::new(&File::default(), find, &mut Vec::new()).directory,
            Some(PathBuf::from(&path))
        );
    }
}
