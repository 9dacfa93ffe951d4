//! The ways a run ends: guard dropped, panic, signal, exit, fork. Each leads to the same bounded final flush. The guard is in
//! `api::guard`.

use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use crate::hot::recorder::{self, Recorder};
use crate::os::diagnostics::print_diagnostic;
use crate::os::sys;
use crate::worker::control::{Control, Reach};
use crate::worker::own_thread;

/// The run at work, for the hooks that know no guard.
static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

/// A run and the way to its background thread.
#[derive(Debug, Clone)]
pub(crate) struct Running {
    pub recorder: Arc<Recorder>,
    pub control: Arc<Control>,
}

/// Whether there is one, known without the lock, which in a forked child may be held by a thread that does not exist there.
static IS_RUNNING: AtomicBool = AtomicBool::new(false);

fn running() -> Option<Running> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

fn set_running(run: Running) {
    let mut slot = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    *slot = Some(run);
    IS_RUNNING.store(true, Ordering::SeqCst);
}

/// The run has ended; whether it was the one at work until now.
fn take_running(id: u64) -> bool {
    let mut slot = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = slot.take_if(|running| running.recorder.id == id).is_some();
    if is_it {
        IS_RUNNING.store(false, Ordering::SeqCst);
    }
    is_it
}

/// Notes the run that begins, and has it end with the process.
pub(crate) fn begin(recorder: Arc<Recorder>, control: Arc<Control>) -> Running {
    let run = Running { recorder, control };
    set_running(run.clone());
    install_hooks(&run.recorder);
    run
}

/// Ends the run, if it is at work in this process.
pub(crate) fn end(run: &Running) {
    if std::process::id() != run.recorder.process_id {
        // A forked child: the run and its thread are the parent's.
        return;
    }
    // Known until it has ended: who comes meanwhile, by `exit` on another thread, waits for the end as well.
    if running().is_none_or(|running| running.recorder.id != run.recorder.id) {
        return;
    }
    run.control.end(run.recorder.config.exit_timeout);
    if take_running(run.recorder.id) {
        recorder::retire(&run.recorder);
        if run.recorder.config.handle_signals {
            sys::restore_signal_handlers();
            // One that came while the run was ending was held back by our handler, which is gone now.
            if let Some(signal) = sys::pending_signal() {
                sys::raise_with_default(signal);
            }
        }
    }
}

extern "C" fn at_exit() {
    if IS_RUNNING.load(Ordering::SeqCst)
        && let Some(run) = running().filter(|run| run.recorder.config.hook_exit)
    {
        end(&run);
    }
}

extern "C" fn in_child() {
    IS_RUNNING.store(false, Ordering::SeqCst);
    recorder::stop_in_child();
}

/// What the end of a run may take beyond its timeout.
const LATEST: Duration = Duration::from_secs(1);

fn install_hooks(recorder: &Recorder) {
    if recorder.config.handle_signals {
        sys::install_signal_handlers(recorder.config.exit_timeout.saturating_add(LATEST));
    }
    if recorder.config.on_sigusr2.is_some() && !sys::count_user_signals() {
        print_diagnostic("the program handles SIGUSR2 itself, so it changes nothing of the recording");
    }
    sys::install_process_hooks(at_exit, in_child);
}

/// Has panics flush, if that is wanted. Before there are threads of ours.
pub(crate) fn hook_panics(recorder: &Recorder) {
    static ONCE: Once = Once::new();
    // (While a thread unwinds the hook cannot be changed.)
    if recorder.config.hook_panics && !std::thread::panicking() {
        ONCE.call_once(chain_panic_hook);
    }
}

/// Flushes before a panic goes on: it may abort the process. At most once a second, and without waiting for an
/// endpoint in trouble, so that a program that catches panics is not slowed down by each.
fn chain_panic_hook() {
    static LAST: Mutex<Option<Instant>> = Mutex::new(None);
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
        // Caught right behind, and nobody's mistake.
        if crate::hot::thread::asks_name() {
            return;
        }
        if own_thread::is_own() {
            // Ours, and not for the program's hook, which might end the process, nor for the usual one, which waits for
            // as long as a full standard error does.
            return say_panic(info);
        }
        previous(info);
        // On threads of ours nobody may wait for them.
        if crate::hot::thread::is_suppressed() || recorder::current_id() == 0 {
            return;
        }
        let Some(run) = running().filter(|run| run.recorder.config.hook_panics) else { return };
        if let Ok(mut last) = LAST.try_lock() {
            if last.is_some_and(|last| last.elapsed() < Duration::from_secs(1)) {
                return;
            }
            *last = Some(Instant::now());
            let _own = crate::os::memory::own_call();
            let _ = run.control.flush(run.recorder.config.exit_timeout, Reach::DeliveredIfWell);
        }
    }));
}

/// Says where the background thread has panicked, and of what.
fn say_panic(info: &PanicHookInfo<'_>) {
    let place = info.location().map(|location| format!(" at {location}")).unwrap_or_default();
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let why =
        text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text says why");
    print_diagnostic(format!("the background thread has panicked{place}: {why}"));
}
