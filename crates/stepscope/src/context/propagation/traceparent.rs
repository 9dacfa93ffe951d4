//! `traceparent` of W3C Trace Context, read in any version and written in version 00.

use std::fmt;

use super::BLANKS;
use crate::context::ids::SpanIds;

/// Who sent it may have recorded the span.
pub(crate) const SAMPLED: u8 = 1;

/// The last 7 bytes of the trace id are random (level 2 of the recommendation).
const RANDOM: u8 = 2;

/// A span, and what is known of its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Traceparent {
    pub ids: SpanIds,
    /// Only bits that have a meaning.
    pub flags: u8,
}

impl Traceparent {
    /// Of a span of ours: all are recorded.
    pub(crate) fn own(ids: SpanIds) -> Self {
        Self { ids, flags: SAMPLED | RANDOM }
    }

    /// Reads a header; `None` where it is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut fields = text.trim_matches(BLANKS).splitn(5, '-');
        let mut field = |digits| hex(fields.next()?, digits);
        let (version, trace, span, flags) = (field(2)?, field(32)?, field(16)?, field(2)?);
        // Later versions may have more; what it is is not known, and not passed on.
        let is_known = match version {
            0 => fields.next().is_none(),
            0xff => false,
            _ => true,
        };
        if !is_known || trace == 0 || span == 0 {
            return None;
        }
        let span = u64::try_from(span).ok()?;
        let flags = u8::try_from(flags).ok()?;
        Some(Self {
            ids: SpanIds { trace_id: trace.to_be_bytes(), span_id: span.to_be_bytes() },
            flags: flags & (SAMPLED | RANDOM),
        })
    }
}

/// Exactly so many hexadecimal digits, in lower case.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_right = text.len() == digits && text.bytes().all(is_digit);
    u128::from_str_radix(text, 16).ok().filter(|_| is_right)
}

impl fmt::Display for Traceparent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ids, flags } = self;
        let (trace, span) = (u128::from_be_bytes(ids.trace_id), u64::from_be_bytes(ids.span_id));
        write!(f, "00-{trace:032x}-{span:016x}-{flags:02x}")
    }
}
