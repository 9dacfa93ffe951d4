//! How threads of ours are started, and known: they record nothing, and what they allocate is in nobody's figures.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::thread::Thread;

use crate::hot::thread;
use crate::os::memory;
use crate::os::sys;

thread_local! {
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// Whether this is a thread of ours: a panic here is the layer's own, and none of the program's.
pub(crate) fn is_own() -> bool {
    IS_OWN.try_with(Cell::get).unwrap_or(false)
}

/// Starts a thread of ours.
pub(crate) fn spawn(name: &str, live: impl FnOnce() + Send + 'static) -> std::io::Result<Thread> {
    let live = move || {
        thread::suppress();
        IS_OWN.set(true);
        // All that happens here is ours, for the whole life of the thread: also what is freed when this is left.
        let _own = ManuallyDrop::new(memory::own_call());
        live();
    };
    let handle = sys::shielded(|| std::thread::Builder::new().name(name.into()).spawn(live))?;
    Ok(handle.thread().clone())
}
