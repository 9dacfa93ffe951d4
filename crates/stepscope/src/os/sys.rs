//! The few calls into the operating system that the standard library does not offer: clocks, thread id, limits, standard error
//! without waiting, exit and fork hooks, signals in `signals`, loaded files in `modules`, memory that is not touched in
//! `zeroed`. The only modules of this crate with `unsafe` in them.
#![expect(unsafe_code, reason = "thin wrappers around libc")]

use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(feature = "mem")]
mod modules;
mod processors;
mod signals;
mod zeroed;
#[cfg(feature = "mem")]
pub(crate) use modules::{Module, modules};
pub(crate) use processors::*;
pub(crate) use signals::*;
pub(crate) use zeroed::{Zeroed, give_back, zeroed, zeroed_or_fewer};

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

/// CPU time of the calling thread.
pub(crate) fn thread_cpu_ns() -> Option<u64> {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of the process.
pub(crate) fn process_cpu_ns() -> Option<u64> {
    read_clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Counts of one thread since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
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

/// How many files the process may have open at the same time.
pub(crate) fn most_files() -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable for the duration of the call.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    (result == 0).then_some(limit.rlim_cur)
}

/// Bytes written to a connection whose arrival the other end's system has not acknowledged; `None` where the system does not say.
#[cfg(all(feature = "http", target_os = "linux"))]
pub(crate) fn unacknowledged_bytes(socket: std::os::fd::BorrowedFd<'_>) -> Option<u64> {
    let mut bytes: libc::c_int = 0;
    let socket = std::os::fd::AsRawFd::as_raw_fd(&socket);
    // SAFETY: the descriptor is open for as long as it is borrowed, and `bytes` is writable for the duration of the call.
    let result = unsafe { libc::ioctl(socket, libc::TIOCOUTQ, &raw mut bytes) };
    u64::try_from(bytes).ok().filter(|_| result == 0)
}

/// Bytes written to a connection whose arrival the other end's system has not acknowledged; `None` where the system does not say.
#[cfg(all(feature = "http", not(target_os = "linux")))]
pub(crate) fn unacknowledged_bytes(_: std::os::fd::BorrowedFd<'_>) -> Option<u64> {
    None
}

/// The process that started this one, and when that began, in ticks since the system did; where the system says so.
pub(crate) fn parent() -> Option<(u32, u64)> {
    let pid = std::os::unix::process::parent_id();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may hold anything. The 20th figure after it is the 22nd of all (proc_pid_stat(5)).
    let (_, figures) = stat.rsplit_once(')')?;
    Some((pid, figures.split_whitespace().nth(19)?.parse().ok()?))
}

/// Whether a file may have so many bytes, as far as the process' limit goes (`ulimit -f`).
pub(crate) fn may_hold(bytes: u64) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable for the duration of the call.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    result != 0 || bytes <= limit.rlim_cur
}

/// Whether there was no descriptor left for a file.
pub(crate) fn is_out_of_files(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

/// What a pipe that is ready to be written to takes at least, without having anybody wait; POSIX has it as `PIPE_BUF` and
/// asks for 512 at least.
const READY_BYTES: usize = if cfg!(target_os = "linux") { 4_096 } else { 512 };

/// Writes a line to standard error in one piece, if it takes that without having anybody wait: a pipe or a terminal that nobody
/// reads is full one day. What of the line may not have room is left out.
pub(crate) fn write_to_stderr(line: &[u8]) {
    // Of two threads that have found it ready, only the first would still find the room.
    static WRITING: Mutex<()> = Mutex::new(());
    let try_lock = || WRITING.try_lock().inspect_err(|_| std::thread::yield_now()).ok();
    // Whoever has it is done in no time, unless it is gone: of a forked child's parent.
    let Some(_writing) = (0..1_000).find_map(|_| try_lock()) else { return };
    let line = cut(line);
    let write = |fd: libc::c_int| {
        // SAFETY: `line` is readable for its length. (What was not written is not said.)
        unsafe { libc::write(fd, line.as_ptr().cast(), line.len()) };
    };
    // SAFETY: zero is a valid `stat`, and it is writable for the duration of the call.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    if unsafe { libc::fstat(libc::STDERR_FILENO, &raw mut stat) } != 0 {
        return;
    }
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG => write(libc::STDERR_FILENO),
        #[cfg(target_os = "linux")]
        libc::S_IFSOCK => {
            let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
            // SAFETY: as for `write`.
            unsafe { libc::send(libc::STDERR_FILENO, line.as_ptr().cast(), line.len(), flags) };
        }
        _ => match reopened() {
            Ok(fd) => {
                write(fd);
                // SAFETY: it was opened here, and nobody else knows it.
                unsafe { libc::close(fd) };
            }
            // A pipe that nobody can read any more.
            Err(Some(libc::ENXIO)) => {}
            Err(_) if is_ready() => write(libc::STDERR_FILENO),
            Err(_) => {}
        },
    }
}

/// Standard error once more, so that this one never waits, and the program's own does as before; or why it is not to be had.
fn reopened() -> Result<libc::c_int, Option<libc::c_int>> {
    if !cfg!(target_os = "linux") {
        return Err(None);
    }
    let flags = libc::O_WRONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the path is terminated, and the flags ask for no mode.
    let fd = unsafe { libc::open(c"/proc/self/fd/2".as_ptr(), flags) };
    if fd >= 0 { Ok(fd) } else { Err(std::io::Error::last_os_error().raw_os_error()) }
}

/// Whether standard error takes something, and somebody can read it: a write to a pipe without readers may end the program.
fn is_ready() -> bool {
    let mut ready = libc::pollfd { fd: libc::STDERR_FILENO, events: libc::POLLOUT, revents: 0 };
    // SAFETY: `ready` is one writable entry for the duration of the call.
    let count = unsafe { libc::poll(&raw mut ready, 1, 0) };
    count == 1 && ready.revents == libc::POLLOUT
}

/// The line, or as much of its beginning as has room, still a line of whole characters.
fn cut(line: &[u8]) -> Cow<'_, [u8]> {
    if line.len() <= READY_BYTES {
        return Cow::Borrowed(line);
    }
    let begun = line.get(..READY_BYTES - 1).unwrap_or_default();
    let whole = begun.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
    let mut cut = begun.get(..whole).unwrap_or_default().to_vec();
    cut.push(b'\n');
    Cow::Owned(cut)
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

#[cfg(test)]
mod tests {
    use super::{READY_BYTES, cut};

    #[test]
    fn a_line_that_is_too_long_ends_as_a_line() {
        let short = "short\n".as_bytes();
        assert_eq!(cut(short).as_ref(), short);
        for before in 0..4 {
            let line = format!("{}{}\n", "x".repeat(before), "€".repeat(READY_BYTES));
            let cut = cut(line.as_bytes());
            assert!(cut.len() <= READY_BYTES && cut.len() > READY_BYTES - 4, "{}", cut.len());
            let text = str::from_utf8(&cut).unwrap();
            assert!(line.starts_with(text.strip_suffix('\n').unwrap()));
        }
    }
}
