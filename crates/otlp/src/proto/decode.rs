//! The frame around the items of either signal: resources and scopes, whose headers are handed over before
//! what they hold although protobuf allows them (and prost writes `schema_url`) after it. Spans and
//! metrics themselves live in `spans` and `metrics`, attributes in `attributes`.

use super::wire::Reader;
use crate::{DecodeError, DecodeStats, ResourceHead, ScopeHead, Signal, Visitor};

pub(super) type Result<T> = std::result::Result<T, DecodeError>;

/// Decoder with scratch space that is reused from message to message.
#[derive(Debug, Default)]
pub struct Decoder {
    pub(super) stats: DecodeStats,
    pub(super) counts: Vec<u64>,
    pub(super) negative_counts: Vec<u64>,
    pub(super) bounds: Vec<f64>,
    pub(super) quantiles: Vec<(f64, f64)>,
}

/// What a header pass found: whether to go on to the items.
enum Header {
    /// Complete, or damaged behind the first items; the items' pass will say so.
    Known,
    /// Damaged before anything was handed over.
    Nothing(DecodeError),
    /// Damaged after attributes were handed over.
    Partly(DecodeError),
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
        self.stats = DecodeStats::default();
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
        Ok(self.stats)
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
        let message = "a resource's items";
        let mut head = ResourceHead::default();
        let mut schema_url = &[][..];
        let header = self.header(r, &mut schema_url, |decoder, r| decoder.resource_header(r, &mut head, v));
        if let Header::Nothing(error) = header {
            return Err(error);
        }
        let schema_url = self.text(schema_url);
        v.resource(&ResourceHead { schema_url: &schema_url, ..head });
        let result = match header {
            Header::Partly(error) => Err(error),
            _ => loop {
                if r.at_end() {
                    break r.finish();
                }
                let step = r.tag().and_then(|tag| match tag {
                    0x12 => r.container().and_then(|scope| self.scope(scope, signal, v)),
                    0x0a | 0x1a => r.skip(tag),
                    _ => self.unknown(&mut r, tag, message, 0b1110),
                });
                if let Err(error) = step {
                    break Err(error);
                }
            },
        };
        v.resource_end();
        result
    }

    /// The first pass over a resource's or a scope's fields: its header (field 1, merged if repeated) and
    /// its schema URL (field 3), over the heads of the items (field 2).
    fn header<'a>(
        &mut self,
        mut r: Reader<'a>,
        schema_url: &mut &'a [u8],
        mut read: impl FnMut(&mut Self, Reader<'a>) -> Result<()>,
    ) -> Header {
        let (mut items, mut given) = (false, false);
        while !r.at_end() {
            let step = r.tag().and_then(|tag| match tag {
                0x0a => {
                    let header = r.message()?;
                    given = true;
                    read(self, header).map(|()| true)
                }
                0x1a => {
                    *schema_url = r.bytes()?;
                    Ok(true)
                }
                _ => {
                    items |= tag == 0x12;
                    r.skip(tag).map(|()| true)
                }
            });
            match step {
                Ok(_) => {}
                Err(error) if !given && !items => return Header::Nothing(error),
                Err(error) if !items => return Header::Partly(error),
                // The items before the damage are still to come; their pass meets the same damage.
                Err(_) => break,
            }
        }
        Header::Known
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
                    self.key_value(attribute, &mut |key, value| v.resource_attribute(key, value))?;
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
        if let Header::Nothing(error) = header {
            return Err(error);
        }
        let (schema_url, name, version) = (self.text(schema_url), self.text(name), self.text(version));
        v.scope(&ScopeHead {
            name: &name,
            version: &version,
            schema_url: &schema_url,
            dropped_attributes_count: dropped,
        });
        let result = match header {
            Header::Partly(error) => Err(error),
            _ => self.items(&mut r, signal, v),
        };
        v.scope_end();
        result
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
                    self.key_value(attribute, &mut |key, value| v.scope_attribute(key, value))?;
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
                }
                tag @ (0x0a | 0x1a) => r.skip(tag)?,
                tag => self.unknown(r, tag, "a scope's items", 0b1110)?,
            }
        }
        r.finish()
    }
}
