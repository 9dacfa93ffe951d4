//! The configuration file: `stepscope.toml`.

use std::path::Path;

use serde::Deserialize;
use stepscope_analyze::rules;

use crate::error::CliError;

/// What the file can hold.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Thresholds, a table a rule: `[rules.input_bound]`.
    pub(crate) rules: rules::Config,
}

/// Reads the file; the defaults where none is named.
pub(crate) fn load(path: Option<&Path>) -> Result<Config, CliError> {
    let Some(path) = path else { return Ok(Config::default()) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| CliError::Input(format!("failed to read {}: {error}", path.display())))?;
    toml::from_str(&text).map_err(|error| {
        CliError::Usage(format!("{} does not fit: {error}", path.display()).trim_end().to_owned())
    })
}
