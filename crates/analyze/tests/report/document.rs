//! `docs/rules.md` is what the registry says. `BLESS=1 cargo test -p stepscope-analyze --test report` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use stepscope_analyze::rules::{Config, RULES};

const HEAD: &str = "\
# Rules

What `stepscope analyze` looks for. Made from the registry of rules (`crates/analyze/src/rules`), which a test holds it
against; `stepscope analyze --list-rules` lists them, `stepscope explain RULE` says the same as here in a terminal.

A rule says one of three things: what it *found*, that all is *fine*, or that there is *not enough data*, and then what is
missing. A finding names its figures, a severity, what to do, and what doing it can bring: an upper bound, as if the
cause took no time at all. The severity of what takes time is the share that the cause itself takes, in per cent, and
less where that may be chance or the machine's doing. Findings are ordered by severity, then by that share, the largest
first, then by id: not by the bound, which counts what the cause may cost everything else.

Where several ranks do steps together, each may wait for the others, and the bound holds for that as well: with a cause that
takes `c` of the mean step, `n` ranks, and `w` that they wait in communication and synchronization on average, all steps may
be shorter by `c + min((n - 1) c, w)`; where no section of these phases tells how long ranks wait (they exchange inside of
`backward`, say), by `n c`. One rank is named where it has half as much again of the finding's phase as they have on average.

Thresholds are set in `stepscope.toml` of the working directory, or in the file that `STEPSCOPE_CONFIG` or `--config` names, a
table a rule:

```toml
[rules.input_bound]
min_share = 0.1
```

Keys that end in `_share` are parts of one (0.1 for 10 %) and lie within 0 and 1, as probabilities (`_p_value`) do; severities
(`severity`, `_severity`) lie within 0 and 100; all others are finite and not negative. Anything else is an error.

";

/// The document that the registry makes.
fn document() -> String {
    let config = Config::default();
    let mut text = String::from(HEAD);
    text.push_str("| rule | finds | type |\n|---|---|---|\n");
    for rule in RULES {
        let (id, name, kind) = (rule.id, rule.name, rule.kind.as_str());
        writeln!(text, "| [`{id}`](#{id}) | {name} | {kind} |").unwrap();
    }
    for rule in RULES {
        let doc = rule.doc;
        writeln!(text, "\n## {}\n", rule.id).unwrap();
        writeln!(text, "{}; type `{}`, since {}.\n", rule.name, rule.kind.as_str(), rule.since).unwrap();
        for (heading, part) in [
            ("What it finds", doc.finds),
            ("Why it matters", doc.why),
            ("How it is computed", doc.how),
            ("What to do", doc.advice),
        ] {
            writeln!(text, "**{heading}.** {part}\n").unwrap();
        }
        writeln!(text, "```text\n{}\n```\n", doc.example).unwrap();
        text.push_str("| threshold | default | meaning |\n|---|---|---|\n");
        for threshold in config.thresholds(rule.id) {
            let (key, value, doc) = (threshold.key, threshold.value, threshold.doc);
            writeln!(text, "| `{key}` | {value} | {doc} |").unwrap();
        }
    }
    text
}

#[test]
fn the_document_is_that_of_the_registry() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.md");
    let made = document();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(written, made, "docs/rules.md is not what the rules say");
}

#[test]
fn a_table_has_no_bars_of_its_own() {
    for rule in RULES {
        assert!(!rule.name.contains('|'), "{}", rule.id);
        for threshold in Config::default().thresholds(rule.id) {
            assert!(!threshold.doc.contains('|'), "{} {}", rule.id, threshold.key);
        }
    }
}
