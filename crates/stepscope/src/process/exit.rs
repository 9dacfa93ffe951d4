//! The ways a run ends (guard dropped, panic, signal, exit, fork) and the guard itself. Each leads to the
//! same bounded final flush.

use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use crate::api::handle::Handle;
use crate::hot::recorder::{self, Recorder};
use crate::os::say::say;
use crate::os::sys;
use crate::worker::background;
use crate::worker::control::{Control, Flushed, Reach};

/// The run at work, for the hooks that know no guard.
static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

#[derive(Debug, Clone)]
struct Running {
    recorder: Arc<Recorder>,
    control: Arc<Control>,
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

/// Keeps the run open; dropping it ends the run and writes what is left, within the exit timeout (2 s by
/// default).
///
/// Losing it early only ends the recording early: the program goes on.
#[derive(Debug)]
#[must_use = "the run ends when the guard is dropped"]
pub struct Guard {
    run: Option<Running>,
    directory: Option<PathBuf>,
    /// Where reports are to be written, by who takes them.
    reports: Vec<PathBuf>,
    /// There should have been a run.
    has_failed: bool,
}

impl Guard {
    /// A guard of nothing: recording is off, or another recorder is at work.
    pub(crate) fn idle() -> Self {
        Self { run: None, directory: None, reports: Vec::new(), has_failed: false }
    }

    /// A guard of nothing that was to be of a run.
    pub(crate) fn failed() -> Self {
        Self { run: None, directory: None, reports: Vec::new(), has_failed: true }
    }

    pub(crate) fn new(recorder: Arc<Recorder>, control: Arc<Control>, directory: Option<PathBuf>) -> Self {
        let run = Running { recorder, control };
        set_running(run.clone());
        install_hooks(&run.recorder);
        let reports = run.recorder.config.reports.clone();
        Self { run: Some(run), directory, reports, has_failed: false }
    }

    /// Whether anything is recorded.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.run.as_ref().is_some_and(|run| run.recorder.is_current())
    }

    /// Where this process writes its files, if it does.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The files that [`Builder::report`](crate::Builder::report), or a setting, wants reports in, for who ends the run and
    /// writes them; the crate `stepscope-report` does. Empty from then on.
    pub fn take_reports(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.reports)
    }

    /// What can be asked and told while the run goes on, from any thread.
    #[must_use]
    pub fn handle(&self) -> Handle {
        let run = self.run.as_ref().map(|run| (Arc::clone(&run.recorder), Arc::clone(&run.control)));
        Handle::new(run, self.has_failed)
    }

    /// The run's id; empty when nothing is recorded.
    #[must_use]
    pub fn run_id(&self) -> &str {
        self.run.as_ref().map_or("", |run| run.recorder.identity.run_id.as_str())
    }

    /// Has everything recorded so far written and, where it is sent, acknowledged; waits for that, `timeout` at
    /// most, and says how it went. Nothing to do is [`Flushed::Complete`].
    pub fn flush(&self, timeout: Duration) -> Flushed {
        self.handle().flush(timeout)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _own = crate::os::memory::own_call();
        if let Some(run) = self.run.take() {
            end(&run);
            // Not in a forked child, which ends nothing.
            if std::process::id() == run.recorder.process_id {
                self.say_unwritten();
            }
        }
        // What the layer allocated, in nobody's figures, is freed in nobody's.
        drop((self.directory.take(), self.take_reports()));
    }
}

impl Guard {
    /// Names the reports that nobody has taken, and how to have them all the same.
    fn say_unwritten(&self) {
        let Some(report) = self.reports.first().map(|path| path.display()) else { return };
        let how = match &self.directory {
            Some(directory) => format!("`stepscope analyze {} --format …` makes one", directory.display()),
            None => "and there are no files to make one of: name a directory with STEPSCOPE_DIR".to_owned(),
        };
        say(format!("no report is written to {report}, as the program does not use stepscope-report; {how}"));
    }
}

fn end(run: &Running) {
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
        say("the program handles SIGUSR2 itself, so it changes nothing of the recording");
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
        if background::is_background() {
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
    say(format!("the background thread has panicked{place}: {why}"));
}
