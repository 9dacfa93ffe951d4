//! The frame around the items of either signal: resources and scopes, whose headers are handed over before
//! what they hold although protobuf allows them (and prost writes `schema_url`) after it. Spans and
//! metrics themselves live in `spans` and `metrics`, attributes in `attributes`.

use super::wire::Reader;
use crate::keys::Keys;
use crate::rows::Rows;
use crate::seen::Seen;
use crate::{DecodeError, DecodeStats, ResourceHead, ScopeHead, Signal, Visitor};

pub(super) type Result<T> = std::result::Result<T, DecodeError>;

/// Decoder with scratch space that is reused from message to message.
#[derive(Debug, Default)]
pub struct Decoder {
    pub(super) stats: DecodeStats,
    /// Where the last whole span ends.
    whole_bytes: usize,
    pub(super) counts: Vec<u64>,
    pub(super) negative_counts: Vec<u64>,
    pub(super) bounds: Vec<f64>,
    pub(super) quantiles: Vec<(f64, f64)>,
    pub(super) keys: Keys,
    pub(super) rows: Rows,
    pub(super) values: Seen,
    pub(super) names: Seen,
}

/// What the pass over a header found.
struct Header {
    damage: Option<DecodeError>,
    /// Items, or at least some attributes of the header, came before the damage.
    begun: bool,
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
        (self.stats, self.whole_bytes) = (DecodeStats::default(), 0);
        match self.resources(bytes, signal, v) {
            Ok(()) => Ok(self.stats),
            Err(error) if signal == Signal::Traces => Err(error.after(self.stats).behind(self.whole_bytes)),
            Err(error) => Err(error.after(self.stats)),
        }
    }

    fn resources(&mut self, bytes: &[u8], signal: Signal, v: &mut impl Visitor) -> Result<()> {
        let mut r = Reader::new(bytes);
        while !r.at_end() {
            match r.tag()? {
                0x0a => {
                    let resource = r.container()?;
                    self.resource(resource, signal, v)?;
                }
                tag => self.unknown(&mut r, tag, "the request", 0b10)?,
            }
        }
        Ok(())
    }

    /// Steps over a field that is not known, and counts it.
    #[cold]
    pub(super) fn unknown(
        &mut self,
        r: &mut Reader<'_>,
        tag: u32,
        message: &'static str,
        known: u32,
    ) -> Result<()> {
        self.stats.unknown_fields += 1;
        r.skip_unknown(tag, message, known)
    }

    fn resource(&mut self, mut r: Reader<'_>, signal: Signal, v: &mut impl Visitor) -> Result<()> {
        let mut head = ResourceHead::default();
        let mut schema_url = &[][..];
        let header = self.header(r, &mut schema_url, |decoder, r| decoder.resource_header(r, &mut head, v));
        if let Header { damage: Some(error), begun: false } = header {
            return Err(error);
        }
        let schema_url = self.text(schema_url);
        v.resource(&ResourceHead { schema_url: &schema_url, ..head });
        let result = self.scopes(&mut r, signal, v);
        v.resource_end();
        result.and(header.damage.map_or(Ok(()), Err))
    }

    fn scopes(&mut self, r: &mut Reader<'_>, signal: Signal, v: &mut impl Visitor) -> Result<()> {
        while !r.at_end() {
            match r.tag()? {
                0x12 => {
                    let scope = r.container()?;
                    self.scope(scope, signal, v)?;
                }
                tag @ (0x0a | 0x1a) => r.skip(tag)?,
                tag => self.unknown(r, tag, "a resource's items", 0b1110)?,
            }
        }
        r.finish()
    }

    /// The first pass over a resource's or a scope's fields: its header (field 1, merged if repeated) and
    /// its schema URL (field 3), over the heads of the items (field 2). Items are whole until their own
    /// pass says otherwise, so damage here does not keep them from being handed over.
    fn header<'a>(
        &mut self,
        mut r: Reader<'a>,
        schema_url: &mut &'a [u8],
        mut read: impl FnMut(&mut Self, Reader<'a>) -> Result<()>,
    ) -> Header {
        let mut begun = false;
        let mut pass = || {
            while !r.at_end() {
                match r.tag()? {
                    0x0a => {
                        let header = r.message()?;
                        begun = true;
                        read(self, header)?;
                    }
                    0x1a => *schema_url = r.bytes()?,
                    0x12 => {
                        begun = true;
                        r.bytes()?;
                    }
                    tag => r.skip(tag)?,
                }
            }
            Ok(())
        };
        let damage = pass().err();
        Header { damage, begun }
    }

    fn resource_header(
        &mut self,
        mut r: Reader<'_>,
        head: &mut ResourceHead<'_>,
        v: &mut impl Visitor,
    ) -> Result<()> {
        while !r.at_end() {
            match r.tag()? {
                0x0a => {
                    let attribute = r.message()?;
                    self.key_value(attribute, &mut |(key, _), value| v.resource_attribute(key, value))?;
                }
                0x10 => head.dropped_attributes_count = r.uint32()?,
                // Entity references say which attributes identify the resource: nothing to hand over.
                0x1a => r.skip(0x1a)?,
                tag => self.unknown(&mut r, tag, "resource", 0b1110)?,
            }
        }
        Ok(())
    }

    fn scope(&mut self, mut r: Reader<'_>, signal: Signal, v: &mut impl Visitor) -> Result<()> {
        let (mut schema_url, mut name, mut version, mut dropped) = (&[][..], &[][..], &[][..], 0);
        let header = self.header(r, &mut schema_url, |decoder, r| {
            decoder.scope_header(r, &mut name, &mut version, &mut dropped, v)
        });
        if let Header { damage: Some(error), begun: false } = header {
            return Err(error);
        }
        let (schema_url, name, version) = (self.text(schema_url), self.text(name), self.text(version));
        v.scope(&ScopeHead {
            name: &name,
            version: &version,
            schema_url: &schema_url,
            dropped_attributes_count: dropped,
        });
        let result = self.items(&mut r, signal, v);
        v.scope_end();
        result.and(header.damage.map_or(Ok(()), Err))
    }

    fn scope_header<'a>(
        &mut self,
        mut r: Reader<'a>,
        name: &mut &'a [u8],
        version: &mut &'a [u8],
        dropped: &mut u32,
        v: &mut impl Visitor,
    ) -> Result<()> {
        while !r.at_end() {
            match r.tag()? {
                0x0a => *name = r.bytes()?,
                0x12 => *version = r.bytes()?,
                0x1a => {
                    let attribute = r.message()?;
                    self.key_value(attribute, &mut |(key, _), value| v.scope_attribute(key, value))?;
                }
                0x20 => *dropped = r.uint32()?,
                tag => self.unknown(&mut r, tag, "scope", 0b11110)?,
            }
        }
        Ok(())
    }

    fn items(&mut self, r: &mut Reader<'_>, signal: Signal, v: &mut impl Visitor) -> Result<()> {
        while !r.at_end() {
            match r.tag()? {
                0x12 => {
                    let item = match r.message() {
                        Ok(item) => item,
                        Err(error) => {
                            if signal == Signal::Traces {
                                v.span_abandoned();
                            }
                            return Err(error);
                        }
                    };
                    match signal {
                        Signal::Metrics => self.metric(item, v)?,
                        _ => self.span(item, v)?,
                    }
                    self.whole_bytes = r.pos();
                }
                tag @ (0x0a | 0x1a) => r.skip(tag)?,
                tag => self.unknown(r, tag, "a scope's items", 0b1110)?,
            }
        }
        r.finish()
    }
}
