//! What the system says through calls instead of files.
#![expect(unsafe_code, reason = "thin wrappers around libc")]

/// Clock ticks a second, in which `/proc` counts processor time.
#[cfg(unix)]
pub(super) fn ticks_per_s() -> f64 {
    // SAFETY: no preconditions.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    if ticks > 0 { ticks as f64 } else { 100.0 }
}

/// Size of a page of memory.
#[cfg(unix)]
pub(super) fn page_bytes() -> u64 {
    // SAFETY: no preconditions.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4_096)
}

/// How often threads of this process gave up a processor, and how often one was taken from them.
#[cfg(unix)]
pub(super) fn context_switches() -> [Option<u64>; 2] {
    // SAFETY: zero is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is writable.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) } != 0 {
        return [None; 2];
    }
    [u64::try_from(usage.ru_nvcsw).ok(), u64::try_from(usage.ru_nivcsw).ok()]
}

/// Logical processors that are on.
#[cfg(unix)]
pub(super) fn cpus() -> Option<u64> {
    // SAFETY: no preconditions.
    let cpus = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    u64::try_from(cpus).ok().filter(|&cpus| cpus > 0)
}

/// Time since the machine started, suspended or not.
#[cfg(target_os = "linux")]
pub(super) fn uptime_s() -> Option<f64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut time) };
    (result == 0).then_some(time.tv_sec as f64 + time.tv_nsec as f64 / 1e9)
}

#[cfg(not(target_os = "linux"))]
pub(super) const fn uptime_s() -> Option<f64> {
    None
}

#[cfg(not(unix))]
pub(super) const fn cpus() -> Option<u64> {
    None
}

#[cfg(not(unix))]
pub(super) const fn ticks_per_s() -> f64 {
    100.0
}

#[cfg(not(unix))]
pub(super) const fn page_bytes() -> u64 {
    4_096
}

#[cfg(not(unix))]
pub(super) const fn context_switches() -> [Option<u64>; 2] {
    [None; 2]
}
