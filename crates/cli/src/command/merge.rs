//! `stepscope merge`: partial analyses in, the report that `analyze` gives for all their inputs out.

use std::cmp::Reverse;

use crate::args::{Global, MergeArgs};
use crate::error::CliError;
use crate::fold::Analysis;
use crate::partial_file::PartialFile;
use crate::{exit, input, output};

/// Joins the partials, and writes what was asked for.
pub(crate) fn run(args: &MergeArgs, global: Global) -> Result<u8, CliError> {
    output::renderer(args.output.format, args.output.output.as_deref())?;
    let config = crate::config::load(args.output.config.as_deref(), global)?;
    input::check_streams(&args.partials)?;
    input::keep(&args.partials, &args.output)?;
    let mut partials = Vec::new();
    for path in &args.partials {
        partials.push(PartialFile::read(path)?);
    }
    // Those of most files first, so that one which is contained in another is recognised; the rest of the key
    // makes the order that of the content, not that of the arguments.
    partials.sort_by_key(|part| (Reverse(part.unfinished.files().len()), part.unfinished.fingerprint()));
    let mut analysis = Analysis::new(global);
    for part in partials {
        analysis.absorb(part);
    }
    if let Some(path) = &args.output.partial {
        analysis.into_partial()?.write(path)?;
        return Ok(exit::FINE);
    }
    output::report(analysis.finish(), &args.output, &config, global)
}
