//! Tells the signals apart by the name of the outermost member.

use super::field::Field;
use super::parser::{Parser, Scratch};
use crate::Signal;
use crate::keys::Keys;
use crate::rows::Rows;

/// The signal of a message or of its beginning; `Some(None)` for an object without members.
pub(crate) fn detect(bytes: &[u8]) -> Option<Option<Signal>> {
    // Before anything is made ready for JSON: it takes memory, and most messages are protobuf.
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    if text.iter().find(|byte| !b" \t\n\r".contains(byte)) != Some(&b'{') {
        return None;
    }
    let (mut scratch, mut keys, mut rows) = (Scratch::default(), Keys::default(), Rows::default());
    let mut parser = Parser::new(bytes, &mut scratch, &mut keys, &mut rows);
    let (mut found, mut foreign) = (None, false);
    let mut member = |p: &mut Parser<'_, '_>, field| {
        let signal = match field {
            Field::ResourceSpans => Signal::Traces,
            Field::ResourceMetrics => Signal::Metrics,
            Field::ResourceLogs => Signal::Logs,
            _ => {
                foreign = true;
                return p.skip();
            }
        };
        if p.peek() == b'[' {
            found = Some(signal);
            // Nothing more to learn: any error ends the object.
            return Err(p.ends());
        }
        foreign = true;
        p.skip()
    };
    let whole = parser.object(|p, field| {
        if field == Field::Envelope && p.peek() == b'{' {
            return p.object(&mut member);
        }
        member(p, field)
    });
    match found {
        Some(signal) => Some(Some(signal)),
        None => (!foreign && whole.and_then(|()| parser.end()).is_ok()).then_some(None),
    }
}
