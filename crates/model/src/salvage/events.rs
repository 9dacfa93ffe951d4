//! The events of a Chrome trace behind damage: the next whole one, the end of their list, or what is left of one in a hole.

use crate::IssueKind;
use crate::chrome::{Gather, is_event};
use crate::elements::peek;
use crate::input::Input;
use crate::json_cursor::Cursor;
use crate::reading::{COPY_AGAIN, Reading, bytes};
use crate::structure::{Scanned, Strict};

use super::{Judged, step_over, whole_object};

/// Bytes that are looked at for what is behind a hole.
const LOOK: usize = 64 << 10;
/// An event of which a part is missing is at most so large.
const MAX_MENDED: usize = 16 << 10;
/// What stands in every event.
const MARK: &[u8] = b"\"ph\"";
/// First members of documents.
const BEGINNINGS: [&[u8]; 6] = [
    b"schemaVersion",
    b"deviceProperties",
    b"distributedInfo",
    b"baseTimeNanoseconds",
    b"displayTimeUnit",
    b"traceEvents",
];
/// Names of members behind the events, by which the end of the list is known where the brackets are damaged.
const BEHIND_EVENTS: [&[u8]; 9] = [
    b"displayTimeUnit",
    b"baseTimeNanoseconds",
    b"traceName",
    b"otherData",
    b"metadata",
    b"stackFrames",
    b"systemTraceEvents",
    b"distributedInfo",
    b"schemaVersion",
];

/// Goes on behind the damage that is here; whether this document does.
pub(crate) fn go_on(input: &mut Input<'_>, reading: &mut Reading<'_>, gather: &mut Gather) -> bool {
    is_mended(input, reading, gather) || is_found(input, reading)
}

/// Whether a document begins here.
fn begins_document(data: &[u8]) -> bool {
    data.first() == Some(&b'{') && BEGINNINGS.contains(&first_key(data.get(1..).unwrap_or_default()))
}

/// The name of the member that begins here.
fn first_key(data: &[u8]) -> &[u8] {
    let key = data.trim_ascii_start().strip_prefix(b"\"").unwrap_or_default();
    key.iter().take(64).position(|&byte| byte == b'"').and_then(|end| key.get(..end)).unwrap_or_default()
}

/// Takes the event that begins in a hole of zeros here, where all that a slice needs stands behind them: only slices have
/// durations.
fn is_mended(input: &mut Input<'_>, reading: &mut Reading<'_>, gather: &mut Gather) -> bool {
    input.fill(LOOK);
    let data = input.data();
    let Scanned::Damage(at) = Strict::default().walk(data) else { return false };
    let zeros = data.get(at..).unwrap_or_default().iter().take_while(|byte| **byte == 0).count();
    let Some(behind) = data.get(at + zeros..).filter(|_| zeros > 0) else { return false };
    // The rest of a name or value, up to the first whole member.
    let Some(rest) = behind.iter().position(|byte| b",{}[]".contains(byte)) else { return false };
    let members = behind.get(rest..).unwrap_or_default();
    let mended = [&b"{\"ph\":\"X\""[..], members.get(..MAX_MENDED).unwrap_or(members)].concat();
    let Scanned::End(end) = Strict::default().walk(&mended) else { return false };
    let event = mended.get(..end).unwrap_or_default();
    let mut needed = vec![&b"name"[..], b"ts", b"dur", b"pid"];
    let _ = Cursor::new(event).members(|cursor, key| {
        needed.retain(|name| *name != key);
        cursor.value().map(drop)
    });
    if !needed.is_empty() {
        return false;
    }
    let (offset, lost) = (input.offset(), at + zeros + rest);
    gather.event(event, offset + lost as u64);
    input.consume(lost + end - b"{\"ph\":\"X\"".len());
    // It is read, and so is the comma behind it.
    if peek(input) == Some(b',') {
        input.consume(1);
    }
    reading.loss(IssueKind::Corrupt, offset, lost as u64, || {
        let size = bytes(lost as u64);
        format!("{size}, zeros among them, could not be read: at least 1 event; reading went on behind them; {COPY_AGAIN}")
    });
    true
}

/// Steps over damage; whether this document goes on behind it.
fn is_found(input: &mut Input<'_>, reading: &mut Reading<'_>) -> bool {
    let offset = input.offset();
    let begin = usize::from(input.data().first() == Some(&b'{'));
    let passed = step_over(input, begin, MARK, |data, is_all| {
        if data.first() == Some(&b'{') {
            return if begins_document(data) { Judged::Here } else { whole_object(data, is_all, is_event) };
        }
        if data.len() < 256 && !is_all {
            return Judged::More;
        }
        let behind = data.get(1..).unwrap_or_default().trim_ascii_start();
        let is_end = match behind.first() {
            Some(b',') => BEHIND_EVENTS.contains(&first_key(behind.get(1..).unwrap_or_default())),
            Some(b'}') => is_all && behind.get(1..).unwrap_or_default().trim_ascii().is_empty(),
            _ => false,
        };
        if is_end { Judged::Here } else { Judged::No(1) }
    });
    if passed.bytes > 0 {
        let goes_on = if passed.is_found { "reading went on at the next event" } else { "no event follows" };
        reading.loss(IssueKind::Corrupt, offset, passed.bytes, || {
            format!("{}; {goes_on}; {COPY_AGAIN}", passed.cost(("event", "events")))
        });
    }
    passed.is_found && !begins_document(input.data())
}
