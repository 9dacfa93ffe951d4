//! A system clock that is set while the program runs. Nobody may set the real one in a test, so the program brings
//! its own `clock_gettime`, which everything in it calls: the real one's answer, and what the clock was moved by.
#![expect(unsafe_code, reason = "takes the place of a function of the C library")]

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use stepscope::{section, step};

use crate::say;

static MOVED_BY_S: AtomicI64 = AtomicI64::new(0);

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
    result
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
