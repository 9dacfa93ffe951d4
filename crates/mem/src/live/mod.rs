//! What is live, by sample: of each so many bytes allocated one is chosen, and its block is remembered with size, stack,
//! thread, and what the context says, until it is freed. Choosing is in `trials`, the memory of it in `table` and `bucket`,
//! stacks in `stacks` and `frames`. Nothing here knows sections, steps or names of functions.

mod allocated;
mod bucket;
mod frames;
mod mapped;
mod stacks;
mod table;
mod trials;

pub(crate) use trials::{NEVER, Trials};

use crate::block;
use bucket::Chosen;
use std::ptr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64};

pub use allocated::Allocated;
pub use frames::MAX_FRAMES;
pub use table::MAX_SAMPLES;

/// What the program was doing when a block was allocated, in numbers of whoever [answers](set_context); 0 where it did not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Context {
    /// The section.
    pub section: u32,
    /// The step, or whatever tells how old a block is.
    pub step: u64,
}

/// A block that was chosen and has not been freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Its size, after any `realloc`.
    pub size_bytes: u64,
    /// For how many bytes like these it stands, itself included.
    pub weight_bytes: u64,
    /// Where it was first allocated.
    pub context: Context,
    /// The operating system's id of the thread that did; 0 where it is not known.
    pub thread: u32,
    /// The stack of that, for [`stack`]; `None` where there was no room for it.
    pub stack: Option<Stack>,
}

/// A stack that was seen, by number; equal stacks have equal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stack(pub(crate) u32);

impl Stack {
    /// The number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The stack with this number.
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }
}

/// What could not be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dropped {
    /// Chosen blocks for which there was no room.
    pub samples: u64,
    /// Samples whose stack found no room.
    pub stacks: u64,
    /// Stacks that ended before the outermost function that was known of their thread: broken chains of frame pointers, or
    /// more frames than [`MAX_FRAMES`].
    pub truncated: u64,
}

static DROPPED_SAMPLES: AtomicU64 = AtomicU64::new(0);
static DROPPED_STACKS: AtomicU64 = AtomicU64::new(0);
static TRUNCATED: AtomicU64 = AtomicU64::new(0);

/// Whether frames of the program can be told.
static HAS_FRAMES: AtomicBool = AtomicBool::new(false);
const NO_STACK: (usize, usize) = (usize::MAX, usize::MAX);

/// The function that says the context; null without one.
static CONTEXT: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

/// Whom to ask for the context of a chosen block. It is called by the thread that allocates, inside of the allocator: it must
/// neither block nor panic. What it allocates is [set aside](crate::set_aside).
pub fn set_context(context: fn() -> Context) {
    CONTEXT.store(context as *mut (), Relaxed);
}

/// From now on, one in `period_bytes` bytes is chosen, and every block of as many bytes or more. A period of 0 means
/// [`stop`]. `false` if there is no memory for the table.
pub fn start(period_bytes: u64) -> bool {
    if period_bytes == 0 {
        stop();
        return true;
    }
    if !table::prepare() || !stacks::prepare() || !allocated::prepare() {
        return false;
    }
    let has_frames = block::current().is_none_or(|owner| frames::are_kept(owner.stack_bounds()));
    HAS_FRAMES.store(has_frames, Relaxed);
    block::watch();
    trials::set_period(period_bytes);
    true
}

/// From now on no block is chosen; those that were stay until they are freed.
pub fn stop() {
    trials::set_period(0);
}

/// One in how many bytes is chosen; 0 if none is.
#[must_use]
pub fn period_bytes() -> u64 {
    trials::period_bytes()
}

/// Hands over every sample that is live. Blocks that are allocated or freed meanwhile may be among them or not; none is
/// handed over twice.
pub fn samples(mut each: impl FnMut(&Sample)) {
    // A thread that was about to begin when sampling was switched on.
    trials::arm_all();
    table::each(|sample| each(&sample));
}

/// Hands over what sections and stacks have allocated since sampling began, freed or not. Those for which there was no room are one
/// without section and stack.
pub fn allocations(mut each: impl FnMut(&Allocated)) {
    allocated::each(|sums| each(&sums));
}

/// The return addresses of a stack, innermost first: written into `frames`, of which the used part is returned.
#[must_use]
pub fn stack(of: Stack, frames: &mut [usize; MAX_FRAMES]) -> &[usize] {
    stacks::get(of, frames)
}

/// What could not be kept since the process started.
#[must_use]
pub fn dropped() -> Dropped {
    Dropped {
        samples: DROPPED_SAMPLES.load(Relaxed),
        stacks: DROPPED_STACKS.load(Relaxed),
        truncated: TRUNCATED.load(Relaxed),
    }
}

/// The calling thread has a new block, or one that has grown by `new_bytes`, and a trial may have hit it.
#[cold]
#[inline(never)]
pub(crate) fn allocated(address: usize, size: u64, new_bytes: u64) {
    let Some(owner) = block::owned().filter(|owner| !block::is_aside(owner)) else { return };
    let Some(period) = owner.trials.chooses(&owner.program, size) else { return };
    // Whatever is called from here on is not the program's.
    let _aside = crate::set_aside();
    let mut buffer = [0; MAX_FRAMES];
    let bounds = if HAS_FRAMES.load(Relaxed) { owner.stack_bounds() } else { NO_STACK };
    let walked = frames::walk(bounds, &mut buffer);
    let callers = block::callers(walked.frames);
    let known = owner.outermost.load(Relaxed);
    owner.outermost.store(known.max(walked.outermost), Relaxed);
    if walked.is_full || walked.outermost < known.max(1) {
        TRUNCATED.fetch_add(1, Relaxed);
    }
    let stack = stacks::intern(callers);
    if stack.is_none() {
        DROPPED_STACKS.fetch_add(1, Relaxed);
    }
    let chosen = Chosen { size, period, context: context(), thread: owner.thread(), stack };
    // A block of a whole period is always chosen, whatever of it is new.
    let weight = if size >= period { new_bytes } else { trials::weight_bytes(new_bytes, period) };
    let milliblocks = if new_bytes == size { weight.saturating_mul(1_000) / size.max(1) } else { 0 };
    allocated::add(chosen.context.section, stack, weight, milliblocks);
    if !table::insert(address, &chosen) {
        DROPPED_SAMPLES.fetch_add(1, Relaxed);
    }
}

fn context() -> Context {
    let function = CONTEXT.load(Relaxed);
    if function.is_null() { Context::default() } else { frames::call_context(function) }
}

/// A block may be a chosen one, and is about to be freed or moved: forgets it. Returns what it was, for
/// [`moved`].
#[cold]
#[inline(never)]
pub(crate) fn forget(address: usize) -> Option<Chosen> {
    table::remove(address)
}

/// A chosen block was moved, or stays where it was because that failed.
#[cold]
#[inline(never)]
pub(crate) fn moved(address: usize, mut chosen: Chosen, new_size: u64) {
    if let Some(growth) = new_size.checked_sub(chosen.size).filter(|&growth| growth > 0) {
        // What grows and is not chosen stands for its own growth when it is.
        allocated::add(chosen.context.section, chosen.stack, growth, 0);
    }
    if trials::keeps(&chosen, new_size) {
        chosen.size = new_size;
        if !table::insert(address, &chosen) {
            DROPPED_SAMPLES.fetch_add(1, Relaxed);
        }
    }
}

/// Whether a block at this address may be a chosen one. Never `false` of one that is.
#[inline(always)]
pub(crate) fn may_be_chosen(address: usize) -> bool {
    table::may_contain(address)
}

/// Whether a block of this size is always chosen.
#[inline(always)]
pub(crate) fn is_whole_period(size: u64) -> bool {
    // A period of 0 chooses nothing.
    size > trials::period_bytes().wrapping_sub(1)
}
