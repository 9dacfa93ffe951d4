//! Live memory in a directory: what was live at each moment that was published. How that is kept within its share of the bound is in
//! `readings`.

use super::DirectorySink;
use super::readings::Readings;
use crate::export::encode::Context;
use crate::export::kept_steps::Frame;
use crate::export::live_memory::encode_live_memory;
use crate::export::message::Encoder;
use crate::export::publish::Snapshot;
use crate::export::warn_once;
use crate::shared::live_memory::LiveMemory;

/// See the module.
#[derive(Debug)]
pub(super) struct LiveFiles {
    readings: Readings,
    encoder: Encoder,
    warned: bool,
    /// What became of the last moment that somebody asked for.
    outcome: Option<Result<Written, String>>,
}

/// A moment that is in the directory.
#[derive(Debug)]
pub(crate) struct Written {
    pub live_bytes: u64,
    /// Name of its file.
    pub file: String,
}

impl DirectorySink {
    /// From now on live memory is kept, within a share of the bound that nothing else has.
    pub(crate) fn keep_live_memory(&mut self) {
        self.live_memory = Some(LiveFiles {
            readings: Readings::take_share("memory", self.format, &mut self.bound_bytes),
            encoder: Encoder::metrics(self.format),
            warned: false,
            outcome: None,
        });
    }

    /// What became of the last moment that somebody asked for.
    pub(crate) fn take_live_memory_outcome(&mut self) -> Option<Result<Written, String>> {
        self.live_memory.as_mut()?.outcome.take()
    }

    /// Takes what is live now; at the end of a run whatever is kept of the others.
    pub(super) fn write_live_memory(
        &mut self,
        context: &Context<'_>,
        snapshot: &Snapshot,
        live: &LiveMemory,
    ) {
        let Some(files) = &mut self.live_memory else { return };
        let written = encode_live_memory(&mut files.encoder, context, snapshot, live, |message| {
            files.readings.append(
                &self.path,
                &Frame::new(self.format, message),
                snapshot.is_full || live.is_asked,
            )
        });
        if live.is_asked {
            let live_bytes = live.rows.iter().fold(0u64, |sum, row| sum.saturating_add(row.bytes));
            let file = files.readings.last_file();
            let outcome = written.as_ref().map(|_| Written { live_bytes, file });
            files.outcome = Some(outcome.map_err(ToString::to_string));
        }
        if let Err(error) = written {
            let text = format!(
                "could not write live memory to {}: {error}; it is missing there until it goes again",
                self.path.display()
            );
            warn_once(&mut files.warned, &text);
        }
    }
}
