//! Which processors the process may use, the unit of their times, and what a descriptor of the process is of.

use std::mem::MaybeUninit;

/// What a descriptor is of, as far as it makes a difference to who waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileKind {
    /// On a disk or the like.
    File,
    Pipe,
    Socket,
}

/// What a descriptor is of; `None` where it is of something else, or closed.
pub(crate) fn file_kind(descriptor: i32) -> Option<FileKind> {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `stat` is writable for the duration of the call; a descriptor that is not open is an error.
    if unsafe { libc::fstat(descriptor, stat.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: all bytes are set, and the struct holds integers only.
    let mode = unsafe { stat.assume_init() }.st_mode;
    match mode & libc::S_IFMT {
        libc::S_IFREG | libc::S_IFBLK | libc::S_IFDIR => Some(FileKind::File),
        libc::S_IFIFO => Some(FileKind::Pipe),
        libc::S_IFSOCK => Some(FileKind::Socket),
        _ => None,
    }
}

/// Ticks of the system's CPU times in a second.
pub(crate) fn ticks_a_second() -> Option<u64> {
    // SAFETY: `sysconf` has no preconditions.
    u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).ok().filter(|&ticks| ticks > 0)
}

/// Whether the calling thread may use each processor, by number.
#[cfg(target_os = "linux")]
pub(crate) fn usable_processors() -> Option<Vec<bool>> {
    // For 16,384 processors.
    let mut words = [0_u64; 256];
    // SAFETY: `words` is writable for its length, and the calling thread is there.
    let result = unsafe { libc::sched_getaffinity(0, size_of_val(&words), words.as_mut_ptr().cast()) };
    let is_set = |number: usize| words.get(number / 64).is_some_and(|word| word >> (number % 64) & 1 != 0);
    (result == 0).then(|| (0..words.len() * 64).map(is_set).collect())
}

/// Whether the calling thread may use each processor, by number.
#[cfg(not(target_os = "linux"))]
pub(crate) fn usable_processors() -> Option<Vec<bool>> {
    None
}
