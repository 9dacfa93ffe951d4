//! Says whether bytes are one whole message, so that a reader can find its way back in a damaged file. A
//! walk over a table of message types; nothing is decoded or handed over.

use super::decode::Result;
use super::wire::{FIXED32, FIXED64, LEN, Reader, VARINT};
use crate::Signal;

/// What a known field holds.
#[derive(Clone, Copy)]
enum Kind {
    Varint,
    Fixed32,
    Fixed64,
    Text,
    Bytes,
    Message(&'static Fields),
    /// Repeated varints, packed or not.
    Varints,
    /// Repeated words of eight bytes, packed or not.
    Words,
}

use Kind::{Bytes, Fixed32, Fixed64, Message, Text, Varint, Varints, Words};

/// The fields of a message type, by number.
struct Fields(&'static [(u32, Kind)]);

static ANY_VALUE: Fields = Fields(&[
    (1, Text),
    (2, Varint),
    (3, Varint),
    (4, Fixed64),
    (5, Message(&ARRAY)),
    (6, Message(&MAP)),
    (7, Bytes),
]);
static ARRAY: Fields = Fields(&[(1, Message(&ANY_VALUE))]);
static MAP: Fields = Fields(&[(1, Message(&KEY_VALUE))]);
static KEY_VALUE: Fields = Fields(&[(1, Text), (2, Message(&ANY_VALUE))]);
static RESOURCE: Fields = Fields(&[(1, Message(&KEY_VALUE)), (2, Varint), (3, Bytes)]);
static SCOPE: Fields = Fields(&[(1, Text), (2, Text), (3, Message(&KEY_VALUE)), (4, Varint)]);

static STATUS: Fields = Fields(&[(2, Text), (3, Varint)]);
static EVENT: Fields = Fields(&[(1, Fixed64), (2, Text), (3, Message(&KEY_VALUE)), (4, Varint)]);
static LINK: Fields =
    Fields(&[(1, Bytes), (2, Bytes), (3, Text), (4, Message(&KEY_VALUE)), (5, Varint), (6, Fixed32)]);
static SPAN: Fields = Fields(&[
    (1, Bytes),
    (2, Bytes),
    (3, Text),
    (4, Bytes),
    (5, Text),
    (6, Varint),
    (7, Fixed64),
    (8, Fixed64),
    (9, Message(&KEY_VALUE)),
    (10, Varint),
    (11, Message(&EVENT)),
    (12, Varint),
    (13, Message(&LINK)),
    (14, Varint),
    (15, Message(&STATUS)),
    (16, Fixed32),
]);

static NUMBER_POINT: Fields = Fields(&[
    (2, Fixed64),
    (3, Fixed64),
    (4, Fixed64),
    (5, Bytes),
    (6, Fixed64),
    (7, Message(&KEY_VALUE)),
    (8, Varint),
]);
static HISTOGRAM_POINT: Fields = Fields(&[
    (2, Fixed64),
    (3, Fixed64),
    (4, Fixed64),
    (5, Fixed64),
    (6, Words),
    (7, Words),
    (8, Bytes),
    (9, Message(&KEY_VALUE)),
    (10, Varint),
    (11, Fixed64),
    (12, Fixed64),
]);
static BUCKETS: Fields = Fields(&[(1, Varint), (2, Varints)]);
static EXPONENTIAL_POINT: Fields = Fields(&[
    (1, Message(&KEY_VALUE)),
    (2, Fixed64),
    (3, Fixed64),
    (4, Fixed64),
    (5, Fixed64),
    (6, Varint),
    (7, Fixed64),
    (8, Message(&BUCKETS)),
    (9, Message(&BUCKETS)),
    (10, Varint),
    (11, Bytes),
    (12, Fixed64),
    (13, Fixed64),
    (14, Fixed64),
]);
static QUANTILE: Fields = Fields(&[(1, Fixed64), (2, Fixed64)]);
static SUMMARY_POINT: Fields = Fields(&[
    (2, Fixed64),
    (3, Fixed64),
    (4, Fixed64),
    (5, Fixed64),
    (6, Message(&QUANTILE)),
    (7, Message(&KEY_VALUE)),
    (8, Varint),
]);
static GAUGE: Fields = Fields(&[(1, Message(&NUMBER_POINT))]);
static SUM: Fields = Fields(&[(1, Message(&NUMBER_POINT)), (2, Varint), (3, Varint)]);
static HISTOGRAM: Fields = Fields(&[(1, Message(&HISTOGRAM_POINT)), (2, Varint)]);
static EXPONENTIAL: Fields = Fields(&[(1, Message(&EXPONENTIAL_POINT)), (2, Varint)]);
static SUMMARY: Fields = Fields(&[(1, Message(&SUMMARY_POINT))]);
static METRIC: Fields = Fields(&[
    (1, Text),
    (2, Text),
    (3, Text),
    (5, Message(&GAUGE)),
    (7, Message(&SUM)),
    (9, Message(&HISTOGRAM)),
    (10, Message(&EXPONENTIAL)),
    (11, Message(&SUMMARY)),
    (12, Message(&KEY_VALUE)),
]);

static LOG_RECORD: Fields = Fields(&[
    (1, Fixed64),
    (2, Varint),
    (3, Text),
    (5, Message(&ANY_VALUE)),
    (6, Message(&KEY_VALUE)),
    (7, Varint),
    (8, Fixed32),
    (9, Bytes),
    (10, Bytes),
    (11, Fixed64),
    (12, Text),
]);

/// The frame around items of one kind.
macro_rules! request {
    ($name:ident, $resource:ident, $scope:ident, $item:ident) => {
        static $scope: Fields = Fields(&[(1, Message(&SCOPE)), (2, Message(&$item)), (3, Text)]);
        static $resource: Fields = Fields(&[(1, Message(&RESOURCE)), (2, Message(&$scope)), (3, Text)]);
        static $name: Fields = Fields(&[(1, Message(&$resource))]);
    };
}
request!(TRACES, RESOURCE_SPANS, SCOPE_SPANS, SPAN);
request!(METRICS, RESOURCE_METRICS, SCOPE_METRICS, METRIC);
request!(LOGS, RESOURCE_LOGS, SCOPE_LOGS, LOG_RECORD);

static EMPTY_SCOPE: Fields = Fields(&[(1, Message(&SCOPE)), (3, Text)]);
static EMPTY_RESOURCE: Fields = Fields(&[(1, Message(&RESOURCE)), (2, Message(&EMPTY_SCOPE)), (3, Text)]);
static EMPTY: Fields = Fields(&[(1, Message(&EMPTY_RESOURCE))]);

/// How deep messages nest at most: a map takes three messages a level, the frame of a metric's point eight.
const MAX_DEPTH: u32 = 8 + 3 * crate::node::MAX_DEPTH;

/// Whether `bytes` is one whole message of `signal`: at least one resource, nothing but resources at the
/// top, and every known field of its type and valid UTF-8 down to the last byte. Unknown fields inside
/// must be well-formed.
pub fn validate(bytes: &[u8], signal: Signal) -> bool {
    let fields = match signal {
        Signal::Traces => &TRACES,
        Signal::Metrics => &METRICS,
        Signal::Logs => &LOGS,
    };
    bytes.first() == Some(&0x0a) && matches!(walk(Reader::new(bytes), fields, 0), Ok(true))
}

/// Whether `bytes` is one whole message without items.
pub(super) fn is_frame(bytes: &[u8]) -> bool {
    matches!(walk(Reader::new(bytes), &EMPTY, 0), Ok(true))
}

/// Whether `head` is a whole resource, or else a whole scope.
pub(super) fn is_head(head: Reader<'_>, is_resource: bool) -> bool {
    matches!(walk(head, if is_resource { &RESOURCE } else { &SCOPE }, 2), Ok(true))
}

/// Whether `item` is a whole span, metric or log record.
pub(super) fn is_item(item: Reader<'_>, signal: Signal) -> bool {
    let fields = match signal {
        Signal::Traces => &SPAN,
        Signal::Metrics => &METRIC,
        Signal::Logs => &LOG_RECORD,
    };
    matches!(walk(item, fields, 3), Ok(true))
}

/// Walks one message; `false` or an error where it is not what `fields` say.
fn walk(mut r: Reader<'_>, fields: &Fields, depth: u32) -> Result<bool> {
    if depth > MAX_DEPTH {
        return Ok(false);
    }
    while !r.at_end() {
        let tag = r.tag()?;
        let (number, wire) = (tag >> 3, tag & 7);
        let Some((_, kind)) = fields.0.iter().find(|field| field.0 == number) else {
            if depth == 0 {
                return Ok(false);
            }
            r.skip(tag)?;
            continue;
        };
        let fine = match (kind, wire) {
            (Varint | Varints, VARINT) | (Fixed64 | Words, FIXED64) | (Fixed32, FIXED32) | (Bytes, LEN) => {
                r.skip(tag)?;
                true
            }
            (Text, LEN) => str::from_utf8(r.bytes()?).is_ok(),
            (Message(fields), LEN) => walk(r.message()?, fields, depth + 1)?,
            (Words, LEN) => r.bytes()?.len() % 8 == 0,
            (Varints, LEN) => {
                let mut packed = r.message()?;
                while !packed.at_end() {
                    packed.varint()?;
                }
                true
            }
            _ => false,
        };
        if !fine {
            return Ok(false);
        }
    }
    Ok(true)
}
