//! `docs/rules.md` is what the registry says. `cargo xtask docs` writes it anew.

use std::fmt::Write as _;
use std::path::Path;

use stepscope_analyze::rules::{Config, RULES};

const HEAD: &str = "\
# Rules

What `stepscope analyze` looks for: `stepscope explain` lists it, `stepscope explain RULE` says the same in a terminal. Each
page is `crates/analyze/src/rules/RULE.md`; `cargo xtask docs` gathers them here.

A rule says *found*; or *fine*, with what it looked at and its limit; or *unknown*, and what is missing. A finding has figures, a
severity, advice, and what the advice can gain: at most, as if the cause took no time at all, or about, by an estimate. Severity is
the share that the cause itself takes, in per cent; it is at most 9 where that may be chance or the machine's doing. Findings are
ordered by severity, then by that share, then by id.

Rules judge from one step on; what happens over time needs more. Of fewer than 20 steps every share comes with its 95 % interval, by
the variance of the steps' own shares (Student's t), or where nobody knows that by Hoeffding's bound, ± 55 points of 6 steps.
Severity is then at most 19, unless the lower end of the interval is 20 % or more.

Ranks that do steps together wait for each other, and the bound counts that. With a cause of `c` of the mean step, `n` ranks
and `w` waited in communication and synchronization, it is `c + min((n - 1) c, w)`; where no section of these phases was
recorded, `n c`. A rank is named that has 1.5 times the mean of the finding's phase.

Thresholds are set in `stepscope.toml` of the working directory, or in the file that `STEPSCOPE_CONFIG` or `--config` names, a
table a rule:

```toml
[rules.io_stalls]
min_share = 0.1
```

Keys that end in `_share` are parts of one (0.1 for 10 %) and lie within 0 and 1; severities (`severity`, `_severity`) lie
within 0 and 100; all others are finite and not negative. Anything else is an error.

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
        writeln!(text, "\n## {}\n", rule.id).unwrap();
        writeln!(text, "{}; type `{}`, since {}.\n", rule.name, rule.kind.as_str(), rule.since).unwrap();
        for (heading, part) in rule.parts() {
            writeln!(text, "**{heading}.** {part}\n").unwrap();
        }
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
