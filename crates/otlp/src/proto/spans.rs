//! Spans, their events and links. A span is read in one pass: what belongs to it is handed over as met,
//! its head last.

use super::decode::{Decoder, Result};
use super::wire::Reader;
use crate::keys::Key;
use crate::{EventHead, LinkHead, SpanHead, SpanKind, StatusCode, Value, Visitor};

/// The tag of a span's attribute.
const ATTRIBUTE: u8 = 0x4a;

impl Decoder {
    /// Hands over one span, or gives it up at the damage.
    pub(super) fn span(&mut self, r: Reader<'_>, v: &mut impl Visitor) -> Result<()> {
        let result = self.whole_span(r, v);
        match result {
            Ok(()) => self.stats.items += 1,
            Err(_) => v.span_abandoned(),
        }
        result
    }

    fn whole_span(&mut self, mut r: Reader<'_>, v: &mut impl Visitor) -> Result<()> {
        let mut head = SpanHead::default();
        let (mut name, mut trace_state, mut status_message) = (&[][..], &[][..], &[][..]);
        let mut has_attributes = false;
        r.pass_to(usual_front(r.rest(), &mut head, &mut name));
        self.keys.item(name);
        while !r.at_end() {
            match r.tag()? {
                0x0a => head.trace_id = r.bytes()?,
                0x12 => head.span_id = r.bytes()?,
                0x1a => trace_state = r.bytes()?,
                0x22 => head.parent_span_id = r.bytes()?,
                0x2a => {
                    name = r.bytes()?;
                    self.keys.item(name);
                }
                0x30 => head.kind = SpanKind(r.int32()?),
                0x39 => head.start_unix_ns = r.fixed64()?,
                0x41 => head.end_unix_ns = r.fixed64()?,
                0x4a => {
                    let is_first = !std::mem::replace(&mut has_attributes, true);
                    self.attributes(&mut r, is_first, v)?;
                }
                0x50 => head.dropped_attributes_count = r.uint32()?,
                0x5a => self.event(r.message()?, v)?,
                0x60 => head.dropped_events_count = r.uint32()?,
                0x6a => self.link(r.message()?, v)?,
                0x70 => head.dropped_links_count = r.uint32()?,
                0x7a => self.status(r.message()?, &mut head.status, &mut status_message)?,
                0x85 => head.flags = r.fixed32()?,
                tag => self.unknown(&mut r, tag, "span", 0x1fffe)?,
            }
        }
        let (trace_state, status_message) = (self.text(trace_state), self.text(status_message));
        let name = self.names.check(name, &mut self.stats);
        v.span(&SpanHead { name, trace_state: &trace_state, status_message: &status_message, ..head });
        Ok(())
    }

    /// Hands over a row of attributes, of which the first tag was read; only if they are the first of their span, they may be
    /// those of another one.
    #[inline(always)]
    fn attributes(&mut self, r: &mut Reader<'_>, is_first: bool, v: &mut impl Visitor) -> Result<()> {
        let row = r.rest();
        let is_tried = is_first && self.rows.is_tried();
        if is_tried
            && let Some((number, rest)) = self.rows.expected(row)
            && rest.first() != Some(&ATTRIBUTE)
            && v.same_attributes(number)
        {
            self.rows.came();
            r.pass_to(rest);
            return Ok(());
        }
        let stats = self.stats;
        let emit = &mut |(key, number): Key<'_>, value: Value<'_>| v.numbered_attribute(key, number, value);
        loop {
            let (rest, is_over) = self.row(r.rest(), ATTRIBUTE, emit);
            r.pass_to(rest);
            if is_over {
                break;
            }
            let attribute = r.message()?;
            self.key_value(attribute, emit)?;
            if !r.pass(ATTRIBUTE) {
                break;
            }
        }
        // Damage is counted each time.
        if is_tried && self.stats == stats {
            let row = row.get(..row.len() - r.rest().len()).unwrap_or_default();
            if let Some(number) = self.rows.follow(row) {
                v.keep_attributes(number);
            }
        }
        Ok(())
    }

    fn status<'a>(&mut self, mut r: Reader<'a>, code: &mut StatusCode, message: &mut &'a [u8]) -> Result<()> {
        while !r.at_end() {
            match r.tag()? {
                0x12 => *message = r.bytes()?,
                0x18 => *code = StatusCode(r.int32()?),
                tag => self.unknown(&mut r, tag, "status", 0b1100)?,
            }
        }
        Ok(())
    }

    fn event(&mut self, mut r: Reader<'_>, v: &mut impl Visitor) -> Result<()> {
        let (mut time_unix_ns, mut name, mut dropped_attributes_count) = (0, &[][..], 0);
        while !r.at_end() {
            match r.tag()? {
                0x09 => time_unix_ns = r.fixed64()?,
                0x12 => name = r.bytes()?,
                0x1a => {
                    let attribute = r.message()?;
                    self.key_value(attribute, &mut |(key, _), value| v.event_attribute(key, value))?;
                }
                0x20 => dropped_attributes_count = r.uint32()?,
                tag => self.unknown(&mut r, tag, "event", 0b11110)?,
            }
        }
        let name = self.text(name);
        v.event(&EventHead { time_unix_ns, name: &name, dropped_attributes_count });
        Ok(())
    }

    fn link(&mut self, mut r: Reader<'_>, v: &mut impl Visitor) -> Result<()> {
        let (mut head, mut trace_state) = (LinkHead::default(), &[][..]);
        while !r.at_end() {
            match r.tag()? {
                0x0a => head.trace_id = r.bytes()?,
                0x12 => head.span_id = r.bytes()?,
                0x1a => trace_state = r.bytes()?,
                0x22 => {
                    let attribute = r.message()?;
                    self.key_value(attribute, &mut |(key, _), value| v.link_attribute(key, value))?;
                }
                0x28 => head.dropped_attributes_count = r.uint32()?,
                0x35 => head.flags = r.fixed32()?,
                tag => self.unknown(&mut r, tag, "link", 0b111_1110)?,
            }
        }
        let trace_state = self.text(trace_state);
        v.link(&LinkHead { trace_state: &trace_state, ..head });
        Ok(())
    }
}

/// Reads the fields before a span's attributes as far as they stand as most writers put them: in the order of their numbers,
/// each once, with ids of the right length. Gives what follows them; the others are read one by one.
#[inline(always)]
fn usual_front<'a>(bytes: &'a [u8], head: &mut SpanHead<'a>, name: &mut &'a [u8]) -> &'a [u8] {
    let Some((ids, mut rest)) = bytes.split_first_chunk::<28>() else { return bytes };
    if [ids[0], ids[1], ids[18], ids[19]] != [0x0a, 16, 0x12, 8] {
        return bytes;
    }
    (head.trace_id, head.span_id) = (&ids[2..18], &ids[20..]);
    if let Some(([0x22, 8, parent @ ..], after)) = rest.split_first_chunk::<10>() {
        (head.parent_span_id, rest) = (parent, after);
    }
    let [0x2a, len @ ..0x80, after @ ..] = rest else { return rest };
    let Some((text, after)) = after.split_at_checked(usize::from(*len)) else { return rest };
    (*name, rest) = (text, after);
    let Some((times, after)) = rest.split_first_chunk::<20>() else { return rest };
    let [0x30, kind @ ..0x80, 0x39, times @ ..] = times else { return rest };
    let Some(([start @ .., 0x41], end)) = times.split_first_chunk::<9>() else { return rest };
    let Some(end) = end.first_chunk::<8>() else { return rest };
    head.kind = SpanKind(i32::from(*kind));
    (head.start_unix_ns, head.end_unix_ns) = (u64::from_le_bytes(*start), u64::from_le_bytes(*end));
    after
}
