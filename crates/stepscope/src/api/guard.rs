//! The guard that keeps a run open. What its end does is in `process`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::api::handle::Handle;
use crate::hot::recorder::Recorder;
use crate::os::diagnostics::print_diagnostic;
use crate::os::memory;
use crate::process::exit::{self, Running};
use crate::worker::control::{Control, Flushed};

/// Keeps the run open; dropping it ends the run and writes what is left, within the exit timeout (2 s by
/// default).
///
/// Losing it early only ends the recording early: the program goes on.
#[derive(Debug)]
#[must_use = "the run ends when the guard is dropped"]
pub struct Guard {
    run: Option<Running>,
    /// Copies of it are given out.
    handle: Handle,
    directory: Option<PathBuf>,
    /// Where reports are to be written, by who takes them.
    reports: Vec<PathBuf>,
    #[cfg(feature = "metrics")]
    metrics: Option<stepscope_metrics::Metrics>,
}

impl Guard {
    /// A guard of nothing: recording is off, or another recorder is at work.
    pub(crate) fn idle() -> Self {
        Self::of_nothing(false)
    }

    /// A guard of nothing that was to be of a run.
    pub(crate) fn failed() -> Self {
        Self::of_nothing(true)
    }

    pub(crate) fn new(recorder: Arc<Recorder>, control: Arc<Control>, directory: Option<PathBuf>) -> Self {
        let run = exit::begin(recorder, control);
        let reports = run.recorder.config.reports.clone();
        #[cfg(feature = "metrics")]
        let metrics = crate::api::gauges::start(&run.recorder);
        Self {
            handle: Handle::new(Some(run.clone()), false),
            run: Some(run),
            directory,
            reports,
            #[cfg(feature = "metrics")]
            metrics,
        }
    }

    fn of_nothing(has_failed: bool) -> Self {
        Self {
            run: None,
            handle: Handle::new(None, has_failed),
            directory: None,
            reports: Vec::new(),
            #[cfg(feature = "metrics")]
            metrics: None,
        }
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
        self.handle.clone()
    }

    /// The run's id; empty when nothing is recorded.
    #[must_use]
    pub fn run_id(&self) -> &str {
        self.run.as_ref().map_or("", |run| run.recorder.identity.run_id.as_str())
    }

    /// Has everything recorded so far written and, where it is sent, acknowledged; waits for that, `timeout` at
    /// most, and says how it went. Nothing to do is [`Flushed::Complete`].
    pub fn flush(&self, timeout: Duration) -> Flushed {
        self.handle.flush(timeout)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _own = memory::own_call();
        if let Some(run) = self.run.take() {
            exit::end(&run);
            // A forked child has none of its threads, and may not have its locks.
            #[cfg(feature = "metrics")]
            if std::process::id() == run.recorder.process_id {
                drop(self.metrics.take());
            } else {
                std::mem::forget(self.metrics.take());
            }
            // Not in a forked child, which ends nothing.
            if std::process::id() == run.recorder.process_id {
                self.say_unwritten();
            }
        }
        // What the layer allocated, in nobody's figures, is freed in nobody's.
        let handle = std::mem::replace(&mut self.handle, Handle::new(None, false));
        drop((handle, self.directory.take(), self.take_reports()));
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
        print_diagnostic(format!(
            "no report is written to {report}, as the program does not use stepscope-report; {how}"
        ));
    }
}
