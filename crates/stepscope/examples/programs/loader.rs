//! A loader with two worker threads, a consumer that is slower than they are once, and an end. Every item
//! carries the moments between which it became ready, so that the program knows how long it lay in the queue.

use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use stepscope::{Loader, section};

use crate::say;

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap()
}

/// A loop over an iterator that takes its time, 2 ms for each of `count` items.
pub(crate) fn iterate(count: u64) {
    let _run = crate::start();
    // Batches of no steps.
    stepscope::batches([(); 3]).for_each(|()| std::thread::sleep(Duration::from_millis(2)));
    {
        // A loop that is left early, inside of a section of its own.
        let _evaluation = stepscope::section!("evaluation", phase = Evaluation);
        let slow = (0..3).inspect(|_| std::thread::sleep(Duration::from_millis(2)));
        assert_eq!(stepscope::batches(slow).next(), Some(0));
    }
    let slow = (0..count).inspect(|_| std::thread::sleep(Duration::from_millis(2)));
    for number in stepscope::batches(slow) {
        let _step = stepscope::step!(number);
    }
}

/// Two epochs of training with an evaluation after each, batches from an iterator or from a [`Loader`].
pub(crate) fn evaluate(from: &str) {
    let _run = crate::start();
    let (train, eval) = (Loader::new("train"), Loader::new("eval"));
    for _ in 0..2 {
        if from == "iterator" {
            for number in stepscope::batches(0..3_u64) {
                let _step = stepscope::step!(number);
            }
            for number in stepscope::batches(0..2_u64) {
                let _step = stepscope::step!(number, mode = eval);
            }
        } else {
            let take = |loader: &Loader, number: u64, count: u64| {
                let batch = (number < count).then(|| loader.produce(|| number));
                loader.wait(|| batch)
            };
            let mut number = 0;
            while let Some(taken) = take(&train, number, 3) {
                let _step = stepscope::step!(taken);
                number += 1;
            }
            number = 0;
            while let Some(taken) = take(&eval, number, 2) {
                let _step = stepscope::step!(taken, mode = eval);
                number += 1;
            }
        }
    }
}

/// Numbers from 0 to `count`, each after `millis`.
fn slow(count: u64, millis: u64) -> impl Iterator<Item = u64> {
    (0..count).inspect(move |_| std::thread::sleep(Duration::from_millis(millis)))
}

/// Eight batches, 4 ms each, for steps that take them from more than one source, or with other loops in between.
pub(crate) fn sources(case: &str) {
    let _run = crate::start();
    let evaluate = || drop(section!("evaluate", phase = Evaluation));
    match case {
        // With another one that is shorter, and begins again.
        "two" => {
            let mut other = stepscope::batches(slow(2, 2));
            for number in stepscope::batches(slow(8, 4)) {
                if other.next().is_none() {
                    other = stepscope::batches(slow(2, 2));
                    assert_eq!(other.next(), Some(0));
                }
                let _step = stepscope::step!(number);
            }
        }
        // Between a batch and its step.
        "between" => {
            for number in stepscope::batches(slow(8, 4)) {
                stepscope::batches(slow(2, 2)).for_each(|_| evaluate());
                let _step = stepscope::step!(number);
            }
        }
        // Left early, before the wait.
        "before" => {
            for number in stepscope::batches(slow(8, 4)) {
                drop(stepscope::step!(number));
                stepscope::batches(slow(9, 2)).take(2).for_each(|_| evaluate());
            }
        }
        // Evaluation with steps, left early, whose loader stays.
        "steps" => {
            let loader = Loader::new("eval");
            for number in stepscope::batches(slow(8, 4)) {
                drop(stepscope::step!(number));
                // (Of one step between two waits nobody knows whether it is of their loop.)
                if number % 2 == 0 {
                    continue;
                }
                for number in 0..9_u64 {
                    let batch = loader.produce(|| number);
                    assert_eq!(loader.wait(|| slow(1, 2).next().map(|_| batch)), Some(number));
                    if number == 2 {
                        break;
                    }
                    let _step = stepscope::step!(number, mode = eval);
                }
                // A section of no step, before which all of evaluation is over.
                evaluate();
            }
        }
        // Evaluation from an iterator, left early: before a step, and after one.
        "left" => {
            for _ in 0..2 {
                drop(stepscope::step!(0));
                for number in stepscope::batches(0..9_u64) {
                    if number == 1 {
                        break;
                    }
                    let _step = stepscope::step!(number, mode = eval);
                }
                drop(stepscope::step!(1));
                for number in stepscope::batches(0..9_u64).take(1) {
                    let _step = stepscope::step!(number, mode = eval);
                }
            }
        }
        // Through another one, of an iterator or a loader, after a panic in there; two of three batches are skipped.
        "nested" | "nested_loader" => {
            let fails = std::panic::catch_unwind(|| {
                stepscope::batches(std::iter::from_fn(|| -> Option<u64> {
                    std::panic::resume_unwind(Box::new(()))
                }))
                .next()
            });
            assert!(fails.is_err());
            let (loader, mut items) = (Loader::new("inner"), slow(9, 4));
            let mut from_loader = || loader.wait(|| items.next().map(|number| loader.produce(|| number)));
            let mut from_iterator = stepscope::batches(slow(9, 4));
            let batches = std::iter::from_fn(|| match case {
                "nested" => from_iterator.next(),
                _ => from_loader(),
            });
            for number in stepscope::batches(batches).filter(|number| number % 3 == 2) {
                let _step = stepscope::step!(number);
            }
        }
        // Steps of two modes in turns.
        "turns" => {
            for number in stepscope::batches(slow(8, 4)) {
                drop(match number % 2 {
                    0 => stepscope::step!(number),
                    _ => stepscope::step!(number, mode = eval),
                });
            }
        }
        // Two for one, of a source that is there for no longer.
        "chunks" => {
            let mut items = slow(8, 4);
            for number in 0..4 {
                assert_eq!(stepscope::batches(items.by_ref()).take(2).count(), 2);
                let _step = stepscope::step!(number);
            }
        }
        _ => unreachable!("{case}"),
    }
}

pub(crate) fn run(batches: u64) {
    let run = crate::start();
    let loader = Loader::new("train");
    let (sender, receiver) = sync_channel(4);
    let workers: Vec<_> = (0..2)
        .map(|number| {
            let (loader, sender) = (loader.clone(), sender.clone());
            std::thread::Builder::new()
                .name(format!("worker-{number}"))
                .spawn(move || {
                    for _ in 0..batches / 2 {
                        let batch = loader.produce(|| {
                            let _decode = section!("decode", phase = Preprocessing);
                            std::thread::sleep(Duration::from_millis(1));
                            (vec![0u8; 10_000], Instant::now())
                        });
                        let returned = Instant::now();
                        sender.send(batch.map(|(bytes, made)| (bytes, made, returned))).unwrap();
                    }
                })
                .unwrap()
        })
        .collect();
    drop(sender);
    let mut taken = 0;
    for number in 0_u64.. {
        let step = stepscope::step!(number, samples = 8);
        let asked = Instant::now();
        let Some((batch, made, returned)) = loader.wait(|| receiver.recv().ok()) else {
            step.discard();
            break;
        };
        taken += 1;
        say(&format!("queue.at_least.{number}"), nanos(asked.saturating_duration_since(returned)));
        say(&format!("queue.at_most.{number}"), nanos(made.elapsed()));
        let _forward = section!("forward", phase = Forward);
        if number == 2 {
            // 4 in the channel, and one in the hands of each worker.
            while loader.depth() < 6 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        drop(batch);
    }
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    say("taken", taken);
    say("depth", loader.depth());
    // A batch that is taken outside of any step, one that nobody takes, and an item without an origin.
    let validation = Loader::new("validation");
    let batch = validation.produce(|| vec![1u8; 77]);
    assert_eq!(validation.wait(|| Some(batch)).map(|bytes| bytes.len()), Some(77));
    drop(validation.produce(|| ()));
    say("validation.depth", validation.depth());
    drop(run);
    let unrecorded = validation.produce(|| 5);
    assert_eq!(validation.wait(|| Some(unrecorded)), Some(5));
}
