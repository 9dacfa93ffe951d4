//! Steps that outlive the files they were written to: when the oldest file of a bounded directory goes, the
//! slowest steps of the run and a few typical ones are taken out of it first, the last ones that were captured or have failed,
//! and the spans of the run itself and its epochs. Which ones is decided here; where they go is the business of `directory`.

use std::collections::BTreeSet;

use stepscope_core::identity::TraceId;
use stepscope_otlp::{EventHead, LinkHead, ResourceHead, ScopeHead, SpanHead, Value, Visitor, json, proto};

use super::message::{Encoder, with_encoder};
use crate::config::Format;

/// The slowest steps: so many, or fewer where they are large.
const SLOW: usize = 64;

/// Steps of about the median duration: so many.
const TYPICAL: usize = 16;

/// The last steps that were captured: so many.
const CAPTURED: usize = 64;

/// The last steps that have failed: so many.
const FAILED: usize = 16;

/// Traces of the run and its epochs that are kept, at most.
const LASTING: usize = 64;

/// A step is typical when it differs from the median by at most this part of it.
const TYPICAL_PART: u64 = 50;

/// A step longer than this many halves of the median is slow.
const SLOW_HALVES: u64 = 3;

/// Whether a step of this duration is slow.
pub(crate) fn is_slow(duration_ns: u64, median_ns: u64) -> bool {
    duration_ns / SLOW_HALVES > median_ns / 2
}

/// The bits of a trace id that decide sampling, equal on all ranks.
pub(crate) fn sampling_bits(id: &TraceId) -> u64 {
    id.iter().skip(9).fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

/// Why somebody will ask for a step, however usual it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It began while steps were captured.
    Captured,
    Failed,
}

/// A step to keep, and the first and the last file that were open when spans of it came; the last of them is its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Noted {
    /// The smallest are kept.
    rank: u64,
    id: TraceId,
    files: (u32, u32),
}

/// The steps to keep.
#[derive(Debug, Default)]
pub(crate) struct Notable {
    slow: Vec<Noted>,
    typical: Vec<Noted>,
    captured: Vec<Noted>,
    failed: Vec<Noted>,
    /// The traces of the run and its epochs, and the files that were open when spans of them came.
    lasting: Vec<TraceId>,
    lasting_files: BTreeSet<u32>,
    /// How often the numbers above were halved, because the steps did not fit.
    halvings: u32,
}

impl Notable {
    /// Learns of a step that is to be written whole, its root while the second of these files is open.
    pub(crate) fn note(&mut self, id: TraceId, duration_ns: u64, median_ns: u64, files: (u32, u32)) {
        if is_slow(duration_ns, median_ns) {
            insert(&mut self.slow, SLOW >> self.halvings, Noted { rank: u64::MAX - duration_ns, id, files });
        } else if duration_ns.abs_diff(median_ns) <= median_ns / TYPICAL_PART {
            insert(
                &mut self.typical,
                TYPICAL >> self.halvings,
                Noted { rank: sampling_bits(&id), id, files },
            );
        }
    }

    /// Learns of a marked step that began at `start_ns`, likewise.
    pub(crate) fn note_marked(&mut self, id: TraceId, mark: Mark, start_ns: u64, files: (u32, u32)) {
        let noted = Noted { rank: u64::MAX - start_ns, id, files };
        match mark {
            Mark::Captured => insert(&mut self.captured, CAPTURED >> self.halvings, noted),
            Mark::Failed => insert(&mut self.failed, FAILED >> self.halvings, noted),
        }
    }

    /// Learns of a span of the run or an epoch that is to be written while file number `file` is open. A long run
    /// goes on in further traces; of very many the first are kept.
    pub(crate) fn note_lasting(&mut self, id: TraceId, file: u32) {
        let is_known = self.lasting.contains(&id);
        if !is_known && self.lasting.len() < LASTING {
            self.lasting.push(id);
        } else if !is_known {
            return;
        }
        self.lasting_files.insert(file);
    }

    /// File number `file` is gone. What came while it was open may still be in the next one.
    pub(crate) fn forget_file(&mut self, file: u32) {
        self.lasting_files.retain(|&known| known >= file);
    }

    /// Whether file number `file` may hold spans of a step to keep: children can be a file ahead of their root,
    /// and what is noted is written with the next message.
    pub(crate) fn touches(&self, file: u32) -> bool {
        let is_near = |&Noted { files: (first, last), .. }: &Noted| {
            (first.saturating_sub(1)..=last.saturating_add(1)).contains(&file)
        };
        self.all().any(is_near)
            || self.lasting_files.range(file.saturating_sub(1)..=file.saturating_add(1)).next().is_some()
    }

    /// Lets half of the steps go; whether any are left.
    pub(crate) fn shrink(&mut self) -> bool {
        self.halvings = (self.halvings + 1).min(SLOW.ilog2() + 1);
        self.slow.truncate(SLOW >> self.halvings);
        self.typical.truncate(TYPICAL >> self.halvings);
        self.captured.truncate(CAPTURED >> self.halvings);
        self.failed.truncate(FAILED >> self.halvings);
        self.all().next().is_some()
    }

    fn all(&self) -> impl Iterator<Item = &Noted> {
        self.slow.iter().chain(&self.typical).chain(&self.captured).chain(&self.failed)
    }

    /// The spans of steps to keep out of the contents of a file, framed as before, and their number. Of a
    /// message that cannot be read nothing is kept.
    pub(crate) fn extract(&self, format: Format, contents: &[u8]) -> (Vec<u8>, u64) {
        let ids: Vec<TraceId> =
            self.all().map(|noted| noted.id).chain(self.lasting.iter().copied()).collect();
        let (mut out, mut spans) = (Vec::new(), 0);
        let mut encoder = Encoder::traces(format);
        for message in messages(format, contents) {
            let kept = with_encoder!(&mut encoder, encoder => {
                let mut filter = Filter { inner: encoder.as_mut(), ids: &ids, kept: 0 };
                let decoded = match format {
                    Format::Protobuf => proto::decode_traces(message, &mut filter).is_ok(),
                    Format::JsonLines => json::decode_traces(message, &mut filter).is_ok(),
                };
                if decoded { filter.kept } else { 0 }
            });
            if kept > 0 {
                spans += kept;
                out.extend(with_encoder!(&mut encoder, encoder => frame(format, encoder.finish())));
            }
            with_encoder!(&mut encoder, encoder => encoder.clear());
        }
        (out, spans)
    }
}

fn insert(noted: &mut Vec<Noted>, most: usize, new: Noted) {
    let key = |noted: &Noted| (noted.rank, noted.id);
    let position = noted.partition_point(|known| key(known) < key(&new));
    if position < most {
        noted.insert(position, new);
        noted.truncate(most);
    }
}

/// A message as it stands in a file: what is before it there, itself, and what is behind it.
pub(crate) struct Frame<'a> {
    prefix: [u8; 4],
    prefix_len: usize,
    message: &'a [u8],
    suffix: &'static [u8],
}

impl<'a> Frame<'a> {
    pub(crate) fn new(format: Format, message: &'a [u8]) -> Self {
        let len = u32::try_from(message.len()).unwrap_or(u32::MAX);
        let (prefix_len, suffix) = match format {
            Format::Protobuf => (4, &b""[..]),
            Format::JsonLines => (0, &b"\n"[..]),
        };
        Self { prefix: len.to_be_bytes(), prefix_len, message, suffix }
    }

    pub(crate) fn parts(&self) -> [&[u8]; 3] {
        [self.prefix.get(..self.prefix_len).unwrap_or_default(), self.message, self.suffix]
    }

    pub(crate) fn len(&self) -> u64 {
        self.parts().iter().map(|part| part.len() as u64).sum()
    }
}

/// The same in one piece.
pub(crate) fn frame(format: Format, message: &[u8]) -> Vec<u8> {
    Frame::new(format, message).parts().concat()
}

/// The messages of a file.
pub(super) fn messages(format: Format, mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let message;
        match format {
            Format::Protobuf => {
                let (len, tail) = rest.split_first_chunk::<4>()?;
                let len = usize::try_from(u32::from_be_bytes(*len)).ok()?;
                (message, rest) = tail.split_at_checked(len)?;
            }
            Format::JsonLines => {
                let end = rest.iter().position(|&byte| byte == b'\n')?;
                (message, rest) = (rest.get(..end)?, rest.get(end + 1..)?);
            }
        }
        Some(message)
    })
}

/// Hands on everything but the spans of other traces.
struct Filter<'a, V> {
    inner: &'a mut V,
    ids: &'a [TraceId],
    kept: u64,
}

impl<V: Visitor> Visitor for Filter<'_, V> {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        self.inner.resource_attribute(key, value);
    }

    fn resource(&mut self, head: &ResourceHead<'_>) {
        self.inner.resource(head);
    }

    fn resource_end(&mut self) {
        self.inner.resource_end();
    }

    fn scope_attribute(&mut self, key: &str, value: Value<'_>) {
        self.inner.scope_attribute(key, value);
    }

    fn scope(&mut self, head: &ScopeHead<'_>) {
        self.inner.scope(head);
    }

    fn scope_end(&mut self) {
        self.inner.scope_end();
    }

    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        self.inner.span_attribute(key, value);
    }

    fn event_attribute(&mut self, key: &str, value: Value<'_>) {
        self.inner.event_attribute(key, value);
    }

    fn event(&mut self, head: &EventHead<'_>) {
        self.inner.event(head);
    }

    fn link_attribute(&mut self, key: &str, value: Value<'_>) {
        self.inner.link_attribute(key, value);
    }

    fn link(&mut self, head: &LinkHead<'_>) {
        self.inner.link(head);
    }

    fn span(&mut self, head: &SpanHead<'_>) {
        if self.ids.iter().any(|id| id == head.trace_id) {
            self.kept += 1;
            self.inner.span(head);
        } else {
            self.inner.span_abandoned();
        }
    }

    fn span_abandoned(&mut self) {
        self.inner.span_abandoned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_and_a_few_typical_steps_are_kept_in_any_order() {
        let id = |number: u64| std::array::from_fn(|i| (number >> (8 * (15 - i).min(7))) as u8);
        let steps: Vec<(u64, u64)> = (0..10_000)
            .map(|number| (number, if number % 10 == 0 { 2_000 + number } else { 1_000 }))
            .collect();
        let kept = |steps: &mut dyn Iterator<Item = &(u64, u64)>| {
            let mut notable = Notable::default();
            steps.for_each(|&(number, duration_ns)| notable.note(id(number), duration_ns, 1_000, (7, 7)));
            assert_eq!((notable.slow.len(), notable.typical.len()), (SLOW, TYPICAL));
            assert_eq!((5..10).filter(|&file| notable.touches(file)).collect::<Vec<_>>(), [6, 7, 8]);
            notable.all().map(|noted| noted.id).collect::<Vec<_>>()
        };
        let forward = kept(&mut steps.iter());
        assert_eq!(forward, kept(&mut steps.iter().rev()));
        assert_eq!(forward[..3], [id(9_990), id(9_980), id(9_970)]);
        // Where they do not fit, the slowest are the last to go.
        let mut notable = Notable::default();
        steps.iter().for_each(|&(number, duration_ns)| notable.note(id(number), duration_ns, 1_000, (7, 7)));
        assert!((0..6).all(|_| notable.shrink()));
        assert_eq!(notable.all().map(|noted| noted.id).collect::<Vec<_>>(), [id(9_990)]);
        assert!(!notable.shrink());
        notable.note(id(10_000), 100_000, 1_000, (7, 7));
        assert_eq!(notable.all().count(), 0);
    }

    #[test]
    fn the_last_marked_steps_are_kept_beside_the_others() {
        let id = |number: u64| std::array::from_fn(|i| (number >> (8 * (15 - i).min(7))) as u8);
        let mut notable = Notable::default();
        for number in 0..1_000 {
            notable.note(id(number), 5_000, 1_000, (1, 1));
            let mark = if number % 2 == 0 { Mark::Captured } else { Mark::Failed };
            notable.note_marked(id(number), mark, number, (5, 6));
        }
        assert_eq!(notable.all().count(), SLOW + CAPTURED + FAILED);
        assert!(!notable.touches(3) && (4..8).all(|file| notable.touches(file)) && !notable.touches(8));
        let lasts = |noted: &[Noted], step: u64| {
            let ids = (0..noted.len() as u64).map(|back| id(step - 2 * back));
            assert_eq!(noted.iter().map(|noted| noted.id).collect::<Vec<_>>(), ids.collect::<Vec<_>>());
        };
        lasts(&notable.captured, 998);
        lasts(&notable.failed, 999);
        // Where they do not fit, the last ones stay longest.
        assert!((0..6).all(|_| notable.shrink()));
        assert_eq!((notable.captured[0].id, notable.all().count()), (id(998), 2));
        assert!(!notable.shrink());
    }

    #[test]
    fn spans_of_the_steps_to_keep_are_taken_out_of_a_file_as_they_are() {
        for format in [Format::Protobuf, Format::JsonLines] {
            let message = |ids: &[u8]| {
                let mut encoder = Encoder::traces(format);
                with_encoder!(&mut encoder, encoder => {
                    encoder.resource_attribute("host", Value::Str("h"));
                    encoder.resource(&ResourceHead::default());
                    encoder.scope(&ScopeHead { name: "s", ..ScopeHead::default() });
                    for &id in ids {
                        encoder.span_attribute("number", Value::Int(id.into()));
                        let (trace, span) = ([id; 16], [id; 8]);
                        encoder.link(&LinkHead { trace_id: &[9; 16], span_id: &[9; 8], ..LinkHead::default() });
                        encoder.span(&SpanHead { trace_id: &trace, span_id: &span, name: "n", ..SpanHead::default() });
                    }
                    frame(format, encoder.finish())
                })
            };
            let contents = [message(&[1, 2, 3]), message(&[1, 3]), message(&[2]), b"torn".to_vec()].concat();
            let mut notable = Notable::default();
            notable.note([2; 16], 1_000, 1_000, (1, 1));
            let expected = [message(&[2]), message(&[2])].concat();
            assert_eq!(notable.extract(format, &contents), (expected, 2));
            // Those of the run, whatever becomes of the steps.
            notable.note_lasting([1; 16], 9);
            for _ in 0..5 {
                let _ = notable.shrink();
            }
            assert_eq!(notable.extract(format, &contents), ([message(&[1]), message(&[1])].concat(), 2));
            assert!(notable.touches(8) && notable.touches(10) && !notable.touches(11));
        }
    }
}
