//! Phases of the program's own: as a `tracing` span says them, so do the macros, and the known ones are known in quotes, too.

use stepscope_core::attr;

use crate::common::recording::Attributes;
use crate::common::{Program, Recording, Span, check};

fn record() -> Recording {
    let ended = Program::new(&["phases"]).succeed();
    assert_eq!(ended.warnings(), [""; 0]);
    let recording = ended.recording();
    check::all(&recording);
    recording
}

/// What a span says beside its place, and its times, which a busy machine makes two of.
fn said(span: &Span) -> Attributes {
    const OWN: [&str; 4] = [attr::CODE_FUNCTION_NAME, attr::CODE_LINE_NUMBER, attr::BUSY_NS, attr::IDLE_NS];
    span.attributes.clone().into_iter().filter(|(key, _)| !OWN.contains(&key.as_str())).collect()
}

#[test]
fn sections_and_spans_say_the_same() {
    let recording = record();
    let step = recording.steps()[0];
    let sections: Vec<&Span> =
        recording.children(step).into_iter().filter(|span| span.name == "section").collect();
    let mut phases = Vec::new();
    let (groups, rest) = sections.as_chunks::<4>();
    assert!(rest.is_empty());
    for [fields, none, span_fields, span_none] in groups {
        assert_eq!((said(fields), said(none)), (said(span_fields), said(span_none)));
        assert_eq!(fields.int(attr::SAMPLES), Some(3));
        assert_eq!(fields.text(attr::PHASE), none.text(attr::PHASE));
        phases.push(fields.text(attr::PHASE).unwrap());
    }
    assert_eq!(phases[..4], ["reward model", "forward", "forward_", "Forward"]);
    assert_eq!((phases.len(), phases[4].len()), (5, 256));
}

#[test]
fn functions_have_phases_of_their_own() {
    let recording = record();
    let own = Some("reward model");
    let expected = [
        ("own", own),
        ("own_later", own),
        ("known", Some("forward")),
        ("known_later", Some("forward")),
        ("Rewards::of_block", own),
        ("Rewards::of_method", Some("backward")),
        ("wide", own),
    ];
    for (name, phase) in expected {
        assert_eq!(recording.only(name).text(attr::PHASE), phase, "{name}");
    }
    assert_eq!(recording.only("own").int(attr::SAMPLES), Some(3));
    assert_eq!(recording.only("wide").int("number"), Some(7));
}

#[test]
fn known_phases_in_quotes_are_those_of_the_sums_too() {
    let recording = record();
    let sums: Vec<_> = recording.points(stepscope_core::metric::SECTION_COUNT).collect();
    let phase = |name: &str| {
        let of = |path: &str| path.rsplit('/').next() == Some(name);
        let found =
            sums.iter().find(|(attributes, _)| attributes.get(attr::PATH).is_some_and(|path| of(path)));
        found.unwrap().0.get(attr::PHASE).cloned()
    };
    let forward = Some("forward".to_owned());
    assert_eq!((phase("known"), phase("known_later")), (forward.clone(), forward));
}
