//! OTLP as a target: encoders are visitors, so what is read goes straight into one; a message is written
//! before the next one of the input begins, once it is large enough.

use std::io::{self, Write};

use stepscope_otlp::{Signal, Visitor, json, proto};

/// A message is written once it has this many bytes.
const MESSAGE_BYTES: usize = 256 << 10;

#[derive(Debug)]
enum Encoder {
    Json(json::Encoder),
    Proto(proto::Encoder),
}

/// Writes both signals, messages of either as they fill.
#[derive(Debug)]
pub(super) struct Stream<W> {
    traces: Encoder,
    metrics: Encoder,
    out: W,
    failed: Option<io::Error>,
}

impl Encoder {
    fn len(&self) -> usize {
        match self {
            Self::Json(encoder) => encoder.len(),
            Self::Proto(encoder) => encoder.len(),
        }
    }

    fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Json(encoder) => {
                out.write_all(encoder.finish())?;
                out.write_all(b"\n")?;
                encoder.clear();
            }
            Self::Proto(encoder) => {
                let message = encoder.finish();
                let len = u32::try_from(message.len()).map_err(io::Error::other)?;
                out.write_all(&len.to_be_bytes())?;
                out.write_all(message)?;
                encoder.clear();
            }
        }
        Ok(())
    }
}

impl<W: Write> Stream<W> {
    pub(super) fn new(is_json: bool, out: W) -> Self {
        let of = |json, proto| if is_json { Encoder::Json(json) } else { Encoder::Proto(proto) };
        Self {
            traces: of(json::Encoder::traces(), proto::Encoder::traces()),
            metrics: of(json::Encoder::metrics(), proto::Encoder::metrics()),
            out,
            failed: None,
        }
    }

    /// Where the next message goes.
    pub(super) fn visitor(&mut self, signal: Signal) -> &mut dyn Visitor {
        let encoder = if signal == Signal::Metrics { &mut self.metrics } else { &mut self.traces };
        if encoder.len() >= MESSAGE_BYTES
            && let Err(error) = encoder.write(&mut self.out)
        {
            self.failed.get_or_insert(error);
        }
        match encoder {
            Encoder::Json(encoder) => encoder,
            Encoder::Proto(encoder) => encoder,
        }
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        for encoder in [&mut self.traces, &mut self.metrics] {
            if encoder.len() > 0 {
                encoder.write(&mut self.out)?;
            }
        }
        self.out.flush()
    }
}
