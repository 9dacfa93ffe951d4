//! Events on their way from the order in which they were written to the one in which they nest: by lane, then by
//! time. Sorted in memory as far as that goes, then in nameless temporary files that are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::PathBuf;

/// Sorted files that are open at once; more are merged into one.
const MAX_RUNS: usize = 32;
/// What a key costs in memory, with the room that its list has grown for.
const KEY_BYTES: usize = 2 * size_of::<(Key, usize)>();

/// Where an event stands. Events are equal in order only where they are the same event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Key {
    /// What nests by itself: a thread, an asynchronous id, a counter.
    pub(super) lane: u64,
    pub(super) at_ns: i128,
    /// Of events at one time the smaller first: ends and begins, slices, what belongs into slices.
    pub(super) rank: u8,
    /// Of slices that begin together the longest first.
    pub(super) end_ns: Reverse<i128>,
    /// Position in the file.
    pub(super) number: u64,
}

/// The rest of an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Body<'a> {
    pub(super) phase: u8,
    pub(super) id: u64,
    /// When, where the key's time is for order only.
    pub(super) at_ns: i128,
    pub(super) correlation: Option<u64>,
    pub(super) name: &'a str,
    pub(super) category: &'a str,
    pub(super) pid: &'a str,
    pub(super) tid: &'a str,
    pub(super) args: &'a [u8],
}

/// Collects events.
#[derive(Debug)]
pub(super) struct Store {
    memory_bytes: usize,
    dir: Option<PathBuf>,
    bytes: Vec<u8>,
    keys: Vec<(Key, usize)>,
    runs: Vec<File>,
}

/// Bytes of a record before its texts: key, phase, id, time, correlation and whether there is one, lengths.
const HEAD: usize = 8 + 16 + 1 + 16 + 8 + 1 + 8 + 16 + 9 + 4 * 2 + 4;

fn write_record(key: &Key, body: &Body<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(&key.lane.to_le_bytes());
    out.extend_from_slice(&key.at_ns.to_le_bytes());
    out.push(key.rank);
    out.extend_from_slice(&key.end_ns.0.to_le_bytes());
    out.extend_from_slice(&key.number.to_le_bytes());
    out.push(body.phase);
    out.extend_from_slice(&body.id.to_le_bytes());
    out.extend_from_slice(&body.at_ns.to_le_bytes());
    out.push(u8::from(body.correlation.is_some()));
    out.extend_from_slice(&body.correlation.unwrap_or(0).to_le_bytes());
    for text in [body.name, body.category, body.pid, body.tid] {
        // Texts were bounded where they were read.
        out.extend_from_slice(&u16::try_from(text.len()).unwrap_or(0).to_le_bytes());
    }
    out.extend_from_slice(&u32::try_from(body.args.len()).unwrap_or(0).to_le_bytes());
    for text in [body.name, body.category, body.pid, body.tid] {
        out.extend_from_slice(text.as_bytes());
    }
    out.extend_from_slice(body.args);
}

/// Reads fixed-size fields one after the other.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let Some((field, rest)) = self.0.split_first_chunk() else { return [0; N] };
        self.0 = rest;
        *field
    }
}

/// The key and the body of a record, and its length.
fn read_record(bytes: &[u8]) -> Option<(Key, Body<'_>, usize)> {
    let (head, texts) = bytes.split_at_checked(HEAD)?;
    let mut fields = Fields(head);
    let key = Key {
        lane: u64::from_le_bytes(fields.take()),
        at_ns: i128::from_le_bytes(fields.take()),
        rank: u8::from_le_bytes(fields.take()),
        end_ns: Reverse(i128::from_le_bytes(fields.take())),
        number: u64::from_le_bytes(fields.take()),
    };
    let phase = u8::from_le_bytes(fields.take());
    let id = u64::from_le_bytes(fields.take());
    let at_ns = i128::from_le_bytes(fields.take());
    let has_correlation = u8::from_le_bytes(fields.take()) != 0;
    let correlation = Some(u64::from_le_bytes(fields.take())).filter(|_| has_correlation);
    let lens: [usize; 4] = std::array::from_fn(|_| usize::from(u16::from_le_bytes(fields.take())));
    let args_len = u32::from_le_bytes(fields.take()) as usize;
    let mut at = 0;
    let mut text = |len: usize| {
        let text = texts.get(at..at + len).and_then(|text| std::str::from_utf8(text).ok());
        at += len;
        text
    };
    let [name, category, pid, tid] = [text(lens[0])?, text(lens[1])?, text(lens[2])?, text(lens[3])?];
    let args = texts.get(at..at.checked_add(args_len)?)?;
    Some((key, Body { phase, id, at_ns, correlation, name, category, pid, tid, args }, HEAD + at + args_len))
}

impl Store {
    pub(super) fn new(memory_bytes: usize, dir: Option<PathBuf>) -> Self {
        Self { memory_bytes, dir, bytes: Vec::new(), keys: Vec::new(), runs: Vec::new() }
    }

    /// Takes an event.
    ///
    /// # Errors
    /// Where a temporary file fails.
    pub(super) fn push(&mut self, key: Key, body: &Body<'_>) -> io::Result<()> {
        self.keys.push((key, self.bytes.len()));
        write_record(&key, body, &mut self.bytes);
        if self.bytes.len() + self.keys.len() * KEY_BYTES > self.memory_bytes { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> io::Result<()> {
        if self.runs.len() >= MAX_RUNS {
            let mut merged = self.file()?;
            let runs = std::mem::take(&mut self.runs);
            let mut merge = Merge::new(&runs)?;
            while let Some(record) = merge.next()? {
                frame(&mut merged, record)?;
            }
            self.runs.push(merged.into_inner().map_err(io::IntoInnerError::into_error)?);
        }
        self.keys.sort_unstable();
        let mut out = self.file()?;
        for &(_, at) in &self.keys {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let Some((.., len)) = read_record(rest) else { continue };
            frame(&mut out, rest.get(..len).unwrap_or_default())?;
        }
        self.runs.push(out.into_inner().map_err(io::IntoInnerError::into_error)?);
        self.keys.clear();
        self.bytes.clear();
        Ok(())
    }

    fn file(&self) -> io::Result<BufWriter<File>> {
        let file = match &self.dir {
            Some(dir) => tempfile::tempfile_in(dir)?,
            None => tempfile::tempfile()?,
        };
        Ok(BufWriter::with_capacity(64 << 10, file))
    }

    /// No more events: from here on they can be walked, in order and as often as one likes.
    ///
    /// # Errors
    /// Where a temporary file fails.
    pub(super) fn sort(&mut self) -> io::Result<()> {
        if !self.runs.is_empty() && !self.keys.is_empty() {
            self.spill()?;
        }
        self.keys.sort_unstable();
        Ok(())
    }

    /// A walk over all events, after [`Self::sort`].
    ///
    /// # Errors
    /// Where a temporary file fails.
    pub(super) fn walk(&self) -> io::Result<Walk<'_>> {
        if self.runs.is_empty() {
            return Ok(Walk::Memory { store: self, next: 0 });
        }
        Ok(Walk::Files(Merge::new(&self.runs)?))
    }
}

fn frame(out: &mut impl Write, record: &[u8]) -> io::Result<()> {
    out.write_all(&u32::try_from(record.len()).map_err(io::Error::other)?.to_le_bytes())?;
    out.write_all(record)
}

/// One walk over sorted events.
pub(super) enum Walk<'s> {
    Memory { store: &'s Store, next: usize },
    Files(Merge<'s>),
}

impl Walk<'_> {
    /// The next event.
    ///
    /// # Errors
    /// Where a temporary file fails.
    pub(super) fn next(&mut self) -> io::Result<Option<(Key, Body<'_>)>> {
        let record = match self {
            Walk::Memory { store, next } => {
                let place = store.keys.get(*next);
                *next += 1;
                place.and_then(|&(_, at)| store.bytes.get(at..))
            }
            Walk::Files(merge) => merge.next()?,
        };
        Ok(record.and_then(read_record).map(|(key, body, _)| (key, body)))
    }
}

/// Several sorted files as one.
pub(super) struct Merge<'s> {
    sources: Vec<(BufReader<&'s File>, Vec<u8>)>,
    /// What each source has next.
    heap: BinaryHeap<Reverse<(Key, usize)>>,
    /// The source whose record was handed out last.
    last: Option<usize>,
}

impl<'s> Merge<'s> {
    fn new(files: &'s [File]) -> io::Result<Self> {
        let mut merge = Self { sources: Vec::new(), heap: BinaryHeap::new(), last: None };
        for (index, mut file) in files.iter().enumerate() {
            file.rewind()?;
            merge.sources.push((BufReader::with_capacity(64 << 10, file), Vec::new()));
            merge.advance(index)?;
        }
        Ok(merge)
    }

    fn advance(&mut self, index: usize) -> io::Result<()> {
        let Some((source, record)) = self.sources.get_mut(index) else { return Ok(()) };
        let mut len = [0; 4];
        match source.read_exact(&mut len) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error),
        }
        record.resize(u32::from_le_bytes(len) as usize, 0);
        source.read_exact(record)?;
        if let Some((key, ..)) = read_record(record) {
            self.heap.push(Reverse((key, index)));
        }
        Ok(())
    }

    fn next(&mut self) -> io::Result<Option<&[u8]>> {
        if let Some(last) = self.last.take() {
            self.advance(last)?;
        }
        let Some(Reverse((_, index))) = self.heap.pop() else { return Ok(None) };
        self.last = Some(index);
        Ok(self.sources.get(index).map(|(_, record)| record.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u64) -> Key {
        let mixed = stepscope_core::identity::mix(number);
        Key {
            lane: mixed % 5,
            at_ns: i128::from(mixed >> 8 & 127) - 50,
            rank: (mixed >> 40) as u8 % 3,
            end_ns: Reverse(7),
            number,
        }
    }

    #[test]
    fn events_come_in_order_from_memory_and_from_files() {
        let mut expected: Vec<Key> = (0..5_000).map(key).collect();
        expected.sort_unstable();
        // All in memory; some files; more files than are kept open.
        for memory_bytes in [1 << 30, 100_000, 8_000] {
            let mut store = Store::new(memory_bytes, None);
            for number in 0..5_000 {
                let name = format!("event {number}");
                let body = Body {
                    phase: b'X',
                    name: &name,
                    correlation: Some(number),
                    args: b"{}",
                    ..Body::default()
                };
                store.push(key(number), &body).unwrap();
            }
            store.sort().unwrap();
            for _ in 0..2 {
                let mut walk = store.walk().unwrap();
                let mut found = Vec::new();
                while let Some((key, body)) = walk.next().unwrap() {
                    assert_eq!(
                        (body.name, body.correlation),
                        (&*format!("event {}", key.number), Some(key.number))
                    );
                    found.push(key);
                }
                assert_eq!(found, expected, "{memory_bytes}");
            }
            assert!(store.runs.len() <= MAX_RUNS + 1);
        }
    }
}
