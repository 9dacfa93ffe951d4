//! The recorder that is current in the process: at most one, and none in a forked child.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::Recorder;
use crate::os::sys;

static CURRENT_ID: AtomicU64 = AtomicU64::new(0);
/// As `CURRENT_ID`, and 0 while the level is `off`: what is open then goes on, and nothing begins.
static BEGINNING_ID: AtomicU64 = AtomicU64::new(0);
static CURRENT: RwLock<Option<Arc<Recorder>>> = RwLock::new(None);

/// Id of the recorder that is current in this process; 0 without one.
#[inline]
pub(crate) fn current_id() -> u64 {
    CURRENT_ID.load(Ordering::Relaxed)
}

/// Id of the recorder in which sections begin; 0 without one, or while its level is `off`.
#[inline]
pub(crate) fn beginning_id() -> u64 {
    BEGINNING_ID.load(Ordering::Relaxed)
}

/// The recorder that is current in this process.
pub(crate) fn current() -> Option<Arc<Recorder>> {
    CURRENT.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Makes `recorder` the current one, unless there is one already.
pub(crate) fn make_current(recorder: &Arc<Recorder>) -> bool {
    let mut slot = CURRENT.write().unwrap_or_else(PoisonError::into_inner);
    // One that came over from the parent of a fork records nothing here, and makes room.
    if slot.as_ref().is_some_and(|current| current.process_id == recorder.process_id) {
        return false;
    }
    *slot = Some(Arc::clone(recorder));
    CURRENT_ID.store(recorder.id, Ordering::SeqCst);
    BEGINNING_ID.store(recorder.id, Ordering::SeqCst);
    true
}

/// Ends the reign of `recorder`, if it has one.
pub(crate) fn retire(recorder: &Recorder) {
    let mut slot = CURRENT.write().unwrap_or_else(PoisonError::into_inner);
    if slot.as_ref().is_some_and(|current| current.id == recorder.id) {
        *slot = None;
        CURRENT_ID.store(0, Ordering::SeqCst);
        BEGINNING_ID.store(0, Ordering::SeqCst);
    }
}

/// Whether sections begin in `recorder`, if it is current.
pub(super) fn let_begin(recorder: &Recorder, yes: bool) {
    let slot = CURRENT.read().unwrap_or_else(PoisonError::into_inner);
    if slot.as_ref().is_some_and(|current| current.id == recorder.id) {
        BEGINNING_ID.store(if yes { recorder.id } else { 0 }, Ordering::SeqCst);
    }
}

/// In a forked child: nothing is recorded, no lock is touched (its owner may not exist here), and signals take their course:
/// there is no thread that would act on them.
pub(crate) extern "C" fn stop_in_child() {
    CURRENT_ID.store(0, Ordering::SeqCst);
    BEGINNING_ID.store(0, Ordering::SeqCst);
    sys::forget_signals();
}
