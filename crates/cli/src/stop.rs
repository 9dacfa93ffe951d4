//! Being asked to end: SIGINT (Ctrl-C), SIGTERM and SIGHUP, for commands that go on until then. One of the modules of this
//! crate with `unsafe` in it.
#![expect(unsafe_code, reason = "thin wrappers around libc")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

static ASKED: AtomicBool = AtomicBool::new(false);

extern "C" fn on_signal(_: libc::c_int) {
    ASKED.store(true, Ordering::SeqCst);
}

/// From here on these signals ask to end instead of ending at once; those that are ignored stay so. A second one, where
/// the first had no effect, does end.
pub(crate) fn watch() {
    for signal in SIGNALS {
        // SAFETY: zero is a valid sigaction (default disposition, empty mask).
        let mut current: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: a null new action only queries; `current` is writable.
        let queried = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut current) };
        if queried != 0 || current.sa_sigaction == libc::SIG_IGN {
            continue;
        }
        // SAFETY: as above.
        let mut ours: libc::sigaction = unsafe { std::mem::zeroed() };
        let handler: extern "C" fn(libc::c_int) = on_signal;
        ours.sa_sigaction = handler as libc::sighandler_t;
        ours.sa_flags = libc::SA_RESETHAND;
        // SAFETY: `ours` is complete, and its handler does only what handlers may.
        unsafe { libc::sigaction(signal, &raw const ours, std::ptr::null_mut()) };
    }
}

/// Whether it was asked for.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// Waits so long, or until it is asked for; whether it was.
pub(crate) fn asked_within(time: Duration) -> bool {
    let deadline = Instant::now() + time;
    while !asked() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        // A signal to another thread does not end a sleep.
        std::thread::sleep(left.min(Duration::from_millis(50)));
    }
    true
}
