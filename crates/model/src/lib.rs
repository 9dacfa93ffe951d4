//! Readers of trace files and assembly of traces: any supported bytes in, one complete `Trace` at a time
//! out, with an account of everything that was wrong. Nothing is held per span beyond open traces. What the
//! traces mean is the business of `stepscope-analyze`.

mod assembly;
mod chrome;
mod convert;
mod elements;
mod error;
mod fingerprint;
mod foreign;
mod formats;
mod fragments;
mod framing;
mod input;
mod intake;
mod issue;
mod issues;
mod jaeger;
mod json_cursor;
mod live_memory;
mod metric;
mod options;
mod outcome;
mod reader;
mod reading;
mod record;
mod resource;
mod salvage;
mod sink;
mod structure;
mod trace;
mod unfinished;
mod walk;

pub use convert::{Converter, LostInConversion, Target};
pub use error::ReadError;
pub use formats::{CHROME, FORMATS, Format};
pub use issue::{IssueKind, ReadIssue};
pub use live_memory::{LiveDropped, LivePoint, LiveRow, Module};
pub use metric::{Measured, MeasuredKind, MetricPoint, SectionValue, label};
pub use options::ReadOptions;
pub use outcome::{FileInfo, ReadOutcome, is_compressed};
pub use reader::Reader;
pub use resource::Resource;
pub use sink::{Errand, Sink};
pub use stepscope_otlp::{Signal, Visitor};
pub use trace::{
    Completeness, Figure, FigureSet, Link, PhaseTag, Poll, Polls, Span, Text, ThreadSample, Trace, UserValue,
};
pub use unfinished::Unfinished;
pub use walk::Listing;
