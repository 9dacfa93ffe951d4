//! Processes that fork while the layer records in them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stepscope::section;

use super::work;
use crate::say;

/// Forks; the child records (nothing), and the parent waits for it.
pub(super) fn fork_child(guard: stepscope::Guard) {
    let entered = tracing::info_span!("open_at_fork").entered();
    let section = section!("section_at_fork");
    // SAFETY: the child runs on a copy of this single user thread; the other one is the layer's.
    let child = unsafe { libc::fork() };
    if child == 0 {
        work(100..200);
        let loader = stepscope::Loader::new("child");
        let _ = loader.wait(|| Some(loader.produce(|| 1)));
        tracing::info_span!("in_the_child").in_scope(|| tracing::error!("in the child"));
        drop((section, entered));
        let panics = std::panic::catch_unwind(|| panic!("in the child"));
        assert!(panics.is_err());
        assert!(!guard.is_recording());
        drop(guard);
        // Through the exit handlers, as a program's child would.
        std::process::exit(7);
    }
    let mut status = 0;
    // SAFETY: `status` is writable.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    say("child.exited", u64::from(libc::WIFEXITED(status)));
    say("child.code", libc::WEXITSTATUS(status) as u64);
    drop((section, entered));
    work(5..8);
}

/// Forks; the child sets up a recorder of its own, which records beside the parent's.
pub(super) fn fork_and_record(guard: stepscope::Guard) {
    // SAFETY: as in `fork_child`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let own = stepscope::builder().rank(1).build().1;
        assert!(own.is_recording());
        work(100..103);
        drop((own, guard));
        std::process::exit(0);
    }
    let mut status = 0;
    // SAFETY: `status` is writable.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    say("child.code", libc::WEXITSTATUS(status) as u64);
    say("child.pid", child as u64);
    work(5..8);
}

/// Forks; the child works until a signal of its parent ends it.
pub(super) fn fork_and_terminate() {
    let mut ended = 0;
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // SAFETY: as in `fork_child`.
        let child = unsafe { libc::fork() };
        if child == 0 {
            loop {
                work(100..200);
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        // SAFETY: the child has not been waited for.
        unsafe { libc::kill(child, signal) };
        let mut status = 0;
        // SAFETY: `status` is writable.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        ended += u64::from(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == signal);
    }
    say("children.ended", ended);
    work(5..8);
}

/// Forks while other threads are in the middle of recording: a child must not wait for what they hold.
pub(super) fn fork_while_busy() {
    static STOP: AtomicBool = AtomicBool::new(false);
    let busy = |number: u64| {
        let name = format!("busy-{number}");
        let thread = std::thread::Builder::new().name(name).spawn(move || {
            while !STOP.load(Ordering::Relaxed) {
                let _span = tracing::info_span!("busy", number).entered();
                let _section = section!("part");
                tracing::warn!("busy");
            }
        });
        thread.unwrap()
    };
    let threads = [busy(0), busy(1)];
    let mut ended = 0;
    for _ in 0..50 {
        let open = tracing::info_span!("open_at_fork").entered();
        // SAFETY: the child only uses what must not depend on the threads that it lacks.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // A child that hangs is ended, and found out.
            // SAFETY: no preconditions.
            unsafe { libc::alarm(20) };
            let _section = section!("in_the_child");
            tracing::info_span!("in_the_child").in_scope(|| tracing::error!("in the child"));
            drop(open);
            std::process::exit(0);
        }
        let mut status = 0;
        // SAFETY: `status` is writable.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        ended += u64::from(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0);
    }
    STOP.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    say("children.ended", ended);
}
