//! `stepscope explain [RULE]`: the documentation that the rules carry.

use stepscope_analyze::render;
use stepscope_analyze::rules::{self, Config, RULES};

use crate::args::{ExplainArgs, Global};
use crate::error::CliError;
use crate::{exit, output};

/// Prints the documentation of a rule, or the list of all.
pub(crate) fn run(args: &ExplainArgs, global: Global) -> Result<u8, CliError> {
    let options = output::options(global, None);
    let text = match &args.rule {
        None => render::rule_list(options),
        Some(id) => {
            let Some(rule) = rules::find(id) else {
                let known: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
                return Err(CliError::Usage(format!(
                    "no rule is called '{id}'; there are {}",
                    known.join(", ")
                )));
            };
            render::explanation(rule, &Config::default(), options)
        }
    };
    output::stdout(text.as_bytes())?;
    Ok(exit::FINE)
}
