//! What only the root subscriber has to hold: what is inside of it sees what it would see alone, and what is recorded does
//! not depend on what that one wants.

use std::collections::BTreeMap;

use stepscope_core::attr;

use crate::common::{Ended, Program, check};

const ROUNDS: u64 = 10;

fn run(with: &str, filter: &str) -> Ended {
    Program::new(&["around", with, filter]).succeed()
}

/// What of the program's spans was the current one, as it found it itself.
fn current(ended: &Ended) -> BTreeMap<String, u64> {
    let own = |(&name, &count): (&&str, &u64)| Some((name.strip_prefix("current.")?.to_owned(), count));
    ended.truth().iter().filter_map(own).collect()
}

#[test]
fn the_inner_subscriber_sees_what_it_would_see_alone() {
    for filter in ["global", "layer"] {
        let (alone, around) = (run("without", filter), run("with", filter));
        // It does see spans, from their births to their ends, and events inside of them; and no others.
        let lines = |line: &str| alone.stderr.lines().filter(|&found| found == line).count() as u64;
        let seen = [r#"outer: "new""#, r#"outer:inner: "close""#, "outer: in between", r#"root: "exit""#];
        assert_eq!(seen.map(lines), [ROUNDS; 4], "{filter}: {}", alone.stderr);
        assert!(!alone.stderr.contains("unseen:") && !alone.stderr.contains("elsewhere:"));
        assert_eq!(around.stderr, alone.stderr, "{filter}");
    }
}

#[test]
fn what_is_recorded_does_not_depend_on_what_the_inner_subscriber_wants() {
    for filter in ["global", "layer"] {
        let ended = run("with", filter);
        let recording = ended.recording();
        check::all(&recording);
        let spans = recording.by_id();
        let parents = [
            ("outer", None),
            ("between", Some("outer")),
            ("inner", Some("between")),
            ("section", Some("inner")),
            // The span between the two is more verbose than what is recorded.
            ("deep", Some("section")),
            ("chosen", Some("between")),
            ("chosen_unseen", Some("outer")),
            ("root", None),
            ("elsewhere", Some("between")),
        ];
        for (name, parent) in parents {
            let named: Vec<_> = recording.named(name).collect();
            assert_eq!(named.len() as u64, ROUNDS, "{filter}: {name}");
            for span in named {
                let found = span.parent.map(|parent| spans[&parent].name.as_str());
                assert_eq!(found, parent, "{filter}: {span:?}");
            }
        }
        for between in recording.named("between") {
            let outer = spans[&between.parent.unwrap()];
            assert_eq!((outer.int("later"), between.int("later")), (Some(2), Some(1)));
            assert_eq!(outer.int("round"), between.int("round"));
            assert_eq!(between.links, [(outer.trace, outer.id)]);
            let messages: Vec<&str> = between.events.iter().map(|event| event.name.as_str()).collect();
            assert_eq!(messages, ["in between", "in between, for nobody but stepscope", "for between"]);
            let inner = recording.children(between).into_iter().find(|span| span.name == "inner").unwrap();
            assert_eq!(inner.links, [(between.trace, between.id), (outer.trace, outer.id)]);
        }
        assert!(recording.named("stranger").next().is_none());
        assert!(recording.named("elsewhere").all(|span| span.text(attr::THREAD_NAME) == Some("elsewhere")));
        let expected =
            [("none", 1), ("outer", 1), ("between", 2), ("inner", 3), ("stranger", 2), ("deep", 1)];
        let expected = expected.map(|(name, count)| (name.to_owned(), ROUNDS * count));
        assert_eq!(current(&ended), BTreeMap::from(expected), "{filter}");
    }
}

/// A registry clears a span that has ended only where a layer is around it; without one its parent never ends.
#[test]
fn a_registry_without_a_layer_inside_gets_no_spans_and_keeps_none() {
    for form in ["bare", "boxed", "shared", "no_layer", "boxed_no_layer"] {
        let ended = Program::new(&["nested", form]).succeed();
        let recording = ended.recording();
        check::all(&recording);
        for name in ["parent", "child"] {
            assert_eq!(recording.named(name).count() as u64, ROUNDS, "{form}: {name}");
        }
        let has_layer = form.ends_with("no_layer");
        assert_eq!(ended.truth()["inner_has_spans"], u64::from(has_layer), "{form}");
    }
}

#[test]
fn ids_that_are_nobodys_do_nothing_and_nobody_asks_for_spans_that_are_not_there() {
    let ended = Program::new(&["strays"]).succeed();
    let recording = ended.recording();
    check::all(&recording);
    let witnesses = ended.truth()["witnesses"];
    assert_eq!(recording.named("witness").count() as u64, witnesses);
    // A parent that is nobody is none.
    assert_eq!(recording.named("child").filter(|child| child.parent.is_none()).count() as u64, witnesses);
    for witness in recording.named("witness") {
        assert!(recording.children(witness).is_empty() && witness.events.is_empty());
        assert_eq!((witness.int("later"), witness.links.len()), (Some(1), 1));
    }
    assert_eq!((ended.truth()["found.before"], ended.truth()["found.after"]), (1, 0));
    assert_eq!(ended.warnings().len(), 1, "{:?}", ended.warnings());
}
