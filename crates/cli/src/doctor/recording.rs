//! What arrived: whether the layer is seen, and what it would have to send for reports to say more. Judges a summary;
//! what the program's figures mean is the report's business.

use std::collections::BTreeSet;

use stepscope_analyze::Summary;
use stepscope_analyze::report::units;
use stepscope_analyze::summary::{FigureSource, LossRow, SectionRow};
use stepscope_core::{Level, LossReason, SCHEMA_VERSION, SectionKind};
use stepscope_model::{IssueKind, ReadOutcome};

use super::variables::{FILTER, FILTER_FIX};
use super::{Finding, broken, fine, note};

/// Names that a sentence lists.
const LISTED: usize = 3;

/// Looks into a run.
pub(crate) fn check(summary: &Summary, outcome: &ReadOutcome) -> Vec<Finding> {
    let mut findings = layer(summary);
    if summary.found {
        findings.push(steps(summary));
    }
    if summary.state.is_ours {
        findings.push(run(summary));
        findings.push(sections(summary));
        findings.extend(phases(summary));
        findings.extend(allocator(summary));
        findings.extend(lines(summary));
    }
    findings.extend(losses(summary));
    findings.extend(files(outcome));
    findings
}

/// Paths of sections, without steps, epochs, batches and runs.
pub(crate) fn paths(summary: &Summary) -> BTreeSet<String> {
    let rows = summary.sections.iter().filter(|row| row.kind == SectionKind::Section);
    rows.map(|row| row.path.clone()).collect()
}

/// What a second run without a filter has shown.
pub(crate) fn filter(with: &BTreeSet<String>, without: &BTreeSet<String>) -> Finding {
    let eaten: Vec<&str> = without.difference(with).map(String::as_str).collect();
    if eaten.is_empty() {
        return fine(
            FILTER,
            "No log filter keeps sections from the layer: with RUST_LOG=info the same ones arrive.",
        );
    }
    let named = eaten.iter().take(LISTED).copied().collect::<Vec<_>>().join(", ");
    let more = if eaten.len() > LISTED { ", …" } else { "" };
    broken(
        FILTER,
        format!(
            "A log filter eats {}: {named}{more} arrive{} with RUST_LOG=info only.",
            units::things(eaten.len() as u64, "section", "sections"),
            if eaten.len() == 1 { "s" } else { "" }
        ),
        FILTER_FIX,
    )
}

fn layer(summary: &Summary) -> Vec<Finding> {
    const CHECK: &str = "layer";
    if !summary.found {
        return vec![broken(
            CHECK,
            "No spans arrived.",
            "Call stepscope::init() first in main, and keep what it returns: `let _ = …` ends the run at once, `let \
             _run = …` at the end of main. A program without stepscope needs an OpenTelemetry SDK.",
        )];
    }
    if !summary.state.is_ours {
        return vec![note(
            CHECK,
            format!(
                "{} arrived, none from stepscope's layer.",
                units::things(summary.state.spans, "span", "spans")
            ),
            "Nothing, where another SDK makes them; else add stepscope::init() to the program.",
        )];
    }
    let resources = || summary.instances.iter().map(|instance| &instance.resource);
    let versions: BTreeSet<&str> =
        resources().map(|resource| resource.sdk.as_str()).filter(|sdk| !sdk.is_empty()).collect();
    let versions = versions.into_iter().collect::<Vec<_>>().join(", ");
    let mut findings = vec![fine(
        CHECK,
        format!("The layer is seen ({versions}): {}.", units::things(summary.state.spans, "span", "spans")),
    )];
    let newest = resources().filter_map(|resource| resource.schema_version).max();
    if newest.is_some_and(|version| version > SCHEMA_VERSION) {
        findings.push(broken(
            "version",
            "The layer is newer than this program, which may misunderstand what it wrote.",
            "Install the program of the layer's version: cargo install stepscope-cli.",
        ));
    }
    findings
}

fn run(summary: &Summary) -> Finding {
    const CHECK: &str = "run";
    match summary.state.is_ended() {
        Some(false) => note(
            CHECK,
            "The run did not end: the process was killed, or left without dropping the guard.",
            "Keep the guard of stepscope::init() in main until the end; SIGKILL leaves no time for the last spans.",
        ),
        _ => fine(CHECK, "The run has its beginning and its end."),
    }
}

fn steps(summary: &Summary) -> Finding {
    const CHECK: &str = "steps";
    let steps: u64 = summary.modes.iter().map(|mode| mode.all.count).sum();
    if steps > 0 {
        return fine(CHECK, format!("{} arrived.", units::things(steps, "step", "steps")));
    }
    broken(
        CHECK,
        "There are no steps, so nothing can be said about step time, waiting or growth.",
        "Put `let _step = stepscope::step!(number);` into the loop, or name the span that is a step: \
         STEPSCOPE_STEP_SPAN=train_step. Other SDKs set the integer attribute stepscope.step on it.",
    )
}

fn sections(summary: &Summary) -> Finding {
    const CHECK: &str = "sections";
    let paths = paths(summary);
    if let Some(path) = paths.first() {
        return fine(
            CHECK,
            format!("{} arrived: {path}, …", units::things(paths.len() as u64, "section", "sections")),
        );
    }
    let is_basic = summary.instances.iter().any(|instance| instance.resource.level == Level::Basic.as_str());
    if is_basic {
        return note(CHECK, "The level is basic: sections leave no spans.", "Set STEPSCOPE_LEVEL=detailed.");
    }
    broken(
        CHECK,
        "No sections arrived, so nothing can be said about where the step time goes.",
        "Write #[tracing::instrument] on functions of the step, or use section!. Where they are there already: add \
         the layer to the subscriber that the program installs, and let no EnvFilter over the whole program eat \
         spans of level INFO.",
    )
}

/// Whether phases are named; nothing where no section is there to have one.
fn phases(summary: &Summary) -> Option<Finding> {
    const CHECK: &str = "phases";
    let rows = || summary.sections.iter().filter(|row| row.kind == SectionKind::Section);
    let named = rows().filter(|row| row.phase.is_some()).count() as u64;
    rows().next()?;
    if named > 0 {
        return Some(fine(
            CHECK,
            format!("{} known by phase.", units::things(named, "section is", "sections are")),
        ));
    }
    Some(note(
        CHECK,
        "No section is known by its phase, so the report cannot tell loading from computing.",
        "Name them: section!(\"forward\", phase = Forward), or fields(stepscope.phase = \"forward\").",
    ))
}

/// Whether allocations are counted; nothing where neither steps nor sections arrived, which are what carries them.
fn allocator(summary: &Summary) -> Option<Finding> {
    const CHECK: &str = "allocator";
    let counts = summary.memory.live.is_some()
        || summary.sections.iter().any(|row| row.memory.is_some_and(|memory| memory.alloc_count > 0));
    if counts {
        return Some(fine(CHECK, "The counting allocator is installed."));
    }
    let carries = |kind| matches!(kind, SectionKind::Section | SectionKind::Step);
    summary.sections.iter().any(|row| carries(row.kind)).then(|| {
        note(
            CHECK,
            "The counting allocator is not installed, or memory not tracked (STEPSCOPE_TRACK): no section's memory is known, and \
             leaks only by resident memory, if by that.",
            "Add to main.rs: #[global_allocator] static ALLOC: stepscope::Alloc = stepscope::Alloc::system();",
        )
    })
}

/// Whether lines of live memory can be known; nothing where no samples came.
fn lines(summary: &Summary) -> Option<Finding> {
    summary.live_memory.as_ref().filter(|memory| memory.has_no_frame_pointers()).map(|_| {
        note(
            "lines",
            "The program has no frame pointers: live memory is known by section, not by line.",
            "Build with RUSTFLAGS=\"-C force-frame-pointers=yes\", and debug = \"line-tables-only\" in the profile of Cargo.toml.",
        )
    })
}

fn losses(summary: &Summary) -> Vec<Finding> {
    const CHECK: &str = "losses";
    let lost: Vec<Finding> = summary
        .losses
        .dropped
        .iter()
        .filter(|row| row.spans > 0)
        .map(|row| {
            let name = row.reason.map_or("an unknown reason", |reason| reason.as_str());
            let spans = units::things(row.spans, "span was", "spans were");
            let advice = row.reason.map_or("Use a program of the layer's version.", |reason| reason.advice());
            match row.reason {
                // A bound or a level that somebody has chosen does what was meant.
                Some(reason) if reason.is_on_purpose() || reason == LossReason::SizeBound => {
                    note(CHECK, format!("{spans} left out: {name}; {}.", sums(summary)), advice)
                }
                _ => broken(CHECK, format!("{spans} lost: {name}."), advice),
            }
        })
        .collect();
    match lost.is_empty() {
        true if summary.losses.emitted.is_some() => vec![fine(CHECK, "No span was lost.")],
        _ => lost,
    }
}

/// What is known of sections whose spans are not here.
fn sums(summary: &Summary) -> &'static str {
    let is_whole = |row: &SectionRow| row.source == FigureSource::Aggregates;
    let without = [Some(LossReason::OpenSpans), Some(LossReason::ThreadTeardown)];
    let is_without = |row: &LossRow| row.spans > 0 && without.contains(&row.reason);
    if !summary.sections.iter().any(is_whole) {
        "no sums of sections came with them, so that figures are those of the spans that arrived"
    } else if !summary.sections.iter().all(is_whole) {
        "the sums of some sections are whole, figures of the others are those of the spans that arrived"
    } else if summary.losses.dropped.iter().any(is_without) {
        "the sums of all sections lack what was lost before it could count"
    } else {
        "the sums of all sections are whole"
    }
}

fn files(outcome: &ReadOutcome) -> Vec<Finding> {
    const CHECK: &str = "files";
    let issues = outcome.issues.iter().take(LISTED);
    let told = issues.map(|issue| {
        let text = format!("{}: {}.", issue.file, issue.reason.trim_end_matches('.'));
        match issue.kind {
            IssueKind::Truncated => {
                note(CHECK, text, "Nothing: the end of a killed program's last file is torn.")
            }
            _ => note(CHECK, text, "See the read issues of `stepscope analyze --format json`."),
        }
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;
    use stepscope_analyze::{Config, Partial};

    #[test]
    fn nothing_is_said_of_what_no_section_could_tell() {
        let mut summary = Partial::new(Config::default()).finish(None);
        assert_eq!((allocator(&summary), phases(&summary)), (None, None));
        summary.losses.emitted = Some(10);
        assert_eq!(losses(&summary)[0].state, State::Fine);
    }

    #[test]
    fn what_a_bound_left_out_is_no_fault() {
        let mut summary = Partial::new(Config::default()).finish(None);
        summary.losses.emitted = Some(100);
        for (reason, state) in [
            (Some(LossReason::Thinned), State::Note),
            (Some(LossReason::SizeBound), State::Note),
            (Some(LossReason::Level), State::Note),
            (Some(LossReason::RingFull), State::Broken),
            (Some(LossReason::WriteFailed), State::Broken),
            (None, State::Broken),
        ] {
            summary.losses.dropped =
                vec![LossRow { sink: String::new(), reason, spans: 3, is_missing_here: true }];
            let states: Vec<State> = losses(&summary).iter().map(|finding| finding.state).collect();
            assert_eq!(states, [state], "{reason:?}");
        }
    }
}
