//! Many small sections and a few long ones on one thread, for filters to choose from, with a count of each path.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::thread::sleep;
use std::time::{Duration, Instant};

use stepscope::{section, step};
use tracing::{error, info_span, warn};

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

/// Sections that say something while they are open: events, ids, and micro steps inside of them. Half of the rounds are steps, half
/// of them sections alone.
pub(crate) fn said(rounds: u64) {
    let run = crate::start();
    let mut errors = 0;
    for number in 0..rounds {
        let step = (number % 2 == 0).then(|| step!(number));
        let outer = section!("outer");
        let inner = info_span!("inner").entered();
        let micro = info_span!("micro", stepscope.section.kind = "micro_step").entered();
        drop(info_span!("leaf", number));
        drop(micro);
        warn!("round {number}");
        if number % 10 == 2 {
            error!("round {number} has failed");
            errors += 1;
        }
        if let Some(ids) = stepscope::current_ids() {
            println!("ids\t{}\t{}", ids.trace_id_text(), ids.span_id_text());
        }
        let sent = stepscope::context().headers().find(|(name, _)| *name == "traceparent");
        let (_, sent) = sent.unwrap();
        let parts: Vec<&str> = sent.split('-').collect();
        println!("ids\t{}\t{}", parts[1], parts[2]);
        drop((inner, outer, step));
    }
    drop(run);
    say("errors", errors);
}

/// Calls of a section in a step.
const HOT: u64 = 2_000;

/// A step with many calls of one section and one of another.
fn hot_step(number: u64) {
    let _step = step!(number);
    for _ in 0..HOT {
        let _hot = section!("hot");
    }
    let _rare = section!("rare");
    sleep(Duration::from_millis(5));
}

/// Steps for so long; says how long they took together, and what the processor did meanwhile on other threads than theirs.
pub(crate) fn costs(ms: u64) {
    let run = crate::start();
    let (begun, mut steps, mut in_steps) = (Instant::now(), 0, Duration::ZERO);
    while begun.elapsed() < Duration::from_millis(ms) {
        let start = Instant::now();
        hot_step(steps);
        in_steps += start.elapsed();
        steps += 1;
    }
    drop(run);
    say("step_ns", u64::try_from(in_steps.as_nanos()).unwrap());
    say("background_ns", cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID) - cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID));
}

/// CPU time so far by one of the system's clocks.
#[expect(unsafe_code, reason = "the standard library has no clock of CPU time")]
fn cpu_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable for the duration of the call.
    assert_eq!(unsafe { libc::clock_gettime(clock, &raw mut time) }, 0);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// Steps for so long and so many more.
pub(crate) fn hot(ms: u64, more: u64) {
    let run = crate::start();
    let begun = Instant::now();
    let (mut steps, mut late) = (0, 0);
    while late < more {
        late += u64::from(begun.elapsed() >= Duration::from_millis(ms));
        hot_step(steps);
        steps += 1;
    }
    drop(run);
    for (path, count) in [("run", 1), ("step", steps), ("step/hot", steps * HOT), ("step/rare", steps)] {
        say(path, count);
    }
}
