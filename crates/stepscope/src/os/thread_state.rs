//! What another thread of the process does at this moment, as the system tells it (`/proc/self/task/…/syscall`): whether it
//! could run, and else in which system call it is. Who is looked at, and when, is in `worker`.

use stepscope_core::ThreadState;

use crate::os::proc_file::ProcFile;
use crate::os::sys::{self, FileKind};

/// A line is shorter: nine numbers.
const LINE_BYTES: usize = 256;

/// A thread that is looked at.
#[derive(Debug)]
pub(crate) struct WatchedThread {
    /// The system's id of the thread.
    pub id: u64,
    name: String,
    file: ProcFile,
}

impl WatchedThread {
    pub(crate) fn new(id: u64) -> Self {
        Self { id, name: format!("/proc/self/task/{id}/syscall"), file: ProcFile::default() }
    }

    /// What it does, and the address of the futex that it waits for, else 0. `None` where it has ended, or the system does not
    /// say.
    pub(crate) fn look(&mut self) -> Option<(ThreadState, u64)> {
        let mut buffer = [0; LINE_BYTES];
        state(self.file.read(&self.name, &mut buffer)?, sys::file_kind)
    }
}

/// Whether the system tells it of threads of this process at all.
pub(crate) fn is_told() -> bool {
    WatchedThread::new(sys::thread_id()).look().is_some()
}

/// What a line tells; `kind_of`: what a descriptor is of.
fn state(line: &str, kind_of: impl Fn(i32) -> Option<FileKind>) -> Option<(ThreadState, u64)> {
    let mut words = line.split_ascii_whitespace();
    let call = match words.next()? {
        "running" => return Some((ThreadState::Running, 0)),
        "-1" => return Some((ThreadState::Fault, 0)),
        number => number.parse().ok()?,
    };
    let first = words.next().and_then(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    let first = first.unwrap_or(0);
    Some(match class_of(call) {
        Class::Futex => (ThreadState::Futex, first),
        Class::Of(state) => (state, 0),
        Class::Descriptor => {
            let state = match i32::try_from(first).ok().and_then(kind_of) {
                Some(FileKind::File) => ThreadState::File,
                Some(FileKind::Pipe) => ThreadState::Pipe,
                Some(FileKind::Socket) => ThreadState::Network,
                None => ThreadState::Other,
            };
            (state, 0)
        }
    })
}

/// What a system call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// The futex at its first argument.
    Futex,
    /// What the descriptor in its first argument is of.
    Descriptor,
    Of(ThreadState),
}

/// Calls of one architecture only.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn older_class(call: i64) -> Option<Class> {
    Some(match call {
        libc::SYS_poll | libc::SYS_select | libc::SYS_epoll_wait => Class::Of(ThreadState::Poll),
        libc::SYS_open
        | libc::SYS_creat
        | libc::SYS_stat
        | libc::SYS_lstat
        | libc::SYS_unlink
        | libc::SYS_rename
        | libc::SYS_mkdir
        | libc::SYS_rmdir
        | libc::SYS_getdents => Class::Of(ThreadState::File),
        _ => return None,
    })
}

#[cfg(all(target_os = "linux", target_arch = "aarch64"))]
fn older_class(_: i64) -> Option<Class> {
    None
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn class_of(call: i64) -> Class {
    match call {
        libc::SYS_futex | FUTEX_WAIT => Class::Futex,
        // Of several.
        libc::SYS_futex_waitv => Class::Of(ThreadState::Futex),
        libc::SYS_read
        | libc::SYS_write
        | libc::SYS_readv
        | libc::SYS_writev
        | libc::SYS_pread64
        | libc::SYS_pwrite64
        | libc::SYS_preadv
        | libc::SYS_pwritev
        | libc::SYS_preadv2
        | libc::SYS_pwritev2
        | libc::SYS_sendfile
        | libc::SYS_splice
        | libc::SYS_tee
        | libc::SYS_vmsplice => Class::Descriptor,
        libc::SYS_fsync
        | libc::SYS_fdatasync
        | libc::SYS_sync
        | libc::SYS_syncfs
        | libc::SYS_sync_file_range
        | libc::SYS_msync
        | libc::SYS_openat
        | libc::SYS_openat2
        | libc::SYS_newfstatat
        | libc::SYS_statx
        | libc::SYS_fstat
        | libc::SYS_getdents64
        | libc::SYS_ftruncate
        | libc::SYS_fallocate
        | libc::SYS_copy_file_range
        | libc::SYS_unlinkat
        | libc::SYS_renameat
        | libc::SYS_renameat2
        | libc::SYS_mkdirat
        | libc::SYS_readahead => Class::Of(ThreadState::File),
        libc::SYS_sendto
        | libc::SYS_recvfrom
        | libc::SYS_sendmsg
        | libc::SYS_recvmsg
        | libc::SYS_sendmmsg
        | libc::SYS_recvmmsg
        | libc::SYS_accept
        | libc::SYS_accept4
        | libc::SYS_connect => Class::Of(ThreadState::Network),
        libc::SYS_ppoll | libc::SYS_pselect6 | libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => {
            Class::Of(ThreadState::Poll)
        }
        libc::SYS_nanosleep | libc::SYS_clock_nanosleep => Class::Of(ThreadState::Sleep),
        _ => older_class(call).unwrap_or(Class::Of(ThreadState::Other)),
    }
}

/// `futex_wait`, of Linux 6.7, which has this number on all architectures.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
const FUTEX_WAIT: i64 = 455;

/// The numbers of other systems are not known here.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn class_of(_: i64) -> Class {
    Class::Of(ThreadState::Other)
}

#[cfg(all(test, target_os = "linux", target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Numbers of calls as `ausyscall --dump` lists them.
    #[test]
    fn a_line_tells_what_a_thread_waits_for() {
        let kind_of = |descriptor| match descriptor {
            3 => Some(FileKind::File),
            4 => Some(FileKind::Pipe),
            5 => Some(FileKind::Socket),
            _ => None,
        };
        for (line, expected) in [
            ("running\n", Some((ThreadState::Running, 0))),
            ("-1 0x7ffd 0x7f00\n", Some((ThreadState::Fault, 0))),
            (
                "202 0x7f66c8000b70 0x189 0x0 0x0 0x0 0xffffffff 0x7f66 0x7f67\n",
                Some((ThreadState::Futex, 0x7f66_c800_0b70)),
            ),
            ("449 0x7f66c8000b70 0x2", Some((ThreadState::Futex, 0))),
            ("0 0x3 0x7ffe 0x10", Some((ThreadState::File, 0))),
            ("1 0x4 0x7ffe 0x10", Some((ThreadState::Pipe, 0))),
            ("0 0x5 0x7ffe 0x10", Some((ThreadState::Network, 0))),
            ("0 0xffffffffffffffff 0x7ffe 0x10", Some((ThreadState::Other, 0))),
            ("74 0x3", Some((ThreadState::File, 0))),
            ("45 0x9 0x0", Some((ThreadState::Network, 0))),
            ("7 0x7ffe 0x1", Some((ThreadState::Poll, 0))),
            ("232 0x7 0x1", Some((ThreadState::Poll, 0))),
            ("230 0x0 0x0", Some((ThreadState::Sleep, 0))),
            ("61 0xffffffff", Some((ThreadState::Other, 0))),
            ("", None),
            ("what", None),
        ] {
            assert_eq!(state(line, kind_of), expected, "{line}");
        }
    }

    #[test]
    fn a_thread_that_waits_for_a_pipe_is_seen_doing_so_and_one_that_has_ended_is_not() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let (tell, told) = std::sync::mpsc::sync_channel(1);
        let wait = move || {
            tell.send(sys::thread_id()).unwrap();
            std::io::Read::read(&mut &reader, &mut [0]).unwrap()
        };
        let waiting = std::thread::Builder::new().name("waiting".into()).spawn(wait).unwrap();
        let mut watched = WatchedThread::new(told.recv().unwrap());
        // Where a container keeps it back, there is nothing to see.
        if is_told() {
            while watched.look() != Some((ThreadState::Pipe, 0)) {
                std::thread::yield_now();
            }
        }
        std::io::Write::write_all(&mut writer, &[1]).unwrap();
        assert_eq!(waiting.join().unwrap(), 1);
        while watched.look().is_some() {
            std::thread::yield_now();
        }
    }
}
