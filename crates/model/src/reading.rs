//! What a format needs while it reads one input: somewhere to put messages, damage and fragments, and the
//! way back to the next whole record. Which format it is, is decided here too.

use std::cell::Cell;
use std::rc::Rc;

use stepscope_otlp::{Encoding, Signal, detect};

use crate::formats::{FORMATS, Format, LOOK, json_lines, length_prefixed};
use crate::fragments::{Fragment, Place};
use crate::framing::{self, PREFIX, Search, can_begin, prefix};
use crate::input::Input;
use crate::intake::{BadMessage, Intake, NextMessage, WINDOW_BYTES};
use crate::issues::{FileId, Line};
use crate::structure::{JsonScan, blank_prefix, trim};
use crate::{IssueKind, Sink};

/// Between two calls of [`Sink::progress`].
const PROGRESS_BYTES: u64 = 1 << 20;
/// How far to look for a record at first; then further by steps up to the largest message.
const FIRST_LOOK: usize = 64 << 10;
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
    /// Messages and traces taken so far, sound or not.
    pub(crate) records: u64,
    /// Where the input begins, behind what blanks were stepped over before its kind was known.
    pub(crate) begin: u64,
    /// What could not be read by itself: a beginning without its end, an end without its beginning.
    pub(crate) fragments: Vec<Fragment>,
    /// Name of the file, for fragments.
    pub(crate) name: &'a str,
    /// Whether the stream broke off, so that its last record has no other half anywhere.
    pub(crate) broken: bool,
    /// Lines before the one at hand; unknown in what was put together from pieces.
    pub(crate) lines: Option<u64>,
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
        self.records += 1;
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
        self.records += 1;
        self.intake.jaeger_trace(bytes, self.file, self.base_offset + offset, self.sink)
    }

    /// Notes damage.
    pub(crate) fn issue(&mut self, kind: IssueKind, offset: u64, reason: impl FnOnce() -> String) {
        self.intake.state.issues.add(self.file, kind, Some(self.base_offset + offset), 1, reason);
    }

    /// Notes a message that could not be read to its end.
    pub(crate) fn bad_message(&mut self, bad: BadMessage, offset: u64) {
        let kind = if bad.kind == IssueKind::Truncated { IssueKind::Corrupt } else { bad.kind };
        self.issue(kind, offset, || {
            format!("{}; reading went on at the next record; {COPY_AGAIN}", bad.reason)
        });
    }

    /// Notes a record that is larger than what is read.
    pub(crate) fn too_large(&mut self, offset: u64) {
        let max = self.max_message_bytes;
        self.issue(IssueKind::LimitReached, offset, || {
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
            self.too_large(offset);
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
        (format.read)(input, self);
        self.intake.state.issues.at_line(None);
        Some(format)
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

    /// Says of a document that is whole that nothing in it is a span.
    pub(crate) fn without_spans(&mut self) {
        self.issue(IssueKind::Empty, 0, || "a valid file that holds no spans".into());
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
        if input.fill(self.max_message_bytes + 1) > self.max_message_bytes {
            self.issue(IssueKind::UnknownFormat, 0, unknown_format);
        } else {
            self.tail(input);
        }
        None
    }
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

/// What is said of foreign files.
pub(crate) fn unknown_format() -> String {
    "none of the formats that are read (OTLP as protobuf or JSON, Jaeger JSON, Chrome trace events; plain, gzip or zstd)".into()
}
