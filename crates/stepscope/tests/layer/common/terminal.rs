//! Pseudo-terminals, of which the standard library knows nothing.
#![expect(unsafe_code, reason = "thin wrappers around libc")]

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::ptr::null_mut;
use std::time::Duration;

/// A terminal that takes nothing any more, for nobody reads it: the end of who would read it, and the one that is written to.
pub(crate) fn full() -> (OwnedFd, OwnedFd) {
    let (mut ours, mut terminal) = (-1, -1);
    // SAFETY: both are writable for the duration of the call, and nothing else is asked for.
    let result =
        unsafe { libc::openpty(&raw mut ours, &raw mut terminal, null_mut(), null_mut(), null_mut()) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: both were opened here, and nobody else has them.
    let (ours, terminal) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(terminal)) };
    // Through a description of its own, so that the terminal itself goes on to wait.
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&terminal));
    let mut options = File::options();
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK | libc::O_NOCTTY);
    let mut filled = options.write(true).open(path).unwrap();
    // What it has taken it moves on to where a reader would find it, some time later, and has room again: it is full when
    // there is none for a while.
    let mut quiet = 0;
    while quiet < 20 {
        quiet = if fill(&mut filled) > 0 { 0 } else { quiet + 1 };
        std::thread::sleep(Duration::from_millis(10));
    }
    (ours, terminal)
}

/// Writes as much as there is room for, to the last byte: where a few had room, a short line would have it, too.
fn fill(terminal: &mut File) -> usize {
    let mut written = 0;
    for bytes in [4_096, 1] {
        loop {
            match terminal.write(&vec![b'x'; bytes]) {
                Ok(more) => written += more,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
    }
    written
}
