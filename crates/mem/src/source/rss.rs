//! Resident memory of the process as the kernel counts it, from `/proc`. Absent elsewhere than on Linux and
//! where `/proc` cannot be read.

use super::{Reading, Source};

/// The source.
pub const SOURCE: Source = Source {
    name: "rss",
    metric: stepscope_core::metric::PROCESS_MEMORY_USAGE,
    doc: "Resident memory of the process. Contains everything (code, stacks, C libraries, memory that the \
          allocator keeps for later) and only what was touched. The kernel adds per-CPU counts up lazily, so \
          it may be off by some pages for each CPU: growth is judged by the allocator where there is one.",
    read,
};

fn read() -> Reading {
    Reading { now_bytes: rss_bytes(), peak_bytes: peak_rss_bytes() }
}

/// Resident memory now. One system call besides asking for the process id (about 0.5 µs): the file stays
/// open, one descriptor a process, opened at the first call. Never allocates after the first call.
#[must_use]
pub fn rss_bytes() -> Option<u64> {
    imp::rss_bytes()
}

/// The most resident memory that the process ever had, or had since the kernel's mark was reset. Opens,
/// reads and closes a file: tens of microseconds.
#[must_use]
pub fn peak_rss_bytes() -> Option<u64> {
    imp::peak_rss_bytes()
}

thread_local! {
    static READ_BYTES: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Bytes that the functions of this module have read from files on the calling thread so far: the system counts them among
/// those that the thread has read, which may be of interest to who looks there for what a program reads.
#[must_use]
pub fn own_read_bytes() -> u64 {
    READ_BYTES.try_with(std::cell::Cell::get).unwrap_or(0)
}

#[cfg(target_os = "linux")]
fn count_read(bytes: usize) {
    let _ = READ_BYTES.try_with(|count| count.set(count.get() + bytes as u64));
}

#[cfg(target_os = "linux")]
#[path = "rss/linux.rs"]
mod imp;

#[cfg(not(target_os = "linux"))]
mod imp {
    pub(super) const fn rss_bytes() -> Option<u64> {
        None
    }

    pub(super) const fn peak_rss_bytes() -> Option<u64> {
        None
    }
}
