//! What a format needs while it reads one input: somewhere to put messages, damage and fragments, and the
//! way back to the next whole record. Which format it is, is decided here too.

use std::cell::Cell;
use std::rc::Rc;

use stepscope_otlp::{Encoding, Signal, detect};

use crate::chrome::is_event;
use crate::formats::{self, FORMATS, Format, LOOK, json_lines, length_prefixed};
use crate::fragments::{Fragment, Place};
use crate::framing::{self, PREFIX, Search, can_begin, prefix};
use crate::input::Input;
use crate::intake::{BadMessage, Intake, NextMessage, WINDOW_BYTES};
use crate::issues::{FileId, Line};
use crate::salvage::otlp;
use crate::structure::{JsonScan, Scanned, Strict, blank_prefix, trim};
use crate::{IssueKind, Sink, elements, foreign, jaeger};

/// Between two calls of [`Sink::progress`].
const PROGRESS_BYTES: u64 = 1 << 20;
/// How far to look for a record at first; then further by steps up to the largest message.
const FIRST_LOOK: usize = 64 << 10;
/// Bytes of the beginning that are kept.
const HEAD: usize = 4 << 10;
/// Bytes that may be looked at to find an item in a file whose beginning is damaged.
const FIND_EFFORT: usize = 16 << 20;
/// Blanks before a message on a line, at most.
const MAX_INDENT: usize = 64;

/// Ends of lines in `bytes`.
fn newlines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// How far the inputs at hand have been read.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Bytes of the inputs before this one.
    pub(crate) before: u64,
    /// Bytes of all of them, if known.
    total: Option<u64>,
    told: u64,
}

impl Progress {
    pub(crate) fn of(total: Option<u64>) -> Self {
        Self { total, ..Self::default() }
    }

    pub(crate) fn tell(&mut self, now: u64, sink: &mut dyn Sink) {
        if now >= self.told + PROGRESS_BYTES {
            self.told = now;
            sink.progress(now, self.total);
        }
    }
}

/// One input being read.
pub(crate) struct Reading<'a> {
    pub(crate) intake: &'a mut Intake,
    pub(crate) sink: &'a mut dyn Sink,
    pub(crate) file: FileId,
    /// Added to offsets: where a joined record begins in the file of its first half.
    pub(crate) base_offset: u64,
    pub(crate) max_message_bytes: usize,
    pub(crate) progress: &'a mut Progress,
    pub(crate) stored_bytes: Rc<Cell<u64>>,
    /// Where the input begins, behind what blanks were stepped over before its kind was known.
    pub(crate) begin: u64,
    /// What could not be read by itself: a beginning without its end, an end without its beginning.
    pub(crate) fragments: Vec<Fragment>,
    /// Name of the file, for fragments.
    pub(crate) name: &'a str,
    /// Whether the stream broke off, so that its last record has no other half anywhere.
    pub(crate) broken: bool,
    /// What the input begins with, for saying what it is where it holds no spans.
    pub(crate) head: Vec<u8>,
    /// Spans read before this input.
    pub(crate) spans_before: u64,
    /// Lines before the one at hand; unknown in what was put together from pieces.
    pub(crate) lines: Option<u64>,
}

/// A number of bytes in words.
pub(crate) fn bytes(count: u64) -> String {
    if count == 1 { "1 byte".into() } else { format!("{count} bytes") }
}

/// What was lost in a message of which more was read behind the damage.
pub(crate) fn went_on_at_span(lost: u64, reason: &str) -> String {
    let size = bytes(lost);
    format!("{size} were not read: {reason}; reading went on at the next span; {COPY_AGAIN}")
}

/// What helps against damage that is not in what was written.
pub(crate) const COPY_AGAIN: &str = "if this is a copy, copy it again";

impl Reading<'_> {
    /// Tells how far the input has been read.
    pub(crate) fn tell_progress(&mut self) {
        let now = self.progress.before + self.stored_bytes.get();
        self.progress.tell(now, self.sink);
    }

    /// Takes one message that begins at `offset`.
    pub(crate) fn message(&mut self, bytes: &[u8], offset: u64) -> Result<(), BadMessage> {
        self.tell_progress();
        if foreign::is_part(bytes) {
            self.issue(IssueKind::IncompleteTrace, offset, || {
                "the server answered with a part of the trace (`PARTIAL`); raise its limit of a trace's size"
                    .into()
            });
        }
        self.intake.message(bytes, self.file, self.base_offset + offset, self.sink)
    }

    /// Lets another thread, where there is one, decode what follows in the input; `next` finds the messages.
    pub(crate) fn look_ahead(&mut self, input: &mut Input<'_>, next: NextMessage) {
        let Some(ahead) = self.intake.ahead.as_mut().filter(|ahead| ahead.wants(input.offset())) else {
            return;
        };
        // What goes elsewhere as it stands is not decoded here.
        if self.sink.raw(Signal::Traces).is_some() || self.sink.raw(Signal::Metrics).is_some() {
            return;
        }
        input.fill(WINDOW_BYTES);
        ahead.feed(input.data(), input.offset(), self.base_offset, next);
    }

    /// Takes one trace of Jaeger that begins at `offset`.
    pub(crate) fn jaeger_trace(&mut self, bytes: &[u8], offset: u64) -> Result<(), BadMessage> {
        self.tell_progress();
        self.intake.jaeger_trace(bytes, self.file, self.base_offset + offset, self.sink)
    }

    /// Notes damage.
    pub(crate) fn issue(&mut self, kind: IssueKind, offset: u64, reason: impl FnOnce() -> String) {
        self.intake.state.issues.add(self.file, kind, Some(self.base_offset + offset), 1, reason);
    }

    /// Notes damage from which on nothing was read of `bytes` bytes.
    pub(crate) fn loss(&mut self, kind: IssueKind, offset: u64, bytes: u64, reason: impl FnOnce() -> String) {
        let offset = Some(self.base_offset + offset);
        self.intake.state.issues.add_lost(self.file, kind, offset, (1, bytes), reason);
    }

    /// Notes a message of `len` bytes, at `offset`, that could not be read to its end.
    pub(crate) fn bad_message(&mut self, bad: BadMessage, offset: u64, len: usize) {
        let kind = if bad.kind == IssueKind::Truncated { IssueKind::Corrupt } else { bad.kind };
        let lost = len.saturating_sub(bad.read_bytes).max(1) as u64;
        self.loss(kind, offset, lost, || {
            let size = bytes(lost);
            format!("{size} were not read: {}; reading went on at the next record; {COPY_AGAIN}", bad.reason)
        });
    }

    /// Takes what is whole behind the damage of a record at `offset`, if it is protobuf, and notes the damage. Its message begins
    /// at byte `begin` of it.
    pub(crate) fn bad_record(&mut self, bad: BadMessage, offset: u64, record: &[u8], begin: usize) {
        let message = record.get(begin..).unwrap_or_default();
        let at = self.base_offset + offset;
        match self.intake.behind(message, &bad, self.file, at, self.sink) {
            Some((at, lost)) => self.loss(IssueKind::Corrupt, offset + (begin + at) as u64, lost, || {
                went_on_at_span(lost, &bad.reason)
            }),
            None => self.bad_message(bad, offset, record.len()),
        }
    }

    /// Notes a record that is larger than what is read; that many bytes of it are known.
    pub(crate) fn too_large(&mut self, offset: u64, len: u64) {
        let max = self.max_message_bytes;
        self.loss(IssueKind::LimitReached, offset, len.max(1), || {
            format!(
                "a record of more than {max} bytes was skipped; let its writer make smaller batches, or a program of yours \
                 read it with a larger `ReadOptions::max_message_bytes`"
            )
        });
    }

    /// Keeps bytes whose other half may be in another file.
    pub(crate) fn fragment(&mut self, place: Place, offset: u64, bytes: &[u8]) {
        let offset = self.base_offset + offset;
        if bytes.len() > self.max_message_bytes.saturating_add(4) {
            let len = bytes.len() as u64;
            self.too_large(offset - self.base_offset, len);
        } else {
            let fragment = Fragment {
                file: self.name.to_owned(),
                offset,
                place,
                broken: self.broken,
                bytes: bytes.to_vec(),
            };
            self.fragments.push(fragment);
        }
    }

    /// Whether the input's beginning is missing or damaged.
    pub(crate) fn is_headless(&self) -> bool {
        self.fragments.iter().any(|fragment| fragment.place == Place::Head)
    }

    /// Keeps the torn last record of the input, which is everything visible; where the input holds nothing
    /// else, it may as well be a torn first one.
    pub(crate) fn tail(&mut self, input: &mut Input<'_>) {
        self.broken = input.damage().is_some();
        let place = if input.offset() == self.begin { Place::Whole } else { Place::Tail };
        self.fragment(place, input.offset(), input.data());
        input.consume(input.data().len());
    }

    /// Reads one input in whatever format it is; `None` where it is none of them.
    pub(crate) fn read(&mut self, input: &mut Input<'_>) -> Option<&'static Format> {
        self.step_over_blanks(input);
        let found = FORMATS.iter().copied().find(|format| (format.sniff)(input, self));
        let format = match found {
            Some(format) => format,
            None => {
                let (format, at) = self.find_record(input)?;
                let head = input.data().get(..at).unwrap_or_default();
                self.pass_lines(newlines(head));
                self.fragment(Place::Head, input.offset(), head);
                input.consume(at);
                format
            }
        };
        let read_before = self.has_read();
        (format.read)(input, self);
        self.intake.state.issues.at_line(None);
        self.read_others(input);
        let is_silent = input.damage().is_none() && self.fragments.is_empty();
        if is_silent && self.has_read() == read_before && !self.intake.state.issues.has_any(self.file) {
            let what = foreign::what(&self.head).unwrap_or_else(|| foreign::SOUND.into());
            self.issue(IssueKind::Empty, 0, || what);
        }
        Some(format)
    }

    /// Reads documents of other kinds behind those of the first.
    fn read_others(&mut self, input: &mut Input<'_>) {
        while input.fill(1) > 0 {
            let offset = input.offset();
            if let Some(format) = FORMATS.iter().copied().find(|format| (format.sniff)(input, self)) {
                (format.read)(input, self);
                self.intake.state.issues.at_line(None);
            }
            if input.offset() == offset {
                while input.fill(1) > 0 {
                    input.consume(input.data().len());
                }
                let lost = input.offset() - offset;
                self.loss(IssueKind::Corrupt, offset, lost, || {
                    format!("{} are none of the formats that are read, and were left out", bytes(lost))
                });
            }
        }
    }

    /// Whether spans were read of this input.
    pub(crate) fn has_spans(&self) -> bool {
        self.intake.state.spans_read > self.spans_before
    }

    /// Spans and points read so far.
    fn has_read(&self) -> (u64, u64) {
        (self.intake.state.spans_read, self.intake.state.points_read)
    }

    /// Steps over so many blanks that formats would see little of what follows them. Nothing binary begins so.
    fn step_over_blanks(&mut self, input: &mut Input<'_>) {
        loop {
            input.fill(LOOK);
            let blank = blank_prefix(input.data());
            if blank < LOOK / 2 {
                break;
            }
            self.pass_lines(newlines(input.data().get(..blank).unwrap_or_default()));
            input.consume(blank);
        }
        self.begin = input.offset();
        let head = input.data().get(blank_prefix(input.data())..).unwrap_or_default();
        self.head = head.get(..HEAD).unwrap_or(head).to_vec();
    }

    /// Counts lines that are behind.
    pub(crate) fn pass_lines(&mut self, count: u64) {
        self.lines = self.lines.map(|lines| lines.saturating_add(count));
    }

    /// Says that the line at hand is of `len` bytes.
    pub(crate) fn at_line(&mut self, offset: u64, len: u64) {
        let begin = self.base_offset + offset;
        let line = self.lines.map(|before| Line {
            file: self.file,
            range: begin..begin.saturating_add(len.max(1)),
            number: before.saturating_add(1),
        });
        self.intake.state.issues.at_line(line);
    }

    /// The first whole record of an input that begins in the middle of one. Where there is none, what is
    /// visible then is all that could be its other half.
    fn find_record(&mut self, input: &mut Input<'_>) -> Option<(&'static Format, usize)> {
        let mut search = Search::from(1);
        let mut next_line = 0;
        let mut limit = FIRST_LOOK;
        loop {
            limit = limit.min(self.max_message_bytes);
            while let Some(end) = input.find_newline(next_line, limit) {
                next_line = end + 1;
                input.fill(next_line + MAX_INDENT);
                let line = input.data().get(next_line..).unwrap_or_default();
                let indent =
                    line.iter().take(MAX_INDENT).take_while(|byte| byte.is_ascii_whitespace()).count();
                // Its name comes first in a message, so a piece is enough, and damage cannot make this slow.
                let line = line.get(indent..line.len().min(FIRST_LOOK)).unwrap_or_default();
                if line.first() == Some(&b'{')
                    && detect(line).is_some_and(|found| found.encoding == Encoding::Json)
                {
                    return Some((&json_lines::FORMAT, next_line));
                }
            }
            next_line = next_line.max(input.data().len());
            if let Some(at) = framing::find_sync(input, &mut search, limit, self) {
                return Some((&length_prefixed::FORMAT, at));
            }
            if input.fill(limit + 1) <= limit || limit == self.max_message_bytes {
                break;
            }
            limit = limit.saturating_mul(16);
        }
        // What is sound before an item may be the rest of a record that another file begins.
        let data = input.data();
        let is_sound = |at: usize| {
            !matches!(data.first(), Some(b'{' | b'['))
                && data.get(..at).is_some_and(|head| !head.contains(&0))
        };
        if let Some(found) = find_item(data).filter(|(_, at)| !is_sound(*at)) {
            return Some(found);
        }
        if input.fill(self.max_message_bytes + 1) > self.max_message_bytes {
            let reason = unknown_format(&self.head);
            self.issue(IssueKind::UnknownFormat, 0, || reason);
        } else {
            self.tail(input);
        }
        None
    }
}

/// The first whole item of JSON in `data`, whose beginning is missing or damaged, and its format.
fn find_item(data: &[u8]) -> Option<(&'static Format, usize)> {
    // A document that is sound so far is one of others.
    let begins = matches!(data.first(), Some(b'{' | b'['));
    if begins && !matches!(Strict::default().walk(data), Scanned::Damage(_)) {
        return None;
    }
    let mut effort = 0;
    let braces = data.iter().enumerate().filter(|(_, byte)| **byte == b'{').map(|(at, _)| at);
    for at in braces {
        let here = data.get(at..)?;
        let look = here.get(..LOOK).unwrap_or(here);
        if jaeger::begins_trace(look) {
            return Some((&formats::jaeger::FORMAT, at));
        }
        if elements::begins_message(look) {
            return Some((&formats::json_document::FORMAT, at));
        }
        let mut len = look.len();
        if let Scanned::End(end) = Strict::default().walk(here) {
            len = end;
            let object = here.get(..end)?;
            if is_event(object) {
                return Some((&formats::chrome::FORMAT, at));
            }
            if jaeger::is_span(object) {
                return Some((&formats::jaeger::FORMAT, at));
            }
            if otlp::is_resource(object) {
                return Some((&formats::json_document::FORMAT, at));
            }
        }
        effort += len;
        if effort > FIND_EFFORT {
            break;
        }
    }
    None
}

/// How files begin that are cut off before their kind can be known.
const MAGICS: [&[u8]; 2] = [&[0x1f, 0x8b, 8], &[0x28, 0xb5, 0x2f, 0xfd]];
/// How JSON messages begin, without blanks.
const JSON_BEGINNINGS: [&str; 7] = [
    "{\"resourceSpans\":",
    "{\"resourceMetrics\":",
    "{\"resourceLogs\":",
    "{\"batches\":",
    "{\"data\":[{\"traceID\":",
    "{\"traceID\":",
    "{\"traceEvents\":[",
];

/// Whether `bytes`, all of a file, can be the beginning of one that is read, cut off before it tells what it
/// is: inside of a magic number, a length, the first name, or the first record.
pub(crate) fn is_beginning(bytes: &[u8], max_message_bytes: usize) -> bool {
    if bytes.is_empty() {
        return false;
    }
    let text = trim(bytes);
    let json = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    let is_json = !text.is_empty()
        && JsonScan::default().feed(text).is_none()
        && JSON_BEGINNINGS.iter().any(|begin| {
            text.len() < 4 * begin.len() && json.clone().zip(begin.as_bytes()).all(|(a, b)| a == b)
        });
    let is_record = match prefix(bytes) {
        None => bytes.first() == Some(&0),
        Some(len) => {
            let begin = bytes.get(PREFIX..).unwrap_or_default();
            let is_torn = len > begin.len() && len <= max_message_bytes;
            is_torn && (begin.is_empty() && bytes.first() == Some(&0) || can_begin(begin))
        }
    };
    is_json || is_record || MAGICS.iter().any(|magic| magic.starts_with(bytes))
}

/// What is said of foreign files, by how they begin.
pub(crate) fn unknown_format(begin: &[u8]) -> String {
    let known = "none of the formats that are read (OTLP as protobuf or JSON, Jaeger JSON, Chrome trace events; plain, gzip or zstd)";
    foreign::what(begin).unwrap_or_else(|| known.into())
}
