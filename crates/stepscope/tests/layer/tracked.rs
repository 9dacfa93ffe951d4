//! What is tracked: figures that are off are missing, sections of phases that are off have no spans, and the sums are the
//! program's own whatever is on.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::{attr, metric};

use crate::common::{Program, Recording, Span, check};

const MEMORY: [&str; 8] = [
    attr::MEM_ALLOC_BYTES,
    attr::MEM_FREE_BYTES,
    attr::MEM_ALLOC_COUNT,
    attr::MEM_FREE_COUNT,
    attr::MEM_PEAK_BYTES,
    attr::MEM_LIVE_BYTES,
    attr::MEM_RSS_BYTES,
    attr::MEM_RSS_DELTA_BYTES,
];
const CPU: [&str; 6] = [
    attr::CPU_NS,
    attr::RUN_QUEUE_NS,
    attr::SWITCHES_VOLUNTARY,
    attr::SWITCHES_INVOLUNTARY,
    attr::FAULTS_MINOR,
    attr::FAULTS_MAJOR,
];
const IO: [&str; 2] = [attr::IO_READ_BYTES, attr::IO_WRITE_BYTES];
const NETWORK: [&str; 2] = [attr::NETWORK_RECEIVE_BYTES, attr::NETWORK_TRANSMIT_BYTES];

/// What the program did, with what it says of its paths held against the sums.
#[track_caller]
fn recorded(tracks: &str, environment: &str) -> Recording {
    let ended = Program::new(&["tracked", tracks])
        .env("STEPSCOPE_LEVEL", "comprehensive")
        .env("STEPSCOPE_TRACK", environment)
        .succeed();
    assert_eq!(ended.stderr, "");
    let recording = ended.recording();
    check::traces(&recording);
    check::account(&recording, "directory");
    let own: BTreeMap<String, i64> =
        ended.truth().iter().map(|(path, &count)| ((*path).to_owned(), count as i64)).collect();
    assert_eq!(recording.by_path(metric::SECTION_COUNT), own);
    recording
}

/// Which of these figures some span has.
fn figures<'a>(spans: impl Iterator<Item = &'a Span>) -> BTreeSet<&'static str> {
    let known = || [&MEMORY[..], &CPU, &IO, &NETWORK].concat();
    spans.flat_map(|span| known().into_iter().filter(|key| span.attributes.contains_key(*key))).collect()
}

/// The spans of ten steps, in their order.
fn ten(recording: &Recording, number: i64) -> Vec<&Span> {
    let steps = recording.steps().into_iter();
    let traces: BTreeSet<_> =
        steps.filter(|step| step.int(attr::STEP).unwrap() / 10 == number).map(|step| step.trace).collect();
    recording.spans.iter().filter(|span| traces.contains(&span.trace)).collect()
}

#[test]
fn each_figure_is_left_away_alone() {
    let all = recorded("", "");
    let everything = figures(all.spans.iter());
    // What the system gives: bytes may be refused, and networks be of another kind.
    assert!(
        MEMORY.iter().chain(&CPU[..1]).chain(&CPU[2..]).all(|key| everything.contains(key)),
        "{everything:?}"
    );
    let sums_of_memory = [
        metric::SECTION_ALLOC,
        metric::SECTION_FREE,
        metric::SECTION_ALLOC_COUNT,
        metric::SECTION_SELF_ALLOC,
        metric::SECTION_SELF_FREE,
    ];
    for (off, group) in [("memory", &MEMORY[..]), ("cpu", &CPU), ("io", &IO), ("network", &NETWORK)] {
        let recording = recorded("", &format!("-{off}"));
        let expected = everything.iter().copied().filter(|key| !group.contains(key)).collect();
        assert_eq!(figures(recording.spans.iter()), expected, "{off}");
        let has_memory = off != "memory";
        for name in sums_of_memory {
            assert_eq!(!recording.by_path(name).is_empty(), has_memory, "{off}: {name}");
        }
        for name in [metric::PROCESS_MEMORY_USAGE, metric::MEM_LIVE] {
            assert_eq!(recording.points(name).next().is_some(), has_memory, "{off}: {name}");
        }
    }
    assert_eq!(figures(recorded("", "times").spans.iter()), BTreeSet::new());
}

#[test]
fn it_changes_while_the_program_runs() {
    let recording = recorded("-memory;cpu;times;memory,cpu,io,network", "times");
    let groups = [&CPU[2..], &CPU[2..], &[], &CPU[2..]];
    for (number, always) in (0..).zip(groups) {
        let found = figures(ten(&recording, number).into_iter());
        assert!(always.iter().all(|key| found.contains(key)), "{number}: {found:?}");
        let has = |group: &[&str]| group.iter().any(|key| found.contains(key));
        assert_eq!(has(&MEMORY), number == 3, "{number}: {found:?}");
        assert_eq!(has(&CPU), number != 2, "{number}: {found:?}");
        assert!(!has(&IO) && !has(&NETWORK) || number != 1 && number != 2, "{number}: {found:?}");
    }
}

#[test]
fn sums_of_memory_say_of_how_many_sections_they_are() {
    let ended = Program::new(&["tracked", "-memory;memory;-memory,-io;cpu,memory"]).succeed();
    let rows = ended.stdout.lines().filter_map(|line| line.strip_prefix("memory\t")?.split_once('\t'));
    let counts: BTreeMap<&str, u64> = rows.map(|(path, count)| (path, count.parse().unwrap())).collect();
    let paths = ["step", "step/backward", "step/backward/inside", "step/work", "step/work/inside"];
    assert_eq!(counts, paths.map(|path| (path, 20)).into());
}

#[test]
fn sections_of_phases_that_are_off_have_no_spans() {
    let recording = recorded("-phase:forward;-phase:backward;phase:optimizer;-cpu", "");
    for (number, names) in [
        (0, &["backward", "inside", "step"][..]),
        (1, &["inside", "step", "work"]),
        (2, &["step"]),
        (3, &["backward", "inside", "inside", "step", "work"]),
    ] {
        let spans = ten(&recording, number);
        for step in spans.iter().filter(|span| span.is_root()) {
            let mut inside: Vec<&str> =
                spans.iter().filter(|span| span.trace == step.trace).map(|span| &*span.name).collect();
            inside.sort_unstable();
            assert_eq!(inside, names, "{number}");
            // Readers know that there was more.
            let left_out = 5 - names.len() as i64;
            assert_eq!(step.int(attr::TRACE_LEFT_OUT), Some(left_out).filter(|&count| count > 0), "{number}");
        }
    }
    // Two, two and four in each of ten steps.
    assert_eq!(recording.dropped("", "filtered"), 80);
}

#[test]
fn what_is_no_track_is_named_and_the_others_hold() {
    let program = Program::new(&["tracked", ""]).env("STEPSCOPE_TRACK", "memory,gpus");
    let ended = program.env("STEPSCOPE_LEVEL", "comprehensive").succeed();
    assert!(
        ended.stderr.contains("STEPSCOPE_TRACK: \"gpus\" is none of times, memory, cpu, io, network"),
        "{}",
        ended.stderr
    );
    let found = figures(ended.recording().spans.iter());
    assert_eq!(found, MEMORY.into_iter().collect());
}
