//! What must come out where spans are used in ways that are allowed and rare. (Recursion, disorder, panics and
//! threads that close what others began are in `exact`, ends of processes in `process`, futures in `asynchronous`.)

use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::{attr, metric};

use crate::common::collector::{Answer, Collector};
use crate::common::recording::Attribute;
use crate::common::{Ended, Program, Recording, Span, check};

fn int(span: &Span, key: &str) -> u64 {
    u64::try_from(span.int(key).unwrap()).unwrap()
}

#[test]
fn a_span_that_many_threads_are_in_ends_when_the_last_one_leaves() {
    let ended = Program::new(&["together"]).succeed();
    let recording = ended.recording();
    check::all(&recording);
    let shared = recording.only("shared");
    let children = recording.children(shared);
    assert_eq!(children.len(), 8 * 20 + 8);
    assert!(children.iter().all(|child| child.end_ns <= shared.end_ns));
    // From where it was made to the last exit; that a handle was kept for 20 ms more does not count.
    assert!(shared.duration_ns() <= ended.truth()["inside"], "{shared:?} {:?}", ended.truth());
    // Eight threads at once do not make it busier than it is long.
    assert_eq!(int(shared, attr::BUSY_NS) + int(shared, attr::IDLE_NS), shared.duration_ns());
    assert!(int(shared, attr::BUSY_NS) >= 20 * 100_000, "{shared:?}");
    // One of them was the last to record.
    assert!((0..8).contains(&shared.int("last").unwrap()));
    assert_eq!(recording.by_path(metric::SECTION_COUNT)["shared/part"], 160);
}

#[test]
fn children_that_outlive_their_parents_end_on_their_own() {
    let ended = Program::new(&["outlive"]).succeed();
    let recording = ended.recording();
    check::all(&recording);
    // A parent ends at its last exit, although its child keeps it in memory.
    let (parent, child) = (recording.only("parent"), recording.only("child"));
    assert_eq!((child.parent, recording.only("grandchild").parent), (Some(parent.id), Some(child.id)));
    assert!(parent.duration_ns() <= ended.truth()["parent.outside"]);
    assert!(child.start_ns <= parent.end_ns && child.end_ns >= parent.end_ns + 10_000_000);
    // The step announces a span that was still open when it ended; it comes, in the same trace.
    let step = recording.steps()[0];
    let late = recording.only("of_the_step");
    assert_eq!((late.parent, late.trace), (Some(recording.only("around").id), step.trace));
    assert_eq!(step.int(attr::TRACE_SPANS), Some(3));
    assert!(late.end_ns > recording.steps()[1].start_ns);
    // What begins in it after that has no room in a trace that was counted: it goes on in another one.
    let part = recording.only("late_part");
    assert_eq!((part.text(attr::PARENT_PATH), part.parent), (Some("step/around/of_the_step"), None));
    assert_eq!(part.int(attr::STEP), Some(0));
    // Nobody waits for it: the step had ended.
    assert_eq!((part.int(attr::TRACE_PARTS), step.int(attr::TRACE_PARTS)), (None, None));
    // The thread that made it is gone.
    let orphan = recording.only("orphan");
    assert_eq!((orphan.text("seen"), recording.children(orphan).len()), (Some("elsewhere"), 2));
    assert!(recording.only("abroad").end_ns <= orphan.end_ns);
    // Never polled, and dropped: a span all the same, once.
    assert!(recording.only("never_polled").duration_ns() < 1_000_000_000);
}

#[test]
fn ids_of_spans_that_are_gone_lead_nowhere_and_may_come_back() {
    let rounds = 20_000;
    for others in ["alone", "all", "inner"] {
        let ended = Program::new(&["ids", &rounds.to_string(), others]).succeed();
        // A registry's do, the layer's and one inside of the root subscriber. (This one's own do not, for a long time.)
        let are_of_a_registry = |name: &str| match (crate::WAY, others) {
            ("layer", _) | ("root_odd", "alone") | (_, "all") => true,
            _ => others == name,
        };
        for (ids, name) in [("ids", "outer"), ("inner_ids", "inner")] {
            assert_eq!(ended.truth()[ids] < rounds, are_of_a_registry(name), "{others} {:?}", ended.truth());
        }
        let recording = ended.recording();
        check::all(&recording);
        let run = recording.only("run");
        let spans = recording.by_id();
        for outer in recording.named("outer") {
            // To the run, and to nothing else.
            assert_eq!(outer.links, [(run.trace, run.id)], "{others}");
        }
        for inner in recording.named("inner") {
            let parent = spans[&inner.parent.unwrap()];
            assert_eq!((parent.name.as_str(), parent.int("number")), ("outer", inner.int("number")));
            // Ids go through all bits that they have, and lead to their span with each.
            assert_eq!(inner.events.len(), 1, "{others} {inner:?}");
        }
        assert_eq!(recording.named("inner").count() as u64, rounds);
        let cause = recording.only("cause");
        assert!(recording.only("effect").links.contains(&(cause.trace, cause.id)));
    }
}

#[test]
fn a_step_has_the_number_of_the_epoch_that_it_is_in() {
    let recording = Program::new(&["epochs"]).succeed().recording();
    check::all(&recording);
    let of_jobs = recording.spans.iter().filter_map(|span| Some((span.int("job")?, span.int(attr::EPOCH))));
    let mut counts = BTreeMap::<(i64, Option<i64>), usize>::new();
    of_jobs.for_each(|of_job| *counts.entry(of_job).or_default() += 1);
    let expected = [
        ((10, Some(0)), 6),
        ((11, Some(1)), 6),
        ((30, Some(20)), 2),
        ((31, Some(21)), 4),
        ((40, Some(30)), 4),
        ((100, Some(100)), 4),
        ((109, Some(99)), 2),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
}

#[test]
fn what_is_inside_of_spans_that_are_not_recorded_is_inside_of_what_is_around_these() {
    for by in ["level", "filtered"] {
        let recording = Program::new(&["strangers", by]).succeed().recording();
        check::all(&recording);
        assert_eq!(recording.named("stranger").count(), 0, "{by}");
        let outer = recording.only("outer");
        let is_inside = |name: &str| recording.only(name).parent == Some(outer.id);
        assert!(is_inside("same_thread") && recording.only("inside").parent.is_some(), "{by}");
        // The root subscriber has no registry that it could ask.
        let is_layer = crate::WAY == "layer";
        assert_eq!([is_inside("given"), is_inside("other_thread")], [is_layer; 2], "{by}");
        assert!(["apart", "step", "alone"].iter().all(|name| recording.only(name).is_root()), "{by}");
    }
}

#[test]
fn errors_where_nothing_leaves_a_span_go_to_what_is_around_or_to_the_run() {
    for (variable, value) in [("STEPSCOPE_LEVEL", "basic"), ("STEPSCOPE_FILTER", "name=quiet")] {
        let recording = Program::new(&["stray"]).env(variable, value).succeed().recording();
        check::traces(&recording);
        assert_eq!(recording.named("quiet").count(), 0, "{value}");
        let told = |name: &str| {
            let span = recording.only(name);
            let events = span.events.iter().filter(|event| !event.level.is_empty());
            (events.map(|event| event.name.clone()).collect::<Vec<_>>(), span.status)
        };
        let of_step = ["in a section", "in a span", "given", "on another thread"].map(str::to_owned);
        assert_eq!(told("outer"), (of_step.to_vec(), 2), "{value}");
        // The first 32.
        let (of_run, status) = told("run");
        assert_eq!((of_run.len(), status), (32, 0), "{value}");
        assert_eq!(of_run[..3], ["outside", "apart", "again and again"], "{value}");
    }
}

#[test]
fn a_run_after_another_has_spans_where_its_subscriber_is_asked() {
    let ended = Program::new(&["runs"]).succeed();
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    for (run, spans) in [("first", 1), ("replaced", 1), ("installed", 0), ("on_its_thread", 1)] {
        let recording = Recording::read(&ended.path().join("profiles").join(run));
        check::all(&recording);
        assert_eq!((recording.steps().len(), recording.named("traced").count()), (1, spans), "{run}");
    }
}

#[test]
fn what_a_field_does_while_it_is_formatted_is_recorded_where_it_happens() {
    for order in ["above", "below"] {
        let ended = Program::new(&["reentrant", order]).succeed();
        let recording = ended.recording();
        check::all(&recording);
        // The log formats the fields, the layer itself only the message.
        let formatted = ended.truth()["formatted"] as usize;
        assert!(formatted >= 10 * 4, "{formatted}");
        for name in ["while_formatting", "section_while_formatting"] {
            assert_eq!(recording.named(name).count(), formatted, "{order}: {name}");
        }
        assert!(recording.named("while_formatting").all(|span| span.events.len() == 1));
        for outer in recording.named("outer") {
            let kept: Vec<&str> = outer.events.iter().map(|event| event.name.as_str()).collect();
            assert_eq!((kept.as_slice(), outer.status), (&["with a field", "talkative"][..], 2), "{order}");
        }
    }
}

#[test]
fn a_panic_fails_what_it_leaves_and_not_what_goes_on_while_it_unwinds() {
    // However a section is kept.
    for (name, value) in [
        ("STEPSCOPE_LEVEL", "detailed"),
        ("STEPSCOPE_LEVEL", "comprehensive"),
        ("STEPSCOPE_FILTER", "depth=9"),
    ] {
        let ended = Program::new(&["unwinding"]).env(name, value).succeed();
        let recording = ended.recording();
        check::all(&recording);
        let steps: Vec<(Option<i64>, i32)> =
            recording.steps().iter().map(|step| (step.int(attr::STEP), step.status)).collect();
        assert_eq!(steps, [(Some(0), 2), (Some(1), 0), (Some(2), 0)], "{value}");
        let names = |is_wanted: fn(&Span) -> bool| -> BTreeSet<&str> {
            recording
                .spans
                .iter()
                .filter(|span| span.name != "step" && is_wanted(span))
                .map(|span| span.name.as_str())
                .collect()
        };
        let left = ["elsewhere", "function", "future", "section", "span", "whole"]
            .map(|what| format!("left_{what}"));
        assert_eq!(names(|span| span.status == 2), left.iter().map(String::as_str).collect(), "{value}");
        let others = ["future", "given_up", "section", "span", "span_from_before", "whole"];
        let others = others.map(|what| format!("tidy_{what}"));
        let is_other = |span: &Span| span.status != 2 && span.name.starts_with("tidy_");
        assert_eq!(names(is_other), others.iter().map(String::as_str).collect(), "{value}");
        assert_eq!(names(|span| span.name.starts_with("well")).len(), 2);
    }
}

#[test]
fn a_thread_that_ends_with_a_full_ring_leaves_what_fits_and_counts_the_rest() {
    const THREADS: usize = 20;
    const SECTIONS: i64 = 3_000;
    for policy in ["newest", "oldest", "steps"] {
        let program = Program::new(&["overfull", &THREADS.to_string(), &SECTIONS.to_string()]);
        let program = program.env("STEPSCOPE_RING_BYTES", "0").env("STEPSCOPE_OVERFLOW", policy);
        let ended = program.succeed();
        let recording = ended.recording();
        check::account(&recording, "directory");
        assert_eq!(recording.emitted(), ended.truth()["emitted"], "{policy}");
        let lost = recording.dropped("", "ring_full");
        assert!(lost > 0, "no ring was full: {policy}");
        assert_eq!(recording.all_dropped("directory"), lost, "{policy}");
        assert_eq!(recording.spans.len() as u64 + lost, ended.truth()["emitted"], "{policy}");
        // Each ring held something, and the sums hold all of it.
        let sums = recording.by_path(metric::SECTION_COUNT);
        let all = THREADS as i64 * SECTIONS;
        assert_eq!((sums["step"], sums["step/hasty"], sums["hasty"]), (all / 10, all / 10, all / 10 * 9));
        let mut of_threads: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for section in recording.named("hasty") {
            let [thread, number] = ["of", "number"].map(|name| section.int(name).unwrap());
            of_threads.entry(thread).or_default().push(number);
        }
        assert_eq!(of_threads.len(), THREADS, "{policy}");
        for (thread, numbers) in of_threads {
            let (first, last) = (numbers.iter().min(), numbers.iter().max());
            match policy {
                // What came last has pushed out what was before it.
                "oldest" => assert_eq!(last, Some(&(SECTIONS - 1)), "{thread}"),
                _ => assert_eq!(first, Some(&0), "{policy} {thread}"),
            }
        }
    }
}

#[test]
fn a_system_clock_that_is_set_moves_nothing() {
    let collector = Collector::start(|_, _| Answer::Accept);
    let ended = Program::new(&["clock"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url()).succeed();
    let recording = ended.recording();
    check::all(&recording);
    check::account(&recording, "otlp");
    let (start_ns, end_ns) = (ended.truth()["start_ns"], ended.truth()["end_ns"]);
    let steps = recording.steps();
    assert_eq!(steps.len(), 20);
    for pair in steps.windows(2) {
        assert!(pair[0].end_ns <= pair[1].start_ns, "{pair:?}");
    }
    for span in &recording.spans {
        // (The clock of the program's own bounds is the system's, which may drift by a little.)
        assert!(span.start_ns + 1_000_000 >= start_ns && span.end_ns <= end_ns + 1_000_000, "{span:?}");
        for event in &span.events {
            assert!((span.start_ns..=span.end_ns).contains(&event.time_unix_ns), "{span:?}");
        }
    }
    assert!(recording.named("part").all(|part| part.duration_ns() < 1_000_000_000));
}

#[test]
fn a_monotonic_clock_that_stands_still_leaves_all_in_order() {
    let ended = Program::new(&["suspended"]).succeed();
    assert_eq!(ended.stderr, "");
    let recording = ended.recording();
    check::all(&recording);
    check::account(&recording, "directory");
    let steps = recording.steps();
    assert_eq!(steps.len(), 800);
    assert!(steps.windows(2).all(|pair| pair[0].end_ns <= pair[1].start_ns));
    // By the tick counter all of it, or by the system's clock nothing of it: and nothing else. (The layer's own thread is not
    // suspended here, and may take the first millisecond of it for a clock that goes slowly.)
    let stood_ns = ended.truth()["stood_ns"];
    for name in ["while_suspended", "section_while_suspended"] {
        let span = recording.only(name);
        let duration_ns = span.duration_ns();
        assert!(duration_ns < stood_ns / 2 || duration_ns + stood_ns / 10 > stood_ns, "{stood_ns}: {span:?}");
        assert!(steps[149].end_ns <= span.start_ns && span.end_ns <= steps[150].start_ns, "{span:?}");
    }
    // From then on time goes as fast as the system's.
    let (later_ns, own_ns) = (recording.only("later").duration_ns(), ended.truth()["later_ns"]);
    assert!(later_ns.abs_diff(own_ns) < own_ns / 100, "{later_ns} for {own_ns}");
}

/// Everything that is recorded is the program's own, and the account of each place is right.
fn assert_own(ended: &Ended) {
    assert_eq!(ended.stderr, "");
    let recording = ended.recording();
    check::all(&recording);
    let spans = ended.truth()["spans"];
    assert_eq!(recording.spans.len() as u64, spans);
    let own = ["run", "run.started", "step", "traced", "detail"];
    for span in &recording.spans {
        assert!(own.contains(&span.name.as_str()) && span.events.is_empty(), "{span:?}");
    }
    for sink in ["otlp", "exporter"] {
        check::account(&recording, sink);
        assert_eq!((recording.exported(sink), recording.all_dropped(sink)), (spans, 0), "{sink}");
    }
    assert!(ended.truth()["exports"] > 1 && ended.truth()["exported"] == spans, "{:?}", ended.truth());
}

#[test]
fn whoever_exports_is_not_recorded_where_everything_else_is() {
    let everything = || Program::new(&["everything", "100"]);
    let collector = Collector::start(|_, _| Answer::Accept);
    assert_own(&everything().env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url()).succeed());
    // (What speaks HTTP/2 has spans of its own for each frame.)
    #[cfg(feature = "grpc")]
    {
        let collector = crate::common::grpc::Grpc::start(|_, _| crate::common::grpc::Reply::Accept);
        let program = everything().env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url());
        assert_own(&program.env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc").succeed());
    }
}

/// (That no attribute comes twice is held of all that is read.)
#[test]
fn fields_of_the_same_name_are_one_and_those_of_our_names_are_counted() {
    let recording = Program::new(&["namesakes"]).succeed().recording();
    check::all(&recording);
    let step = recording.only("step");
    let value = |name: &str| step.attributes[&format!("{}{name}", attr::VALUE_PREFIX)].clone();
    assert_eq!(step.int(attr::SAMPLES), Some(51));
    assert_eq!((value("loss"), value("gain")), (Attribute::Double(0.25), Attribute::Double(2.0)));
    assert_eq!(step.dropped_attributes, 0);
    let taken = recording.only("taken");
    assert_eq!((taken.int("own"), taken.dropped_attributes), (Some(1), 3));
    assert_ne!((taken.int(attr::THREAD_ID), taken.text(attr::THREAD_NAME)), (Some(3), Some("me")));
    // What is no number of a step makes none, and what is no kind or mode changes nothing.
    for (name, dropped) in [("negative", 1), ("named", 3)] {
        let span = recording.only(name);
        assert_eq!((span.kind(), span.int(attr::STEP), span.dropped_attributes), ("section", None, dropped));
    }
    let step = recording.only("unnumbered");
    assert_eq!((step.kind(), step.int(attr::STEP), step.dropped_attributes), ("step", None, 0));
}
