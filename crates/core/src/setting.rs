//! What can be set of a recording, and what it is called in the three places where it may be: a table from which the layer
//! reads its file, `doctor` and `config` know what the layer reads, and which docs/recording.md is held against. What a
//! value means is the business of the layer. Absent is what belongs to one process (its rank, say) and is in no file.

/// The table of a `stepscope.toml` that holds them.
pub const TABLE: &str = "recording";

/// The variable that names another file than the one in the working directory.
pub const FILE_VARIABLE: &str = "STEPSCOPE_CONFIG";

/// The file in the working directory.
pub const FILE: &str = "stepscope.toml";

/// What a key of the file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A string.
    Text,
    /// A list of strings, or one string with commas in it.
    List,
    /// A whole number, 0 or more.
    Number,
    /// A whole number, 1 or more.
    Positive,
    /// `true` or `false`, which the variable has as `on` and `off`.
    Switch,
}

impl Takes {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::List => "a string or a list of strings without commas",
            Self::Number => "a whole number, 0 or more",
            Self::Positive => "a whole number, 1 or more",
            Self::Switch => "true or false",
        }
    }
}

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// Its key in the file.
    pub key: &'static str,
    /// Its environment variable.
    pub variable: &'static str,
    /// Its method of the builder; absent where only the environment and the file have it.
    pub builder: Option<&'static str>,
    /// What the key holds.
    pub takes: Takes,
    /// A value as the file has it.
    pub example: &'static str,
}

const fn setting(
    key: &'static str,
    variable: &'static str,
    builder: Option<&'static str>,
    takes: Takes,
    example: &'static str,
) -> Setting {
    Setting { key, variable, builder, takes, example }
}

/// All of them, in the order of the documentation.
pub const SETTINGS: &[Setting] = &[
    setting("level", "STEPSCOPE_LEVEL", Some("level"), Takes::Text, "\"basic\""),
    setting("max_level", "STEPSCOPE_MAX_LEVEL", Some("max_level"), Takes::Text, "\"debug\""),
    setting("filter", "STEPSCOPE_FILTER", Some("filter"), Takes::List, "[\"min=20us\", \"depth=3\"]"),
    setting("track", "STEPSCOPE_TRACK", Some("track"), Takes::List, "[\"memory\", \"cpu\"]"),
    setting("sums", "STEPSCOPE_SUMS", Some("sums"), Takes::Switch, "false"),
    setting("capture", "STEPSCOPE_CAPTURE", Some("capture"), Takes::List, "\"steps=10,wait=990\""),
    setting("deep_steps", "STEPSCOPE_DEEP_STEPS", Some("deep_steps"), Takes::Switch, "false"),
    setting("sigusr2", "STEPSCOPE_SIGUSR2", Some("on_sigusr2"), Takes::Text, "\"capture\""),
    setting("step_span", "STEPSCOPE_STEP_SPAN", Some("step_span"), Takes::List, "[\"train_step\"]"),
    setting("format_fields", "STEPSCOPE_FORMAT_FIELDS", Some("format_field"), Takes::List, "[\"shape\"]"),
    setting("locations", "STEPSCOPE_LOCATIONS", Some("locations"), Takes::Switch, "false"),
    setting("dir", "STEPSCOPE_DIR", Some("directory"), Takes::Text, "\"profiles\""),
    setting("dir_bytes", "STEPSCOPE_DIR_BYTES", Some("directory_bytes"), Takes::Number, "5_000_000_000"),
    setting("format", "STEPSCOPE_FORMAT", Some("format"), Takes::Text, "\"json\""),
    setting("report", "STEPSCOPE_REPORT", Some("report"), Takes::List, "[\"report.html\"]"),
    setting(
        "endpoint",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        Some("endpoint"),
        Takes::Text,
        "\"http://localhost:4318\"",
    ),
    setting("protocol", "OTEL_EXPORTER_OTLP_PROTOCOL", None, Takes::Text, "\"grpc\""),
    setting("compression", "OTEL_EXPORTER_OTLP_COMPRESSION", None, Takes::Text, "\"gzip\""),
    setting("timeout", "OTEL_EXPORTER_OTLP_TIMEOUT", None, Takes::Positive, "2_000"),
    setting("service_name", "OTEL_SERVICE_NAME", Some("service_name"), Takes::Text, "\"trainer\""),
    setting("metrics_addr", "STEPSCOPE_METRICS_ADDR", None, Takes::Text, "\"127.0.0.1:9101\""),
    setting("metrics_allow_remote", "STEPSCOPE_METRICS_ALLOW_REMOTE", None, Takes::Switch, "true"),
    setting("metrics_facade", "STEPSCOPE_METRICS_FACADE", None, Takes::Switch, "true"),
    setting("ring_bytes", "STEPSCOPE_RING_BYTES", Some("ring_bytes"), Takes::Number, "4_194_304"),
    setting(
        "memory_sample_bytes",
        "STEPSCOPE_MEMORY_SAMPLE_BYTES",
        Some("memory_sample_bytes"),
        Takes::Number,
        "65_536",
    ),
    setting("memory_send", "STEPSCOPE_MEMORY_SEND", None, Takes::Switch, "false"),
    setting("overflow", "STEPSCOPE_OVERFLOW", Some("overflow"), Takes::Text, "\"steps\""),
    setting(
        "aggregate_interval",
        "OTEL_METRIC_EXPORT_INTERVAL",
        Some("aggregate_interval"),
        Takes::Positive,
        "60_000",
    ),
    setting("exit_timeout", "STEPSCOPE_EXIT_TIMEOUT", Some("exit_timeout"), Takes::Number, "5_000"),
    setting("handle_signals", "STEPSCOPE_HANDLE_SIGNALS", Some("handle_signals"), Takes::Switch, "false"),
    setting("hook_panics", "STEPSCOPE_HOOK_PANICS", Some("hook_panics"), Takes::Switch, "false"),
    setting("hook_exit", "STEPSCOPE_HOOK_EXIT", Some("hook_exit"), Takes::Switch, "false"),
];

/// In which format a report is, by the ending of its file.
const REPORT_FORMATS: &[(&str, &[&str])] = &[
    ("html", &["html", "htm"]),
    ("json", &["json"]),
    ("md", &["md", "markdown"]),
    ("text", &["txt", "text"]),
];

/// The name of the format of a report in a file of this name; `None` where its ending is that of none.
#[must_use]
pub fn report_format(path: &std::path::Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    let (name, _) = REPORT_FORMATS.iter().find(|(_, endings)| endings.contains(&ending.as_str()))?;
    Some(name)
}

/// The one of this key.
#[must_use]
pub fn by_key(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.key == key)
}

/// The one of this variable.
#[must_use]
pub fn by_variable(variable: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.variable == variable)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_report_is_in_the_format_of_its_ending() {
        let of = |path: &str| report_format(path.as_ref());
        assert_eq!(
            [of("a.HTM"), of("b/c.x.json"), of("d.md"), of("e.text")],
            ["html", "json", "md", "text"].map(Some)
        );
        assert_eq!([of("a.pdf"), of("html"), of(".html")], [None; 3]);
    }

    #[test]
    fn our_keys_are_our_variables_in_small_letters() {
        for setting in SETTINGS {
            if let Some(name) = setting.variable.strip_prefix("STEPSCOPE_") {
                assert_eq!(setting.key, name.to_ascii_lowercase());
            }
            assert_eq!(by_key(setting.key), Some(setting));
            assert_eq!(by_variable(setting.variable), Some(setting));
        }
        let different = |of: fn(&Setting) -> &'static str| SETTINGS.iter().map(of).collect::<BTreeSet<_>>();
        assert_eq!(different(|setting| setting.key).len(), SETTINGS.len());
        assert_eq!(different(|setting| setting.variable).len(), SETTINGS.len());
    }
}
