//! Spans that are outlived by others which only stepscope has: the inner subscriber hears of their ends when it would
//! without stepscope, and what is recorded has them with all that began inside of them.

use std::collections::{BTreeMap, HashMap};

use crate::common::{Program, Recording, Span, check};

#[test]
fn the_inner_subscriber_hears_of_an_end_when_it_would_alone() {
    let [alone, around] = ["without", "with"].map(|with| Program::new(&["outlived", "log", with]).succeed());
    let lines: Vec<&str> = alone.stderr.lines().collect();
    // The end comes before the word that follows it, and what has outlived it says nothing.
    assert_eq!(lines[..2], [r#"startup: "close""#, " started"], "{lines:?}");
    let seen_ends = lines.iter().filter(|line| line.ends_with(r#"seen: "close""#)).count();
    assert!(seen_ends > 500, "{seen_ends}");
    for (number, (around, alone)) in around.stderr.lines().zip(&lines).enumerate() {
        assert_eq!(around, *alone, "line {number}");
    }
    assert_eq!(around.stderr, alone.stderr);
    let recording = around.recording();
    check::all(&recording);
    let spans = ["startup", "task", "seen", "unseen"].map(|name| recording.named(name).count() as u64);
    assert_eq!(spans.iter().sum::<u64>(), around.truth()["spans"]);
}

/// The only span of that name in each round.
fn by_round<'a>(recording: &'a Recording, name: &'a str) -> BTreeMap<i64, &'a Span> {
    let spans: BTreeMap<_, _> =
        recording.named(name).map(|span| (span.int("round").unwrap(), span)).collect();
    assert_eq!(recording.named(name).count(), spans.len(), "{name}");
    spans
}

#[test]
fn what_leaves_for_what_outlives_it_alone_is_there() {
    const ROUNDS: usize = 20;
    let ended = Program::new(&["outlived", "small", &ROUNDS.to_string()]).succeed();
    let recording = ended.recording();
    check::traces(&recording);
    check::account(&recording, "directory");
    let around = |name: Option<&str>, child: &str| {
        let children = by_round(&recording, child);
        assert_eq!(children.len(), ROUNDS, "{child}");
        let parents = name.map(|name| by_round(&recording, name));
        for (round, child) in children {
            let parent = parents.as_ref().map(|parents| parents[&round].id);
            let step = recording.steps().into_iter().find(|step| step.int("stepscope.step") == Some(round));
            assert_eq!(child.parent, parent.or(step.map(|step| step.id)), "{child:?}");
        }
    };
    around(None, "needed");
    around(Some("needed"), "failed");
    around(None, "first");
    around(Some("first"), "second");
    around(Some("second"), "third");
    around(Some("third"), "fourth");
    for name in ["hollow", "small"] {
        assert_eq!(recording.named(name).count(), 0, "{name}");
    }
    assert_eq!(recording.dropped("", "filtered"), 5 * ROUNDS as u64);
}

#[test]
fn what_goes_on_inside_of_spans_that_have_ended_there_stays_inside_of_them() {
    const ROUNDS: usize = 10;
    let ended = Program::new(&["outlived", "between", &ROUNDS.to_string()]).succeed();
    let recording = ended.recording();
    check::traces(&recording);
    check::account(&recording, "directory");
    let by_id = recording.by_id();
    let [requests, asides] = ["request", "aside"].map(|name| by_round(&recording, name));
    assert_eq!((requests.len(), asides.len()), (ROUNDS, ROUNDS));
    for (name, around, trace) in [
        ("write", "task", &requests),
        ("task", "handler", &requests),
        ("use", "prepared", &requests),
        ("prepared", "prepare", &requests),
        ("reread", "noted", &asides),
        ("noted", "note", &asides),
    ] {
        let spans = by_round(&recording, name);
        assert_eq!(spans.len(), ROUNDS, "{name}");
        for (round, span) in spans {
            let parent = span.parent.map(|parent| by_id[&parent]);
            assert_eq!(parent.map(|parent| parent.name.as_str()), Some(around), "{span:?}");
            assert_eq!(span.trace, trace[&round].trace, "{span:?}");
        }
    }
    for request in requests.values() {
        let messages: Vec<_> = request.events.iter().map(|event| event.name.as_str()).collect();
        assert_eq!((messages, request.status), (vec!["in what is left out"], 2));
    }
    assert_eq!(recording.only("run").status, 0);
    assert_eq!(recording.dropped("", "filtered"), 2 * ROUNDS as u64);
}

#[test]
fn sequences_around_a_registry_leave_what_a_model_says() {
    for way in ["root_all", "root_even", "root_odd"] {
        let soak = Program::of_example("soak", &["sequences", "4000", "7"]).env("PROGRAMS_WAY", way);
        let ended = soak.succeed();
        assert_eq!((ended.stderr.as_str(), ended.truth()["sequences"]), ("", 4_000), "{way}");
    }
}

#[test]
fn spans_with_the_id_of_one_that_is_outlived_are_themselves() {
    const COUNT: u64 = 20_000;
    let ended = Program::new(&["outlived", "ids", &COUNT.to_string()]).succeed();
    // A registry gives an id again after 8,191 others for the same place.
    let truth = ended.truth();
    assert!(truth["again"] >= 2 && truth["ids"] < COUNT, "{truth:?}");
    let recording = ended.recording();
    check::traces(&recording);
    check::account(&recording, "directory");
    assert_eq!((recording.all_dropped("directory"), recording.dropped("", "filtered")), (1, 1));
    fn by_number<'a>(recording: &'a Recording, name: &'a str) -> BTreeMap<i64, &'a Span> {
        recording.named(name).map(|span| (span.int("number").unwrap(), span)).collect()
    }
    for name in ["further", "inside"] {
        assert_eq!(recording.named(name).count() as u64, COUNT, "{name}");
        assert!(by_number(&recording, name).keys().copied().eq(0..COUNT as i64), "{name}");
    }
    let further = by_number(&recording, "further");
    for (number, inside) in by_number(&recording, "inside") {
        assert_eq!((inside.parent, inside.events.len()), (Some(further[&number].id), 0));
        assert_eq!((further[&number].parent, further[&number].events.len()), (None, 0));
    }
    let (outlived, leaves) = (recording.only("outlived"), recording.only("leaves"));
    assert_eq!((outlived.parent, leaves.parent), (None, Some(outlived.id)));
    let messages = |span: &Span| span.events.iter().map(|event| event.name.clone()).collect::<Vec<_>>();
    assert_eq!(messages(outlived), vec!["in what is left out"; 20]);
    assert_eq!(messages(leaves), vec!["in what leaves"; 20]);
    assert_eq!(recording.named("left_out").count(), 0);
    assert_eq!(recording.only("in_between").parent, None);
}

#[test]
fn each_ends_once_whoever_is_the_last() {
    for threads in [1, 3] {
        let ended = Program::new(&["outlived", "together", "300", &threads.to_string()]).succeed();
        let recording = ended.recording();
        check::all(&recording);
        let count = ended.truth()["parents"];
        let parents: HashMap<u64, i64> =
            recording.named("parent").map(|span| (span.id, span.int("number").unwrap())).collect();
        assert_eq!((parents.len() as u64, recording.named("parent").count() as u64), (count, count));
        let mut numbers: Vec<i64> = parents.values().copied().collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..count as i64));
        assert_eq!(recording.named("child").count() as u64, threads * count);
        for child in recording.named("child") {
            assert_eq!(child.parent.map(|parent| parents[&parent]), child.int("number"));
        }
    }
}
