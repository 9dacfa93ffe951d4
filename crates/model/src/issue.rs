//! What was wrong with the input, where, and what that means for the reader. Damage is not an error: it is
//! listed beside everything that could be read.

use serde::{Deserialize, Serialize};

/// Kinds of damage; the name is stable and appears in the JSON report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum IssueKind {
    /// The file could not be opened or read to its end.
    Unreadable,
    /// The file is none of the formats that are read.
    UnknownFormat,
    /// The file holds nothing.
    Empty,
    /// The file ends inside a record.
    Truncated,
    /// A record, or spans in it, could not be decoded; reading went on behind the damage.
    Corrupt,
    /// The compressed stream is damaged, or does not match its checksum; what came before was read. Where in it the damage
    /// is nobody knows, so that some of that may be wrong.
    BadCompression,
    /// Text that is not UTF-8; shown with replacement characters.
    InvalidUtf8,
    /// An id that is none, of the wrong length, or all zeros; the span was left out.
    BadId,
    /// A span ended before it started; its duration counts as 0.
    NegativeDuration,
    /// The same span twice; it counts once.
    DuplicateSpan,
    /// Parents form a cycle; the cycle was cut at its smallest span id.
    ParentCycle,
    /// A parent is missing from its trace; the span stands as a root.
    MissingParent,
    /// A trace that was not finished: fewer spans than announced, no root, or without traces that continue it.
    IncompleteTrace,
    /// Spans that came after their trace had been closed.
    LateSpan,
    /// A clock that was set: a span that lies far outside of its root, steps that go back in time or leap
    /// ahead, a trace from before its process began.
    ClockJump,
    /// Spans that begin before their parents: their times come from clocks that differ.
    ClockSkew,
    /// The file is of a newer schema version than this program knows.
    NewerSchema,
    /// The same traces in two partials: they count twice.
    Overlap,
    /// A limit of the reader was reached.
    LimitReached,
    /// Sound, but of a kind that is no part of a report; it was left out.
    LeftOut,
    /// Names that differ in addresses, or among many siblings in numbers alone: they count as one. How many are fewer for it.
    NamesFolded,
    /// Times of a profiler from before 0: all of its file were moved, so that the first is 0.
    TimesMoved,
    /// Processes of one file that do the same steps and do not say which ranks they are: they count as ranks in its order.
    RanksCounted,
    /// A step that a profiler began and did not end, or that has no length: it counts as none.
    UnfinishedStep,
    /// A step number that is none: negative, or beyond 63 bits; its span counts without a number.
    BadStep,
    /// A time that is none, as clocks have 63 bits: a span that starts then is left out, the duration of one that
    /// ends then counts as 0. Or a start that was not set: that of the span's end is taken.
    BadTime,
    /// A point of a metric whose value is no number or beyond any, or whose unit is not the metric's; it was left out.
    BadValue,
}

/// One kind of damage in one file; repeated ones are counted, the first is placed. What cost bytes stands apart from what
/// cost none, so that neither hides the other.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReadIssue {
    /// File as given or found; empty for damage that belongs to no file.
    pub file: String,
    /// What it is.
    pub kind: IssueKind,
    /// Byte offset of the first one, where there is one: in the file, or in its unpacked content where it was compressed as a
    /// whole ([`is_compressed`](crate::is_compressed)).
    pub offset: Option<u64>,
    /// How often.
    pub count: u64,
    /// Bytes from which nothing was read because of it, all times together; absent where it cost none, or how many is not
    /// known.
    pub lost_bytes: Option<u64>,
    /// The first one in words, and what to do where something can be done.
    pub reason: String,
}
