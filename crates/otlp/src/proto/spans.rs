//! Spans, their events and links. A span is read in one pass: what belongs to it is handed over as met,
//! its head last.

use super::decode::{Decoder, Result};
use super::wire::Reader;
use crate::keys::Key;
use crate::{EventHead, LinkHead, SpanHead, SpanKind, StatusCode, Value, Visitor};

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
                    let emit = &mut |(key, number): Key<'_>, value: Value<'_>| {
                        v.numbered_attribute(key, number, value)
                    };
                    // They come in rows.
                    loop {
                        match r.short_message().filter(|attribute| self.short(attribute, emit)) {
                            Some(attribute) => r.pass_short(attribute),
                            None => {
                                let attribute = r.message()?;
                                self.key_value(attribute, emit)?;
                            }
                        }
                        if !r.pass(0x4a) {
                            break;
                        }
                    }
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
