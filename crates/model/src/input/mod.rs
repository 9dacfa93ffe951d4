//! A file's bytes as formats see them: decompressed, in a window that slides over a stream of any length,
//! with an account of where the stream broke off.

mod gzip;
mod layer;
pub(crate) mod zstd;

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use crate::IssueKind;
use crate::fingerprint::Fingerprint;
use crate::reading::COPY_AGAIN;
use layer::{Layer, Stopped, Trailing};

/// Bytes asked from the stream at once.
const CHUNK: usize = 64 << 10;
/// Up to this size the window grows instead of moving what it holds: messages are long, and each that is cut by the end
/// of the window would be copied. No longer, so that what was read is still in a processor's second cache when it is decoded.
const WINDOW: usize = 1 << 19;
/// Compression inside of compression is undone this often.
const MAX_LAYERS: usize = 3;
/// A stream may unpack to this much whatever it is; beyond, only to [`MAX_EXPANSION`] times its size.
const FREE_BYTES: u64 = 256 << 20;
/// Traces rarely compress better than 60 times; a bomb does a thousand times and more.
const MAX_EXPANSION: u64 = 1_000;

/// What is undone.
pub(crate) const COMPRESSIONS: [&str; 2] = [GZIP, ZSTD];
const GZIP: &str = "gzip";
const ZSTD: &str = "zstd";

/// What `stored` bytes may unpack to.
fn allowed_bytes(stored: u64) -> u64 {
    FREE_BYTES.max(stored.saturating_mul(MAX_EXPANSION))
}

/// Why a stream ended before its end.
#[derive(Debug, Clone)]
pub(crate) struct Damage {
    pub(crate) kind: IssueKind,
    pub(crate) reason: String,
}

/// A window over a decompressed stream.
pub(crate) struct Input<'r> {
    stream: Box<dyn Read + 'r>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset of `start` in the decompressed stream.
    offset: u64,
    ended: bool,
    damage: Option<Damage>,
    fingerprint: Fingerprint,
    stored_bytes: Rc<Cell<u64>>,
    compression: &'static str,
    /// Bytes behind the end of a compressed stream.
    trailing: Trailing,
}

/// Counts what is read from the file itself.
struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.inner.read(buffer) {
                Ok(len) => {
                    self.count.set(self.count.get() + len as u64);
                    return Ok(len);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Marked::wrap(error)),
            }
        }
    }
}

/// An error of the file itself, so that it can be told from one of a decompressor.
#[derive(Debug)]
struct Marked(io::Error);

impl Marked {
    fn wrap(error: io::Error) -> io::Error {
        io::Error::new(error.kind(), Self(error))
    }
}

impl std::fmt::Display for Marked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Marked {}

/// What has been read of a stream for a look at it, and the rest.
type Peeked<'r> = io::Chain<io::Cursor<Vec<u8>>, Box<dyn BufRead + 'r>>;

/// Reads up to `len` bytes ahead without losing them. An error meanwhile comes again when the rest is read.
fn peek<'r>(mut stream: Box<dyn BufRead + 'r>, len: usize) -> (Vec<u8>, Peeked<'r>) {
    let mut head = vec![0; len];
    let mut filled = 0;
    let mut failed = None;
    while let Some(space) = head.get_mut(filled..).filter(|space| !space.is_empty()) {
        match stream.read(space) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    head.truncate(filled);
    let rest: Box<dyn BufRead + 'r> = match failed {
        None => stream,
        Some(error) => Box::new(BufReader::with_capacity(1, Failing(Some(error)))),
    };
    (head.clone(), io::Cursor::new(head).chain(rest))
}

/// Fails once.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

impl<'r> Input<'r> {
    /// A window over `stream`, decompressed as its first bytes ask for. `buffer` is used for it.
    pub(crate) fn new(stream: impl Read + 'r, buffer: Vec<u8>) -> Self {
        let stored_bytes = Rc::new(Cell::new(0));
        let counted = Counted { inner: stream, count: Rc::clone(&stored_bytes) };
        let mut stream: Box<dyn BufRead + 'r> = Box::new(BufReader::with_capacity(CHUNK, counted));
        let mut compression = "";
        let trailing = Trailing::default();
        for _ in 0..MAX_LAYERS {
            let (head, peeked) = peek(stream, 4);
            let around = Some(compression).filter(|name| !name.is_empty());
            let unpacked = if head.starts_with(&gzip::MAGIC) {
                compression = GZIP;
                Layer::new(compression, around, peeked, |packed| gzip::Members::new(packed, trailing.clone()))
            } else if zstd::is_stream(&head) {
                compression = ZSTD;
                Layer::new(compression, around, peeked, |packed| {
                    zstd::StreamDecoder::new(packed, trailing.clone())
                })
            } else {
                stream = Box::new(peeked);
                break;
            };
            stream = Box::new(BufReader::with_capacity(CHUNK, unpacked));
        }
        Self {
            stream,
            buffer,
            start: 0,
            end: 0,
            offset: 0,
            ended: false,
            damage: None,
            fingerprint: Fingerprint::default(),
            stored_bytes,
            compression,
            trailing,
        }
    }

    /// What can be seen. Grows by [`Self::fill`].
    pub(crate) fn data(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Offset of the first byte of [`Self::data`] in the decompressed stream.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Makes at least `want` bytes visible, if the stream has that many; gives the number there are.
    pub(crate) fn fill(&mut self, want: usize) -> usize {
        while self.end - self.start < want && !self.ended {
            let is_short = self.buffer.len() < self.start + want.max(CHUNK) && self.buffer.len() >= WINDOW;
            if self.start > 0 && (is_short || self.start == self.end) {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            if self.buffer.len() < self.end + CHUNK {
                // Doubling up to what is wanted: a record's claimed length alone must not cost memory.
                let most = want.saturating_add(CHUNK).max(WINDOW);
                let size = (self.buffer.len() * 2).min(most).max(self.end + CHUNK);
                self.buffer.resize(size, 0);
            }
            let Some(space) = self.buffer.get_mut(self.end..) else { break };
            match self.stream.read(space) {
                Ok(0) => self.ended = true,
                Ok(count) => {
                    self.fingerprint.update(space.get(..count).unwrap_or_default());
                    self.end += count;
                    self.check_expansion();
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => self.fail(&error),
            }
        }
        self.end - self.start
    }

    fn fail(&mut self, error: &io::Error) {
        self.ended = true;
        let stopped = error.get_ref().and_then(|inner| inner.downcast_ref::<Stopped>());
        let damage = match stopped {
            None => {
                let reason = format!("the rest could not be read ({error}); check the disk");
                Damage { kind: IssueKind::Unreadable, reason }
            }
            Some(stopped) => self.broken_off(stopped),
        };
        self.damage.get_or_insert(damage);
    }

    /// What a decompressor met. Where it was is said of what is packed; what was read before, of what was unpacked.
    fn broken_off(&self, stopped: &Stopped) -> Damage {
        let Stopped { compression, around, position, cause } = stopped;
        let unpacked = self.offset + (self.end - self.start) as u64;
        let of =
            around.map_or("of the file".to_owned(), |around| format!("of what the {around} stream holds"));
        let before = match unpacked {
            0 => "nothing of it could be read".to_owned(),
            1 => "the 1 byte unpacked before was read".to_owned(),
            _ => format!("the {unpacked} bytes unpacked before were read"),
        };
        // What a bit that flipped stands for is told by nothing but the checksum behind all of it.
        let but = if unpacked == 0 { "" } else { ", but may be wrong" };
        if cause.kind() == io::ErrorKind::UnexpectedEof {
            let place = if unpacked == 0 { "is cut off at its start" } else { "ends in the middle" };
            let reason = format!(
                "the {compression} stream {place}, behind byte {position} {of}; {before}; {COPY_AGAIN}"
            );
            return Damage { kind: IssueKind::Truncated, reason };
        }
        let place = if unpacked == 0 { " at its start" } else { "" };
        let reason = format!(
            "the {compression} stream is damaged{place} before byte {position} {of} ({cause}); {before}{but}; {COPY_AGAIN}"
        );
        Damage { kind: IssueKind::BadCompression, reason }
    }

    fn check_expansion(&mut self) {
        let unpacked = self.offset + (self.end - self.start) as u64;
        if unpacked > allowed_bytes(self.stored_bytes.get()) && !self.compression.is_empty() {
            self.ended = true;
            let reason = format!(
                "the {} stream unpacks to more than {MAX_EXPANSION} times its size; the rest was not read",
                self.compression
            );
            self.damage.get_or_insert(Damage { kind: IssueKind::LimitReached, reason });
        }
    }

    /// Whether all of the stream is visible or consumed.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Moves on by `count` bytes (at most what is visible).
    pub(crate) fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// Why the stream ended early, if it did.
    pub(crate) fn damage(&self) -> Option<&Damage> {
        self.damage.as_ref()
    }

    /// What is compressed, and how many bytes follow its end and are no part of it; known at the end.
    pub(crate) fn trailing(&self) -> (&'static str, u64) {
        self.trailing.get()
    }

    /// Bytes read from the file as stored.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.stored_bytes.get()
    }

    /// The counter behind [`Self::stored_bytes`], for progress.
    pub(crate) fn stored_counter(&self) -> Rc<Cell<u64>> {
        Rc::clone(&self.stored_bytes)
    }

    /// `gzip`, `zstd` or nothing.
    pub(crate) fn compression(&self) -> &'static str {
        self.compression
    }

    /// The fingerprint of everything read, and the buffer for the next input.
    pub(crate) fn finish(self) -> (u128, Vec<u8>) {
        (self.fingerprint.finish(), self.buffer)
    }

    /// Position of the first newline at or after `from`, if it is not behind `limit`.
    pub(crate) fn find_newline(&mut self, from: usize, limit: usize) -> Option<usize> {
        let mut at = from;
        loop {
            if let Some(found) = position_of_newline(self.data().get(at..).unwrap_or_default()) {
                // What is visible may reach beyond the limit.
                return Some(at + found).filter(|&found| found <= limit);
            }
            at = self.data().len().max(from);
            if at >= limit || self.fill(at + 1) <= at {
                return None;
            }
        }
    }
}

/// Newlines that the bytes begin with.
pub(crate) fn newlines_at_start(bytes: &[u8]) -> usize {
    let (chunks, _) = bytes.as_chunks::<64>();
    // As below: many bytes at once.
    let is_blank = |chunk: &&[u8; 64]| chunk.iter().fold(true, |all, &byte| all & (byte == b'\n'));
    let blank = chunks.iter().take_while(is_blank).count() * 64;
    let rest = bytes.get(blank..).unwrap_or_default();
    blank + rest.iter().take_while(|&&byte| byte == b'\n').count()
}

/// Position of the first newline.
pub(crate) fn position_of_newline(bytes: &[u8]) -> Option<usize> {
    let (chunks, rest) = bytes.as_chunks::<64>();
    for (index, chunk) in chunks.iter().enumerate() {
        // Without an early exit the compiler compares many bytes at once.
        if chunk.iter().fold(false, |found, &byte| found | (byte == b'\n')) {
            return chunk.iter().position(|&byte| byte == b'\n').map(|at| index * 64 + at);
        }
    }
    rest.iter().position(|&byte| byte == b'\n').map(|at| chunks.len() * 64 + at)
}

#[cfg(test)]
mod tests;
