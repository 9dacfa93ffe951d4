//! Steps of which some are deep ones: threads that wait for a lock while they are looked at, and a fork in the middle.
#![expect(unsafe_code, reason = "a fork has no safe interface")]

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use stepscope::{section, step};

use crate::say;

/// The thread of the layer that looks at others, as the system calls it.
const LOOKER: &str = "stepscope-look";

fn one_step(number: u64) {
    let _step = step!(number);
    let _outer = section!("outer");
    let _leaf = section!("leaf");
}

/// A step that is long enough to be looked at.
fn long_step(number: u64) {
    let _step = step!(number);
    let _outer = section!("outer");
    let _leaf = section!("leaf");
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(1) {
        std::hint::spin_loop();
    }
}

fn thread_id() -> u64 {
    // SAFETY: it has no preconditions.
    u64::try_from(unsafe { libc::gettid() }).unwrap()
}

fn looker() -> Option<PathBuf> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    tasks
        .into_iter()
        .find(|task| std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == LOOKER))
}

/// Waits until the thread that looks at others has rested so often more: it has looked so often, too.
fn wait_for_looks(looks: u64) {
    let path = looker().unwrap().join("status");
    let rests = || {
        let status = std::fs::read_to_string(&path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        line.trim().parse::<u64>().unwrap()
    };
    let before = rests();
    while rests() < before + looks {
        std::thread::yield_now();
    }
}

fn is_blocked(thread: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.starts_with('S')
}

/// So many steps; in number 4 so many threads wait for a lock, each in a section, until they were looked at.
pub(crate) fn locked(steps: u64, waiting: u64) {
    let _run = crate::start();
    (0..4).for_each(long_step);
    let is = |variable: &str, value: &str| std::env::var(variable).as_deref() == Ok(value);
    let is_looked_at = !is("STEPSCOPE_DEEP_STEPS", "off") && !is("STEPSCOPE_LEVEL", "comprehensive");
    while is_looked_at && looker().is_none() {
        std::thread::yield_now();
    }
    let lock = Mutex::new(());
    say("lock", (&raw const lock).addr() as u64);
    say("main", thread_id());
    {
        let _step = step!(4);
        let _outer = section!("outer");
        std::thread::scope(|scope| {
            let held = lock.lock().unwrap();
            let (tell, told) = std::sync::mpsc::sync_channel(waiting as usize);
            for _ in 0..waiting {
                let (tell, lock) = (tell.clone(), &lock);
                scope.spawn(move || {
                    let _section = section!("contended");
                    tell.send(thread_id()).unwrap();
                    drop(lock.lock().unwrap());
                });
            }
            let _leaf = section!("leaf");
            for thread in told.iter().take(waiting as usize) {
                say(&format!("waiter {thread}"), thread);
                while !is_blocked(thread) {
                    std::thread::yield_now();
                }
            }
            if is_looked_at {
                wait_for_looks(8);
            }
            drop(held);
        });
    }
    (5..steps).for_each(one_step);
}

/// Steps; in number 4 the process has a child, which goes on and ends.
pub(crate) fn forked() {
    let _run = crate::start();
    for number in 0..12 {
        let step = step!(number);
        let _outer = section!("outer");
        if number == 4 {
            // SAFETY: the child drops a guard, enters sections, and ends without running anything of the parent's.
            let child = unsafe { libc::fork() };
            if child == 0 {
                drop(step);
                (5..20).for_each(one_step);
                // SAFETY: it has no preconditions.
                unsafe { libc::_exit(7) };
            }
            let mut status = 0;
            // SAFETY: `status` is writable for the duration of the call.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            say("child", u64::try_from(libc::WEXITSTATUS(status)).unwrap());
        }
    }
}
