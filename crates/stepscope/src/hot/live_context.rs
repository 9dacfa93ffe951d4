//! What the allocator is told when it remembers a block: the section that its thread is in, and how many steps have begun; and
//! when it begins and ends to. It asks in the middle of the program's work; what is being changed then stays unknown.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use stepscope_core::Level;

use crate::config::Config;
use crate::hot::thread;
use crate::os::memory;
use crate::os::memory::live::{self, Context};

/// One in so many bytes is chosen, and at level `comprehensive`.
const PERIOD_BYTES: u64 = 512 << 10;
const CLOSE_PERIOD_BYTES: u64 = 64 << 10;

/// Steps that have begun in this process, on whatever thread.
static STEPS: AtomicU64 = AtomicU64::new(0);

/// A step begins.
#[inline]
pub(crate) fn step_begins() {
    STEPS.fetch_add(1, Relaxed);
}

pub(crate) fn steps() -> u64 {
    STEPS.load(Relaxed)
}

/// For whom a thread works: the section that submitted the work, and how deep in sections of its own the thread was then.
#[derive(Debug, Clone, Copy)]
struct Submitted {
    section: u32,
    depth: usize,
}

const NOBODY: Submitted = Submitted { section: 0, depth: 0 };

thread_local! {
    static SUBMITTED: Cell<Submitted> = const { Cell::new(NOBODY) };
}

fn submitted() -> Submitted {
    SUBMITTED.try_with(Cell::get).unwrap_or(NOBODY)
}

/// The section's path plus 1, 0 outside of sections; of a section that the thread is in since it works for another one, else of
/// that one.
pub(crate) fn section() -> u32 {
    let submitted = submitted();
    let own = thread::lightly_with_known(|state| {
        let is_own = submitted.section == 0 || state.depth > submitted.depth;
        state.current().filter(|_| is_own).map(|parent| parent.path.0.saturating_add(1))
    });
    own.flatten().unwrap_or(submitted.section)
}

/// Runs `work` for a section that [`section`] told, on whatever thread.
pub(crate) fn working_for<R>(section: u32, work: impl FnOnce() -> R) -> R {
    struct Restore(Submitted);

    impl Drop for Restore {
        fn drop(&mut self) {
            let _ = SUBMITTED.try_with(|submitted| submitted.set(self.0));
        }
    }

    let depth = thread::lightly_with_known(|state| state.depth).unwrap_or(0);
    let submitted = Submitted { section, depth };
    let _restore = Restore(SUBMITTED.try_with(|now| now.replace(submitted)).unwrap_or(NOBODY));
    work()
}

pub(crate) fn context() -> Context {
    Context { section: section(), step: steps() }
}

/// From now on blocks are chosen, if the program has our allocator and anybody wants to know.
pub(crate) fn start(config: &Config) {
    let by_level = match config.level {
        Level::Off => 0,
        Level::Basic | Level::Detailed => PERIOD_BYTES,
        Level::Comprehensive => CLOSE_PERIOD_BYTES,
    };
    let period_bytes = config.memory_sample_bytes.unwrap_or(by_level);
    if config.track.has_memory() && memory::thread_counters().is_some() {
        live::set_context(context);
        live::start(period_bytes);
    }
}
