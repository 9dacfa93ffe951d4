//! CPU time of threads, and of which one it is; and page faults, which are what much of the system's part of it goes to.

use std::fs;

/// CPU time by one of the system's clocks.
fn cpu_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is writable for the duration of the call.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu_ns() -> u64 {
    cpu_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Page faults of the calling thread that read nothing: what its allocator gave back to the system and asks for again.
pub(crate) fn thread_faults() -> u64 {
    // SAFETY: all zeros is a value of this plain struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is writable for the duration of the call.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    usage.ru_minflt.cast_unsigned()
}

/// CPU time of all threads.
pub(crate) fn process_cpu_ns() -> u64 {
    cpu_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The clock of the CPU time of one of the process' threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadClock(libc::clockid_t);

impl ThreadClock {
    /// That of the thread of this name; absent where there is none.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let mut named = threads.filter(|thread| {
            fs::read_to_string(thread.path().join("comm")).is_ok_and(|comm| comm.trim() == name)
        });
        let id: libc::pid_t = named.next()?.file_name().to_str()?.parse().ok()?;
        // As Linux builds the clocks of threads: the id, and in the last bits that it is the scheduler's time of a thread.
        Some(Self((!id << 3) | 6))
    }

    /// CPU time so far.
    pub(crate) fn ns(self) -> u64 {
        cpu_ns(self.0)
    }
}
