//! Many small sections and a few long ones on one thread, for filters to choose from, with a count of each path.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::thread::sleep;
use std::time::{Duration, Instant};

use stepscope::{section, step};
use tracing::info_span;

use crate::say;

/// Longer than the shortest duration that the tests ask for.
const LONG: Duration = Duration::from_millis(6);

pub(crate) fn run(steps: u64) {
    let run = crate::start();
    let mut truth: BTreeMap<&str, u64> = BTreeMap::new();
    let mut took = |path| *truth.entry(path).or_default() += 1;
    took("run");
    for number in 0..steps {
        let _step = step!(number);
        took("step");
        {
            let _work = section!("work");
            took("step/work");
            for _ in 0..10 {
                let _tiny = section!("tiny");
                took("step/work/tiny");
                black_box(vec![0_u8; 100]);
                let _tinier = section!("tinier");
                took("step/work/tiny/tinier");
            }
            info_span!("spanned").in_scope(|| {
                took("step/work/spanned");
                let _inner = section!("inner");
                took("step/work/spanned/inner");
            });
        }
        if number % 20 == 0 {
            let _slow = section!("slow");
            took("step/slow");
            {
                let _quick = section!("quick");
                took("step/slow/quick");
            }
            sleep(LONG);
        }
        if number % 50 == 0 {
            let outlived = section!("outlived");
            took("step/outlived");
            let outlives = info_span!("outlives");
            took("step/outlived/outlives");
            drop(outlived);
            outlives.in_scope(|| sleep(LONG));
            drop(outlives);
            let mut failed = section!("failed");
            took("step/failed");
            failed.fail();
        }
    }
    {
        // Outside of steps.
        let _alone = section!("alone");
        took("alone");
        let _part = section!("part");
        took("alone/part");
    }
    drop(run);
    truth.iter().for_each(|(path, &count)| say(path, count));
}

/// Steps for so long and so many more, each with many calls of one section and one of another.
pub(crate) fn hot(ms: u64, more: u64) {
    const HOT: u64 = 2_000;
    let run = crate::start();
    let begun = Instant::now();
    let (mut steps, mut late) = (0, 0);
    while late < more {
        late += u64::from(begun.elapsed() >= Duration::from_millis(ms));
        let _step = step!(steps);
        for _ in 0..HOT {
            let _hot = section!("hot");
        }
        let _rare = section!("rare");
        sleep(Duration::from_millis(5));
        steps += 1;
    }
    drop(run);
    for (path, count) in [("run", 1), ("step", steps), ("step/hot", steps * HOT), ("step/rare", steps)] {
        say(path, count);
    }
}
