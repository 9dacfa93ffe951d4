//! Spans, their events and links. A span is read in one pass: what belongs to it is handed over as met, its
//! head last.

use super::field::Field;
use super::parser::{Bytes, Parser, Result, Text};
use crate::{
    DecodeError, DecodeErrorKind, DecodeStats, EventHead, LinkHead, SpanHead, SpanKind, StatusCode, Visitor,
};

const KINDS: &[&str] = &["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"];
const STATUS_CODES: &[&str] = &["UNSET", "OK", "ERROR"];

/// The fields of a span that do not fit into a head before it ends.
#[derive(Default)]
struct Strings<'a> {
    trace_id: Bytes,
    span_id: Bytes,
    parent_span_id: Bytes,
    trace_state: Text<'a>,
    name: Text<'a>,
    status_message: Text<'a>,
}

impl<'a> Parser<'a, '_> {
    /// Hands over one span, or gives it up at the damage. What is JSON but not a span costs only itself.
    pub(super) fn span(&mut self, v: &mut impl Visitor) -> Result<()> {
        let (mark, start, stats) = (self.scratch.mark(), self.pos, self.stats);
        let result = self.whole_span(v);
        self.scratch.reset(mark);
        match result {
            Ok(()) => {
                self.stats.items += 1;
                self.whole_bytes = self.pos;
                Ok(())
            }
            Err(error) => {
                v.span_abandoned();
                self.step_over(start, stats, error)
            }
        }
    }

    /// Goes on behind the span that begins at `start`, where the damage leaves its end to be found.
    #[cold]
    fn step_over(&mut self, start: usize, stats: DecodeStats, error: DecodeError) -> Result<()> {
        if !matches!(error.kind(), DecodeErrorKind::Id | DecodeErrorKind::Type) {
            return Err(error);
        }
        let damage = self.pos;
        self.pos = start;
        let end = self.skip().map(|()| self.pos);
        let Some(end) = end.ok().filter(|_| matches!(self.peek(), b',' | b']')) else {
            self.pos = damage;
            return Err(error);
        };
        self.stats = stats;
        self.whole_bytes = end;
        let bytes = self.bytes.get(start..end).map_or(0, |span| span.trim_ascii().len());
        match error.kind() {
            DecodeErrorKind::Id => self.stats.bad_ids.note(&error, bytes),
            _ => self.stats.bad_values.note(&error, bytes),
        }
        Ok(())
    }

    fn whole_span(&mut self, v: &mut impl Visitor) -> Result<()> {
        let (mut head, mut strings) = (SpanHead::default(), Strings::default());
        let mut has_attributes = false;
        self.object(|p, field| {
            match field {
                Field::TraceId => strings.trace_id = p.id(16)?,
                Field::SpanId => {
                    let (at, id) = (p.pos, p.id(8)?);
                    let one = std::mem::replace(&mut strings.span_id, id);
                    // Damage that lacks no bracket has made one span of several.
                    if one != Bytes::default() && p.scratch.bytes(one) != p.scratch.bytes(id) {
                        return Err(DecodeError::new(at, DecodeErrorKind::Id, "a span has two ids"));
                    }
                }
                Field::ParentSpanId => strings.parent_span_id = p.id(8)?,
                Field::TraceState => strings.trace_state = p.string()?,
                Field::Flags => head.flags = p.u32()?,
                Field::Name => {
                    strings.name = p.string()?;
                    p.keys.item(p.scratch.text(strings.name).as_bytes());
                }
                Field::Kind => head.kind = SpanKind(p.enumeration("SPAN_KIND_", KINDS)?),
                Field::StartTimeUnixNano => head.start_unix_ns = p.u64()?,
                Field::EndTimeUnixNano => head.end_unix_ns = p.u64()?,
                Field::Attributes => {
                    let is_first = !std::mem::replace(&mut has_attributes, true);
                    p.span_attributes(is_first, v)?;
                }
                Field::DroppedAttributesCount => head.dropped_attributes_count = p.u32()?,
                Field::Events => p.array(|p| p.event(v))?,
                Field::DroppedEventsCount => head.dropped_events_count = p.u32()?,
                Field::Links => p.array(|p| p.link(v))?,
                Field::DroppedLinksCount => head.dropped_links_count = p.u32()?,
                Field::Status => p.status(&mut head.status, &mut strings.status_message)?,
                field => p.skip_member(field)?,
            }
            Ok(())
        })?;
        let scratch = &self.scratch;
        v.span(&SpanHead {
            trace_id: scratch.bytes(strings.trace_id),
            span_id: scratch.bytes(strings.span_id),
            parent_span_id: scratch.bytes(strings.parent_span_id),
            trace_state: scratch.text(strings.trace_state),
            name: scratch.text(strings.name),
            status_message: scratch.text(strings.status_message),
            ..head
        });
        Ok(())
    }

    /// Hands over the array of a span's attributes; only if they are the first of their span, they may be those of another one.
    fn span_attributes(&mut self, is_first: bool, v: &mut impl Visitor) -> Result<()> {
        let array = self.rest();
        let is_tried = is_first && self.rows.is_tried();
        if is_tried
            && let Some((number, rest)) = self.rows.expected(array)
            && v.same_attributes(number)
        {
            self.rows.came();
            self.pos += array.len() - rest.len();
            return Ok(());
        }
        let stats = self.stats;
        self.attributes(|(key, number), value| v.numbered_attribute(key, number, value))?;
        // Damage is counted each time; only of an array its end is known without what follows it.
        if is_tried && self.stats == stats && array.first() == Some(&b'[') {
            let array = array.get(..array.len() - self.rest().len()).unwrap_or_default();
            if let Some(number) = self.rows.follow(array) {
                v.keep_attributes(number);
            }
        }
        Ok(())
    }

    fn status(&mut self, code: &mut StatusCode, message: &mut Text<'a>) -> Result<()> {
        self.object(|p, field| {
            match field {
                Field::Code => *code = StatusCode(p.enumeration("STATUS_CODE_", STATUS_CODES)?),
                Field::Message => *message = p.string()?,
                field => p.skip_member(field)?,
            }
            Ok(())
        })
    }

    fn event(&mut self, v: &mut impl Visitor) -> Result<()> {
        let mark = self.scratch.mark();
        let (mut head, mut name) = (EventHead::default(), Text::default());
        self.object(|p, field| {
            match field {
                Field::TimeUnixNano => head.time_unix_ns = p.u64()?,
                Field::Name => name = p.string()?,
                Field::Attributes => p.attributes(|(key, _), value| v.event_attribute(key, value))?,
                Field::DroppedAttributesCount => head.dropped_attributes_count = p.u32()?,
                field => p.skip_member(field)?,
            }
            Ok(())
        })?;
        v.event(&EventHead { name: self.scratch.text(name), ..head });
        self.scratch.reset(mark);
        Ok(())
    }

    fn link(&mut self, v: &mut impl Visitor) -> Result<()> {
        let mark = self.scratch.mark();
        let mut head = LinkHead::default();
        let (mut trace_id, mut span_id, mut trace_state) =
            (Bytes::default(), Bytes::default(), Text::default());
        self.object(|p, field| {
            match field {
                Field::TraceId => trace_id = p.id(16)?,
                Field::SpanId => span_id = p.id(8)?,
                Field::TraceState => trace_state = p.string()?,
                Field::Attributes => p.attributes(|(key, _), value| v.link_attribute(key, value))?,
                Field::DroppedAttributesCount => head.dropped_attributes_count = p.u32()?,
                Field::Flags => head.flags = p.u32()?,
                field => p.skip_member(field)?,
            }
            Ok(())
        })?;
        let scratch = &self.scratch;
        v.link(&LinkHead {
            trace_id: scratch.bytes(trace_id),
            span_id: scratch.bytes(span_id),
            trace_state: scratch.text(trace_state),
            ..head
        });
        self.scratch.reset(mark);
        Ok(())
    }
}
