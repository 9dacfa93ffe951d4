//! The frame around the items of either signal: resources and scopes. Their headers are handed over before
//! what they hold even where they stand behind it, as `schemaUrl` does in most writers' output; only then
//! the rest of the object is looked through ahead of time.

use super::field::Field;
use super::metrics::PointScratch;
use super::parser::{Parser, Result, Scratch, Text};
use super::scan;
use crate::keys::Keys;
use crate::rows::Rows;
use crate::{DecodeError, DecodeStats, ResourceHead, ScopeHead, Signal, Visitor};

/// Decoder with scratch space that is reused from message to message.
#[derive(Debug, Default)]
pub struct Decoder {
    scratch: Scratch,
    keys: Keys,
    rows: Rows,
    points: PointScratch,
    item_lists: Vec<(usize, usize)>,
}

impl Decoder {
    /// A decoder with empty scratch space.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads one message of traces. See [`decode_traces`](super::decode_traces).
    ///
    /// # Errors
    /// Where the message is damaged; what was whole before has been handed over.
    pub fn decode_traces(&mut self, bytes: &[u8], v: &mut impl Visitor) -> Result<DecodeStats> {
        self.message(bytes, Signal::Traces, v)
    }

    /// Reads one message of metrics. See [`decode_metrics`](super::decode_metrics).
    ///
    /// # Errors
    /// Where the message is damaged; what was whole before has been handed over.
    pub fn decode_metrics(&mut self, bytes: &[u8], v: &mut impl Visitor) -> Result<DecodeStats> {
        self.message(bytes, Signal::Metrics, v)
    }

    fn message(&mut self, bytes: &[u8], signal: Signal, v: &mut impl Visitor) -> Result<DecodeStats> {
        let mut parser = Parser::new(bytes, &mut self.scratch, &mut self.keys, &mut self.rows);
        let mut frame = Frame {
            signal,
            last_schema_url: scan::last_schema_url(bytes),
            points: &mut self.points,
            item_lists: &mut self.item_lists,
        };
        frame.item_lists.clear();
        let resources = match signal {
            Signal::Traces => Field::ResourceSpans,
            _ => Field::ResourceMetrics,
        };
        let mut message = |p: &mut Parser<'_, '_>, field, v: &mut _| {
            if field == resources { p.array(|p| frame.resource(p, v)) } else { p.skip_member(field) }
        };
        let read = parser.object(|p, field| {
            if field == Field::Envelope && p.peek() == b'{' {
                return p.object(|p, field| message(p, field, v));
            }
            message(p, field, v)
        });
        match read.and_then(|()| parser.end()) {
            Ok(()) => Ok(parser.stats),
            Err(error) if signal == Signal::Traces => {
                Err(error.after(parser.stats).behind(parser.whole_bytes))
            }
            Err(error) => Err(error.after(parser.stats)),
        }
    }
}

/// What stays the same throughout a message.
struct Frame<'d> {
    signal: Signal,
    /// Position behind the last schema URL's key: from there on nothing needs to be looked for.
    last_schema_url: usize,
    points: &'d mut PointScratch,
    /// Where the item lists of the current resource's scopes begin and end, ascending: found when the
    /// resource was looked through, so that no scope need be looked through again.
    item_lists: &'d mut Vec<(usize, usize)>,
}

/// What a resource's or scope's object tells about itself.
#[derive(Default)]
struct Header<'a> {
    /// The header object (`resource`, `scope`) was handed over.
    read: bool,
    schema_url: Option<Text<'a>>,
    name: Text<'a>,
    version: Text<'a>,
    dropped_attributes_count: u32,
    /// The visitor has the head; items may follow.
    announced: bool,
    /// What was wrong with the header behind the items; reported after them.
    damage: Option<DecodeError>,
}

/// Which of the two levels an object is on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Resource,
    Scope,
}

impl Level {
    fn header(self) -> Field {
        match self {
            Self::Resource => Field::Resource,
            Self::Scope => Field::Scope,
        }
    }

    fn items(self, signal: Signal) -> Field {
        match (self, signal) {
            (Self::Resource, Signal::Metrics) => Field::ScopeMetrics,
            (Self::Resource, _) => Field::ScopeSpans,
            (Self::Scope, Signal::Metrics) => Field::Metrics,
            (Self::Scope, _) => Field::Spans,
        }
    }
}

impl Frame<'_> {
    fn resource(&mut self, p: &mut Parser<'_, '_>, v: &mut impl Visitor) -> Result<()> {
        self.level(p, Level::Resource, v)
    }

    /// One object of `level`: its header, what it holds, its end.
    fn level(&mut self, p: &mut Parser<'_, '_>, level: Level, v: &mut impl Visitor) -> Result<()> {
        let mark = p.scratch.mark();
        let mut header = Header::default();
        let result = p.object(|p, field| {
            if field == level.items(self.signal) {
                self.look_ahead(p, level, &mut header, v);
                announce(p, level, &mut header, v);
                p.array(|p| match (level, self.signal) {
                    (Level::Resource, _) => self.level(p, Level::Scope, v),
                    (Level::Scope, Signal::Metrics) => p.metric(self.points, v),
                    (Level::Scope, _) => p.span(v),
                })?;
                header.damage.take().map_or(Ok(()), Err)
            } else {
                header_member(p, level, field, &mut header, v)
            }
        });
        if result.is_ok() || header.read {
            announce(p, level, &mut header, v);
        }
        if header.announced {
            match level {
                Level::Resource => v.resource_end(),
                Level::Scope => v.scope_end(),
            }
        }
        p.scratch.reset(mark);
        result
    }

    /// Reads the header's members that stand behind the items, if there may be any; the cursor stays at the
    /// items. Damage behind them is left to be met again after them.
    fn look_ahead<'a>(
        &mut self,
        p: &mut Parser<'a, '_>,
        level: Level,
        header: &mut Header<'a>,
        v: &mut impl Visitor,
    ) {
        let missing = header.schema_url.is_none() && p.pos < self.last_schema_url;
        if header.announced || (header.read && !missing) {
            return;
        }
        let (pos, stats) = (p.pos, p.stats);
        let items = level.items(self.signal);
        if self.skip_items(p, level).is_ok() && p.peek() == b',' {
            p.pos += 1;
            let rest = p.members(&mut |p: &mut Parser<'a, '_>, field| {
                if field == items { p.skip() } else { header_member(p, level, field, header, v) }
            });
            header.damage = rest.err();
        }
        let invalid_utf8 = p.stats.invalid_utf8;
        (p.pos, p.stats) = (pos, DecodeStats { invalid_utf8, ..stats });
    }

    /// Steps over what an object of `level` holds.
    fn skip_items(&mut self, p: &mut Parser<'_, '_>, level: Level) -> Result<()> {
        if level == Level::Scope {
            if let Ok(i) = self.item_lists.binary_search_by_key(&p.pos, |list| list.0) {
                p.pos = self.item_lists[i].1;
                return Ok(());
            }
            return p.skip();
        }
        let items = Level::Scope.items(self.signal);
        self.item_lists.clear();
        p.array(|p| {
            p.object(|p, field| {
                let from = p.pos;
                p.skip()?;
                if field == items {
                    self.item_lists.push((from, p.pos));
                }
                Ok(())
            })
        })
    }
}

/// A member that is not the items.
fn header_member<'a>(
    p: &mut Parser<'a, '_>,
    level: Level,
    field: Field,
    header: &mut Header<'a>,
    v: &mut impl Visitor,
) -> Result<()> {
    if field == level.header() && !header.read {
        header.read = true;
        return header_object(p, level, header, v);
    }
    match field {
        Field::SchemaUrl if !header.announced => header.schema_url = Some(p.string()?),
        field => p.skip_member(field)?,
    }
    Ok(())
}

/// The object `resource` or `scope`.
fn header_object<'a>(
    p: &mut Parser<'a, '_>,
    level: Level,
    header: &mut Header<'a>,
    v: &mut impl Visitor,
) -> Result<()> {
    p.object(|p, field| {
        match (field, level) {
            (Field::Attributes, Level::Resource) => {
                p.attributes(|(key, _), value| v.resource_attribute(key, value))?;
            }
            (Field::Attributes, Level::Scope) => {
                p.attributes(|(key, _), value| v.scope_attribute(key, value))?
            }
            (Field::DroppedAttributesCount, _) => header.dropped_attributes_count = p.u32()?,
            (Field::Name, Level::Scope) => header.name = p.string()?,
            (Field::Version, Level::Scope) => header.version = p.string()?,
            (field, _) => p.skip_member(field)?,
        }
        Ok(())
    })
}

/// Hands the head over, once.
fn announce(p: &Parser<'_, '_>, level: Level, header: &mut Header<'_>, v: &mut impl Visitor) {
    if std::mem::replace(&mut header.announced, true) {
        return;
    }
    let schema_url = p.scratch.text(header.schema_url.unwrap_or_default());
    let dropped_attributes_count = header.dropped_attributes_count;
    match level {
        Level::Resource => v.resource(&ResourceHead { schema_url, dropped_attributes_count }),
        Level::Scope => v.scope(&ScopeHead {
            name: p.scratch.text(header.name),
            version: p.scratch.text(header.version),
            schema_url,
            dropped_attributes_count,
        }),
    }
}
