//! `stepscope config`: every setting, its value and where that came from. What is printed is a `stepscope.toml` itself.

use std::fmt::Write as _;

use stepscope_analyze::rules::{self, RULES};
use stepscope_core::setting::{SETTINGS, TABLE};

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
    let _ =
        writeln!(text, "\n# Settings of the layer: the program that is recorded reads them.\n\n[{TABLE}]");
    for setting in SETTINGS {
        let of_file = source.recording.iter().find(|looked| looked.key == setting.key);
        if let (Some(looked), Some(file)) = (of_file, &file) {
            let _ = writeln!(text, "# {}: {file}\n{} = {}", setting.variable, setting.key, looked.raw);
        }
        match variable(setting.variable) {
            // A value of several lines would end the comment.
            Some(value) => {
                let _ = writeln!(text, "# {} = {value:?} (environment, which wins)", setting.variable);
            }
            None if of_file.is_none() => {
                let _ =
                    writeln!(text, "# {}: not set ({} = {})", setting.variable, setting.key, setting.example);
            }
            None => {}
        }
    }
    let of_table = |name: &&&str| SETTINGS.iter().any(|setting| setting.variable == **name);
    for name in variables::OURS.iter().filter(|name| !of_table(name)) {
        let line = match variable(name) {
            Some(value) => format!("{name} = {value:?} (environment)"),
            None => format!("{name}: not set"),
        };
        let _ = writeln!(text, "# {line}");
    }
    text
}
