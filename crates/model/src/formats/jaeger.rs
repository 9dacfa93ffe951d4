//! Jaeger JSON: answers of its query service and downloads of its UI (`{"data":[…]}`), single traces, lists; and spans as
//! it keeps them in Elasticsearch, one a line, in a list, or as the hits of a search.

use super::{Format, LOOK, begins_as};
use crate::elements;
use crate::input::Input;
use crate::jaeger::is_trace;
use crate::json_cursor::Cursor;
use crate::reading::Reading;

pub(crate) static FORMAT: Format = Format {
    name: "Jaeger JSON",
    doc: "Traces as Jaeger's query service and its UI hand them out, and its spans in Elasticsearch.",
    sniff,
    read: elements::read,
};

/// What is called `hits` around a document.
const MAX_HITS: u32 = 2;

fn sniff(input: &mut Input<'_>, _: &mut Reading<'_>) -> bool {
    begins_as(input, |begin| match begin.first() {
        Some(b'{') => judge(begin, 0),
        Some(b'[') => Some(first(begin, |begin| judge(begin, 0) == Some(true))),
        _ => Some(false),
    })
}

/// Whether a document of Jaeger's begins here, as far as the beginning tells.
pub(super) fn is_here(begin: &[u8]) -> bool {
    match begin.first() {
        Some(b'{') => judge(begin, 0) == Some(true),
        Some(b'[') => first(begin, |begin| judge(begin, 0) == Some(true)),
        _ => false,
    }
}

/// Whether the first element of a list is of a kind.
fn first(list: &[u8], is_of_kind: impl Fn(&[u8]) -> bool) -> bool {
    let mut found = false;
    let _ = Cursor::new(list).elements(|cursor| {
        found = is_of_kind(list.get(cursor.pos()..).unwrap_or_default());
        None
    });
    found
}

/// Whether a list that begins here has no elements.
fn is_empty_there(begin: &[u8]) -> bool {
    begin.get(1..).is_some_and(|rest| rest.trim_ascii_start().first() == Some(&b']'))
}

/// Whether an object, or the beginning of one, is a trace or is around some; nothing where what is there of it does not tell.
fn judge(begin: &[u8], depth: u32) -> Option<bool> {
    if is_trace(begin) {
        return Some(true);
    }
    let mut is_other = false;
    let (mut found, mut has_data, mut is_empty, mut is_answer) = (false, false, false, false);
    let whole = Cursor::new(begin).members(|cursor, key| {
        let here = begin.get(cursor.pos()..).unwrap_or_default();
        match (key, here.first()) {
            (b"data", Some(b'[')) => {
                has_data = true;
                is_empty = is_empty_there(here);
                found = first(here, is_trace);
            }
            (b"data", Some(b'n')) => has_data = true,
            (b"data" | b"trace" | b"_source", Some(b'{')) => found = is_trace(here),
            (b"hits", Some(b'{')) if depth < MAX_HITS => {
                has_data = true;
                found = judge(here, depth + 1) == Some(true);
            }
            (b"hits", Some(b'[')) if depth < MAX_HITS => {
                has_data = true;
                found = first(here, |hit| judge(hit, depth + 1) == Some(true));
            }
            (b"traces", Some(b'[')) => {
                is_empty = is_empty_there(here);
                found = first(here, is_trace);
            }
            (b"took", _) => is_answer = true,
            (b"total" | b"limit" | b"offset" | b"errors", _) => is_answer = true,
            (b"traceEvents", Some(b'[')) => is_other = true,
            _ => {}
        }
        if found || is_other { None } else { cursor.value().map(drop) }
    });
    // An answer without traces.
    if is_other {
        return Some(false);
    }
    (found || (has_data && is_answer || is_empty && whole.is_some()) && begin.len() < LOOK).then_some(true)
}
