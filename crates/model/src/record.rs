//! The compact form of a span while its trace is open, in temporary files and in partials: a fixed head,
//! the figures that are present, texts, links and user metrics. Read back with checks, because partials
//! come from files.
//!
//! Layout, little-endian: `len u32` of what follows it; id, parent (0: none), start, end `u64`; the lower half of the `u64`
//! mask of figures; `span_kind i32`; kind, mode, phase (0 absent, 255 custom, else 1 + index), flags `u8`;
//! lengths of name, thread name, parent path, phase text, loader `u16`; numbers of links and values `u16`; the upper half of
//! the mask; process `u32`; figures `i64` each; the five texts; links (trace id, span id); values (`f64`, name length `u16`,
//! name); where the flags say so thread samples behind their number `u32` (time after the span's start `u64`, thread `i64`,
//! state, address `u64`), and to the end poll intervals (start and end after the span's start `u64`, thread `i64`, count `u64`).

pub(crate) mod flag;

use stepscope_core::identity::TraceId;
use stepscope_core::{Mode, Phase, SectionKind, ThreadState};

use crate::{Figure, Link, PhaseTag, Poll, Polls, Span, Text, ThreadSample, Trace, UserValue};

/// Bytes before the figures, the length field included.
const HEAD: usize = 70;
/// Bytes of the head before the process, which is last.
const HEAD_OF_SPAN: usize = 66;
/// Bytes of a head and all figures.
const LONGEST: usize = HEAD + 8 * Figure::ALL.len();
/// Texts are cut to this many bytes.
pub(crate) const MAX_TEXT: usize = 4_096;
/// Links and user metrics of one span beyond this many are left out.
pub(crate) const MAX_ITEMS: usize = 1_024;
/// A deep step with more thread samples than this has none: 64 threads, 256 times.
pub(crate) const MAX_SAMPLES: usize = 16_384;

const PHASE_CUSTOM: u8 = 255;

/// A poll interval: times after the span's start, 0 for several threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Interval {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) thread: i64,
    pub(crate) count: u64,
}

/// A thread sample: time after the span's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sample {
    pub(crate) after_ns: u64,
    pub(crate) thread: i64,
    pub(crate) state: ThreadState,
    pub(crate) address: u64,
}

/// Bytes of an interval, and of a sample.
const INTERVAL: usize = 32;

/// What is written; texts are already bounded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    pub(crate) id: u64,
    pub(crate) parent: u64,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) span_kind: i32,
    pub(crate) kind: SectionKind,
    pub(crate) mode: Mode,
    pub(crate) phase: Option<Phase>,
    pub(crate) flags: u8,
    pub(crate) process: u32,
    pub(crate) present: u64,
    pub(crate) figures: &'a [i64; Figure::ALL.len()],
    pub(crate) name: &'a str,
    pub(crate) thread_name: &'a str,
    pub(crate) parent_path: &'a str,
    /// The user's own phase; only read while `phase` is absent.
    pub(crate) phase_text: &'a str,
    pub(crate) loader: &'a str,
    pub(crate) links: &'a [(TraceId, u64)],
    /// Value and where its name ends in `value_names`.
    pub(crate) values: &'a [(f64, usize)],
    pub(crate) value_names: &'a str,
    /// [`flag::POLLS`] says whether there are any.
    pub(crate) polls: &'a [Interval],
    /// [`flag::SAMPLES`] says whether there are any.
    pub(crate) samples: &'a [Sample],
}

fn short(len: usize) -> [u8; 2] {
    u16::try_from(len).unwrap_or(u16::MAX).to_le_bytes()
}

/// What is known of an open trace follows from this of its spans.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Noted {
    pub(crate) id: u64,
    pub(crate) parent: u64,
    pub(crate) kind: SectionKind,
    pub(crate) flags: u8,
    /// The figure of that name.
    pub(crate) trace_spans: Option<i64>,
}

impl Fields<'_> {
    /// What [`Record::noted`] says of the record, without reading it.
    #[inline]
    pub(crate) fn noted(&self) -> Noted {
        let index = Figure::TraceSpans as usize;
        let trace_spans = (self.present & (1 << index) != 0).then(|| self.figures.get(index).copied());
        let (id, parent, kind, flags) = (self.id, self.parent, self.kind, self.flags);
        Noted { id, parent, kind, flags, trace_spans: trace_spans.flatten() }
    }

    /// Appends the record.
    #[inline(always)]
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        let texts = [self.name, self.thread_name, self.parent_path, self.phase_text, self.loader];
        // As far as its length is bounded it is written in one piece, and where it is to stand: what follows is cut off.
        out.resize(begin + LONGEST, 0);
        let Some(head) = out.get_mut(begin..).and_then(|out| out.first_chunk_mut::<LONGEST>()) else {
            return;
        };
        head[4..12].copy_from_slice(&self.id.to_le_bytes());
        head[12..20].copy_from_slice(&self.parent.to_le_bytes());
        head[20..28].copy_from_slice(&self.start_ns.to_le_bytes());
        head[28..36].copy_from_slice(&self.end_ns.to_le_bytes());
        head[36..40].copy_from_slice(&(self.present as u32).to_le_bytes());
        head[40..44].copy_from_slice(&self.span_kind.to_le_bytes());
        head[44] = self.kind as u8;
        head[45] = self.mode as u8;
        head[46] = match self.phase {
            Some(phase) => phase as u8 + 1,
            None if self.phase_text.is_empty() => 0,
            None => PHASE_CUSTOM,
        };
        head[47] = self.flags;
        head[48..50].copy_from_slice(&short(self.name.len()));
        head[50..52].copy_from_slice(&short(self.thread_name.len()));
        head[52..54].copy_from_slice(&short(self.parent_path.len()));
        head[54..56].copy_from_slice(&short(self.phase_text.len()));
        head[56..58].copy_from_slice(&short(self.loader.len()));
        head[58..60].copy_from_slice(&short(self.links.len()));
        head[60..62].copy_from_slice(&short(self.values.len()));
        head[62..66].copy_from_slice(&((self.present >> 32) as u32).to_le_bytes());
        head[66..70].copy_from_slice(&self.process.to_le_bytes());
        let mut present = self.present;
        let mut end = HEAD;
        let slots = head.split_at_mut(HEAD).1.as_chunks_mut::<8>().0;
        for slot in slots {
            if present == 0 {
                break;
            }
            let index = present.trailing_zeros() as usize;
            *slot = self.figures.get(index).copied().unwrap_or(0).to_le_bytes();
            present &= present - 1;
            end += 8;
        }
        out.truncate(begin + end);
        for text in texts.into_iter().filter(|text| !text.is_empty()) {
            out.extend_from_slice(text.as_bytes());
        }
        for (trace, span) in self.links {
            out.extend_from_slice(trace);
            out.extend_from_slice(&span.to_le_bytes());
        }
        let mut name_start = 0;
        for &(value, name_end) in self.values {
            let name = self.value_names.get(name_start..name_end).unwrap_or_default();
            name_start = name_end;
            out.extend_from_slice(&value.to_le_bytes());
            out.extend_from_slice(&short(name.len()));
            out.extend_from_slice(name.as_bytes());
        }
        if !self.samples.is_empty() {
            self.write_samples(out);
        }
        for interval in self.polls {
            out.extend_from_slice(&interval.start_ns.to_le_bytes());
            out.extend_from_slice(&interval.end_ns.to_le_bytes());
            out.extend_from_slice(&interval.thread.to_le_bytes());
            out.extend_from_slice(&interval.count.to_le_bytes());
        }
        let len = u32::try_from(out.len() - begin - 4).unwrap_or(0);
        if let Some(slot) = out.get_mut(begin..begin + 4) {
            slot.copy_from_slice(&len.to_le_bytes());
        }
    }

    #[cold]
    fn write_samples(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&u32::try_from(self.samples.len()).unwrap_or(0).to_le_bytes());
        for sample in self.samples {
            out.extend_from_slice(&sample.after_ns.to_le_bytes());
            out.extend_from_slice(&sample.thread.to_le_bytes());
            out.extend_from_slice(&u64::from(sample.state as u8).to_le_bytes());
            out.extend_from_slice(&sample.address.to_le_bytes());
        }
    }
}

/// A record in its bytes, the length field included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    head: &'a [u8; HEAD],
    body: &'a [u8],
}

impl<'a> Record<'a> {
    fn word(&self, at: usize) -> u64 {
        self.head.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
    }

    fn half(&self, at: usize) -> usize {
        usize::from(u16::from_le_bytes([self.head[at], self.head[at + 1]]))
    }

    /// Reads the record at the beginning of `bytes` and gives what follows it. `None` at the end, and for
    /// bytes that are not a record.
    #[inline]
    pub(crate) fn first(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let len = u32::from_le_bytes(*bytes.first_chunk::<4>()?) as usize;
        let (record, rest) = bytes.split_at_checked(len.checked_add(4)?)?;
        let (head, body) = record.split_first_chunk::<HEAD>()?;
        Some((Self { head, body }, rest))
    }

    /// All that is said of the span, for comparing two of them. Who wrote it is not: on the way a collector adds
    /// to that.
    pub(crate) fn content(&self) -> (&'a [u8], &'a [u8]) {
        (self.head.get(..HEAD_OF_SPAN).unwrap_or_default(), self.body)
    }

    /// See [`Span::process`].
    pub(crate) fn process(&self) -> u32 {
        u32::from_le_bytes([self.head[66], self.head[67], self.head[68], self.head[69]])
    }

    #[inline]
    pub(crate) fn id(&self) -> u64 {
        self.word(4)
    }

    #[inline]
    pub(crate) fn parent(&self) -> u64 {
        self.word(12)
    }

    #[inline]
    pub(crate) fn start_ns(&self) -> u64 {
        self.word(20)
    }

    /// Never before the start, whatever a damaged partial says.
    #[inline]
    pub(crate) fn end_ns(&self) -> u64 {
        self.word(28).max(self.start_ns())
    }

    #[inline]
    pub(crate) fn flags(&self) -> u8 {
        self.head[47]
    }

    pub(crate) fn kind(&self) -> SectionKind {
        SectionKind::from_index(self.head[44]).unwrap_or(SectionKind::Section)
    }

    /// What an open trace has to know of it.
    pub(crate) fn noted(&self) -> Noted {
        let (id, parent, kind, flags) = (self.id(), self.parent(), self.kind(), self.flags());
        Noted { id, parent, kind, flags, trace_spans: self.figure(Figure::TraceSpans) }
    }

    fn present(&self) -> u64 {
        let half = |at: usize| {
            self.head
                .get(at..)
                .and_then(|rest| rest.first_chunk::<4>())
                .map_or(0, |half| u32::from_le_bytes(*half))
        };
        u64::from(half(36)) | u64::from(half(62)) << 32
    }

    fn figures_len(&self) -> usize {
        self.present().count_ones() as usize * 8
    }

    /// One figure.
    #[inline]
    pub(crate) fn figure(&self, figure: Figure) -> Option<i64> {
        let (present, index) = (self.present(), figure as u32);
        if present & (1u64 << index) == 0 {
            return None;
        }
        let before = (present & ((1u64 << index) - 1)).count_ones() as usize * 8;
        self.body.get(before..)?.first_chunk::<8>().map(|bytes| i64::from_le_bytes(*bytes))
    }

    /// Whether it is the root of a trace that continues another one.
    pub(crate) fn continues(&self) -> bool {
        self.parent() == 0 && self.half(52) > 0
    }

    /// Where its last link but one leads: for the root of a trace that continues another one, to the section that it continues.
    pub(crate) fn continued(&self) -> Option<(TraceId, u64)> {
        let index = self.half(58).checked_sub(2)?;
        let texts: usize = (48..58).step_by(2).map(|at| self.half(at)).sum();
        let link = self.body.get(self.figures_len() + texts + index * 24..)?;
        Some((*link.first_chunk()?, u64::from_le_bytes(*link.get(16..)?.first_chunk()?)))
    }

    /// The name's bytes.
    pub(crate) fn name(&self) -> &'a [u8] {
        let start = self.figures_len();
        self.body.get(start..start + self.half(48)).unwrap_or_default()
    }

    /// Writes the span over another one, and its texts, links and values into the arena.
    #[inline]
    pub(crate) fn deliver(&self, span: &mut Span, arena: &mut Arena) {
        let figures = self.body.get(..self.figures_len()).unwrap_or_default();
        let lens = [self.half(48), self.half(50), self.half(52), self.half(54), self.half(56)];
        let texts_end = figures.len() + lens.iter().sum::<usize>();
        let texts = self.body.get(figures.len()..texts_end).unwrap_or_default();
        let mut place = arena.push(texts);
        let texts = lens.map(|len| {
            let len = u32::try_from(len).unwrap_or(0);
            let text = if len == 0 { Text::default() } else { Text { start: place, len } };
            place = place.saturating_add(len);
            text
        });
        // Every field by name: none may keep what was there before.
        let Span {
            id,
            parent,
            name,
            start_ns,
            end_ns,
            kind,
            mode,
            phase,
            span_kind,
            is_error,
            is_on_device,
            is_device_annotation,
            signal,
            process,
            thread_name,
            parent_path,
            loader,
            polls,
            figures: slots,
            present,
        } = span;
        let phase_text;
        [*name, *thread_name, *parent_path, phase_text, *loader] = texts;
        *id = self.id();
        *parent = (self.parent() != 0).then(|| self.parent());
        *start_ns = self.start_ns();
        *end_ns = self.end_ns();
        *kind = self.kind();
        *mode = Mode::from_index(self.head[45]).unwrap_or(Mode::Train);
        *phase = match self.head[46] {
            0 => PhaseTag::Absent,
            PHASE_CUSTOM => PhaseTag::Custom(phase_text),
            index => Phase::from_index(index - 1).map_or(PhaseTag::Absent, PhaseTag::Known),
        };
        *span_kind = i32::from_le_bytes([self.head[40], self.head[41], self.head[42], self.head[43]]);
        *is_error = self.flags() & flag::ERROR != 0;
        *is_on_device = self.flags() & flag::ON_DEVICE != 0;
        *is_device_annotation = flag::is_annotation(self.flags());
        *signal = flag::signal(self.flags());
        *process = self.process();
        // Figures that are not present keep what they were: nobody sees them.
        let (mut there, mut left) = (0u64, self.present());
        for value in figures.as_chunks::<8>().0 {
            let index = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            if let Some(slot) = slots.get_mut(index) {
                *slot = i64::from_le_bytes(*value);
                there |= 1 << index;
            }
        }
        *present = there;
        let (links, values) = (self.half(58), self.half(60));
        *polls = Polls::default();
        if links | values != 0 || self.flags() & (flag::POLLS | flag::SAMPLES) != 0 {
            let mut rest = self.deliver_items(texts_end, links, values, arena);
            if self.flags() & flag::SAMPLES != 0 {
                rest = rest.and_then(|bytes| self.deliver_samples(bytes, arena));
            }
            if self.flags() & flag::POLLS != 0 {
                *polls = self.deliver_polls(rest.unwrap_or_default(), arena);
            }
        }
    }

    /// Gives what follows the items.
    fn deliver_items(
        &self,
        start: usize,
        links: usize,
        values: usize,
        arena: &mut Arena,
    ) -> Option<&'a [u8]> {
        let span = self.id();
        let links_end = start + links * 24;
        for link in self.body.get(start..links_end).unwrap_or_default().as_chunks::<24>().0 {
            if let (Some(target_trace), Some(target)) = (link.first_chunk::<16>(), link.last_chunk::<8>()) {
                let target = u64::from_le_bytes(*target);
                arena.links.push(Link { span, trace: *target_trace, target });
            }
        }
        let mut rest = self.body.get(links_end..).unwrap_or_default();
        for _ in 0..values {
            let (value, after) = rest.split_first_chunk::<8>()?;
            let (len, after) = after.split_first_chunk::<2>()?;
            let (name, after) = after.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
            let name = Text { start: arena.push(name), len: u32::try_from(name.len()).unwrap_or(0) };
            arena.values.push(UserValue { span, name, value: f64::from_le_bytes(*value) });
            rest = after;
        }
        Some(rest)
    }

    /// Within the span, whatever a damaged partial says. Gives what follows them.
    #[cold]
    fn deliver_samples(&self, bytes: &'a [u8], arena: &mut Arena) -> Option<&'a [u8]> {
        let (count, rest) = bytes.split_first_chunk::<4>()?;
        let count = usize::try_from(u32::from_le_bytes(*count)).ok()?.min(MAX_SAMPLES);
        let (samples, rest) = rest.split_at_checked(count * INTERVAL)?;
        for words in samples.as_chunks::<INTERVAL>().0 {
            let [after_ns, thread, state, address] = words_of(words);
            let Some(state) = u8::try_from(state).ok().and_then(ThreadState::from_index) else { continue };
            let time_ns = self.start_ns().saturating_add(after_ns).min(self.end_ns());
            arena.samples.push(ThreadSample { time_ns, thread: thread.cast_signed(), state, address });
        }
        arena.samples.sort_unstable();
        Some(rest)
    }

    /// Within the span, whatever a damaged partial says.
    #[cold]
    fn deliver_polls(&self, bytes: &[u8], arena: &mut Arena) -> Polls {
        let start = arena.polls.len();
        let place = |after_ns: u64| self.start_ns().saturating_add(after_ns).min(self.end_ns());
        for words in bytes.as_chunks::<INTERVAL>().0 {
            let [start_ns, end_ns, thread, count] = words_of(words);
            let (start_ns, end_ns) = (place(start_ns), place(end_ns.max(start_ns)));
            let thread = Some(thread.cast_signed()).filter(|&thread| thread != 0);
            arena.polls.push(Poll { start_ns, end_ns, thread, count });
        }
        if let Some(polls) = arena.polls.get_mut(start..) {
            polls.sort_unstable();
        }
        let (start, len) = (u32::try_from(start), u32::try_from(arena.polls.len() - start));
        start.ok().zip(len.ok()).map_or(Polls::default(), |(start, len)| Polls { start, len })
    }
}

/// Appends the records `more` of a trace to those of another one, which it continues: its roots are parts of the span
/// `parent`.
pub(crate) fn append_part(bytes: &mut Vec<u8>, more: &[u8], parent: u64) {
    bytes.reserve_exact(more.len());
    let mut rest = more;
    while let Some((record, after)) = Record::first(rest) {
        let begin = bytes.len();
        bytes.extend_from_slice(rest.get(..rest.len() - after.len()).unwrap_or_default());
        if record.continues()
            && let Some(slot) = bytes.get_mut(begin + 12..begin + 20)
        {
            slot.copy_from_slice(&parent.to_le_bytes());
        }
        rest = after;
    }
}

/// The four numbers of an interval or a sample.
fn words_of(bytes: &[u8; INTERVAL]) -> [u64; 4] {
    [0, 8, 16, 24].map(|at| {
        let word = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>());
        word.map_or(0, |word| u64::from_le_bytes(*word))
    })
}

/// What the spans of a trace refer to, while they are written. Its buffers are those of the trace.
#[derive(Debug)]
pub(crate) struct Arena {
    texts: Vec<u8>,
    links: Vec<Link>,
    values: Vec<UserValue>,
    polls: Vec<Poll>,
    samples: Vec<ThreadSample>,
}

impl Arena {
    /// Takes the buffers of a trace and empties them.
    pub(crate) fn of(trace: &mut Trace) -> Self {
        let mut arena = Self {
            texts: std::mem::take(&mut trace.texts).into_bytes(),
            links: std::mem::take(&mut trace.links),
            values: std::mem::take(&mut trace.values),
            polls: std::mem::take(&mut trace.polls),
            samples: std::mem::take(&mut trace.samples),
        };
        arena.texts.clear();
        arena.links.clear();
        arena.values.clear();
        arena.polls.clear();
        arena.samples.clear();
        arena
    }

    /// Gives them back. Texts are checked all at once; of those that are none (from a damaged partial) what is not
    /// ASCII is replaced, byte by byte, so that every text stays in its place.
    pub(crate) fn give_back(self, trace: &mut Trace) {
        trace.texts = String::from_utf8(self.texts).unwrap_or_else(|error| {
            error
                .as_bytes()
                .iter()
                .map(|&byte| if byte.is_ascii() { char::from(byte) } else { '?' })
                .collect()
        });
        trace.links = self.links;
        trace.values = self.values;
        trace.polls = self.polls;
        trace.samples = self.samples;
    }

    /// Appends text; gives where it begins.
    #[inline]
    fn push(&mut self, text: &[u8]) -> u32 {
        let start = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.extend_from_slice(text);
        start
    }
}

/// The records in `bytes`, up to the first thing that is not one.
pub(crate) fn records(mut bytes: &[u8]) -> impl Iterator<Item = Record<'_>> {
    std::iter::from_fn(move || {
        let (record, rest) = Record::first(bytes)?;
        bytes = rest;
        Some(record)
    })
}
