//! The directory sink: who may read it, and what happens when it cannot be written or is full.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use stepscope_core::{attr, metric};

use crate::common::recording::{Data, Span, files};
use crate::common::{Ended, Program, Recording, check};

#[test]
fn only_the_user_may_read_it() {
    let ended = Program::new(&["process", "drop"]).succeed();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let profiles = ended.path().join("profiles");
    let files = files(&profiles);
    assert_eq!(files.len(), 3, "spans, sums, live memory: {files:?}");
    for file in &files {
        assert_eq!(mode(file), 0o600, "{}", file.display());
        for directory in file.ancestors().skip(1).take_while(|path| path.starts_with(&profiles)) {
            assert_eq!(mode(directory), 0o700, "{}", directory.display());
        }
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_one_warning() {
    let program = Program::new(&["process", "drop"]);
    let file = program.path().join("file");
    std::fs::write(&file, "").unwrap();
    // Below a file, which not even root can do.
    let ended = program.env("STEPSCOPE_DIR", file.join("x").to_str().unwrap()).succeed();
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("nothing is stored"));
}

#[test]
fn a_full_disk_loses_spans_and_counts_them() {
    // Files may have 64 KiB (128 blocks of 512 bytes): the spans' do not fit, the metrics' do. A write beyond
    // fails, and the signal that comes for it elsewhere ends nobody.
    let ended = Program::in_shell("ulimit -f 128; exec \"$@\"", &["budget", "2000"]).succeed();
    let recording = ended.recording();
    assert_eq!(ended.warnings().len(), 1, "{}", ended.stderr);
    let (stored, emitted) = (recording.spans.len() as u64, ended.truth()["spans"]);
    assert_eq!(recording.emitted(), emitted);
    assert_eq!(recording.exported("directory"), stored);
    assert_eq!(recording.dropped("directory", "write_failed"), emitted - stored);
    assert_eq!(recording.all_dropped("directory"), emitted - stored);
    assert!(stored > 0 && stored < emitted / 2, "{stored} of {emitted}");
}

#[test]
fn a_full_file_system_loses_spans_and_the_program_goes_on() {
    let program = Program::in_shell(
        "mkdir full && mount -t tmpfs -o size=256k none full || exit 77
         STEPSCOPE_DIR=full \"$@\"; status=$?
         cp -r full kept; umount full; exit $status",
        &["budget", "2000"],
    );
    let ended = program.env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin").run();
    if ended.status.code() == Some(77) {
        // Mounting is for the super-user; the limit on files above tells the same story.
        return;
    }
    assert!(ended.status.success(), "{}", ended.stderr);
    // Spans and then metrics: each is said once.
    assert!((1..=2).contains(&ended.warnings().len()), "{}", ended.stderr);
    let recording = Recording::read(&ended.path().join("kept"));
    assert!(!recording.spans.is_empty() && (recording.spans.len() as u64) < ended.truth()["spans"]);
    // Room was kept for the end: the run has ended, and what did not fit is counted.
    assert_eq!(recording.named("run").count(), 1);
    assert_eq!(recording.emitted(), ended.truth()["spans"]);
    assert_eq!(recording.exported("directory"), recording.spans.len() as u64);
    check::account(&recording, "directory");
}

const BOUND: u64 = 2_000_000;

/// The smallest bound that there is.
const SMALLEST: u64 = 1_000_000;

/// Runs a program in a directory of [`BOUND`] bytes. What is there adds up with what is counted as lost.
fn bounded(arguments: &[&str], warnings: usize) -> (Recording, Ended) {
    let ended = Program::new(arguments).env("STEPSCOPE_DIR_BYTES", &BOUND.to_string()).succeed();
    assert_eq!(ended.warnings().len(), warnings, "{}", ended.stderr);
    let recording = ended.recording();
    check::account(&recording, "directory");
    assert_eq!(recording.emitted(), ended.truth()["spans"]);
    assert_eq!(recording.exported("directory"), recording.spans.len() as u64);
    assert_eq!((recording.named("run.started").count(), recording.named("run").count()), (1, 1));
    (recording, ended)
}

/// All files together are within the bound.
#[track_caller]
fn within_bound(ended: &Ended, bound: u64) {
    let paths = files(&ended.path().join("profiles"));
    let sizes: Vec<u64> = paths.iter().map(|path| path.metadata().unwrap().len()).collect();
    assert!(sizes.iter().sum::<u64>() <= bound, "{sizes:?}");
}

#[test]
fn the_smallest_bound_holds_and_keeps_the_run_and_its_epochs() {
    for (asked, warnings) in [(200_000, 1), (SMALLEST, 0)] {
        let arguments = ["budget", "30000", "0", "", "500"];
        let ended = Program::new(&arguments).env("STEPSCOPE_DIR_BYTES", &asked.to_string()).succeed();
        assert_eq!(ended.warnings().len(), warnings, "{}", ended.stderr);
        assert!(warnings == 0 || ended.stderr.contains(&SMALLEST.to_string()), "{}", ended.stderr);
        within_bound(&ended, SMALLEST);
        let recording = ended.recording();
        check::account(&recording, "directory");
        assert!(recording.dropped("directory", "size_bound") > 0);
        let epochs = usize::try_from(ended.truth()["epochs"]).unwrap();
        for (name, spans) in [("run.started", 1), ("run", 1), ("epoch.started", epochs), ("epoch", epochs)] {
            assert_eq!(recording.named(name).count(), spans, "{name}");
        }
    }
}

#[test]
fn each_epoch_is_marked_however_many_there_are() {
    // More than the run's trace has room for, with two spans each.
    let epochs = 5_200;
    let ended = Program::new(&["budget", &epochs.to_string(), "0", "", "1"]).succeed();
    assert_eq!(ended.truth()["epochs"], epochs);
    let recording = ended.recording();
    check::all(&recording);
    let numbers = |name: &str| -> BTreeSet<i64> {
        recording.named(name).map(|span| span.int(attr::EPOCH).unwrap()).collect()
    };
    assert_eq!(numbers("epoch").len() as u64, epochs);
    assert_eq!(numbers("epoch.started"), numbers("epoch"));
    assert_eq!(recording.named("epoch.started").count() as u64, epochs);
}

/// Numbers of the steps that are there, and whether they are whole. One may say more than is there: what came of it before its
/// program flushed went into the last file that is deleted, its root into the next.
fn whole(recording: &Recording) -> BTreeMap<i64, bool> {
    let traces = recording.traces();
    let mut whole = BTreeMap::new();
    let mut torn = Vec::new();
    for step in recording.steps() {
        let spans = traces[&step.trace].len() as i64;
        let said = step.int(attr::TRACE_SPANS).unwrap();
        assert_eq!(step.int(attr::TRACE_DROPPED), Some(10 - said), "{step:?}");
        let number = step.int(attr::STEP).unwrap();
        if spans == said {
            whole.insert(number, spans == 10);
        } else {
            assert!((said, number % 64) == (10, 0) && spans < said, "{step:?} {spans}");
            torn.push(number);
        }
    }
    assert!(torn.len() < 2, "{torn:?}");
    // Of those that went before it only what was kept for itself is there: the first ones, slow and typical ones.
    for edge in torn {
        let before = whole.range(..edge).filter(|&(_, &is_whole)| !is_whole).count();
        assert_eq!(before, 0, "{edge}");
    }
    whole
}

#[test]
fn a_bound_keeps_what_matters_and_counts_the_rest() {
    for first in [0, 100_000] {
        // Numbers of a run that is resumed do not start at 0.
        let slow = [first + 3_000, first + 7_000, first + 15_000, first + 29_900];
        let list = slow.map(|number| number.to_string()).join(",");
        let (recording, ended) = bounded(&["budget", "30000", &first.to_string(), &list], 0);
        within_bound(&ended, BOUND);
        assert!(recording.dropped("directory", "thinned") > 0);
        assert!(recording.dropped("directory", "size_bound") > 0);
        let steps = whole(&recording);
        assert!((first..first + 200).all(|number| steps.get(&number) == Some(&true)), "{steps:?}");
        // The oldest files go first, but for those of the first steps. The slow steps are there, whole, and so are
        // a few others of the steps that went; whichever, since all steps of this program are about as long.
        assert!(slow.iter().all(|number| steps.get(number) == Some(&true)), "{steps:?}");
        // The last ones are all there. (Which of them are whole, and so how many there is room for, is a matter of time: on a
        // machine that is busy then, all may take half as long again as the usual one before.)
        assert!((first + 29_950..first + 30_000).all(|number| steps.contains_key(&number)), "{steps:?}");
        assert!(steps.range(first + 20_000..).any(|(_, &is_whole)| !is_whole), "{steps:?}");
        let left: Vec<bool> =
            steps.range(first + 5_000..first + 10_000).map(|(_, &is_whole)| is_whole).collect();
        assert!(left.len() < 200 && left.iter().all(|&is_whole| is_whole), "{left:?}");
    }
}

/// Kills the program and reads what it leaves.
fn kill(mut child: std::process::Child, program: Program) -> Recording {
    child.kill().unwrap();
    let ended = program.end(child.wait_with_output().unwrap());
    assert_eq!(ended.signal(), Some(9), "{:?} {}", ended.status, ended.stderr);
    Recording::read_torn(&ended.path().join("profiles"))
}

#[test]
fn a_killed_process_leaves_what_was_flushed_of_the_step_it_was_in() {
    let program =
        |how| Program::new(&["killed_in_a_step", "500", how]).env("STEPSCOPE_DIR_BYTES", &BOUND.to_string());
    let ended = program("flushed").run();
    assert_eq!(ended.signal(), Some(9), "{:?} {}", ended.status, ended.stderr);
    let recording = Recording::read_torn(&ended.path().join("profiles"));
    assert_eq!(recording.named("last").count(), 500);
    // It was thinned before: of many steps the root is there alone.
    let (steps, parts) = (recording.steps().len(), recording.named("usual").count());
    assert!(parts + 300 < 3 * steps, "{steps} {parts}");
    // A step that takes long needs nobody who asks.
    let mut program = program("alone");
    let (child, begin) = (program.start(), std::time::Instant::now());
    let written = || Recording::read_torn(&program.path().join("profiles")).named("last").count();
    while written() < 500 {
        assert!(begin.elapsed().as_secs() < 120, "nothing of an open step is written");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(kill(child, program).named("last").count(), 500);
}

#[test]
fn steps_that_were_captured_or_have_failed_stay_whole() {
    // At the end of the run, and long after the files they were written to have gone.
    for more in ["64", "20000"] {
        let program = Program::new(&["marked", more]).env("STEPSCOPE_DIR_BYTES", &BOUND.to_string());
        let ended = program.succeed();
        within_bound(&ended, BOUND);
        let recording = ended.recording();
        check::account(&recording, "directory");
        assert_eq!(recording.exported("directory"), recording.spans.len() as u64);
        assert!(recording.dropped("directory", "thinned") > 0);
        let is_deleted = recording.dropped("directory", "size_bound") > 0;
        assert_eq!(is_deleted, more == "20000", "{more}");
        for (name, steps) in [("captured", 20), ("failed", 10)] {
            assert_eq!(recording.named(name).count(), 3 * steps, "{name} {more}");
        }
    }
}

#[test]
fn where_every_step_fails_most_are_thinned() {
    let (recording, ended) = bounded(&["failing", "20000"], 0);
    within_bound(&ended, BOUND);
    // Of those after the first files, in which all are whole, few have room.
    let thinned = recording.dropped("directory", "thinned");
    assert!(thinned > 3 * 20_000 / 2, "{thinned}");
    assert!(recording.steps().iter().all(|step| step.status == 2));
}

#[test]
fn a_bound_holds_without_steps_and_with_traces_of_many_threads() {
    let (recording, ended) = bounded(&["alone", "60000"], 0);
    within_bound(&ended, BOUND);
    assert!(recording.dropped("directory", "size_bound") > 0);
    // Random spans of eight threads, which end in any order. (Few of them are steps, so that the first steps
    // alone may need more than the bound.) Of their paths, there are more than there is room for.
    let (recording, ended) = bounded(&["storm", "5", "100000"], 1);
    within_bound(&ended, BOUND);
    assert!(recording.dropped("directory", "thinned") > 0);
}

/// Files below `directory` and their sizes, at one moment: they only grow, so that none has changed between two looks that
/// see the same.
fn sizes(directory: &Path) -> Vec<(PathBuf, u64)> {
    let look = || -> Vec<(PathBuf, u64)> {
        let sized = |path: PathBuf| path.metadata().ok().map(|file| (path, file.len()));
        files(directory).into_iter().filter_map(sized).collect()
    };
    let mut before = look();
    loop {
        let now = look();
        if now == before {
            return now;
        }
        before = now;
    }
}

/// Runs `arguments` in the smallest directory, with a publication every 50 ms, and looks all the time at what is there; each
/// look is handed to `look`, which says whether to go on. Else the program is killed.
fn watched(arguments: &[&str], format: &str, mut look: impl FnMut(&[(PathBuf, u64)]) -> bool) -> Ended {
    let mut program = Program::new(arguments)
        .env("STEPSCOPE_DIR_BYTES", &SMALLEST.to_string())
        .env("STEPSCOPE_FORMAT", format)
        .env("OTEL_METRIC_EXPORT_INTERVAL", "50");
    let (mut child, directory) = (program.start(), program.path().join("profiles"));
    let mut looks = 0;
    while child.try_wait().unwrap().is_none() {
        let sizes = sizes(&directory);
        let all: u64 = sizes.iter().map(|(_, bytes)| bytes).sum();
        assert!(all <= SMALLEST, "{all}: {sizes:?}");
        looks += 1;
        if !look(&sizes) {
            child.kill().unwrap();
            break;
        }
    }
    assert!(looks > 20, "{looks}");
    let output = child.wait_with_output().unwrap();
    let ended = program.end(output);
    within_bound(&ended, SMALLEST);
    ended
}

/// Paths that have sums, and those that are said to be left out.
fn summed(recording: &Recording) -> (u64, u64) {
    let left_out = match recording.points(metric::SECTION_LEFT_OUT).next() {
        Some((_, Data::Int(paths))) => u64::try_from(*paths).unwrap(),
        None => 0,
        Some(other) => panic!("{other:?}"),
    };
    (recording.by_path(metric::SECTION_COUNT).len() as u64, left_out)
}

#[test]
fn the_bound_holds_at_every_moment_whatever_the_sums_would_take() {
    // Short names, of which a few hundred fit; those that are as long as names are kept, of which few do.
    for (format, name_bytes, fitting) in
        [("protobuf", "0", 60..600), ("protobuf", "250", 15..100), ("json", "250", 8..80)]
    {
        let ended = watched(&["paths", "4000", "2000", name_bytes], format, |_| true);
        assert!(ended.status.success(), "{}", ended.stderr);
        let warnings = ended.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains("call paths do not fit"), "{}", ended.stderr);
        let recording = ended.recording();
        check::account(&recording, "directory");
        assert_eq!(recording.emitted(), ended.truth()["spans"]);
        assert_eq!(recording.exported("directory"), recording.spans.len() as u64);
        let (summed, left_out) = summed(&recording);
        assert_eq!(summed + left_out, ended.truth()["paths"]);
        assert!(fitting.contains(&summed), "{summed}");
        // What took most time is there, to the last section.
        let counts = recording.by_path(metric::SECTION_COUNT);
        assert_eq!((counts["run"], counts["step"], counts["step/outer"]), (1, 4_000, 4_000));
        let steps = whole_numbers(&recording, 42);
        assert!(steps.first() == Some(&0) && steps.len() >= 5, "{steps:?}");
    }
}

/// Numbers of the steps of which this many spans are there.
fn whole_numbers(recording: &Recording, spans: usize) -> Vec<i64> {
    let traces = recording.traces();
    let is_whole = |step: &&&Span| traces[&step.trace].len() == spans;
    let steps = recording.steps();
    let mut numbers: Vec<i64> =
        steps.iter().filter(is_whole).filter_map(|step| step.int(attr::STEP)).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn a_kill_leaves_a_whole_publication_wherever_it_comes() {
    for looks in [40, 55, 75, 100, 140] {
        let mut left = looks;
        // Whoever looks sees the sums of a publication, from the first one on.
        let ended = watched(&["paths", "1000000", "2000", "0"], "protobuf", |sizes| {
            let has_sums =
                |(path, bytes): &(PathBuf, u64)| path.to_str().unwrap().contains("metrics-") && *bytes > 0;
            left -= u32::from(sizes.iter().any(has_sums));
            left > 0
        });
        assert_eq!(ended.signal(), Some(9));
        let recording = Recording::read_torn(&ended.path().join("profiles"));
        let (summed, left_out) = summed(&recording);
        assert!(summed > 50 && left_out > 0, "{summed}, {left_out}");
        assert!(recording.by_path(metric::SECTION_COUNT)["step"] > 0 && recording.emitted() > 0);
    }
}
