//! What is asked of a run from outside of its program: by a file in its directory, or by SIGUSR2. Looked for by the
//! background thread; no port is opened.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use stepscope_core::Level;

use crate::config::capture::Capture;
use crate::config::on_signal::OnSignal;
use crate::hot::recorder::Recorder;
use crate::os::sys;

/// Longest text of such a file.
const MAX_TEXT_BYTES: u64 = 256;

/// Where requests come from.
#[derive(Debug)]
pub(crate) struct CaptureRequests {
    file: Option<PathBuf>,
    /// Signals that were answered.
    answered: u32,
    /// What was wrong with a file has been said.
    has_complained: bool,
}

impl CaptureRequests {
    /// Those of a run that writes to this directory.
    pub(crate) fn new(directory: Option<&Path>) -> Self {
        let file = directory.map(|directory| directory.join(Capture::REQUEST_FILE));
        Self { file, answered: sys::user_signals(), has_complained: false }
    }

    /// Does what signals have asked for since the last call.
    pub(crate) fn answer_signals(&mut self, recorder: &Recorder) {
        let Some(what) = recorder.config.on_sigusr2 else { return };
        let came = sys::user_signals();
        while self.answered != came {
            self.answered = self.answered.wrapping_add(1);
            match what {
                OnSignal::Capture => {
                    recorder.request_capture(recorder.config.capture.unwrap_or(Capture::steps(10)))
                }
                OnSignal::RaiseLevel => recorder.set_level(match recorder.level() {
                    Level::Off => Level::Basic,
                    Level::Basic => Level::Detailed,
                    Level::Detailed => Level::Comprehensive,
                    Level::Comprehensive => recorder.config.level,
                }),
            }
        }
    }

    /// Does what a file asks for, if there is one.
    pub(crate) fn answer_file(&mut self, recorder: &Recorder) {
        let Some(path) = self.file.clone().filter(|path| path.is_file()) else { return };
        let mut text = String::new();
        let read = File::open(&path).and_then(|file| file.take(MAX_TEXT_BYTES).read_to_string(&mut text));
        // First, so that whoever waits for it need not wait for the steps.
        let removed = std::fs::remove_file(&path);
        let asked = match (read, removed) {
            (Ok(_), Ok(())) => text.trim().parse::<Capture>().map_err(|error| error.to_string()),
            // It would come again and again.
            (_, Err(error)) => {
                self.file = None;
                Err(format!("could not be removed: {error}"))
            }
            (Err(error), _) => Err(error.to_string()),
        };
        match asked {
            Ok(capture) => recorder.request_capture(capture),
            Err(error) => {
                let text = format!("{} in the run's directory is ignored: {error}", Capture::REQUEST_FILE);
                crate::export::warn_once(&mut self.has_complained, &text);
            }
        }
    }
}
