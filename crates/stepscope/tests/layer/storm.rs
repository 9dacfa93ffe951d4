//! Random sequences of operations on eight threads, held against the simple model that the program keeps.

use std::collections::HashMap;

use stepscope_core::attr;

use crate::common::{Ended, Program, Span, check};

/// Operations of one run, and runs. More of them: `STEPSCOPE_STORM_RUNS`.
const OPERATIONS: u64 = 250_000;
const RUNS: u64 = 3;

/// A line of the model.
struct Modelled {
    name: String,
    parent: Option<u64>,
    later: Option<i64>,
    failed: bool,
    follows: Vec<u64>,
}

fn model(ended: &Ended) -> HashMap<u64, Modelled> {
    let lines = std::fs::read_to_string(ended.path().join("model")).unwrap();
    let line = |line: &str| {
        let parts: Vec<&str> = line.splitn(6, ' ').collect();
        let [number, name, parent, later, failed, follows] = parts[..] else { panic!("{line}") };
        let follows = follows.trim_matches(['[', ']']).split(", ").filter(|text| !text.is_empty());
        let modelled = Modelled {
            name: name.to_owned(),
            parent: parent.parse().ok(),
            later: later.parse().ok(),
            failed: failed == "true",
            follows: follows.map(|text| text.parse().unwrap()).collect(),
        };
        (number.parse().unwrap(), modelled)
    };
    lines.lines().map(line).collect()
}

fn number(span: &Span) -> Option<u64> {
    span.int("number").map(|number| u64::try_from(number).unwrap())
}

fn play(seed: u64) -> u64 {
    let ended = Program::new(&["storm", &seed.to_string(), &OPERATIONS.to_string()]).succeed();
    assert_eq!(ended.stderr, "", "seed {seed}");
    let recording = ended.recording();
    assert_eq!(recording.emitted(), ended.truth()["spans"], "seed {seed}");
    // No id twice, no trace without its count, no sum that differs from the spans, nothing lost.
    check::all(&recording);
    let (model, by_id) = (model(&ended), recording.by_id());
    let number_of: HashMap<u64, u64> =
        recording.spans.iter().filter_map(|span| Some((span.id, number(span)?))).collect();
    assert_eq!(number_of.len(), model.len());
    for span in recording.spans.iter().filter(|span| number(span).is_some()) {
        let modelled = &model[&number(span).unwrap()];
        assert_eq!(span.name, modelled.name);
        match span.parent {
            Some(parent) => assert_eq!(Some(number_of[&parent]), modelled.parent, "seed {seed}: {span:?}"),
            // In another trace than its parent, where that was full or had ended.
            None => assert_eq!(span.text(attr::PARENT_PATH).is_some(), modelled.parent.is_some(), "{span:?}"),
        }
        assert_eq!(span.int("later"), modelled.later, "seed {seed}: {span:?}");
        assert_eq!(span.status == 2, modelled.failed, "seed {seed}: {span:?}");
        let mut follows: Vec<u64> = (span.links.iter())
            .inspect(|(trace, id)| assert_eq!(by_id[id].trace, *trace))
            .filter_map(|(_, id)| number_of.get(id).copied())
            .collect();
        let mut expected = modelled.follows.clone();
        // Beside that, a root links to the run, and the one that announces to what its trace continues.
        let announces = span.int(attr::TRACE_SPANS).is_some();
        expected.extend(modelled.parent.filter(|_| span.is_root() && announces));
        follows.sort_unstable();
        expected.sort_unstable();
        assert_eq!(follows, expected, "seed {seed}: {span:?}");
    }
    number_of.len() as u64
}

#[test]
fn random_sequences_on_many_threads_agree_with_a_model() {
    let runs = std::env::var("STEPSCOPE_STORM_RUNS").map_or(RUNS, |runs| runs.parse().unwrap());
    let spans: u64 = (1..=runs).map(play).sum();
    println!("{} operations, {spans} spans", runs * OPERATIONS);
}
