//! Whole runs through the public API: learning, reproducibility, resuming, planted defects. The checkpoint
//! files stand for the weights.

use std::fs;
use std::path::Path;

use stepscope_demo::{BATCH_SIZE, Options, Outcome, Slow, run, run_with_progress};

const STEPS_PER_EPOCH: u64 = 22;

type Change = fn(&mut Options);

fn trained(directory: &Path, change: impl FnOnce(&mut Options)) -> Outcome {
    let mut options = Options::new(directory);
    change(&mut options);
    run(&options).expect("the run")
}

/// The last checkpoint's bytes after a few steps with these options.
fn weights(change: impl FnOnce(&mut Options)) -> (Vec<u8>, Outcome) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let outcome = trained(directory.path(), |options| {
        options.steps = Some(6);
        change(options);
    });
    let last = outcome.checkpoints.last().expect("a checkpoint");
    (fs::read(last).expect("the checkpoint"), outcome)
}

#[test]
fn it_learns_to_read_digits() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = Options::new(directory.path());
    options.epochs = 10;
    let mut reported = Vec::new();
    let outcome = run_with_progress(&options, &mut |epoch| reported.push(*epoch)).unwrap();
    assert!(outcome.accuracy >= 0.95, "{outcome:?}");
    assert!(outcome.loss < 0.5 * outcome.epochs[0].loss, "{outcome:?}");
    assert_eq!(outcome.steps, 10 * STEPS_PER_EPOCH);
    assert_eq!(outcome.samples, outcome.steps * BATCH_SIZE as u64);
    assert_eq!(reported, outcome.epochs);
    assert_eq!(outcome.epochs.len(), 10);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 10);
    assert!(outcome.checkpoints.iter().all(|path| path.is_file()));
}

#[test]
fn weights_depend_on_the_seed_and_not_on_threads_or_plants() {
    let (plain, outcome) = weights(|_| {});
    assert_eq!(outcome.work, Default::default());
    assert_ne!(plain, weights(|o| o.seed = 1).0);
    let same: [(&str, Change); 6] = [
        ("again", |_| {}),
        ("one loader, one place", |o| (o.loaders, o.queue_capacity) = (1, 1)),
        ("five loaders", |o| o.loaders = 5),
        ("busy loaders", |o| o.busy_loaders = true),
        ("slow loader", |o| o.slow = Some(Slow::Loader)),
        ("leak", |o| o.leak = true),
    ];
    for (name, change) in same {
        assert!(plain == weights(change).0, "{name}");
    }
}

#[test]
fn slow_preprocessing_reads_the_training_set_for_every_image() {
    let (plain, _) = weights(|_| {});
    let (slow, outcome) = weights(|o| o.slow = Some(Slow::Preprocessing));
    assert!(plain == slow);
    assert_eq!(outcome.work.statistics_pixels, outcome.samples * 1437 * 64);
    assert_eq!(outcome.work.archive_lines, 0);
}

#[test]
fn slow_and_busy_loaders_read_the_archive_in_every_batch() {
    let (_, slow) = weights(|o| o.slow = Some(Slow::Loader));
    assert_eq!(slow.work.archive_lines, slow.steps * 16 * 1797);
    let (_, busy) = weights(|o| o.busy_loaders = true);
    assert!(busy.work.archive_lines >= busy.steps * 1797, "{busy:?}");
}

#[test]
fn the_leak_grows_with_every_step() {
    let kept = |steps| weights(|o| (o.leak, o.steps) = (true, Some(steps))).1.work.kept_bytes;
    let per_step = (768 + 10) * BATCH_SIZE as u64 * 4;
    assert_eq!((kept(3), kept(5)), (3 * per_step, 5 * per_step));
}

#[test]
fn a_resumed_run_ends_where_one_run_would_have() {
    let (whole, _) = weights(|o| o.steps = Some(30));
    let directory = tempfile::tempdir().unwrap();
    let first = trained(directory.path(), |o| o.steps = Some(9));
    assert_eq!((first.steps, first.epochs[0].global_step), (9, 9));
    let checkpoint = first.checkpoints[0].clone();
    let second = trained(directory.path(), |o| (o.steps, o.resume) = (Some(21), Some(checkpoint.clone())));
    assert_eq!(second.steps, 21);
    assert_eq!(second.epochs.iter().map(|epoch| epoch.global_step).collect::<Vec<_>>(), [22, 30]);
    assert!(whole == fs::read(second.checkpoints.last().unwrap()).unwrap());

    let mut other_seed = Options::new(directory.path());
    (other_seed.seed, other_seed.resume) = (1, Some(checkpoint));
    let error = run(&other_seed).unwrap_err();
    assert!(error.is_checkpoint() && error.to_string().contains("seed 0"), "{error}");
}

#[test]
fn an_unusable_directory_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = run(&Options::new(file.join("run"))).unwrap_err();
    assert!(error.is_checkpoint(), "{error}");
}
