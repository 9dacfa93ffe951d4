//! A thread's own state: how it is found and made, when it goes, and whether the layer sees what the thread does.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use stepscope_core::LossReason;

use crate::hot::recorder::Recorder;
use crate::hot::state::ThreadState;
use crate::os::catch_panic::catch_panic;
use crate::os::memory;

/// The state of a thread, made on first use. What it frees at the end of the thread is the layer's own.
struct Slot(Option<Box<ThreadState>>);

impl Drop for Slot {
    fn drop(&mut self) {
        let _own = memory::own_call();
        let _ = HAS_STATE.try_with(|has| has.set(false));
        self.0 = None;
    }
}

thread_local! {
    static STATE: RefCell<Slot> = const { RefCell::new(Slot(None)) };
    static SUPPRESSED: Cell<bool> = const { Cell::new(false) };
    static ASKS_NAME: Cell<bool> = const { Cell::new(false) };
    /// Whether there is a state in `STATE`: to ask that itself registers a destructor, which the allocator must not.
    static HAS_STATE: Cell<bool> = const { Cell::new(false) };
}

/// The name of this thread. `None` where it has none, and where nobody knows it any more: destructors of keys that C made run
/// when what Rust knows of the thread is gone, and who asks then panics.
pub(crate) fn name() -> Option<String> {
    ASKS_NAME.set(true);
    let name = catch_panic(|| std::thread::current().name().map(str::to_owned));
    ASKS_NAME.set(false);
    name.flatten()
}

/// Whether a panic on this thread is that one, of which nobody is to be told.
pub(crate) fn asks_name() -> bool {
    ASKS_NAME.get()
}

/// Runs `f` on this thread's state for `recorder`, made on first use. The caller has begun an own call. `None`
/// while the thread is being torn down, and when called from inside `f`.
#[inline]
pub(crate) fn with<R>(recorder: &Arc<Recorder>, f: impl FnOnce(&mut ThreadState) -> R) -> Option<R> {
    with_id(recorder.id, || Some(Arc::clone(recorder)), f)
}

/// As [`with`], for the recorder that is current in the process; `None` when there is none.
#[inline]
pub(crate) fn with_current<R>(f: impl FnOnce(&mut ThreadState) -> R) -> Option<R> {
    with_current_id(crate::hot::recorder::current_id(), f)
}

/// As [`with_current`], for something new; `None` at level `off`, too.
#[inline]
pub(crate) fn with_beginning<R>(f: impl FnOnce(&mut ThreadState) -> R) -> Option<R> {
    with_current_id(crate::hot::recorder::beginning_id(), f)
}

/// As [`with_current`], for what allocates nothing or begins an own call by itself where it does.
#[inline(always)]
pub(crate) fn lightly_with_current<R>(f: impl FnOnce(&mut ThreadState) -> R) -> Option<R> {
    lightly_with_id(crate::hot::recorder::current_id(), f)
}

/// As [`lightly_with_current`], where this thread has a state. May be called by the allocator: the standard library ends the process
/// where that, while a destructor of a thread-local is being registered, registers another one.
pub(crate) fn lightly_with_known<R>(f: impl FnOnce(&mut ThreadState) -> R) -> Option<R> {
    let id = crate::hot::recorder::current_id();
    if id == 0 || is_suppressed() || !HAS_STATE.try_with(Cell::get).unwrap_or(false) {
        return None;
    }
    with_id(id, || None, f)
}

/// As [`with_beginning`], likewise.
#[inline(always)]
pub(crate) fn lightly_with_beginning<R>(f: impl FnOnce(&mut ThreadState) -> R) -> Option<R> {
    lightly_with_id(crate::hot::recorder::beginning_id(), f)
}

#[inline]
fn with_current_id<R>(id: u64, f: impl FnOnce(&mut ThreadState) -> R) -> Option<R> {
    if id == 0 {
        return None;
    }
    let _own = memory::own_call();
    lightly_with_id(id, f)
}

#[inline(always)]
fn lightly_with_id<R>(id: u64, f: impl FnOnce(&mut ThreadState) -> R) -> Option<R> {
    if id == 0 || is_suppressed() {
        return None;
    }
    with_id(id, crate::hot::recorder::current, f)
}

#[inline]
fn with_id<R>(
    id: u64,
    recorder: impl FnOnce() -> Option<Arc<Recorder>>,
    f: impl FnOnce(&mut ThreadState) -> R,
) -> Option<R> {
    let cell = STATE.try_with(|cell| {
        let mut slot = cell.try_borrow_mut().ok()?;
        let state = match &mut slot.0 {
            Some(state) if state.id == id => state,
            _ => make(&mut slot, recorder()?)?,
        };
        // Called in one place, so that it is part of its caller.
        Some(f(state))
    });
    cell.ok().flatten()
}

#[cold]
fn make(slot: &mut Slot, recorder: Arc<Recorder>) -> Option<&mut Box<ThreadState>> {
    let _own = memory::own_call();
    slot.0 = Some(Box::new(ThreadState::new(recorder)));
    let _ = HAS_STATE.try_with(|has| has.set(true));
    slot.0.as_mut()
}

/// Counts a section that could not begin because its thread has begun to tear down.
#[cold]
pub(crate) fn lose_in_teardown() {
    if !is_suppressed()
        && STATE.try_with(|_| ()).is_err()
        && let Some(recorder) = crate::hot::recorder::current()
    {
        recorder.lose(LossReason::ThreadTeardown, 1);
    }
}

/// Runs `f`, a call back into the program, without recording what it does: state of ours may be locked.
pub(crate) fn quietly<R>(f: impl FnOnce() -> R) -> R {
    struct Restore(bool);

    impl Drop for Restore {
        fn drop(&mut self) {
            let _ = SUPPRESSED.try_with(|flag| flag.set(self.0));
        }
    }

    let _restore = Restore(SUPPRESSED.try_with(|flag| flag.replace(true)).unwrap_or(true));
    f()
}

/// Makes everything that this thread does invisible to the layer, for its whole life.
pub(crate) fn suppress() {
    let _ = SUPPRESSED.try_with(|flag| flag.set(true));
}

/// Whether this thread is one of ours.
#[inline]
pub(crate) fn is_suppressed() -> bool {
    SUPPRESSED.try_with(Cell::get).unwrap_or(true)
}
