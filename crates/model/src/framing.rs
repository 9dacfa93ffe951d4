//! Messages behind a 4-byte big-endian length: reading them one after the other, and finding the next one
//! after damage or after a cut.

use crate::IssueKind;
use crate::fragments::Place;
use crate::input::{Input, zstd};
use crate::reading::{COPY_AGAIN, Reading, bytes};

/// Bytes of a length.
pub(crate) const PREFIX: usize = 4;

/// A search may look at this many bytes of candidates, and at [`EFFORT_PER_BYTE`] for each byte searched.
const EFFORT: usize = 64 << 20;
const EFFORT_PER_BYTE: usize = 16;

/// The length at the beginning of `bytes`.
pub(crate) fn prefix(bytes: &[u8]) -> Option<usize> {
    bytes.first_chunk::<PREFIX>().map(|prefix| u32::from_be_bytes(*prefix) as usize)
}

/// Whether a message can begin so: the tag of the only field a request has, a zstd frame, or JSON.
pub(crate) fn can_begin(message: &[u8]) -> bool {
    match message {
        [0x0a, ..] => true,
        [b'{', rest @ ..] => rest.first().is_none_or(|byte| b"\" \t\r\n}".contains(byte)),
        [0x28, ..] => zstd::is_frame(message) || message.len() < 4,
        _ => false,
    }
}

/// Whether a record that has content can begin with `bytes`.
fn may_begin(bytes: &[u8], max_message_bytes: usize) -> bool {
    prefix(bytes).is_some_and(|len| len > 0 && len <= max_message_bytes)
        && bytes.get(PREFIX..).is_some_and(can_begin)
}

/// Whether `message` can be a whole one: also, in protobuf, that behind the first of what it holds it ends or
/// goes on with another. Of what stands in the middle of a record next to nothing passes.
fn may_be_whole(message: &[u8]) -> bool {
    let [0x0a, rest @ ..] = message else { return can_begin(message) };
    let Some((inner, size)) = first_len(rest) else { return false };
    let behind = inner.saturating_add(1 + size);
    behind == message.len() || message.get(behind) == Some(&0x0a)
}

/// The varint at the beginning of `bytes`, as far as lengths go, and its size; `None` where it does not end.
fn first_len(bytes: &[u8]) -> Option<(usize, usize)> {
    let size = 1 + bytes.iter().take(5).position(|byte| byte & 0x80 == 0)?;
    let digits = bytes.iter().take(size).rev();
    Some((digits.fold(0, |value, byte| value << 7 | usize::from(byte & 0x7f)), size))
}

/// What stands at a place of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Probe {
    /// A whole, valid record; where the next one begins.
    Record(usize),
    /// A record without content.
    Blank,
    /// The end of the input.
    End,
    /// What can be the beginning of a record that the input does not hold to its end.
    Torn,
    /// Nothing of the kind.
    Nothing,
}

/// How far a search has come.
#[derive(Debug)]
pub(crate) struct Search {
    at: usize,
    searched: usize,
    effort: usize,
}

impl Search {
    pub(crate) fn from(at: usize) -> Self {
        Self { at, searched: 0, effort: 0 }
    }

    /// Goes on `by` bytes, which the input no longer shows.
    fn slide(&mut self, by: usize) {
        self.at -= by.min(self.at);
    }

    /// Whether too many places looked like records and were none: bytes made to be slow.
    fn is_exhausted(&self) -> bool {
        self.effort > EFFORT.saturating_add(self.searched.saturating_mul(EFFORT_PER_BYTE))
    }
}

fn probe(input: &mut Input<'_>, at: usize, effort: &mut usize, reading: &mut Reading<'_>) -> Probe {
    let max = reading.max_message_bytes;
    let available = input.fill(at + PREFIX + 4).saturating_sub(at);
    let here = input.data().get(at..).unwrap_or_default();
    if available == 0 {
        return Probe::End;
    }
    let Some(len) = prefix(here) else { return Probe::Torn };
    let begin = here.get(PREFIX..).unwrap_or_default();
    if len == 0 {
        return Probe::Blank;
    }
    if len > max || !(begin.is_empty() || can_begin(begin)) {
        return Probe::Nothing;
    }
    let end = at + PREFIX + len;
    if input.fill(end) < end {
        return Probe::Torn;
    }
    let message = input.data().get(at + PREFIX..end).unwrap_or_default();
    let (valid, looked_at) = reading.intake.judge(message);
    *effort = effort.saturating_add(looked_at).saturating_add(16);
    if valid { Probe::Record(end) } else { Probe::Nothing }
}

/// Position of the first record at or after the search's place and up to `limit`: one that is valid to its
/// last byte and followed by another one, by the end, or by what can be a torn one.
pub(crate) fn find_sync(
    input: &mut Input<'_>,
    search: &mut Search,
    limit: usize,
    reading: &mut Reading<'_>,
) -> Option<usize> {
    let max = reading.max_message_bytes;
    while search.at <= limit {
        let at = search.at;
        if input.fill(at + PREFIX + 1) < at + PREFIX + 1 {
            return None;
        }
        // Most places fail this.
        let data = input.data();
        let here = data.get(at..).unwrap_or_default();
        if !may_begin(here, max) {
            search.at += 1;
            search.searched += 1;
            continue;
        }
        if search.is_exhausted() {
            return None;
        }
        if let Probe::Record(next) = probe(input, at, &mut search.effort, reading) {
            match probe(input, next, &mut search.effort, reading) {
                Probe::Nothing => {}
                _ => return Some(at),
            }
        }
        search.at += 1;
    }
    None
}

/// Where the next record begins inside of the one at hand, which ends at `end` by its length: a writer was
/// killed in the middle of it, and the next one went on right behind. Taken as a whole, it would hand over the
/// other's bytes as its own.
fn torn_at(input: &mut Input<'_>, end: usize, reading: &mut Reading<'_>) -> Option<usize> {
    if input.fill(end + PREFIX) < end + PREFIX {
        return None;
    }
    // All but few records are followed by a whole one.
    let behind = input.data().get(end..).and_then(prefix).unwrap_or(0);
    let next = end + PREFIX;
    let max = reading.max_message_bytes;
    if (1..=max).contains(&behind)
        && input.fill(next + behind) >= next + behind
        && input.data().get(next..next + behind).is_some_and(may_be_whole)
    {
        return None;
    }
    // That it is valid says nothing: the other's length may stand where a number of its own was to end.
    find_sync(input, &mut Search::from(1), end - 1, reading)
}

/// Reads records to the end of the input.
pub(crate) fn read(input: &mut Input<'_>, reading: &mut Reading<'_>) {
    let begin = input.offset();
    while input.fill(PREFIX) > 0 {
        reading.look_ahead(input, |bytes| {
            let end = PREFIX.saturating_add(prefix(bytes)?);
            (end <= bytes.len()).then_some((PREFIX..end, end))
        });
        let offset = input.offset();
        let Some(len) = prefix(input.data()) else {
            reading.tail(input);
            return;
        };
        // Blank, unless what follows says that these zeros belong to something torn.
        if len == 0 && probe(input, PREFIX, &mut 0, reading) != Probe::Nothing {
            input.consume(PREFIX);
            continue;
        }
        let end = PREFIX.saturating_add(len);
        let fits = len <= reading.max_message_bytes;
        if len == 0 || !fits || input.fill(end) < end {
            // Torn, too large, or a damaged length: only what follows can tell.
            if !resynchronise(input, reading, end, fits) {
                return;
            }
            continue;
        }
        if let Some(at) = torn_at(input, end, reading) {
            let whole = input.data().get(..at).unwrap_or_default();
            match reading.message(whole.get(PREFIX..).unwrap_or_default(), offset) {
                _ if offset == 0 => reading.fragment(Place::Head, 0, whole),
                // What is there of it may have been read.
                Ok(()) => reading.loss(IssueKind::Corrupt, offset, (end - at) as u64, || {
                    let size = bytes((end - at) as u64);
                    format!("the last {size} of a record are missing; reading went on at the next record; {COPY_AGAIN}")
                }),
                Err(bad) => reading.bad_message(bad, offset, at),
            }
            input.consume(at);
            continue;
        }
        let message = input.data().get(PREFIX..end).unwrap_or_default();
        match reading.message(message, offset) {
            Ok(()) => input.consume(end),
            Err(bad) => {
                let mut effort = 0;
                let length_is_right = probe(input, end, &mut effort, reading) != Probe::Nothing;
                if length_is_right {
                    let record = input.data().get(..end).unwrap_or_default();
                    reading.bad_record(bad, offset, record, PREFIX);
                    input.consume(end);
                    continue;
                }
                let mut search = Search::from(1);
                let limit = end.saturating_add(reading.max_message_bytes);
                let found = find_sync(input, &mut search, limit, reading);
                if offset == 0 && begin == 0 && found.is_some() {
                    // Nothing before it was whole: perhaps the input was cut here.
                    reading.fragment(
                        Place::Head,
                        0,
                        input.data().get(..found.unwrap_or(0)).unwrap_or_default(),
                    );
                } else {
                    reading.bad_message(bad, offset, found.unwrap_or(end));
                }
                match found {
                    Some(at) => input.consume(at),
                    None => {
                        input.consume(end);
                        let behind = input.offset();
                        skip_rest(input);
                        let lost = input.offset() - behind;
                        if lost > 0 {
                            reading.loss(IssueKind::Corrupt, behind, lost, || rest_lost(lost));
                        }
                        return;
                    }
                }
            }
        }
    }
}

/// Looks for the next record behind one whose length leads nowhere; `false` at the end of the input.
fn resynchronise(input: &mut Input<'_>, reading: &mut Reading<'_>, end: usize, fits: bool) -> bool {
    let offset = input.offset();
    let mut search = Search::from(1);
    let found = find_sync(input, &mut search, end.min(reading.max_message_bytes), reading);
    match found {
        // A length that leads to a record was right.
        Some(at) if at == end => reading.too_large(offset, end as u64),
        Some(at) if offset == 0 => {
            reading.fragment(Place::Head, 0, input.data().get(..at).unwrap_or_default());
        }
        Some(at) => {
            reading.loss(IssueKind::Corrupt, offset, at as u64, || damaged(at as u64));
        }
        None if fits => {
            reading.tail(input);
            return false;
        }
        None => return skip_large(input, reading, &mut search, end),
    }
    input.consume(found.unwrap_or(0));
    true
}

/// Goes on searching behind a record that is larger than what is held at once.
fn skip_large(input: &mut Input<'_>, reading: &mut Reading<'_>, search: &mut Search, end: usize) -> bool {
    let (offset, step) = (input.offset(), reading.max_message_bytes);
    loop {
        if input.fill(step) < step || search.is_exhausted() {
            skip_rest(input);
            let lost = input.offset() - offset;
            reading.loss(IssueKind::Corrupt, offset, lost, || rest_lost(lost));
            return false;
        }
        input.consume(step);
        search.slide(step);
        if let Some(at) = find_sync(input, search, step, reading) {
            input.consume(at);
            let lost = input.offset() - offset;
            if lost == end as u64 {
                reading.too_large(offset, lost);
            } else {
                reading.loss(IssueKind::Corrupt, offset, lost, || damaged(lost));
            }
            return true;
        }
    }
}

fn damaged(lost: u64) -> String {
    let size = bytes(lost);
    format!(
        "the length of a record is damaged: {size} were not read; reading went on at the next record; {COPY_AGAIN}"
    )
}

fn rest_lost(lost: u64) -> String {
    format!(
        "the length of a record is damaged, and no record follows: {} were not read; {COPY_AGAIN}",
        bytes(lost)
    )
}

/// Reads to the end without looking, so that the size and fingerprint are the file's.
fn skip_rest(input: &mut Input<'_>) {
    while input.fill(1) > 0 {
        input.consume(input.data().len());
    }
}
