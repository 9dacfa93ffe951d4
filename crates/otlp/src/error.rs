//! What decoding can end in: [`DecodeError`] with the byte where it met damage, and [`DecodeStats`] of a
//! message that was read to its end. How damage is met lives in `proto` and `json`.

use std::fmt;

/// Class of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The bytes end before the message does.
    Truncated,
    /// The bytes are not protobuf, or not JSON.
    Malformed,
    /// A known field holds something of another type, or a number out of its range.
    Type,
    /// A string that is no id.
    Id,
    /// Nesting or size beyond what is read.
    Limit,
}

/// Damage met in a message. Everything whole before it has been handed to the visitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(Box<Damage>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Damage {
    offset: usize,
    kind: DecodeErrorKind,
    reason: &'static str,
    /// Message and field number (protobuf) the damage was met in.
    field: Option<(&'static str, u32)>,
    stats: DecodeStats,
    /// See [`DecodeError::whole_bytes`].
    whole_bytes: usize,
}

impl DecodeError {
    #[cold]
    pub(crate) fn new(offset: usize, kind: DecodeErrorKind, reason: &'static str) -> Self {
        let (field, stats) = (None, DecodeStats::default());
        Self(Box::new(Damage { offset, kind, reason, field, stats, whole_bytes: offset }))
    }

    #[cold]
    pub(crate) fn in_field(offset: usize, reason: &'static str, message: &'static str, field: u32) -> Self {
        let kind = DecodeErrorKind::Type;
        let (field, stats) = (Some((message, field)), DecodeStats::default());
        Self(Box::new(Damage { offset, kind, reason, field, stats, whole_bytes: offset }))
    }

    /// Adds what was counted before the damage.
    #[cold]
    pub(crate) fn after(mut self, stats: DecodeStats) -> Self {
        self.0.stats = stats;
        self
    }

    /// Adds where the last whole span ends.
    #[cold]
    pub(crate) fn behind(mut self, whole_bytes: usize) -> Self {
        self.0.whole_bytes = whole_bytes.min(self.0.offset);
        self
    }

    /// Bytes up to the end of the last whole span before the damage, in a message of traces; else up to the damage.
    pub fn whole_bytes(&self) -> usize {
        self.0.whole_bytes
    }

    /// What was counted before the damage: whole spans may have been left out or changed there too.
    pub fn stats(&self) -> DecodeStats {
        self.0.stats
    }

    /// Byte of the message at which the damage was met.
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// Class of the damage.
    pub fn kind(&self) -> DecodeErrorKind {
        self.0.kind
    }

    /// Whether the message merely ends too early, as the last record of a killed program does.
    pub fn is_truncated(&self) -> bool {
        self.0.kind == DecodeErrorKind::Truncated
    }

    /// What is wrong, without the offset.
    pub fn reason(&self) -> &'static str {
        self.0.reason
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.field {
            Some((message, field)) => {
                write!(f, "field {field} of {message} {} at byte {}", self.0.reason, self.0.offset)
            }
            None => write!(f, "{} at byte {}", self.0.reason, self.0.offset),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Counts over one message that was read to its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeStats {
    /// Spans or data points handed over.
    pub items: u64,
    /// Strings that were not UTF-8 (or held lone surrogates) and were handed over with U+FFFD in place of
    /// the damage.
    pub invalid_utf8: u64,
    /// Fields this decoder does not know, skipped.
    pub unknown_fields: u64,
    /// Spans of sound JSON left out because an id in them is none.
    pub bad_ids: LeftOut,
    /// Spans of sound JSON left out because a value in them has the wrong type or does not fit.
    pub bad_values: LeftOut,
}

/// Spans left out for one reason while the rest of their message was read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// How many.
    pub spans: u64,
    /// Byte of the message at which the first one is damaged.
    pub offset: usize,
    /// What is wrong with the first one; empty where there is none.
    pub reason: &'static str,
    /// Bytes of all of them.
    pub bytes: u64,
}

impl LeftOut {
    #[cold]
    pub(crate) fn note(&mut self, error: &DecodeError, bytes: usize) {
        if self.spans == 0 {
            (self.offset, self.reason) = (error.offset(), error.reason());
        }
        self.spans += 1;
        self.bytes = self.bytes.saturating_add(bytes as u64);
    }
}

impl DecodeStats {
    /// Spans left out although the message was read to its end.
    pub fn abandoned_spans(&self) -> u64 {
        self.bad_ids.spans + self.bad_values.spans
    }
}
