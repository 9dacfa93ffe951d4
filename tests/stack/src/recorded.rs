//! A demo whose spans all reached the collector.

use std::path::PathBuf;

use stepscope_testkit::TempFolder;

use crate::program::{output, parse, report_text, stepscope};
use crate::stack::Stack;

/// How often it is tried. The program gives up two seconds after its end; a machine that is busy with something
/// else may not have sent all by then.
const TRIES: u32 = 5;

/// A run, in the programs and in a directory.
#[derive(Debug)]
pub struct Recorded {
    /// What it was sent to.
    pub stack: Stack,
    /// The directory that the layer wrote besides.
    pub profiles: PathBuf,
    /// What the demo printed: its report, as JSON.
    pub report: String,
    /// Spans that were sent and taken.
    pub spans: u64,
    _folder: TempFolder,
}

/// Starts the programs ([`Stack::start`]) and trains with `demo` as further arguments; `format` is that of the
/// directory.
///
/// # Errors
/// When something does not start, or when each try lost spans.
pub fn demo(
    arguments: &[&str],
    settings: &[(&str, &str)],
    demo: &[&str],
    format: &str,
) -> Result<Recorded, String> {
    for _ in 0..TRIES {
        let stack = Stack::start(arguments, settings)?;
        let folder =
            TempFolder::new("recorded").map_err(|error| format!("failed to make a folder: {error}"))?;
        let profiles = folder.join("profiles");
        let mut command = stepscope(&["--quiet", "demo", "--format", "json", "--out"])?;
        command.arg(&profiles).args(demo).env("STEPSCOPE_FORMAT", format);
        let report = output(command.env("OTEL_EXPORTER_OTLP_ENDPOINT", stack.endpoint()))?;
        // The directory has the figures of the very end, which what was sent cannot have.
        let losses = &parse(&report_text(&[&profiles])?)?["losses"];
        let taken = stack.collector_count("otelcol_receiver_accepted_spans", "transport=\"http\"")?;
        if losses["dropped_total"] == 0 {
            if losses["emitted"] != taken {
                return Err(format!("the collector took {taken} spans, against {losses}"));
            }
            return Ok(Recorded { stack, profiles, report, spans: taken, _folder: folder });
        }
        eprintln!("spans were lost, again: {losses}");
    }
    Err(format!("spans were lost {TRIES} times: the machine is too busy"))
}
