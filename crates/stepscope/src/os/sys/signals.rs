//! Signals: those that end a program and leave time to flush, and SIGUSR2. A handler only notes what came: the background
//! thread acts on it. Should that thread be stuck, a signal takes its course all the same, when its patience is over.
#![expect(unsafe_code, reason = "thin wrappers around libc")]

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use stepscope_core::Signal;

use super::monotonic_ns;

/// The termination signal that arrived, or 0. Written by the handler, read by the background thread.
static PENDING_SIGNAL: AtomicI32 = AtomicI32::new(0);

/// When it arrived.
static PENDING_SINCE_NS: AtomicU64 = AtomicU64::new(0);

/// In which process: what a forked child has is a copy.
static PENDING_IN: AtomicI32 = AtomicI32::new(0);

/// How long the background thread has to act on it.
static PATIENCE_NS: AtomicU64 = AtomicU64::new(u64::MAX);

extern "C" fn on_signal(signal: libc::c_int) {
    // Nothing here but what is safe in a handler: atomics, the clock, dispositions, the timer.
    let is_first = PENDING_SIGNAL.load(Ordering::SeqCst) == 0;
    if is_first {
        PENDING_SINCE_NS.store(monotonic_ns(), Ordering::SeqCst);
    }
    PENDING_IN.store(process_id(), Ordering::SeqCst);
    PENDING_SIGNAL.store(signal, Ordering::SeqCst);
    if !is_ours(signal) {
        return;
    }
    let patience_ns = PATIENCE_NS.load(Ordering::SeqCst);
    if is_first {
        watch::begin(signal, patience_ns);
    } else if monotonic_ns().saturating_sub(PENDING_SINCE_NS.load(Ordering::SeqCst)) >= patience_ns {
        raise_with_default(signal);
    }
}

/// Whether a termination signal that came is ours to act on. A handler that the program has installed over ours may have
/// called ours, as `signal-hook` and tokio do: then the program does what it thinks right. The default stands where ours
/// was when the run ended.
fn is_ours(signal: libc::c_int) -> bool {
    disposition(signal).is_none_or(|current| [ours(), libc::SIG_DFL].contains(&current))
}

/// The termination signal that arrived, if one did that is ours to act on; another one is forgotten.
pub(crate) fn pending_signal() -> Option<i32> {
    let signal = Some(PENDING_SIGNAL.load(Ordering::SeqCst)).filter(|&signal| signal != 0)?;
    let is_ours = is_ours(signal);
    if !is_ours {
        // Another one may have come meanwhile.
        let _ = PENDING_SIGNAL.compare_exchange(signal, 0, Ordering::SeqCst, Ordering::SeqCst);
        watch::end(signal);
    }
    is_ours.then_some(signal)
}

/// The handler of termination signals, as the system has it.
fn ours() -> libc::sighandler_t {
    on_signal as extern "C" fn(libc::c_int) as libc::sighandler_t
}

/// What happens at `signal` now; `None` where the system does not tell.
fn disposition(signal: libc::c_int) -> Option<libc::sighandler_t> {
    // SAFETY: zero is a valid sigaction (default disposition, empty mask).
    let mut current: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action only queries; `current` is writable.
    let queried = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut current) };
    (queried == 0).then_some(current.sa_sigaction)
}

/// How many SIGUSR2 came. Written by the handler, read by the background thread.
static USER_SIGNALS: AtomicU32 = AtomicU32::new(0);

extern "C" fn on_user_signal(_: libc::c_int) {
    // As in `on_signal`.
    USER_SIGNALS.fetch_add(1, Ordering::SeqCst);
}

/// How many SIGUSR2 came since our handler is there.
pub(crate) fn user_signals() -> u32 {
    USER_SIGNALS.load(Ordering::SeqCst)
}

/// Has SIGUSR2 counted, unless somebody else has a handler for it; whether it is. For good: without one the signal ends
/// the process, and who sends it may not know that the run is over.
pub(crate) fn count_user_signals() -> bool {
    let ours = on_user_signal as extern "C" fn(libc::c_int) as libc::sighandler_t;
    install(libc::SIGUSR2, ours)
}

/// Installs a handler that only stores to an atomic, where nobody else has one; whether it is in place.
fn install(signal: libc::c_int, handler: libc::sighandler_t) -> bool {
    match disposition(signal) {
        Some(libc::SIG_DFL) => {}
        current => return current == Some(handler),
    }
    // SAFETY: zero is a valid sigaction (default disposition, empty mask).
    let mut ours: libc::sigaction = unsafe { std::mem::zeroed() };
    ours.sa_sigaction = handler;
    ours.sa_flags = libc::SA_RESTART;
    // SAFETY: `ours` is a complete action whose handler only stores to an atomic.
    unsafe { libc::sigaction(signal, &raw const ours, std::ptr::null_mut()) == 0 }
}

/// The name of a termination signal.
pub(crate) fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGINT => Signal::Interrupt.as_str(),
        libc::SIGTERM => Signal::Terminate.as_str(),
        _ => "signal",
    }
}

/// The signals that end a program and leave time to flush.
const TERMINATION: [libc::c_int; 2] = [libc::SIGINT, libc::SIGTERM];

/// Installs our handler for SIGINT and SIGTERM where nobody else has one. Who has not acted on one after `patience` will
/// not. None for the first process of a container, which the system has survive what it does not handle: with ours, such a
/// signal would end the recording of a program that goes on.
pub(crate) fn install_signal_handlers(patience: Duration) {
    if process_id() == 1 {
        return;
    }
    PATIENCE_NS.store(u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX), Ordering::SeqCst);
    for signal in TERMINATION {
        watch::prepare(signal);
        install(signal, ours());
    }
}

/// In a forked child: it has no thread that would act on a signal, so that each takes its course, one that has come since it
/// was forked, too.
pub(crate) fn forget_signals() {
    watch::forget();
    restore_signal_handlers();
    let signal = PENDING_SIGNAL.swap(0, Ordering::SeqCst);
    if signal != 0 && PENDING_IN.load(Ordering::SeqCst) == process_id() {
        raise_with_default(signal);
    }
}

/// Gives the signals back their default disposition, where they still have ours.
pub(crate) fn restore_signal_handlers() {
    for signal in TERMINATION {
        watch::end(signal);
        if disposition(signal) == Some(ours()) {
            // SAFETY: setting the default disposition has no preconditions.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}

/// Sends `signal` to the process, with its default disposition restored before.
pub(crate) fn raise_with_default(signal: i32) {
    restore_signal_handlers();
    // SAFETY: sending a signal to the own process has no preconditions.
    unsafe { libc::kill(process_id(), signal) };
}

/// What a thread brings upon itself, and what a profiler stops it by wherever it is: these come to threads of ours, too.
const TO_ALL_THREADS: [libc::c_int; 8] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGABRT,
    libc::SIGPROF,
];

/// Does `start`, which starts a thread of ours, while all other signals are blocked, as they are on that thread from its
/// beginning and on those that it starts. So what is sent to the process comes to the program's threads, and where all of
/// them block it, it waits for the one that asks for it (`sigwait`, `signalfd`). And a write beyond the largest size of a file
/// (`ulimit -f`), or to a pipe without readers, fails on ours as one on a full disk does, without a signal that ends the program.
pub(crate) fn shielded<R>(start: impl FnOnce() -> R) -> R {
    // SAFETY: all bytes 0 are a valid set of signals, which `sigfillset` makes a full one.
    let mut blocked: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: as above; it is written before it is read.
    let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the sets are valid for the duration of the calls, and the signals are the system's.
    let is_blocked = unsafe {
        libc::sigfillset(&raw mut blocked);
        for signal in TO_ALL_THREADS {
            libc::sigdelset(&raw mut blocked, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const blocked, &raw mut before) == 0
    };
    let started = start();
    if is_blocked {
        // SAFETY: the set is the one that was in force before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut()) };
    }
    started
}

fn process_id() -> libc::pid_t {
    // SAFETY: no preconditions, and it cannot fail.
    unsafe { libc::getpid() }
}

/// A timer of the system for each termination signal, which sends it once more.
#[cfg(target_os = "linux")]
mod watch {
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, Ordering};

    use super::TERMINATION;

    /// The timers, in the order of [`TERMINATION`].
    static TIMERS: [AtomicPtr<libc::c_void>; TERMINATION.len()] =
        [const { AtomicPtr::new(NONE) }; TERMINATION.len()];

    /// Ids of timers are small numbers, 0 among them.
    const NONE: *mut libc::c_void = ptr::without_provenance_mut(usize::MAX);

    fn of(signal: libc::c_int) -> Option<&'static AtomicPtr<libc::c_void>> {
        TIMERS.iter().zip(TERMINATION).find(|(_, of)| *of == signal).map(|(timer, _)| timer)
    }

    /// Has a timer ready for this signal, if the system gives one.
    pub(super) fn prepare(signal: libc::c_int) {
        let Some(kept) = of(signal).filter(|timer| timer.load(Ordering::SeqCst) == NONE) else { return };
        // SAFETY: all bytes 0 are a valid event.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = signal;
        let mut timer = ptr::null_mut();
        // SAFETY: both pointers are valid for the duration of the call.
        let made = unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) };
        if made == 0 {
            kept.store(timer, Ordering::SeqCst);
        }
    }

    /// Sends the signal again after so long. Safe in a handler.
    pub(super) fn begin(signal: libc::c_int, after_ns: u64) {
        set(signal, after_ns.max(1));
    }

    /// Does not send it any more.
    pub(super) fn end(signal: libc::c_int) {
        set(signal, 0);
    }

    fn set(signal: libc::c_int, after_ns: u64) {
        let Some(timer) = of(signal).map(|timer| timer.load(Ordering::SeqCst)) else { return };
        if timer == NONE {
            return;
        }
        let seconds = libc::time_t::try_from(after_ns / 1_000_000_000).unwrap_or(libc::time_t::MAX);
        let nanos = libc::c_long::try_from(after_ns % 1_000_000_000).unwrap_or(0);
        let none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let time = libc::itimerspec {
            it_interval: none,
            it_value: libc::timespec { tv_sec: seconds, tv_nsec: nanos },
        };
        // SAFETY: the timer was made by `prepare` and is never deleted; the time is valid for the duration of the call.
        unsafe { libc::timer_settime(timer, 0, &raw const time, ptr::null_mut()) };
    }

    /// A forked child has none of its parent's timers.
    pub(super) fn forget() {
        TIMERS.iter().for_each(|timer| timer.store(NONE, Ordering::SeqCst));
    }
}

/// Elsewhere only a signal that comes again, when patience is over, takes its course.
#[cfg(not(target_os = "linux"))]
mod watch {
    pub(super) fn prepare(_: libc::c_int) {}
    pub(super) fn begin(_: libc::c_int, _: u64) {}
    pub(super) fn end(_: libc::c_int) {}
    pub(super) fn forget() {}
}
