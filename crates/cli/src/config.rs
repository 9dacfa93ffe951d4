//! The configuration file: `stepscope.toml`. Where it is looked for, what it can hold, and where each value came from.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use stepscope::__settings::{Looked, look};
use stepscope_analyze::rules;
pub(crate) use stepscope_core::setting::FILE;
use stepscope_core::setting::FILE_VARIABLE;

use crate::args::Global;
use crate::error::CliError;
use crate::{misfit, output};

/// What the file can hold.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Thresholds, a table a rule: `[rules.input_bound]`.
    pub(crate) rules: rules::Config,
    /// Settings of the layer, which reads them itself and says what of them does not fit.
    #[serde(rename = "recording")]
    _recording: IgnoredAny,
}

/// A configuration and the file that it was read from.
#[derive(Debug, Default)]
pub(crate) struct Source {
    pub(crate) config: Config,
    /// Absent where there is none, and everything has its default.
    pub(crate) file: Option<PathBuf>,
    /// What the file itself says.
    said: toml::Table,
    /// What it sets of the layer.
    pub(crate) recording: Vec<Looked>,
}

impl Source {
    /// Whether the file sets this threshold of this rule.
    pub(crate) fn says(&self, rule: &str, key: &str) -> bool {
        let rules = self.said.get("rules").and_then(toml::Value::as_table);
        let table = rules.and_then(|rules| rules.get(rule)).and_then(toml::Value::as_table);
        table.is_some_and(|table| table.contains_key(key))
    }
}

/// Reads the file that is named, else that of the environment or the one in the current directory, and says so; the defaults where there is none.
pub(crate) fn load(path: Option<&Path>, global: Global) -> Result<Config, CliError> {
    let source = read(path)?;
    if let Some(file) = source.file.filter(|_| path.is_none()) {
        output::note(global, &format!("thresholds are those of {}", file.display()));
    }
    Ok(source.config)
}

/// As [`load`], with where the values came from.
pub(crate) fn read(path: Option<&Path>) -> Result<Source, CliError> {
    let named = std::env::var_os(FILE_VARIABLE).filter(|path| !path.to_string_lossy().trim().is_empty());
    let here = Path::new(FILE);
    let path = path.or(named.as_deref().map(Path::new)).or_else(|| here.is_file().then_some(here));
    let Some(path) = path else { return Ok(Source::default()) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| CliError::Input(format!("failed to read {}: {error}", path.display())))?;
    let wrong = |what: &str| CliError::Usage(format!("{} does not fit: {}", path.display(), what.trim_end()));
    let unread = |error: toml::de::Error| wrong(&misfit::words(&text, &error));
    let config: Config = toml::from_str(&text).map_err(unread)?;
    let said = toml::from_str(&text).map_err(unread)?;
    if let Some(fault) = config.rules.fault() {
        return Err(wrong(&fault));
    }
    let recording = look("", &text).settings;
    Ok(Source { config, file: Some(path.into()), said, recording })
}
