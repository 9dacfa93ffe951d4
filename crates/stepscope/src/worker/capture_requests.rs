//! What is asked of a run from outside of its program: by a file in its directory, or by SIGUSR2. Looked for by the
//! background thread; no port is opened.

use std::fs::File;
use std::io::{Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use stepscope_core::Level;

use crate::config::capture::Capture;
use crate::config::memory_request::{MEMORY_REQUEST, MemoryAnswer};
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

    /// Does what a file asks for, if there is one. The file itself where that is live memory, for
    /// [the answer](Self::answer_memory).
    #[must_use]
    pub(crate) fn answer_file(&mut self, recorder: &Recorder) -> Option<File> {
        let path = self.file.clone().filter(|path| path.is_file())?;
        let mut text = String::new();
        let file = File::options().read(true).write(true).open(&path).or_else(|_| File::open(&path));
        let read = file.and_then(|mut file| {
            (&mut file).take(MAX_TEXT_BYTES).read_to_string(&mut text)?;
            Ok(file)
        });
        let asked = match read {
            Ok(file) if text.trim() == MEMORY_REQUEST => return Some(file),
            Ok(_) => text.trim().parse::<Capture>().map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        // First, so that whoever waits for it need not wait for the steps.
        if self.remove(&path) {
            match asked {
                Ok(capture) => recorder.request_capture(capture),
                Err(error) => self.complain(&error),
            }
        }
        None
    }

    /// Leaves the answer in the file that asked, and takes that away: whoever asked has another name of it.
    pub(crate) fn answer_memory(&mut self, mut asked: File, answer: &MemoryAnswer) {
        // Who cannot be told finds the files.
        let _ = asked.set_len(0).and_then(|()| asked.rewind()).and_then(|()| write!(asked, "{answer}"));
        if let Some(path) = self.file.clone() {
            self.remove(&path);
        }
    }

    /// Removes a file that was read; whether it has. It would come again and again.
    fn remove(&mut self, path: &Path) -> bool {
        let removed = std::fs::remove_file(path);
        if let Err(error) = &removed {
            self.file = None;
            self.complain(&format!("could not be removed: {error}"));
        }
        removed.is_ok()
    }

    fn complain(&mut self, error: &str) {
        let text = format!("{} in the run's directory is ignored: {error}", Capture::REQUEST_FILE);
        crate::export::warn_once(&mut self.has_complained, &text);
    }
}
