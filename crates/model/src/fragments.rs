//! Pieces of records whose other half may be in another file: the torn last record of one and the beginning
//! of the next, when a file was cut. They are kept, within bounds, until everything has been read.

use serde::{Deserialize, Serialize};

use crate::framing::{PREFIX, can_begin, prefix};
use crate::intake::Intake;
use crate::structure::{JsonScan, blank_prefix};

/// More fragments than this are not kept.
const MAX_FRAGMENTS: usize = 4_096;
/// Bytes that may be looked at while halves are tried against each other.
const EFFORT: usize = 1 << 30;

/// Where a fragment was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Place {
    /// Before the first whole record.
    Head,
    /// After the last whole record.
    Tail,
    /// There was no whole record.
    Whole,
    /// None, but a whole message without its length: the bytes are that length, which may be all that
    /// another file holds of the record.
    Length,
}

/// A piece of a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Fragment {
    /// The file it was found in.
    pub(crate) file: String,
    /// Where.
    pub(crate) offset: u64,
    pub(crate) place: Place,
    /// Whether the file's stream broke off: then there is no other half.
    pub(crate) broken: bool,
    pub(crate) bytes: Vec<u8>,
}

/// Fragments so far.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    list: Vec<Fragment>,
    bytes: usize,
}

/// Two halves put together.
#[derive(Debug)]
pub(crate) struct Joined {
    /// The file and place of the first half.
    pub(crate) file: String,
    pub(crate) offset: u64,
    /// The file of the second half.
    pub(crate) second: String,
    pub(crate) bytes: Vec<u8>,
}

impl Fragments {
    /// Keeps a fragment. Gives back one that must go instead, so that at most `max_bytes` are kept: the
    /// largest, because a foreign file is mostly larger than half a record.
    #[must_use]
    pub(crate) fn push(&mut self, fragment: Fragment, max_bytes: usize) -> Vec<Fragment> {
        if fragment.broken {
            return vec![fragment];
        }
        self.bytes += fragment.bytes.len();
        self.list.push(fragment);
        let mut evicted = Vec::new();
        while self.bytes > max_bytes || self.list.len() > MAX_FRAGMENTS {
            let largest = self.list.iter().enumerate().max_by(|(_, a), (_, b)| {
                (a.bytes.len(), &a.file, a.offset).cmp(&(b.bytes.len(), &b.file, b.offset))
            });
            let Some((index, _)) = largest else { break };
            let fragment = self.list.swap_remove(index);
            self.bytes -= fragment.bytes.len();
            evicted.push(fragment);
        }
        evicted
    }

    /// All of them, sorted.
    pub(crate) fn take(&mut self) -> Vec<Fragment> {
        self.bytes = 0;
        let mut list = std::mem::take(&mut self.list);
        list.sort_unstable();
        list
    }

    /// Forgets lengths at the end of one file whose message is all of another one, and was read there.
    fn match_lengths(list: &mut Vec<Fragment>) {
        let (mut lengths, rest): (Vec<_>, Vec<_>) =
            std::mem::take(list).into_iter().partition(|fragment| fragment.place == Place::Length);
        list.extend(rest.into_iter().filter(|fragment| {
            let found = lengths.iter().position(|length| length.bytes == fragment.bytes);
            found.map(|index| lengths.swap_remove(index)).is_none()
        }));
    }

    /// Puts together all halves that make a whole record.
    pub(crate) fn join(&mut self, intake: &mut Intake) -> Vec<Joined> {
        let mut list = self.take();
        Self::match_lengths(&mut list);
        let mut used = vec![false; list.len()];
        let mut joined = Vec::new();
        let mut effort = 0usize;
        let is_free = |used: &[bool], index: usize| used.get(index).is_some_and(|used| !used);
        for (left, first) in list.iter().enumerate() {
            if first.place == Place::Head || !can_be_first(&first.bytes) {
                continue;
            }
            // The second half of a rotated file is mostly the next one by name.
            for right in (left + 1..list.len()).chain(0..left) {
                let Some(second) = list.get(right) else { continue };
                let free = is_free(&used, left) && is_free(&used, right);
                if !free || second.place == Place::Tail || effort > EFFORT {
                    continue;
                }
                let Some(bytes) = join_two(&first.bytes, &second.bytes, intake, &mut effort) else {
                    continue;
                };
                for index in [left, right] {
                    if let Some(used) = used.get_mut(index) {
                        *used = true;
                    }
                }
                joined.push(Joined {
                    file: first.file.clone(),
                    offset: first.offset,
                    second: second.file.clone(),
                    bytes,
                });
            }
            // A record in more than two pieces: those between its ends hold nothing else, and follow by name.
            let mut bytes = Vec::new();
            for right in left + 1..list.len() {
                let Some(next) = list.get(right) else { break };
                if !(left..=right).all(|index| is_free(&used, index)) || next.place == Place::Tail {
                    break;
                }
                bytes.extend_from_slice(&next.bytes);
                effort = effort.saturating_add(bytes.len());
                if effort > EFFORT {
                    break;
                }
                if let Some(bytes) = join_two(&first.bytes, &bytes, intake, &mut effort) {
                    used.iter_mut().take(right + 1).skip(left).for_each(|used| *used = true);
                    joined.push(Joined {
                        file: first.file.clone(),
                        offset: first.offset,
                        second: next.file.clone(),
                        bytes,
                    });
                    break;
                }
                if next.place != Place::Whole {
                    break;
                }
            }
        }
        let mut keep = used.iter().map(|used| !used);
        list.retain(|_| keep.next().unwrap_or(false));
        self.bytes = list.iter().map(|fragment| fragment.bytes.len()).sum();
        self.list = list;
        joined
    }
}

/// Whether a record, or a file, can begin so.
fn can_be_first(bytes: &[u8]) -> bool {
    let json = bytes.get(blank_prefix(bytes)..).unwrap_or_default();
    let prefixed = bytes.get(PREFIX..).is_none_or(|rest| rest.is_empty() || can_begin(rest));
    prefixed || json.is_empty() || can_begin(json) || can_begin(bytes)
}

/// The two together, if the first record of the whole is valid to its last byte and holds some of both.
fn join_two(first: &[u8], second: &[u8], intake: &mut Intake, effort: &mut usize) -> Option<Vec<u8>> {
    let total = first.len().checked_add(second.len())?;
    let mut start = [0u8; PREFIX];
    start.iter_mut().zip(first.iter().chain(second)).for_each(|(to, &from)| *to = from);
    let end = prefix(&start).map_or(usize::MAX, |len| len.saturating_add(PREFIX));
    let prefixed = (first.len() + 1..=total).contains(&end);
    let json = first.get(blank_prefix(first)..).is_some_and(|text| text.first().is_none_or(|&b| b == b'{'));
    let bare = first.first() == Some(&0x0a);
    if !prefixed && !json && !bare {
        return None;
    }
    let bytes = [first, second].concat();
    *effort = effort.saturating_add(if json { total } else { 0 });
    let mut holds = |record: Option<&[u8]>| {
        record.is_some_and(|record| {
            let (valid, looked_at) = intake.judge(record);
            *effort = effort.saturating_add(looked_at);
            valid
        })
    };
    let whole = prefixed && holds(bytes.get(PREFIX..end))
        || json && {
            let blank = blank_prefix(&bytes);
            let end = JsonScan::default().feed(bytes.get(blank..).unwrap_or_default());
            let end = end.map(|end| end + blank).filter(|&end| end > first.len());
            holds(end.and_then(|end| bytes.get(blank..end)))
        }
        || bare && holds(Some(&bytes));
    whole.then_some(bytes)
}
