//! A system clock that is set while the program runs, and a monotonic one that stands still while the processor's tick
//! counter goes on, as while a machine is suspended. Nobody may do either to the real ones in a test, so the program brings
//! its own `clock_gettime`, which everything in it calls: the real one's answer, and what the clock was moved by.
#![expect(unsafe_code, reason = "takes the place of a function of the C library")]

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use stepscope::{section, step};

use crate::say;

static MOVED_BY_S: AtomicI64 = AtomicI64::new(0);

/// Where the monotonic clock stands still; 0 where it does not.
static STOOD_AT_NS: AtomicI64 = AtomicI64::new(0);
/// For how long it has stood still.
static BEHIND_NS: AtomicI64 = AtomicI64::new(0);

/// # Safety
///
/// As the C library's: `time` is writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> libc::c_int {
    // SAFETY: the caller's promise is passed on.
    let result = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) } as libc::c_int;
    if result == 0 && clock == libc::CLOCK_REALTIME {
        // SAFETY: the caller promises that it is writable, and the call above has filled it.
        unsafe { (*time).tv_sec += MOVED_BY_S.load(Ordering::Relaxed) };
    }
    if result == 0 && clock == libc::CLOCK_MONOTONIC {
        // SAFETY: as above.
        let time = unsafe { &mut *time };
        let told_ns = match STOOD_AT_NS.load(Ordering::SeqCst) {
            0 => nanos(time) - BEHIND_NS.load(Ordering::SeqCst),
            stood_at_ns => stood_at_ns,
        };
        (time.tv_sec, time.tv_nsec) = (told_ns / 1_000_000_000, told_ns % 1_000_000_000);
    }
    result
}

fn nanos(time: &libc::timespec) -> i64 {
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// The real monotonic clock, which never stands still here.
fn real_ns() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable for the duration of the call.
    let result = unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut time) };
    assert_eq!(result, 0);
    nanos(&time)
}

fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap()
}

/// Steps while the clock is set back by an hour, on by a day, and right again.
pub(crate) fn run() {
    let start = now();
    let run = crate::start();
    for (number, moved_by_s) in [0, -3_600, 86_400, 0].into_iter().enumerate() {
        MOVED_BY_S.store(moved_by_s, Ordering::Relaxed);
        for part in 0..5 {
            let _step = step!(number * 5 + part);
            let _section = section!("part");
            tracing::warn!("the clock was moved");
            std::thread::sleep(Duration::from_millis(2));
        }
        // What is written, is written at each of these times.
        assert!(run.flush(Duration::from_secs(10)).is_complete());
        if moved_by_s == 86_400 {
            let moved = now().as_secs().abs_diff(start.as_secs());
            assert!(moved >= 86_400, "the program's clock was not moved: {moved}");
        }
    }
    drop(run);
    say("start_ns", u64::try_from(start.as_nanos()).unwrap());
    say("end_ns", u64::try_from(now().as_nanos()).unwrap());
}

/// Steps before and after the monotonic clock stands still for a while, inside of a span and a section.
pub(crate) fn suspended() {
    let run = crate::start();
    let steps = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            let _step = step!(number);
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    // Until the layer goes by the tick counter, where it does.
    steps(0..150);
    let stood_ns = {
        let _span = tracing::info_span!("while_suspended").entered();
        let _section = section!("section_while_suspended");
        let since_ns = real_ns();
        STOOD_AT_NS.store(since_ns, Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(400));
        let stood_ns = real_ns() - since_ns;
        BEHIND_NS.store(stood_ns, Ordering::SeqCst);
        STOOD_AT_NS.store(0, Ordering::SeqCst);
        stood_ns
    };
    // For longer than the layer goes without a look at the system's clock.
    steps(150..700);
    let since_ns = real_ns();
    {
        let _later = section!("later");
        steps(700..800);
    }
    say("later_ns", u64::try_from(real_ns() - since_ns).unwrap());
    say("stood_ns", u64::try_from(stood_ns).unwrap());
    assert!(run.flush(Duration::from_secs(60)).is_complete());
}
