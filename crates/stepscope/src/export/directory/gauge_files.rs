//! The gauges of a directory: every reading of the exporter. How they are kept within their share of the bound is in `readings`.

use super::DirectorySink;
use super::readings::Readings;
use crate::export::encode::Context;
use crate::export::gauges::{NOT_KEPT, write_gauges};
use crate::export::kept_steps::Frame;
use crate::export::message::{Encoder, Message, with_encoder};
use crate::export::warn_once;

/// See the module.
#[derive(Debug)]
pub(super) struct GaugeFiles {
    readings: Readings,
    /// Passes of the exporter that were seen, and written, last.
    seen: u64,
    written: u64,
    encoder: Encoder,
    warned: bool,
}

impl DirectorySink {
    /// From now on gauges are kept, within a share of the bound that nothing else has.
    pub(crate) fn keep_gauges(&mut self) {
        self.gauges = Some(GaugeFiles {
            readings: Readings::take_share("gauges", self.format, &mut self.bound_bytes),
            seen: 0,
            written: 0,
            encoder: Encoder::metrics(self.format),
            warned: false,
        });
    }

    /// Takes the exporter's latest reading, if it is new.
    pub(super) fn write_reading(&mut self, context: &Context<'_>, is_last: bool) {
        let feed = context.recorder.gauges.feed().filter(|feed| feed.is_kept);
        let (Some(files), Some(feed)) = (&mut self.gauges, feed) else { return };
        let known = if is_last { files.written } else { files.seen };
        if feed.latest.passes() <= known {
            return;
        }
        let mut message = Message::new(std::mem::replace(&mut files.encoder, Encoder::metrics(self.format)));
        let encoder = message.next(context);
        let written = with_encoder!(encoder, encoder =>
            write_gauges(encoder.as_mut(), context, &feed.latest, NOT_KEPT));
        if let Some(written) = written.filter(|written| written.points > 0) {
            files.seen = written.pass;
            let framed = Frame::new(self.format, message.finish().0);
            match files.readings.append(&self.path, &framed, is_last) {
                Ok(true) => files.written = written.pass,
                Ok(false) => {}
                Err(error) => {
                    let text = format!(
                        "could not write gauges to {}: {error}; they are missing there until it goes again",
                        self.path.display()
                    );
                    warn_once(&mut files.warned, &text);
                }
            }
        }
        message.clear();
        files.encoder = message.encoder;
    }
}
