//! `docs/attributes.md`: the whole vocabulary as tables.

use super::variants::doc;
use crate::Outcome;
use crate::process::root;
use std::fmt::Write as _;
use std::fs;
use stepscope_core::phase::INFERRED;
use stepscope_core::vocabulary::Place;
use stepscope_core::{
    Level, LossReason, MAX_TRACE_SPANS, Mode, Phase, SCHEMA_VERSION, SCOPE_NAME, SEMCONV_URL, SectionKind,
    ThreadState, attr, metric,
};

const PLACES: [(Place, &str); 6] = [
    (Place::Resource, "On the resource"),
    (Place::Root, "On the root span of a trace"),
    (Place::Span, "On any span"),
    (Place::Wait, "On the span that waited for a batch"),
    (Place::Point, "On metric points"),
    (Place::Record, "On the log record of a finding"),
];

/// The document.
pub(super) fn generate() -> Outcome<String> {
    let mut out = format!(
        "# Attributes and metrics\n\n\
         <!-- Generated from crates/core by `cargo xtask docs`: edit the tables there. -->\n\n\
         Everything that stepscope writes, and the foreign names that it reads as the same thing. Schema version \
         {SCHEMA_VERSION}, instrumentation scope `{SCOPE_NAME}`, names without the prefix `stepscope.` as in \
         <{SEMCONV_URL}>. A name keeps its meaning, type and unit within a schema version.\n\n\
         An attribute that is not there is not known: absent is never zero. A trace holds at most {MAX_TRACE_SPANS} \
         spans and continues in a linked one.\n\n\
         - [Attributes](#attributes)\n- [Metrics](#metrics)\n- [Phases](#phases)\n- [Section kinds](#section-kinds)\n\
         - [Modes](#modes)\n- [Levels](#levels)\n- [Thread states](#thread-states)\n- [Loss reasons](#loss-reasons)\n"
    );
    attributes(&mut out);
    metrics(&mut out);
    phases(&mut out)?;
    section_kinds(&mut out)?;
    let modes = Mode::ALL.iter().map(|mode| mode.as_str());
    values(&mut out, "Modes", &format!("Values of `{}`.", attr::MODE), "crates/core/src/kind.rs", modes)?;
    let levels = Level::ALL.iter().map(|level| level.as_str());
    values(&mut out, "Levels", &format!("Values of `{}`.", attr::LEVEL), "crates/core/src/level.rs", levels)?;
    let states = ThreadState::ALL.iter().map(|state| state.as_str());
    let text =
        format!("What a sample in `{}` says, by its number: the first one is 0.", attr::THREAD_SAMPLES);
    values(&mut out, "Thread states", &text, "crates/core/src/thread_state.rs", states)?;
    loss_reasons(&mut out)?;
    Ok(out)
}

fn attributes(out: &mut String) {
    out.push_str("\n## Attributes\n");
    for (place, title) in PLACES {
        let rows = attr::TABLE.iter().filter(|row| row.place == place).map(|row| {
            let unit = if row.unit.is_empty() { String::new() } else { code(row.unit) };
            let aliases = row.aliases.iter().map(|alias| code(alias)).collect::<Vec<_>>().join(", ");
            [
                code(row.key),
                row.value.as_str().into(),
                unit,
                row.stability.as_str().into(),
                row.doc.trim().into(),
                aliases,
            ]
        });
        let _ = write!(out, "\n### {title}\n\n");
        table(out, ["attribute", "type", "unit", "defined by", "meaning", "also read as"], rows);
    }
}

fn metrics(out: &mut String) {
    out.push_str(
        "\n## Metrics\n\nCounters and histograms are cumulative since the process began to record; the latest point \
         of a process and set of attributes wins. Those of the machine, its devices and the exporter are in \
         [metrics.md](metrics.md#the-table).\n\n",
    );
    let rows = metric::TABLE.iter().map(|row| {
        let attributes = row.attributes.iter().map(|key| code(key)).collect::<Vec<_>>().join(", ");
        [code(row.name), row.instrument.as_str().into(), code(row.unit), row.doc.trim().into(), attributes]
    });
    table(out, ["metric", "instrument", "unit", "meaning", "attributes"], rows);
}

fn phases(out: &mut String) -> Outcome {
    let _ = write!(
        out,
        "\n## Phases\n\nValues of `{}`; other words pass through and count as `{}`. Where several phases cover the \
         same moment of a step, the class that comes first wins: {}. On one thread the last two are one, of which the \
         innermost section wins: a thread that writes inside of its forward pass does not compute. A section without a phase whose name ends \
         (after the last `:`, `.` or `/`, any case, `-` and space read as `_`) in exactly one of the last column's \
         words has that phase.\n\n",
        attr::PHASE,
        Phase::Other.class(),
        stepscope_core::PhaseClass::ALL.iter().map(|class| class.as_str()).collect::<Vec<_>>().join(" > "),
    );
    let source = read("crates/core/src/phase.rs")?;
    let mut rows = Vec::new();
    for &phase in Phase::ALL {
        let words = INFERRED.iter().filter(|(_, implied)| *implied == phase);
        let words = words.map(|(word, _)| code(word)).collect::<Vec<_>>().join(", ");
        rows.push([
            code(phase.as_str()),
            meaning(&source, phase.as_str())?,
            code(phase.class().as_str()),
            words,
        ]);
    }
    table(out, ["phase", "meaning", "class", "implied by the name"], rows.into_iter());
    Ok(())
}

fn section_kinds(out: &mut String) -> Outcome {
    let _ = write!(out, "\n## Section kinds\n\nValues of `{}`.\n\n", attr::SECTION_KIND);
    let source = read("crates/core/src/kind.rs")?;
    let mut rows = Vec::new();
    for &kind in SectionKind::ALL {
        let own = if kind.starts_trace() { "yes" } else { "" };
        rows.push([code(kind.as_str()), meaning(&source, kind.as_str())?, own.into()]);
    }
    table(out, ["kind", "meaning", "always a trace of its own"], rows.into_iter());
    Ok(())
}

fn loss_reasons(out: &mut String) -> Outcome {
    let _ = write!(
        out,
        "\n## Loss reasons\n\nValues of `{}`. Every span that does not arrive is counted under one of them.\n\n",
        attr::LOSS_REASON
    );
    let source = read("crates/core/src/loss.rs")?;
    let mut rows = Vec::new();
    for &reason in LossReason::ALL {
        rows.push([code(reason.as_str()), meaning(&source, reason.as_str())?, reason.advice().into()]);
    }
    table(out, ["reason", "meaning", "what to do"], rows.into_iter());
    Ok(())
}

fn values<'a>(
    out: &mut String,
    title: &str,
    text: &str,
    source: &str,
    names: impl Iterator<Item = &'a str>,
) -> Outcome {
    let _ = write!(out, "\n## {title}\n\n{text}\n\n");
    let source = read(source)?;
    let rows = names.map(|name| Ok([code(name), meaning(&source, name)?])).collect::<Outcome<Vec<_>>>()?;
    table(out, ["value", "meaning"], rows.into_iter());
    Ok(())
}

fn read(path: &str) -> Outcome<String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("failed to read {path}: {error}"))
}

fn meaning(source: &str, name: &str) -> Outcome<String> {
    doc(source, name).ok_or_else(|| format!("no documentation found for the value {name:?}"))
}

pub(super) fn code(text: &str) -> String {
    format!("`{text}`")
}

/// A table; `|` inside cells is escaped, and links that only rustdoc resolves are left as code.
pub(super) fn table<const N: usize>(
    out: &mut String,
    head: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) {
    let line = |cells: [String; N]| format!("| {} |\n", cells.join(" | "));
    out.push_str(&line(head.map(str::to_owned)));
    out.push_str(&line(head.map(|_| "---".to_owned())));
    for row in rows {
        out.push_str(&line(row.map(|cell| cell.replace('|', "\\|").replace("[`", "`").replace("`]", "`"))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_in_the_document() {
        let text = generate().unwrap();
        let names = attr::TABLE.iter().map(|row| row.key).chain(metric::TABLE.iter().map(|row| row.name));
        let values = Phase::ALL.iter().map(|phase| phase.as_str());
        for name in names.chain(values).chain(LossReason::ALL.iter().map(|reason| reason.as_str())) {
            assert!(text.contains(&format!("\n| `{name}` |")), "{name}");
        }
    }

    #[test]
    fn bars_do_not_break_tables() {
        let mut out = String::new();
        table(&mut out, ["a", "b"], [["x|y".to_owned(), "[`Z`]".to_owned()]].into_iter());
        assert_eq!(out, "| a | b |\n| --- | --- |\n| x\\|y | `Z` |\n");
    }
}
