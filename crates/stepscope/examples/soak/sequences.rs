//! Random sequences: made, played and held against their model, some hundred at a time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::check::Tally;
use crate::plan::{Paths, Plan};
use crate::play::{Order, play};
use crate::received::{Received, Span};
use crate::way::Way;
use crate::{FOR_EVER, PROGRESS, check_account, say, start};

/// Sequences of a plan: what they leave has room in a ring.
const OF_A_PLAN: u64 = 250;

/// Says which sequences these are, if something is wrong with them.
struct Doing(std::ops::Range<u64>, Order);

impl Drop for Doing {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("in sequences {:?}, {:?}", self.0, self.1);
        }
    }
}

pub(crate) fn run(count: u64, seed: u64) {
    let received = Received::<Vec<Span>>::default();
    let (run, directory) = start(&received);
    let (mut paths, mut tally) = (Paths::default(), Tally::default());
    let (mut done, mut in_turn) = (0, 0);
    let mut order = Order::InTurn;
    let way = Way::of_environment();
    while done < count {
        let of_this = OF_A_PLAN.min(count - done);
        let _doing = Doing(done..done + of_this, order);
        let mut plan = Plan::default();
        for sequence in 0..of_this {
            plan.add(&mut paths, seed.wrapping_mul(1 << 40).wrapping_add(done + sequence), way);
        }
        let first = tally.spans;
        let kept = play(&plan, order, first);
        assert!(run.flush(FOR_EVER).is_complete(), "something was lost");
        let arrived = std::mem::take(&mut *received.0.lock().unwrap());
        tally.check(&plan, &paths, order, first, &kept, &arrived);
        done += of_this;
        in_turn += if order == Order::InTurn { of_this } else { 0 };
        order = if order == Order::InTurn { Order::Racing } else { Order::InTurn };
        PROGRESS.fetch_add(1, Ordering::Relaxed);
    }
    let handle = run.handle();
    drop(run);
    let rest = std::mem::take(&mut *received.0.lock().unwrap());
    tally.check_rest(&rest);
    tally.check_ids();

    // The spans, the mark of the run's start and its end; all of them arrived.
    let figures = handle.figures();
    assert_eq!(check_account(&figures), (tally.spans - tally.unended + 2, 0));
    assert_eq!(tally.marks, 2);
    let sums = figures.sections().iter().filter(|section| section.path != "run");
    let sums = sums.map(|section| (section.path.as_str(), section.count, section.total_ns));
    let own = paths.texts.iter().zip(&tally.by_path);
    let own = own.map(|(path, &(count, total_ns))| (path.as_str(), count, total_ns));
    // Where none has ended there is no sum.
    let mut own: Vec<_> = own.filter(|&(_, count, _)| count > 0).collect();
    own.sort_unstable();
    assert_eq!(sums.collect::<Vec<_>>(), own);
    // A clock that is set right by a hair just when a thread has begun to read it may be behind itself for once.
    let few = tally.times / 100_000 + 2;
    assert!(tally.disordered <= few, "{} times of {} in disorder", tally.disordered, tally.times);
    assert!(tally.disorder_ns < Duration::from_millis(1).as_nanos() as u64, "{} ns", tally.disorder_ns);
    say("sequences", done);
    say("in_turn", in_turn);
    say("operations", tally.operations);
    say("spans", tally.spans);
    say("spans.unended", tally.unended);
    say("spans.held_back", tally.held_back.len() as u64);
    say("traces", tally.trace_ids.len() as u64);
    say("paths", own.len() as u64);
    say("times", tally.times);
    say("times.disordered", tally.disordered);
    say("times.disorder_ns", tally.disorder_ns);
    drop(directory);
}
