//! `stepscope config`: every setting, its value and where that came from. What is printed is a `stepscope.toml` itself.

use std::fmt::Write as _;

use stepscope_analyze::rules::{self, RULES};

use crate::args::ConfigArgs;
use crate::config::{self, Source};
use crate::doctor::variables;
use crate::error::CliError;
use crate::{exit, output};

/// Prints the settings.
pub(crate) fn run(args: &ConfigArgs) -> Result<u8, CliError> {
    let source = config::read(args.config.as_deref())?;
    let variable = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    output::stdout(text(&source, variable).as_bytes())?;
    Ok(exit::FINE)
}

fn text(source: &Source, variable: impl Fn(&str) -> Option<String>) -> String {
    let file = source.file.as_ref().map(|file| file.display().to_string());
    let mut text = match &file {
        Some(file) => format!("# Thresholds of the rules, from {file}.\n"),
        None => format!("# Thresholds of the rules: the defaults, as there is no {} here.\n", config::FILE),
    };
    let defaults = rules::Config::default();
    for rule in RULES {
        let _ = writeln!(text, "\n[rules.{}]", rule.id);
        let values = source.config.rules.thresholds(rule.id);
        for (threshold, default) in values.into_iter().zip(defaults.thresholds(rule.id)) {
            let setting = format!("{} = {}", threshold.key, threshold.value);
            let from = match file.as_ref().filter(|_| source.says(rule.id, threshold.key)) {
                Some(file) => format!("{file} (default {})", default.value),
                None => "default".into(),
            };
            let _ = writeln!(text, "{setting:<36} # {from}");
        }
    }
    text.push_str(
        "\n# Settings of the layer: the program that is recorded reads them from its environment.\n",
    );
    for name in variables::OURS {
        let line = match variable(name) {
            // A value of several lines would end the comment.
            Some(value) => format!("{name} = {value:?} (environment)"),
            None => format!("{name}: not set"),
        };
        let _ = writeln!(text, "# {line}");
    }
    text
}
