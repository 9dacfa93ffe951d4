//! What a format needs while it reads one input: somewhere to put messages, damage and fragments, and the
//! way back to the next whole record. Which format it is, is decided here too.

use std::cell::Cell;
use std::rc::Rc;

use stepscope_otlp::{Encoding, detect};

use crate::formats::{FORMATS, Format, json_lines, length_prefixed};
use crate::fragments::{Fragment, Place};
use crate::framing::{self, Search};
use crate::input::Input;
use crate::intake::{BadMessage, Intake};
use crate::issues::FileId;
use crate::{IssueKind, Sink};

/// Between two calls of [`Sink::progress`].
const PROGRESS_BYTES: u64 = 1 << 20;
/// How far to look for a record at first; then further by steps up to the largest message.
const FIRST_LOOK: usize = 64 << 10;
/// Blanks before a message on a line, at most.
const MAX_INDENT: usize = 64;

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
    /// What could not be read by itself: a beginning without its end, an end without its beginning.
    pub(crate) fragments: Vec<Fragment>,
    /// Name of the file, for fragments.
    pub(crate) name: &'a str,
    /// Whether the stream broke off, so that its last record has no other half anywhere.
    pub(crate) broken: bool,
}

impl Reading<'_> {
    /// Takes one message that begins at `offset`.
    pub(crate) fn message(&mut self, bytes: &[u8], offset: u64) -> Result<(), BadMessage> {
        let now = self.progress.before + self.stored_bytes.get();
        self.progress.tell(now, self.sink);
        self.intake.message(bytes, self.file, self.base_offset + offset, self.sink)
    }

    /// Notes damage.
    pub(crate) fn issue(&mut self, kind: IssueKind, offset: u64, reason: impl FnOnce() -> String) {
        self.intake.state.issues.add(self.file, kind, Some(self.base_offset + offset), 1, reason);
    }

    /// Notes a message that could not be read to its end.
    pub(crate) fn bad_message(&mut self, bad: BadMessage, offset: u64) {
        let kind = if bad.kind == IssueKind::Truncated { IssueKind::Corrupt } else { bad.kind };
        self.issue(kind, offset, || format!("{}; reading went on at the next record", bad.reason));
    }

    /// Notes a record that is larger than what is read.
    pub(crate) fn too_large(&mut self, offset: u64) {
        let max = self.max_message_bytes;
        self.issue(IssueKind::LimitReached, offset, || {
            format!("a record of more than {max} bytes was skipped; raise the limit to read it")
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
        let place = if input.offset() == 0 { Place::Whole } else { Place::Tail };
        self.fragment(place, input.offset(), input.data());
        input.consume(input.data().len());
    }

    /// Reads one input in whatever format it is; `None` where it is none of them.
    pub(crate) fn read(&mut self, input: &mut Input<'_>) -> Option<&'static Format> {
        let found = FORMATS.iter().copied().find(|format| (format.sniff)(input, self));
        let format = match found {
            Some(format) => format,
            None => {
                let (format, at) = self.find_record(input)?;
                self.fragment(Place::Head, input.offset(), input.data().get(..at).unwrap_or_default());
                input.consume(at);
                format
            }
        };
        (format.read)(input, self);
        Some(format)
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

/// What is said of foreign files.
pub(crate) fn unknown_format() -> String {
    "none of the formats that are read (OTLP as protobuf or JSON, plain, gzip or zstd)".into()
}
