//! Jaeger JSON: answers of its query service and downloads of its UI (`{"data":[…]}`), single traces, lists.

use super::{Format, LOOK};
use crate::elements;
use crate::input::Input;
use crate::jaeger::is_trace;
use crate::json_cursor::Cursor;
use crate::reading::Reading;
use crate::structure::blank_prefix;

pub(crate) static FORMAT: Format = Format {
    name: "Jaeger JSON",
    doc: "Traces as Jaeger's query service and its UI hand them out.",
    sniff,
    read: elements::read,
};

fn sniff(input: &mut Input<'_>, _: &mut Reading<'_>) -> bool {
    input.fill(LOOK);
    let begin = input.data().get(blank_prefix(input.data())..).unwrap_or_default();
    match begin.first() {
        Some(b'{') => is_document(begin),
        Some(b'[') => first(begin, is_document),
        _ => false,
    }
}

/// Whether the first element of a list is of a kind.
fn first(list: &[u8], is_of_kind: fn(&[u8]) -> bool) -> bool {
    let mut found = false;
    let _ = Cursor::new(list).elements(|cursor| {
        found = is_of_kind(list.get(cursor.pos()..).unwrap_or_default());
        None
    });
    found
}

/// Whether an object, or the beginning of one, is a trace or is around some.
fn is_document(begin: &[u8]) -> bool {
    if is_trace(begin) {
        return true;
    }
    let (mut found, mut has_data, mut is_answer) = (false, false, false);
    let _ = Cursor::new(begin).members(|cursor, key| {
        let here = begin.get(cursor.pos()..).unwrap_or_default();
        match (key, here.first()) {
            (b"data", Some(b'[')) => {
                has_data = true;
                found = first(here, is_trace);
            }
            (b"data", Some(b'n')) => has_data = true,
            (b"data" | b"trace", Some(b'{')) => found = is_trace(here),
            (b"traces", Some(b'[')) => found = first(here, is_trace),
            (b"total" | b"limit" | b"offset" | b"errors", _) => is_answer = true,
            _ => {}
        }
        if found { None } else { cursor.value().map(drop) }
    });
    // An answer without traces.
    found || has_data && is_answer && begin.len() < LOOK
}
