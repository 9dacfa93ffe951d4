//! Parts of a directory that are read at the same time give the report of the same files one after the other.

use std::sync::Arc;

use stepscope_analyze::{report::build, rules};
use stepscope_model::{Listing, ReadOptions};
use stepscope_testkit::{Forest, ForestOptions, Format, TempFolder, disturb, random};

use super::{Analysis, Helper, Work};
use crate::output::reading;

const FILES: usize = 9;

/// A generated run in files that are cut at any byte; a third of the seeds comes in order, the others shuffled, and of
/// those every other one with messages that come twice.
fn folder(seed: u64, format: Format) -> TempFolder {
    let options = ForestOptions {
        seed,
        steps: 60,
        ranks: 1 + (seed % 2) as u32,
        ended: seed % 4 != 3,
        ..ForestOptions::default()
    };
    let (mut messages, _) = Forest::new(options).messages(format);
    if !seed.is_multiple_of(3) {
        disturb::shuffle(&mut messages, seed);
    }
    if seed % 3 > 1 {
        disturb::duplicate(&mut messages, 50, seed);
    }
    let bytes = disturb::file(&messages, format);
    let mut random = random::Random::new(seed);
    let mut cuts: Vec<usize> = (1..FILES).map(|_| random.below(bytes.len() as u64) as usize).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort_unstable();
    let folder = TempFolder::new("parts").expect("a folder");
    for (number, cut) in cuts.windows(2).enumerate() {
        std::fs::write(folder.join(format!("{number}")), &bytes[cut[0]..cut[1]]).expect("is written");
    }
    folder
}

fn json(analysis: Analysis) -> String {
    let (partial, outcome) = analysis.finish();
    let report = build(&partial.finish(None), reading(outcome), &rules::Config::default());
    serde_json::to_string_pretty(&report).expect("is JSON")
}

/// The report as JSON, and the number of parts that were merged.
fn report(folder: &TempFolder, parts: usize) -> (String, usize) {
    let mut analysis = Analysis::with(ReadOptions::default(), None, Arc::default());
    let listing = Listing::of(folder.path()).expect("files");
    let merged = analysis.read_parts(listing.split(parts, 1), 1);
    (json(analysis), merged)
}

#[test]
fn parts_give_the_same_report() {
    let mut all_merged = 0;
    for seed in 0..12 {
        let format = if seed % 2 == 0 { Format::Proto } else { Format::Json };
        let folder = folder(seed, format);
        let (expected, none) = report(&folder, 1);
        assert_eq!(none, 0);
        for parts in 2..5 {
            let (given, merged) = report(&folder, parts);
            assert!(given == expected, "seed {seed}, {parts} parts, {merged} merged:\n{given}\n{expected}");
            all_merged += merged;
            if seed % 3 == 0 {
                assert!(
                    merged >= parts - 1,
                    "seed {seed}: in order, every part is merged, {merged} of {parts}"
                );
            }
        }
    }
    println!("{all_merged} parts merged");
}

#[test]
fn a_thread_that_is_done_first_takes_halves_of_what_is_left() {
    let mut halves = 0;
    for seed in [0, 3, 6, 7, 9] {
        let folder = folder(seed, Format::Proto);
        let (expected, _) = report(&folder, 1);
        let listing = Listing::of(folder.path()).expect("files");
        let work = Work::new(listing.split(2, 1), 1);
        // Nobody reads the first part meanwhile.
        let mut parts = Analysis::work(&work, 1, &Arc::default());
        halves += parts.len() - 1;
        let mut analysis = Analysis::with(ReadOptions::default(), None, Arc::default());
        analysis.read_own(&work);
        parts.extend(work.left());
        let all = parts.len();
        let merged = analysis.merge_parts(parts);
        assert!(
            merged == all || seed % 3 > 0,
            "seed {seed}: in order, every part is merged, {merged} of {all}"
        );
        let given = json(analysis);
        assert!(given == expected, "seed {seed}:\n{given}\n{expected}");
    }
    assert!(halves > 4, "{halves}");
}

#[test]
fn a_run_that_is_there_twice_counts_once() {
    let folder = folder(3, Format::Proto);
    let copy = folder.join("copy");
    std::fs::create_dir(&copy).expect("a folder");
    for file in 0..FILES {
        std::fs::copy(folder.join(format!("{file}")), copy.join(format!("{file}"))).expect("is copied");
    }
    let (expected, _) = report(&folder, 1);
    let (given, _) = report(&folder, 2);
    assert!(given == expected, "{given}\n{expected}");
    // How much of the first part the thread of the second one takes over is a matter of time; here it is none, and then
    // as much as it can.
    for takes_halves in [false, true] {
        let listing = Listing::of(folder.path()).expect("files");
        let work = Work::new(listing.split(2, 1), 1);
        let parts = if takes_halves {
            Analysis::work(&work, 1, &Arc::default())
        } else {
            vec![Analysis::read_part(&work, 1, &Arc::default())]
        };
        let halves = parts.len() - 1;
        assert_eq!(halves > 0, takes_halves);
        let mut analysis = Analysis::with(ReadOptions::default(), None, Arc::default());
        analysis.read_own(&work);
        assert_eq!(work.left().count(), 0);
        let merged = analysis.merge_parts(parts);
        assert_eq!(
            merged, halves,
            "the copy is read again after what it is a copy of, so that its spans are known"
        );
        let given = json(analysis);
        assert!(given == expected, "{given}\n{expected}");
    }
}

/// The report as JSON on one file, read by so many threads, the second of which folds from the first trace on; and how many
/// traces it has folded.
fn report_of_one(file: &std::path::Path, threads: usize) -> (String, u64) {
    let mut options = ReadOptions::default();
    options.threads = threads;
    let mut analysis = Analysis::with(options, None, Arc::default());
    if threads > 1 {
        analysis.set_helper(Some(Helper::after(0)));
    }
    analysis.read(file).expect("is read");
    let folded = analysis.fold.helper.as_ref().map_or(0, Helper::folded);
    (json(analysis), folded)
}

#[test]
fn a_single_file_gives_the_same_report_however_many_threads_fold_it() {
    let mut all_folded = 0;
    for seed in 0..6 {
        let format = if seed % 2 == 0 { Format::Proto } else { Format::Json };
        let ranks = 1 + (seed % 3) as u32;
        let forest = Forest::new(ForestOptions { seed, steps: 800, ranks, ..ForestOptions::default() });
        let (mut messages, _) = forest.messages(format);
        if seed > 3 {
            disturb::shuffle(&mut messages, seed);
        }
        let bytes = disturb::file(&messages, format);
        assert!(bytes.len() > 4 << 20, "{}: so large that a second thread starts", bytes.len());
        let folder = TempFolder::new("one").expect("a folder");
        let file = folder.join("run");
        std::fs::write(&file, &bytes).expect("is written");
        let ((expected, none), (given, folded)) = (report_of_one(&file, 1), report_of_one(&file, 2));
        assert!(given == expected, "seed {seed}:\n{given}\n{expected}");
        assert_eq!(none, 0);
        all_folded += folded;
    }
    // How many is a matter of time; that it were none of thousands is not.
    assert!(all_folded > 0);
}
