//! `stepscope analyze`: inputs in, a report or a partial analysis out.

use stepscope_analyze::render;

use crate::args::{AnalyzeArgs, Global, OutputArgs};
use crate::config::Config;
use crate::error::CliError;
use crate::fold::Analysis;
use crate::{exit, input, output};

/// Reads the inputs, and writes what was asked for.
pub(crate) fn run(args: &AnalyzeArgs, global: Global) -> Result<u8, CliError> {
    if args.list_rules {
        output::stdout(render::rule_list(output::options(global, None)).as_bytes())?;
        return Ok(exit::FINE);
    }
    output::renderer(args.output.format, args.output.output.as_deref())?;
    let config = crate::config::load(args.output.config.as_deref(), global)?;
    let inputs = input::resolve(&args.inputs)?;
    input::keep(&inputs, &args.output)?;
    let mut analysis = Analysis::with_threads(global, args.threads);
    for path in &inputs {
        analysis.read(path)?;
    }
    conclude(analysis, &args.output, &config, global)
}

/// Writes what was asked for, when everything has been read.
pub(crate) fn conclude(
    analysis: Analysis,
    args: &OutputArgs,
    config: &Config,
    global: Global,
) -> Result<u8, CliError> {
    if let Some(path) = &args.partial {
        let partial = analysis.into_partial()?;
        if !partial.has_record() {
            output::note(global, "no whole record found: kept as a piece that other inputs may complete");
        }
        partial.write(path)?;
        return Ok(exit::FINE);
    }
    output::report(analysis.finish(), args, config, global)
}
