//! Passing signals on to the program that `record` runs. One of the two modules of this crate with `unsafe` in it.
//!
//! A signal that the terminal sends (Ctrl-C, hanging up) reaches the program by itself, as a member of the
//! foreground group; it is not sent twice. Any other is sent on to the program alone. What is ignored, as under
//! `nohup`, stays ignored.
#![expect(unsafe_code, reason = "thin wrappers around libc")]

use std::process::Child;
use std::sync::atomic::{AtomicI32, Ordering};

/// Those that end programs, and those that batch systems announce an end with.
const SIGNALS: [libc::c_int; 6] =
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];

/// The program, 0 before it has started and after it has ended.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// A signal that came before the program had started, or 0.
static EARLY: AtomicI32 = AtomicI32::new(0);

fn send(child: i32, signal: i32) {
    // SAFETY: sending a signal has no preconditions and may be done in a handler. The id is that of a child that
    // has not been waited for, so it is nobody else's.
    unsafe { libc::kill(child, signal) };
}

extern "C" fn on_signal(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel hands a valid pointer to handlers installed with SA_SIGINFO.
    let is_from_terminal = unsafe { info.as_ref() }.is_some_and(|info| info.si_code > 0);
    if is_from_terminal {
        return;
    }
    match CHILD.load(Ordering::SeqCst) {
        0 => {
            EARLY.store(signal, Ordering::SeqCst);
            deliver_early();
        }
        child => send(child, signal),
    }
}

/// Sends on what came before the program had started, once it has.
fn deliver_early() {
    let child = CHILD.load(Ordering::SeqCst);
    if child != 0 {
        let signal = EARLY.swap(0, Ordering::SeqCst);
        if signal != 0 {
            send(child, signal);
        }
    }
}

/// Signals are passed on while this lives.
pub(crate) struct Forwarding {
    before: Vec<(libc::c_int, libc::sigaction)>,
}

impl Forwarding {
    /// Takes the signals over, except those that are ignored.
    pub(crate) fn start() -> Self {
        let mut before = Vec::new();
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
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_signal;
            ours.sa_sigaction = handler as libc::sighandler_t;
            ours.sa_flags = libc::SA_RESTART | libc::SA_SIGINFO;
            // SAFETY: `ours` is complete, and its handler does only what handlers may.
            if unsafe { libc::sigaction(signal, &raw const ours, std::ptr::null_mut()) } == 0 {
                before.push((signal, current));
            }
        }
        Self { before }
    }

    /// The program has started.
    pub(crate) fn to(&self, child: &Child) {
        CHILD.store(i32::try_from(child.id()).unwrap_or(0), Ordering::SeqCst);
        deliver_early();
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        CHILD.store(0, Ordering::SeqCst);
        for (signal, action) in &self.before {
            // SAFETY: the action is what the system gave for this signal.
            unsafe { libc::sigaction(*signal, action, std::ptr::null_mut()) };
        }
    }
}

/// Waits until the program has ended, and leaves it to be waited for: until then nobody else gets its id.
pub(crate) fn wait_for_end(child: &Child) {
    loop {
        // SAFETY: zero is a valid siginfo.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::WNOWAIT;
        // SAFETY: `info` is writable; the id is that of a child of ours.
        let result = unsafe { libc::waitid(libc::P_PID, child.id(), &raw mut info, flags) };
        let interrupted = std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
        if result == 0 || !interrupted {
            return;
        }
    }
}
