//! A program that only knows `#[tracing::instrument]`: what its sections, steps and fields become.

use std::collections::HashSet;

use stepscope_core::identity::TraceIds;
use stepscope_core::{attr, metric};

use crate::common::check;
use crate::common::recording::Attribute;
use crate::common::{Program, Recording};

const STEPS: u64 = 20;

const NAMES: [&str; 13] = [
    "load",
    "train_step",
    "forward",
    "layer",
    "backward",
    "sgd",
    "validation",
    "late",
    "effect",
    "repeated",
    "wide",
    "valued",
    "formatted",
];

fn record() -> Recording {
    Program::new(&["plain", "20"])
        .env("STEPSCOPE_STEP_SPAN", "train_step")
        .env("STEPSCOPE_RUN_ID", "the-run")
        .env("STEPSCOPE_RUN_ATTEMPT", "2")
        .succeed()
        .recording()
}

#[test]
fn an_unmodified_program_has_steps_sections_and_locations() {
    let recording = record();
    check::all(&recording);
    let names: Vec<(&str, usize)> = NAMES.map(|name| (name, recording.named(name).count())).to_vec();
    let n = STEPS as usize;
    let expected = [
        ("load", 1),
        ("train_step", n),
        ("forward", n),
        ("layer", 4 * n),
        ("backward", n),
        ("sgd", n),
        ("validation", 1),
        ("late", 1),
        ("effect", 1),
        ("repeated", 1),
        ("wide", 1),
        ("valued", 1),
        ("formatted", 1),
    ];
    assert_eq!(names, expected);
    // And the run with its mark; `detail` is more verbose than what is recorded.
    assert_eq!(recording.spans.len(), 8 * n + 8 + 2);

    for step in recording.named("train_step") {
        let children = recording.children(step);
        let names: Vec<&str> = children.iter().map(|span| span.name.as_str()).collect();
        assert_eq!(names, ["forward", "backward"]);
        assert_eq!(children[0].text(attr::PHASE), Some("forward"));
        assert_eq!(children[0].int("batch"), Some(64));
        let mut layer = recording.children(children[0]);
        for depth in (0..=3).rev() {
            assert_eq!((layer.len(), layer[0].name.as_str()), (1, "layer"));
            assert_eq!(layer[0].int("depth"), Some(depth));
            layer = recording.children(layer[0]);
        }
        assert!(layer.is_empty());
        let update = recording.children(children[1]);
        assert_eq!((update.len(), update[0].name.as_str()), (1, "sgd"));
        assert_eq!(update[0].text(attr::PHASE), Some("optimizer"));
    }
    let forward = recording.named("forward").next().unwrap();
    assert!(forward.text(attr::CODE_FILE_PATH).unwrap().ends_with("examples/programs/plain.rs"));
    assert_eq!(forward.text(attr::CODE_FUNCTION_NAME), Some("programs::plain::forward"));
    let source = include_str!("../../examples/programs/plain.rs");
    let line = forward.int(attr::CODE_LINE_NUMBER).unwrap() as usize;
    let attribute = source.lines().nth(line - 1).unwrap();
    assert!(attribute.contains("instrument(skip_all, fields(stepscope.phase"), "{line}: {attribute}");
}

#[test]
fn steps_are_traces_numbered_from_zero_with_the_ids_of_the_contract() {
    let recording = record();
    let run = recording.only("run");
    let steps = recording.steps();
    let numbers: Vec<i64> = steps.iter().map(|step| step.int(attr::STEP).unwrap()).collect();
    assert_eq!(numbers, (0..STEPS as i64).chain([1_000]).collect::<Vec<_>>());
    assert_eq!(steps.last().unwrap().name, "validation");
    let ids: HashSet<[u8; 16]> = steps.iter().map(|step| step.trace).collect();
    assert_eq!(ids.len(), steps.len());
    let expected = TraceIds::new("the-run", 2, &[b"any process"]);
    for step in &steps {
        assert!(step.is_root());
        assert_eq!(step.links, [(run.trace, run.id)]);
        let number = step.int(attr::STEP).map(|number| number as u64);
        assert_eq!(step.trace[9..], expected.trace_id(0, number)[9..]);
        assert_eq!(step.trace[..5], run.trace[..5]);
    }
    // Outside of steps: traces of their own, without a number.
    for name in ["load", "late", "effect"] {
        let span = recording.only(name);
        assert!(span.is_root() && !ids.contains(&span.trace), "{name}");
        assert_eq!((span.kind(), span.int(attr::STEP)), ("section", None));
    }
    let resource = &recording.resource;
    assert_eq!(resource[attr::RUN_ID], Attribute::Str("the-run".into()));
    assert_eq!(resource[attr::RUN_ATTEMPT], Attribute::Int(2));
    assert_eq!(resource[attr::SERVICE_INSTANCE_ID], Attribute::Str("the-run-rank0".into()));
}

#[test]
fn warnings_errors_late_fields_and_causes_are_kept() {
    let recording = record();
    let steps = recording.steps();
    for (number, step) in steps.iter().enumerate().take(STEPS as usize) {
        let warned: Vec<&str> = step.events.iter().map(|event| event.name.as_str()).collect();
        if number == 3 {
            assert!(warned.len() == 1 && warned[0].starts_with("the sum is "), "{warned:?}");
            assert_eq!(step.events[0].level, "WARN");
            assert!(
                step.events[0].time_unix_ns >= step.start_ns && step.events[0].time_unix_ns <= step.end_ns
            );
        } else {
            assert_eq!(warned, [""; 0]);
        }
        assert_eq!(step.status, 0);
        let backward = recording.children(step)[1];
        if number == 5 {
            assert_eq!(
                (backward.status, backward.status_message.as_str()),
                (2, "the gradient is not finite")
            );
        } else {
            assert_eq!((backward.status, backward.events.len()), (0, 0));
        }
    }
    let late = recording.only("late");
    assert_eq!(late.text("outcome"), Some("good"));
    assert!(recording.only("effect").links.contains(&(late.trace, late.id)));
}

#[test]
fn a_key_is_there_once_and_the_layers_own_word_counts() {
    let repeated = record().only("repeated").clone();
    // (Reading fails already where a key is there twice.)
    assert_eq!(repeated.text(attr::PHASE), Some("forward"));
    assert_eq!(repeated.int(attr::EPOCH), Some(7));
    assert_ne!(repeated.int(attr::THREAD_ID), Some(1));
    assert_eq!(repeated.int(attr::BUSY_NS), None);
}

#[test]
fn integers_of_any_width_are_kept() {
    let recording = record();
    let wide = recording.only("wide");
    assert_eq!(wide.int("few"), Some(-3));
    // OTLP has no integers of more than 64 bits, signed.
    let digits = |value: &dyn ToString| Some(value.to_string());
    let text = |key: &str| wide.text(key).map(str::to_owned);
    assert_eq!((text("low"), text("high")), (digits(&i128::MIN), digits(&u128::MAX)));
    assert_eq!(text("later"), digits(&(1_u128 << 64)));
    let valued = recording.only("valued");
    let value = |name: &str| valued.attributes[&format!("{}{name}", attr::VALUE_PREFIX)].clone();
    assert_eq!(value("high"), Attribute::Double(u128::MAX as f64));
    assert_eq!(value("few"), Attribute::Double(3.0));
    assert_eq!(valued.text("low").map(str::to_owned), digits(&i128::MIN));
}

#[test]
fn values_are_formatted_only_where_their_field_is_named() {
    let program = || Program::new(&["plain", "20"]);
    let ended = program().succeed();
    assert_eq!(ended.truth()["formatted"], 0);
    let recording = ended.recording();
    let formatted = recording.only("formatted");
    assert!(["named", "other", "later"].iter().all(|key| !formatted.attributes.contains_key(*key)));

    // And what formatting does by itself is not recorded: our state may be locked then.
    let ended = program().env("STEPSCOPE_FORMAT_FIELDS", "named,later").succeed();
    assert_eq!(ended.truth()["formatted"], 2);
    let recording = ended.recording();
    check::all(&recording);
    let formatted = recording.only("formatted");
    assert_eq!((formatted.text("named"), formatted.text("later")), (Some("loud"), Some("loud")));
    assert!(!formatted.attributes.contains_key("other") && formatted.events.is_empty());
    assert_eq!(recording.named("inside_of_formatting").count(), 0);
}

#[test]
fn names_and_status_are_those_that_were_said_last_in_whatever_way() {
    let recording = Program::new(&["heads"]).succeed().recording();
    check::traces(&recording);
    let status = |name: &str| {
        let span = recording.only(name);
        (span.status, span.status_message.clone())
    };
    assert_eq!(status("renamed"), (2, "bad".into()));
    assert_eq!(status("told elsewhere"), (0, String::new()));
    assert_eq!(status("of Display"), (2, "Some(1)".into()));
    assert_eq!(status("message"), (2, "only".into()));
    assert_eq!(status("well"), (1, String::new()));
    assert_eq!(status("failing"), (2, "broken".into()));
    let kept: Vec<&str> = recording.only("failing").events.iter().map(|event| event.name.as_str()).collect();
    assert_eq!(kept, ["broken"]);
    // What a name comes too late for keeps the first one.
    let counts = recording.by_path(metric::SECTION_COUNT);
    let of = |path: &str| counts.get(path).copied();
    assert_eq!(
        (of("late"), of("late/inside"), of("given"), of("of Display")),
        (Some(1), Some(1), Some(1), Some(1))
    );
    assert_eq!(recording.only("inside").parent, Some(recording.only("renamed").id));
    // So that a report has it once, the span says which.
    let named = |name: &str| recording.only(name).text(attr::SECTION_NAME).map(str::to_owned);
    assert_eq!(named("renamed").as_deref(), Some("late"));
    assert_eq!(named("told elsewhere").as_deref(), Some("given"));
    assert_eq!(named("of Display").or(named("inside")), None);
}

#[test]
fn json_lines_say_the_same_as_protobuf() {
    let ended = Program::new(&["plain", "20"]).env("STEPSCOPE_FORMAT", "json").succeed();
    let recording = ended.recording();
    check::all(&recording);
    assert_eq!(recording.named("layer").count(), 80);
    assert!(
        crate::common::recording::files(ended.path()).iter().all(|path| path.extension().unwrap() == "jsonl")
    );
}
