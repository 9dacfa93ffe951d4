//! Readers of trace files and assembly of traces: any supported bytes in, one complete `Trace` at a time
//! out, with an account of everything that was wrong. Nothing is held per span beyond open traces. What the
//! traces mean is the business of `stepscope-analyze`.

mod issue;
mod metric;
mod resource;
mod trace;

pub use issue::{IssueKind, ReadIssue};
pub use metric::{MetricPoint, SectionValue};
pub use resource::Resource;
pub use trace::{Completeness, Figure, Link, PhaseTag, Span, Text, Trace, UserValue};
