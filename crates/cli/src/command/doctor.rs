//! `stepscope doctor`: asks the checks, runs the user's program where there is one, and shows what they found.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stepscope_analyze::Summary;
use stepscope_model::ReadOutcome;

use crate::args::{DoctorArgs, DoctorFormat, Global};
use crate::child::{self, Out};
use crate::doctor::variables::{self, FILTER};
use crate::doctor::{Finding, binary, broken, endpoint, fine, recording, settings, show, surroundings};
use crate::error::CliError;
use crate::fold::Analysis;
use crate::{exit, input, output};

/// Looks, and says what is broken.
pub(crate) fn run(args: &DoctorArgs, global: Global) -> Result<u8, CliError> {
    let findings = match (args.inputs.is_empty(), args.command.is_empty()) {
        (false, _) => recorded(&args.inputs, global)?,
        (true, is_alone) => {
            let environment = environment();
            let effective = settings::effective(&environment);
            let mut findings = surroundings::check(&effective);
            findings.extend(variables::check(&environment, &effective));
            findings.extend(settings::check(&environment));
            findings.extend(endpoint::check(&effective));
            if !is_alone {
                findings.extend(binary::check(&args.command));
                let seen = program(args, &environment, global)?;
                if seen.iter().any(|finding| finding.check == FILTER) {
                    // Trying is better than guessing.
                    findings.retain(|finding| finding.check != FILTER);
                }
                findings.extend(seen);
            }
            findings
        }
    };
    let text = match args.format {
        DoctorFormat::Text => show::text(&findings),
        DoctorFormat::Json => show::json(&findings)?,
    };
    output::stdout(text.as_bytes())?;
    Ok(if show::broken(&findings) > 0 { exit::FINDINGS } else { exit::FINE })
}

/// Variables that are text; others are nobody's setting.
fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

fn recorded(inputs: &[PathBuf], global: Global) -> Result<Vec<Finding>, CliError> {
    input::check_streams(inputs)?;
    let mut analysis = Analysis::new(global);
    for path in inputs {
        analysis.read(path)?;
    }
    let (partial, outcome) = analysis.finish();
    Ok(recording::check(&partial.finish(None), &outcome))
}

/// Runs the program, and once more where a filter may have eaten sections.
fn program(
    args: &DoctorArgs,
    environment: &BTreeMap<String, String>,
    global: Global,
) -> Result<Vec<Finding>, CliError> {
    let folder = tempfile::tempdir().map_err(|error| CliError::Output(std::env::temp_dir(), error))?;
    let first = folder.path().join("first");
    let ran = child::run(&args.command, &first, Out::Aside, &[], global)?;
    let mut findings = Vec::new();
    let ways: Vec<&str> = ran.counts.requests.keys().map(|way| way.name()).collect();
    findings.push(match (ran.code(), ways.is_empty()) {
        (0, true) if binary::has_layer(&args.command) => broken(
            "export",
            "The program has stepscope's layer, and sent nothing.",
            "Build the layer with its feature `http`, which default-features = false leaves out; let neither the code nor \
             STEPSCOPE_LEVEL turn it off, and keep what stepscope::init() returns until the end of main.",
        ),
        (0, true) => broken(
            "export",
            "The program sent nothing.",
            "It must use stepscope's layer, or an OpenTelemetry SDK that reads OTEL_EXPORTER_OTLP_ENDPOINT; and it \
             must run long enough to send, or flush at its end.",
        ),
        (0, false) => fine("export", format!("The program sends {}.", ways.join(", "))),
        (code, _) => broken(
            "export",
            format!("The program failed (exit code {code}); what it sent until then was looked into."),
            "Mend the program first, or try a shorter run.",
        ),
    });
    findings.extend(ran.counts.reasons.iter().map(|(reason, count)| {
        broken("export", format!("{count} requests were refused: {reason}."), "Mend what sends them.")
    }));
    if ran.counts.spans == 0 && ran.counts.points == 0 {
        return Ok(findings);
    }
    let (summary, outcome) = summary(&first, global)?;
    findings.extend(recording::check(&summary, &outcome));
    let general = environment.get("RUST_LOG").map_or("", String::as_str);
    if summary.state.is_ours && !variables::lets_sections_through(general) {
        let second = folder.path().join("second");
        let quiet = Global { quiet: true, ..global };
        let ran = child::run(&args.command, &second, Out::Silent, &[("RUST_LOG", "info")], quiet)?;
        // A second run that fails for reasons of its own proves nothing.
        if ran.code() == 0 && ran.counts.spans > 0 {
            let without = recording::paths(&self::summary(&second, global)?.0);
            findings.push(recording::filter(&recording::paths(&summary), &without));
        }
    }
    Ok(findings)
}

fn summary(folder: &Path, global: Global) -> Result<(Summary, ReadOutcome), CliError> {
    let mut analysis = Analysis::new(global);
    analysis.read(folder)?;
    let (partial, outcome) = analysis.finish();
    Ok((partial.finish(None), outcome))
}
