//! The directory sink: who may read it, and what happens when it cannot be written or is full.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;

use stepscope_core::attr;

use crate::common::recording::files;
use crate::common::{Ended, Program, Recording, check};

#[test]
fn only_the_user_may_read_it() {
    let ended = Program::new(&["process", "drop"]).succeed();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let profiles = ended.path().join("profiles");
    let files = files(&profiles);
    assert_eq!(files.len(), 2, "{files:?}");
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

/// Runs a program in a directory of [`BOUND`] bytes. What is there adds up with what is counted as lost.
fn bounded(arguments: &[&str]) -> (Recording, Ended) {
    let ended = Program::new(arguments).env("STEPSCOPE_DIR_BYTES", &BOUND.to_string()).succeed();
    assert_eq!(ended.stderr, "");
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
    const SMALLEST: u64 = 1_000_000;
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

/// Numbers of the steps that are there, and whether they are whole.
fn whole(recording: &Recording) -> BTreeMap<i64, bool> {
    let traces = recording.traces();
    let mut whole = BTreeMap::new();
    for step in recording.steps() {
        let spans = traces[&step.trace].len() as i64;
        assert_eq!(step.int(attr::TRACE_SPANS), Some(spans), "{step:?}");
        assert_eq!(step.int(attr::TRACE_DROPPED), Some(10 - spans), "{step:?}");
        whole.insert(step.int(attr::STEP).unwrap(), spans == 10);
    }
    whole
}

#[test]
fn a_bound_keeps_what_matters_and_counts_the_rest() {
    for first in [0, 100_000] {
        // Numbers of a run that is resumed do not start at 0.
        let slow = [first + 3_000, first + 7_000, first + 15_000, first + 29_900];
        let list = slow.map(|number| number.to_string()).join(",");
        let (recording, ended) = bounded(&["budget", "30000", &first.to_string(), &list]);
        within_bound(&ended, BOUND);
        assert!(recording.dropped("directory", "thinned") > 0);
        assert!(recording.dropped("directory", "size_bound") > 0);
        let steps = whole(&recording);
        assert!((first..first + 200).all(|number| steps.get(&number) == Some(&true)), "{steps:?}");
        // The oldest files go first, but for those of the first steps. The slow steps are there, whole, and so are
        // a few others of the steps that went; whichever, since all steps of this program are about as long.
        assert!(slow.iter().all(|number| steps.get(number) == Some(&true)), "{steps:?}");
        assert!((first + 29_500..first + 29_900).any(|number| steps.get(&number) == Some(&false)));
        let left: Vec<bool> =
            steps.range(first + 5_000..first + 10_000).map(|(_, &is_whole)| is_whole).collect();
        assert!(left.len() < 200 && left.iter().all(|&is_whole| is_whole), "{left:?}");
    }
}

#[test]
fn a_bound_holds_without_steps_and_with_traces_of_many_threads() {
    let (recording, ended) = bounded(&["alone", "60000"]);
    within_bound(&ended, BOUND);
    assert!(recording.dropped("directory", "size_bound") > 0);
    // Random spans of eight threads, which end in any order. (Few of them are steps, so that the first steps
    // alone may need more than the bound.)
    let (recording, _) = bounded(&["storm", "5", "100000"]);
    assert!(recording.dropped("directory", "thinned") > 0);
}
