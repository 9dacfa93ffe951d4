//! Figures that a program reads of its own run are those that leave it.

use std::collections::BTreeMap;

use stepscope_core::{attr, metric};

use crate::common::collector::{Answer, Collector};
use crate::common::{Ended, Program, Recording, check};

/// Fields of the lines that begin with `word`, by the first of them.
fn lines<'a>(ended: &'a Ended, word: &str) -> BTreeMap<&'a str, Vec<&'a str>> {
    let rows = ended.stdout.lines().filter_map(|line| {
        let mut fields = line.strip_prefix(word)?.strip_prefix('\t')?.split('\t');
        Some((fields.next()?, fields.collect()))
    });
    rows.collect()
}

/// The named figures of all sections, as the wire has them and as the program printed them.
#[track_caller]
fn compare(ended: &Ended, recording: &Recording, with_run: bool) {
    let rows = lines(ended, "section");
    let columns = [
        (metric::SECTION_COUNT, 3),
        (metric::SECTION_TOTAL, 4),
        (metric::SECTION_SELF_BUSY, 5),
        (metric::SECTION_MIN, 6),
        (metric::SECTION_MAX, 7),
        (metric::SECTION_ALLOC, 15),
        (metric::SECTION_FREE, 16),
        (metric::SECTION_ALLOC_COUNT, 17),
        (metric::SECTION_SELF_ALLOC, 18),
        (metric::SECTION_SELF_FREE, 19),
    ];
    for (name, column) in columns {
        let mut left = recording.by_path(name);
        if !with_run {
            left.remove("run");
        }
        let read: BTreeMap<String, i64> = rows
            .iter()
            .filter(|(_, fields)| fields[column] != "-")
            .map(|(path, fields)| ((*path).to_owned(), fields[column].parse().unwrap()))
            .collect();
        assert_eq!(read, left, "{name}");
    }
}

/// What the steps' own spans say, summed.
fn work(recording: &Recording, mode: &str) -> [i64; 4] {
    let steps = recording.steps().into_iter().filter(|step| step.text(attr::MODE).unwrap_or("train") == mode);
    let mut sums = [0; 4];
    for step in steps {
        sums[0] += 1;
        sums[1] += step.duration_ns() as i64;
        sums[2] += step.int(attr::SAMPLES).unwrap_or(0);
        sums[3] += step.int(attr::TOKENS).unwrap_or(0);
    }
    sums
}

fn said(fields: &[&str]) -> [i64; 4] {
    std::array::from_fn(|index| if fields[index] == "-" { 0 } else { fields[index].parse().unwrap() })
}

#[test]
fn a_program_reads_what_leaves_it() {
    for (when, filter) in
        [("before", ""), ("after", ""), ("before", "sample=100,min=1ms"), ("after", "depth=1")]
    {
        let ended = Program::new(&["figures", when]).env("STEPSCOPE_FILTER", filter).succeed();
        let recording = ended.recording();
        check::account(&recording, "directory");
        compare(&ended, &recording, when == "after");
        let modes = lines(&ended, "work");
        assert_eq!(modes.keys().copied().collect::<Vec<_>>(), ["eval", "train"]);
        for (mode, fields) in modes {
            assert_eq!(said(&fields), work(&recording, mode), "{mode}");
        }
        assert_eq!(said(&lines(&ended, "work")["train"])[2..], [150 * 16, 149 * 150 / 2]);
        // Said, implied by the name, and taken from the section around.
        let phase = |path: &str| lines(&ended, "section")[path][2].to_owned();
        assert_eq!(phase("step/outer"), "forward");
        assert_eq!(phase("step/outer/inner"), "forward");
        assert_eq!(phase("step/outer/backward"), "backward");
        assert_eq!(phase("step/checked"), "-");
    }
}

#[test]
fn figures_may_be_asked_for_anywhere() {
    for how in ["inside", "panic", "threads"] {
        let ended = Program::new(&["figures_asked", how]).succeed();
        let recording = ended.recording();
        let left = recording.by_path(metric::SECTION_COUNT);
        let asked: BTreeMap<String, i64> =
            ended.truth().iter().map(|(path, &count)| ((*path).to_owned(), count as i64)).collect();
        assert_eq!(asked, left, "{how}");
        check::account(&recording, "directory");
    }
    // They cost the sections around them no memory.
    let ended = Program::new(&["figures_asked", "inside"]).succeed();
    let recording = ended.recording();
    for (path, bytes) in recording.by_path(metric::SECTION_SELF_FREE) {
        let allocated = recording.by_path(metric::SECTION_SELF_ALLOC)[&path];
        assert!(path == "run" || bytes <= allocated, "{path}: {bytes} of {allocated}");
    }
}

#[test]
fn what_a_flush_has_settled_is_told_with_its_answer() {
    let collector = Collector::start(|_, _| Answer::Accept);
    let program = Program::new(&["figures_asked", "flushed"]);
    let ended = program.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url()).succeed();
    assert_eq!(ended.truth()["step/inside"], 60);
    check::account(&ended.recording(), "otlp");
}

#[test]
fn a_reset_changes_what_is_read_and_not_what_leaves() {
    let ended = Program::new(&["figures_asked", "reset"]).succeed();
    let left = ended.recording().by_path(metric::SECTION_COUNT);
    let expected = [("before", 10), ("both", 17), ("run", 1)].map(|(path, count)| (path.to_owned(), count));
    assert_eq!(left, BTreeMap::from(expected));
    assert_eq!(ended.truth(), BTreeMap::from([("both", 7), ("run", 1)]));
}

#[test]
fn every_step_is_counted_once_and_at_once() {
    for ring_bytes in ["16777216", "65536"] {
        let ended =
            Program::new(&["figures_asked", "steps"]).env("STEPSCOPE_RING_BYTES", ring_bytes).succeed();
        let recording = ended.recording();
        check::account(&recording, "directory");
        let steps = ended.truth()["steps"];
        assert_eq!(recording.by_path(metric::SECTION_COUNT)["step"], steps as i64);
        // Of which some are lost where there is little room.
        let lost = recording.dropped("", "ring_full");
        assert_eq!(lost > 0, ring_bytes == "65536", "{lost}");
    }
}

#[test]
fn a_program_that_records_nothing_reads_nothing() {
    let ended = Program::new(&["figures_asked", "off"]).env("STEPSCOPE_LEVEL", "off").succeed();
    assert_eq!(ended.truth().len(), 0);
}
