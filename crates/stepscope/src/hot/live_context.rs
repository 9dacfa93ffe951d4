//! What the allocator is told when it remembers a block: the section that its thread is in, and how many steps have begun; and
//! when it begins and ends to. It asks in the middle of the program's work; what is being changed then stays unknown.

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

/// The section's path plus 1, 0 outside of sections.
pub(crate) fn context() -> Context {
    let path = thread::lightly_with_known(|state| state.current().map(|parent| parent.path.0)).flatten();
    Context { section: path.map_or(0, |path| path.saturating_add(1)), step: steps() }
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
