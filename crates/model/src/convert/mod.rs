//! Conversion: what readers find, as it stands, written in another format. OTLP is streamed, a decoder plugged
//! into an encoder; Jaeger and Chrome want the spans of a trace together, so those are gathered first, within
//! bounded memory. What a format cannot hold is counted by name.

mod chrome;
mod gather;
mod item;
mod jaeger;
mod lost;
mod otlp;

use std::collections::BTreeMap;
use std::io::{self, Write};

use stepscope_otlp::{Signal, Visitor};

use crate::{ReadOptions, Sink, Trace};
use gather::Gather;
use lost::Lost;
use otlp::Stream;

/// A format that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// OTLP protobuf, each message behind a 4-byte big-endian length.
    OtlpProto,
    /// OTLP JSON, a message a line.
    OtlpJson,
    /// One document as Jaeger's UI takes it (`{"data":[…]}`).
    Jaeger,
    /// One document as Perfetto and `chrome://tracing` take it (`{"traceEvents":[…]}`).
    Chrome,
}

impl Target {
    /// All of them, with the names that commands use.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("otlp", Self::OtlpProto),
        ("jsonl", Self::OtlpJson),
        ("jaeger", Self::Jaeger),
        ("chrome", Self::Chrome),
    ];
}

/// What the target cannot hold, in words, and how often it was met.
pub type LostInConversion = BTreeMap<&'static str, u64>;

/// A sink that writes what a [`Reader`](crate::Reader) reads.
#[derive(Debug)]
pub struct Converter<W: Write> {
    kind: Kind<W>,
}

#[derive(Debug)]
enum Kind<W: Write> {
    Stream(Box<Stream<W>>),
    Gather { gather: Box<Gather>, lost: Lost, target: Target, out: W },
}

impl<W: Write> Converter<W> {
    /// Writes to `out`; `options` bounds what is gathered.
    pub fn new(target: Target, options: &ReadOptions, out: W) -> Self {
        let kind = match target {
            Target::OtlpProto | Target::OtlpJson => {
                Kind::Stream(Box::new(Stream::new(target == Target::OtlpJson, out)))
            }
            Target::Jaeger | Target::Chrome => {
                let gather = Box::new(Gather::new(options));
                Kind::Gather { gather, lost: Lost::default(), target, out }
            }
        };
        Self { kind }
    }

    /// Writes what is left, once everything has been read.
    ///
    /// # Errors
    /// If writing failed, now or before, or temporary files did.
    pub fn finish(self) -> io::Result<LostInConversion> {
        match self.kind {
            Kind::Stream(stream) => stream.finish().map(|()| LostInConversion::new()),
            Kind::Gather { gather, mut lost, target, mut out } => {
                if target == Target::Jaeger {
                    jaeger::write(*gather, &mut lost, &mut out)?;
                } else {
                    chrome::write(*gather, &mut lost, &mut out)?;
                }
                out.flush()?;
                Ok(lost.into_map())
            }
        }
    }
}

impl<W: Write> Sink for Converter<W> {
    fn trace(&mut self, _: &Trace) {}

    fn raw(&mut self, signal: Signal) -> Option<&mut dyn Visitor> {
        match (&mut self.kind, signal) {
            (Kind::Stream(stream), signal) => Some(stream.visitor(signal)),
            (Kind::Gather { gather, .. }, Signal::Traces) => Some(&mut **gather),
            (Kind::Gather { lost, .. }, _) => Some(lost),
        }
    }
}
