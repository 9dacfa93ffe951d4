//! Filters and sampling: fewer spans, the same sums.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use stepscope_core::{attr, metric};

use crate::common::{Ended, Program, Recording, Span, check};

const STEPS: u64 = 100;

/// The sums of sections that do not depend on the clock.
fn sums(recording: &Recording) -> Vec<BTreeMap<String, i64>> {
    let columns = [
        metric::SECTION_COUNT,
        metric::SECTION_ALLOC,
        metric::SECTION_FREE,
        metric::SECTION_ALLOC_COUNT,
        metric::SECTION_SELF_ALLOC,
        metric::SECTION_SELF_FREE,
    ];
    columns.iter().map(|name| recording.by_path(name)).collect()
}

/// How many spans have each path, parts of one of the same path aside: those count once, and may leave more often. Traces
/// are whole above each of them.
fn spans_by_path(recording: &Recording) -> BTreeMap<String, i64> {
    let paths = check::paths(recording);
    let mut counts = BTreeMap::new();
    let is_counted = |span: &&Span| !span.name.ends_with(".started") && !paths[&span.id].1;
    for span in recording.spans.iter().filter(is_counted) {
        *counts.entry(paths[&span.id].0.join("/")).or_default() += 1;
    }
    counts
}

/// What holds whatever the filter: traces that are whole above, sums that are the program's own, no section without
/// an account.
#[track_caller]
fn exact(ended: &Ended) -> Recording {
    assert_eq!(ended.stderr, "");
    let recording = ended.recording();
    check::traces(&recording);
    check::account(&recording, "directory");
    let counts = recording.by_path(metric::SECTION_COUNT);
    let own: BTreeMap<String, i64> =
        ended.truth().iter().map(|(path, &count)| ((*path).to_owned(), count as i64)).collect();
    assert_eq!(counts, own);
    for (path, spans) in spans_by_path(&recording) {
        assert!(counts.get(&path).is_some_and(|&count| spans <= count), "{spans} spans of {path}");
    }
    recording
}

fn run(filter: &str) -> Recording {
    let program = Program::new(&["sieve", &STEPS.to_string()]);
    exact(&program.env("STEPSCOPE_FILTER", filter).succeed())
}

/// What the roots of steps say of sections that were left out.
fn left_out(recording: &Recording) -> i64 {
    recording.steps().iter().filter_map(|step| step.int(attr::TRACE_LEFT_OUT)).sum()
}

fn names(recording: &Recording) -> BTreeSet<&str> {
    recording.spans.iter().map(|span| &*span.name).collect()
}

/// Time that sections spent themselves adds up to that of the steps, to the nanosecond, whatever leaves as a span.
#[track_caller]
fn times_add_up(recording: &Recording) {
    let own = recording.by_path(metric::SECTION_SELF_BUSY);
    let inside: i64 = own.iter().filter(|(path, _)| path.starts_with("step")).map(|(_, own)| own).sum();
    assert_eq!(inside, recording.by_path(metric::SECTION_TOTAL)["step"]);
    let steps: u64 = recording.steps().iter().map(|step| step.duration_ns()).sum();
    assert_eq!(inside, steps as i64);
}

#[test]
fn sums_are_the_same_with_any_filter() {
    let full = run("");
    times_add_up(&full);
    assert_eq!((left_out(&full), full.all_dropped("directory")), (0, 0));
    let filters = [
        "sample=100",
        "sample=2,sample:tiny=100",
        "name=tiny,name=spanned",
        "target=programs::sieve",
        "depth=2",
        "depth=0",
        "rate=40",
        "rate=0",
        "min=5ms",
        "min=100s",
        "min=1ns,rate=40",
        "sample:tiny=10,min=5ms,rate=1000,depth=3,name=inner",
    ];
    for filter in filters {
        let recording = run(filter);
        times_add_up(&recording);
        assert_eq!(sums(&recording), sums(&full), "{filter}");
        assert_eq!(recording.emitted(), full.emitted(), "{filter}");
        assert!(recording.spans.len() < full.spans.len(), "{filter}");
        assert_eq!(recording.steps().len() as u64, STEPS, "{filter}");
    }
}

#[test]
fn a_name_a_target_and_a_depth_leave_out_what_is_inside_too() {
    let recording = run("name=tiny,name=slow");
    let steps = STEPS as i64;
    let expected = 20 * steps + 2 * (steps / 20);
    assert_eq!(
        names(&recording).iter().filter(|name| ["tiny", "tinier", "slow", "quick"].contains(name)).count(),
        0
    );
    assert_eq!((recording.dropped("", "filtered") as i64, left_out(&recording)), (expected, expected));
    // The program is one crate, and its modules are below it.
    for filter in ["target=programs", "target=programs::sieve", "depth=0", "rate=0"] {
        assert_eq!(names(&run(filter)), BTreeSet::from(["run", "run.started", "step"]), "{filter}");
    }
    assert_eq!(names(&run("target=program,target=sieve")), names(&run("")));
    let shallow = run("depth=2");
    assert!(spans_by_path(&shallow).keys().all(|path| path.split('/').count() <= 2));
    assert_eq!(spans_by_path(&shallow)["step/work"], steps);
    assert_eq!(spans_by_path(&shallow)["alone/part"], 1);
}

#[test]
fn one_in_so_many_of_each_path_leaves() {
    let steps = STEPS as i64;
    let recording = run("sample:tiny=100");
    let spans = spans_by_path(&recording);
    // A thousand of them, each with one inside.
    assert_eq!((spans["step/work/tiny"], spans["step/work/tiny/tinier"]), (10, 10));
    assert_eq!(spans["step/work/spanned/inner"], steps);
    let expected = 2 * (10 * steps - 10);
    assert_eq!((recording.dropped("", "sampled_out") as i64, left_out(&recording)), (expected, expected));
    let recording = run("sample=100");
    let spans = spans_by_path(&recording);
    assert_eq!((spans["step"], spans["step/work"], spans["step/slow"]), (steps, 1, 1));
    // One in a hundred of their own: all those inside of the one that leaves.
    assert_eq!((spans["step/work/tiny"], spans["step/work/tiny/tinier"]), (10, 10));
    assert_eq!((spans["step/work/spanned"], spans["step/work/spanned/inner"]), (1, 1));
    // One in ten of those inside of one in ten.
    let spans = spans_by_path(&run("sample=10,sample:tiny=100"));
    assert_eq!((spans["step/work"], spans["step/work/spanned/inner"]), (10, 10));
    assert_eq!((spans["step/work/tiny"], spans["step/work/tiny/tinier"]), (10, 10));
}

#[test]
fn what_is_short_leaves_only_for_what_is_inside() {
    let shortest = Duration::from_millis(5);
    let recording = run("min=5ms");
    let is_long = |span: &Span| u128::from(span.duration_ns()) >= shortest.as_nanos();
    for span in recording.spans.iter().filter(|span| span.kind() == "section") {
        let is_needed = !recording.children(span).is_empty();
        assert!(is_long(span) || is_needed || span.status == 2, "{span:?}");
    }
    let spans = spans_by_path(&recording);
    assert_eq!(spans["step/slow"], 5);
    // Ended before what is inside of it.
    assert_eq!((spans["step/outlived"], spans["step/outlived/outlives"]), (2, 2));
    assert_eq!(spans["step/failed"], 2);
    // The longest of each path is there exactly where it is long enough.
    let longest = recording.by_path(metric::SECTION_MAX);
    let paths = check::paths(&recording);
    for (path, &max_ns) in longest.iter().filter(|(path, _)| path.contains('/')) {
        let spans: Vec<&Span> =
            recording.spans.iter().filter(|span| paths[&span.id].0.join("/") == *path).collect();
        let has_longest = spans.iter().any(|span| span.duration_ns() as i64 == max_ns);
        let is_due = max_ns as u128 >= shortest.as_nanos();
        assert!(has_longest || !is_due, "{path}");
    }
    // One was open when what is around it ended.
    let none = run("min=100s");
    assert_eq!(names(&none), BTreeSet::from(["failed", "outlived", "run", "run.started", "step"]));
}

#[test]
fn a_rate_bounds_what_leaves_in_a_second() {
    // By their begin, and by their end with what is around them; of the latter two leave for what is open inside.
    for (filter, beyond) in [("rate=40", 0), ("min=1ns,rate=40", 2)] {
        let recording = run(filter);
        let run_span = recording.only("run");
        // Seconds of the clock that the run touches.
        let seconds = run_span.duration_ns() / 1_000_000_000 + 2;
        let sections = recording.spans.iter().filter(|span| span.kind() == "section").count() as u64;
        // A little of it is kept for paths that are called now and then.
        assert!((30..=40 * seconds + beyond).contains(&sections), "{filter}: {sections} in {seconds} s");
        assert!(recording.dropped("", "sampled_out") > 0, "{filter}");
    }
}

/// What is left out for something else takes no room of what is not.
#[test]
fn a_rate_is_for_those_that_are_long_enough() {
    for bound in ["rate=1000", "budget=100%"] {
        let recording = run(&format!("min=5ms,{bound}"));
        let spans = spans_by_path(&recording);
        assert_eq!((spans["step/slow"], spans["step/failed"]), (5, 2), "{bound}");
        assert_eq!((spans["step/outlived"], spans["step/outlived/outlives"]), (2, 2), "{bound}");
        assert_eq!(recording.dropped("", "sampled_out"), 0, "{bound}");
    }
    let none = run("min=100s,rate=0");
    assert_eq!(names(&none), BTreeSet::from(["outlived", "run", "run.started", "step"]));
}

/// As long as it takes for the number to be shared out a few times; and enough steps after that, however slow they are,
/// for a stall to be a small part of them.
#[test]
fn a_rate_keeps_what_is_called_now_and_then() {
    let program = Program::new(&["hot", "1500", "400"]);
    let recording = exact(&program.env("STEPSCOPE_FILTER", "rate=1000").succeed());
    let run = recording.only("run");
    let is_late = |span: &&Span| span.start_ns - run.start_ns > 1_500_000_000;
    let rare = |span: &&Span| span.name == "rare";
    let called = recording.by_path(metric::SECTION_COUNT);
    let spans = spans_by_path(&recording);
    let late = recording.spans.iter().filter(rare).filter(is_late).count();
    let of_steps = recording.steps().into_iter().filter(is_late).count();
    // Whoever comes first would have had all of each second. Room is kept by what was called before: a machine that
    // stalled and goes on may call more than that (told to the span in the tests of `rate`).
    assert!(of_steps >= 400 && late * 2 >= of_steps, "{late} in {of_steps} steps, {spans:?} of {called:?}");
    let seconds = run.duration_ns() as i64 / 1_000_000_000 + 2;
    assert!(spans["step/hot"] < 1_000 * seconds && called["step/hot"] > 4 * spans["step/hot"]);
}

/// How many leave is for what the machine takes for them, here: some, not all, and each of the others is counted.
#[test]
fn a_budget_bounds_what_leaves() {
    let program = Program::new(&["hot", "700", "20"]);
    let recording = exact(&program.env("STEPSCOPE_FILTER", "budget=0.1%").succeed());
    let (called, spans) = (recording.by_path(metric::SECTION_COUNT), spans_by_path(&recording));
    let seconds = recording.only("run").duration_ns() as i64 / 1_000_000_000 + 2;
    // No machine takes less than 100 ns for a span; 1,000 in the first second are to find that out.
    assert!((20..=10_000 * seconds).contains(&spans["step/hot"]), "{spans:?} of {called:?}");
    assert!(called["step/hot"] > spans["step/hot"]);
}

/// What a span takes is not what the layer takes it for, but what its thread takes for all of them, on the same machine in
/// the moment before. (More than a budget has room for by this factor would be no measure of it any more; less is for what
/// the machine does beside, and for what spans take less when there are many.)
#[test]
fn a_budget_has_room_for_its_part_of_the_time_of_steps() {
    const FACTOR: u64 = 4;
    let run = |ms: &str, filter: &str| {
        let ended = Program::new(&["costs", ms]).env("STEPSCOPE_FILTER", filter).succeed();
        let recording = ended.recording();
        check::account(&recording, "directory");
        let spans = recording.named("hot").count() as u64;
        (spans, ended.truth()["step_ns"], ended.truth()["background_ns"])
    };
    let (all, _, background_ns) = run("300", "");
    let span_ns = background_ns / all;
    let (spans, step_ns, _) = run("2000", "budget=1%");
    let room = step_ns / 100 / span_ns;
    // So many leave in the first second, to find out.
    let most = 1_000 + FACTOR * room;
    assert!(
        (20..=most).contains(&spans),
        "{spans} of {all} in a run of 0.3 s, room for {room} of {span_ns} ns"
    );
}

/// Whatever is left out, events are with what leaves around it, ids are those of what leaves, and what leaves has its parent.
#[test]
fn what_sections_say_is_there_without_them() {
    const ROUNDS: u64 = 40;
    let filters = [
        "",
        "min=100s",
        "memory=1GiB",
        "min=100s,rate=0",
        "min=1ns,rate=7",
        "rate=7",
        "name=inner",
        "name=outer",
        "name=inner,min=100s",
        "name=inner,min=1ns,rate=7",
        "sample:inner=10,min=100s,rate=7",
        "sample=10",
        "depth=1",
    ];
    let run = |level: &str, filter: &str| {
        let program = Program::new(&["said", &ROUNDS.to_string()]);
        let ended = program.env("STEPSCOPE_FILTER", filter).env("STEPSCOPE_LEVEL", level).succeed();
        assert_eq!(ended.stderr, "", "{filter}");
        let recording = ended.recording();
        check::traces(&recording);
        check::account(&recording, "directory");
        let events: Vec<(&str, &Span)> = recording
            .spans
            .iter()
            .flat_map(|span| span.events.iter().map(move |event| (event.name.as_str(), span)))
            .filter(|(text, _)| text.starts_with("round "))
            .collect();
        assert_eq!(events.len() as u64, ROUNDS + ended.truth()["errors"], "{level} {filter}: {events:?}");
        let texts: HashSet<&str> = events.iter().map(|&(text, _)| text).collect();
        assert_eq!(texts.len(), events.len(), "each is there once");
        for (text, span) in events {
            assert!(!text.ends_with("failed") || span.status == 2, "{level} {filter}: {text} {span:?}");
        }
        let ids: HashSet<String> = recording
            .spans
            .iter()
            .map(|span| format!("ids\t{:032x}\t{:016x}", u128::from_be_bytes(span.trace), span.id))
            .collect();
        let said: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("ids")).collect();
        assert!(said.len() as u64 > ROUNDS, "{said:?}");
        for said in said {
            assert!(ids.contains(said), "{level} {filter}: {said} of {ids:?}");
        }
        recording
    };
    for filter in filters {
        run("detailed", filter);
    }
    // (What is in no section that leaves is none.)
    assert_eq!(names(&run("basic", "")), BTreeSet::from(["run", "run.started", "step"]));
}

/// Sections in every unusual way, on several threads, ended out of order, with panics.
#[test]
fn unusual_sections_are_left_out_like_others() {
    for filter in [
        "sample=100",
        "min=30us",
        "name=descend,name=part,depth=6",
        "min=1us,sample=3,rate=2000",
        "min=1us,rate=300",
    ] {
        exact(&Program::new(&["mixed"]).env("STEPSCOPE_FILTER", filter).succeed());
    }
    // Of random sequences on eight threads, with what outlives its parents, every end is accounted for.
    for filter in ["sample=100", "min=200us", "sample=2,min=20us", "min=2us,rate=500"] {
        let program = Program::new(&["storm", "7", "60000"]);
        let ended = program.env("STEPSCOPE_FILTER", filter).succeed();
        assert_eq!(ended.stderr, "", "{filter}");
        let recording = ended.recording();
        check::account(&recording, "directory");
        check::traces(&recording);
        assert_eq!(recording.emitted(), ended.truth()["spans"], "{filter}");
        assert!((recording.spans.len() as u64) < recording.emitted(), "{filter}");
    }
}

#[test]
fn what_is_no_filter_is_named() {
    let program = Program::new(&["sieve", "3"]).env("STEPSCOPE_FILTER", "depth=1,colour=red,min=soon");
    let ended = program.succeed();
    let warnings = ended.warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    for (warning, part) in warnings.iter().zip(["\"colour=red\"", "\"min=soon\""]) {
        assert!(
            warning.starts_with(&format!("stepscope: STEPSCOPE_FILTER: {part} is none of name=NAME")),
            "{warning}"
        );
    }
    // What was understood holds.
    assert!(spans_by_path(&ended.recording()).keys().all(|path| !path.starts_with("step/")));
}
