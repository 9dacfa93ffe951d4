//! The few calls into the operating system that the standard library does not offer: clocks, thread id,
//! signal dispositions, exit and fork hooks, memory that is not touched. The only module of this crate with `unsafe` in it.
#![expect(unsafe_code, reason = "thin wrappers around libc")]

use std::alloc::Layout;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

use stepscope_core::Signal;

use crate::os::Usage;

fn read_clock(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid, writable timespec for the duration of the call.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanos = u64::try_from(time.tv_nsec).ok()?;
    (result == 0).then(|| seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

/// `CLOCK_MONOTONIC` in nanoseconds; 0 where the system has none.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC).unwrap_or(0)
}

/// `CLOCK_REALTIME` in nanoseconds since the Unix epoch; 0 before it.
pub(crate) fn realtime_ns() -> u64 {
    read_clock(libc::CLOCK_REALTIME).unwrap_or(0)
}

/// The processor's tick counter; `None` where there is none that could keep time.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn ticks() -> Option<u64> {
    // SAFETY: every processor of this architecture has the instruction; it has no other effect.
    Some(unsafe { std::arch::x86_64::_rdtsc() })
}

/// The processor's tick counter; `None` where there is none that could keep time.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn ticks() -> Option<u64> {
    None
}

/// Whether the system itself keeps time by the tick counter: then it runs at one rate and alike everywhere.
pub(crate) fn keeps_time_by_ticks() -> bool {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    std::fs::read_to_string(path).is_ok_and(|name| name.trim() == "tsc")
}

/// So many words of 0, none of which is touched: the system gives large ones their pages when they are first used.
pub(crate) fn zeroed(words: usize) -> Box<[AtomicU64]> {
    let layout = Layout::array::<AtomicU64>(words).ok().filter(|layout| layout.size() > 0);
    let Some(layout) = layout else { return (0..words).map(|_| AtomicU64::new(0)).collect() };
    // SAFETY: the layout has a size.
    let first = unsafe { std::alloc::alloc_zeroed(layout) }.cast::<AtomicU64>();
    if first.is_null() {
        std::alloc::handle_alloc_error(layout);
    }
    // SAFETY: allocated with the layout of just this slice, and all bytes 0 are the atomic 0.
    unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(first, words)) }
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu_ns() -> Option<u64> {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// What the system has counted for the calling thread.
#[cfg(target_os = "linux")]
pub(crate) fn thread_usage() -> Option<Usage> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid and writable for the duration of the call.
    let result = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: all bytes are set, and the struct holds integers only.
    let usage = unsafe { usage.assume_init() };
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    (result == 0).then(|| Usage {
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
    })
}

/// What the system has counted for the calling thread: others than Linux count for the process only.
#[cfg(not(target_os = "linux"))]
pub(crate) fn thread_usage() -> Option<Usage> {
    None
}

/// The operating system's id of the calling thread.
#[cfg(target_os = "linux")]
pub(crate) fn thread_id() -> u64 {
    // SAFETY: `gettid` has no preconditions and cannot fail.
    u64::try_from(unsafe { libc::gettid() }).unwrap_or(0)
}

/// The operating system's id of the calling thread.
#[cfg(not(target_os = "linux"))]
pub(crate) fn thread_id() -> u64 {
    // SAFETY: `pthread_self` has no preconditions; only its bits are used.
    unsafe { libc::pthread_self() as u64 }
}

/// Host name, empty where it cannot be read.
pub(crate) fn host_name() -> String {
    let mut buffer = [0u8; 256];
    // SAFETY: the buffer is writable and one byte longer than the length given, so it stays terminated.
    let result = unsafe { libc::gethostname(buffer.as_mut_ptr().cast(), buffer.len() - 1) };
    if result != 0 {
        return String::new();
    }
    let end = buffer.iter().position(|&byte| byte == 0).unwrap_or(0);
    String::from_utf8_lossy(buffer.get(..end).unwrap_or_default()).into_owned()
}

/// The termination signal that arrived, or 0. Written by the handler, read by the background thread.
static PENDING_SIGNAL: AtomicI32 = AtomicI32::new(0);

extern "C" fn on_signal(signal: libc::c_int) {
    // An atomic store is all that is async-signal-safe and needed: the background thread polls it.
    PENDING_SIGNAL.store(signal, Ordering::SeqCst);
}

/// The termination signal that arrived, if one did that is ours to act on. A handler that the program has installed
/// over ours may have called ours, as `signal-hook` and tokio do: then the program does what it thinks right, and the
/// signal is forgotten.
pub(crate) fn pending_signal() -> Option<i32> {
    let signal = Some(PENDING_SIGNAL.load(Ordering::SeqCst)).filter(|&signal| signal != 0)?;
    // The default stands where ours was when the run ended.
    let is_ours = disposition(signal).is_none_or(|current| [ours(), libc::SIG_DFL].contains(&current));
    if !is_ours {
        // Another one may have come meanwhile.
        let _ = PENDING_SIGNAL.compare_exchange(signal, 0, Ordering::SeqCst, Ordering::SeqCst);
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

/// Installs our handler for SIGINT and SIGTERM where nobody else has one.
pub(crate) fn install_signal_handlers() {
    for signal in TERMINATION {
        install(signal, ours());
    }
}

/// Gives the signals back their default disposition, where they still have ours.
pub(crate) fn restore_signal_handlers() {
    for signal in TERMINATION {
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
    unsafe { libc::kill(libc::getpid(), signal) };
}

static HOOKED: AtomicBool = AtomicBool::new(false);

/// Runs `at_exit` when the process exits and `in_child` in every forked child. Once a process.
pub(crate) fn install_process_hooks(at_exit: extern "C" fn(), in_child: extern "C" fn()) {
    if HOOKED.swap(true, Ordering::SeqCst) {
        return;
    }
    // SAFETY: both functions are `extern "C"`, live as long as the process and do not unwind.
    unsafe {
        libc::atexit(at_exit);
        libc::pthread_atfork(
            None,
            None,
            Some(std::mem::transmute::<extern "C" fn(), unsafe extern "C" fn()>(in_child)),
        );
    }
}
