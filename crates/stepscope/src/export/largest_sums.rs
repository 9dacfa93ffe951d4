//! Which sums a sink of bounded size leaves out where not all of them fit. Those of steps, epochs and the like come
//! first, then those of the sections that took most time; of those that are left, any that still fit.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use stepscope_core::{PathId, SectionKind};

use super::encode::Context;
use super::message::{Encoder, Message, with_encoder};
use super::publish::{MESSAGE_BYTES, Part, Snapshot, size, write_metrics};
use crate::config::Format;
use crate::hot::recorder::PathInfo;
use crate::shared::aggregate::Sums;

/// Sums that are estimated at one part in this many of the room need not be measured, in whatever format.
const SURE: u64 = 4;

/// What a message takes for the names of the metrics, its length and those inside it.
const HEADS_BYTES: u64 = 4 << 10;

/// When so many paths were measured in vain, the room is taken for full.
const MAX_MISSES: usize = 64;

/// A path has so many points at least, each with its text and with as many bytes more.
const POINTS: u64 = 8;
const POINT_BYTES: u64 = 32;

/// The paths of `snapshot` to leave out for all messages of a full publication to take `room` bytes at most.
pub(crate) fn left_out(
    format: Format,
    context: &Context<'_>,
    snapshot: &Snapshot,
    room: u64,
) -> BTreeSet<u32> {
    let mut paths: Vec<(u32, PathInfo, &Sums)> = snapshot
        .sums
        .iter()
        .map(|(&path, sums)| (path, context.recorder.path_info(PathId(path)), sums))
        .collect();
    let estimated: u64 = paths.iter().map(|(_, info, sums)| size(info, sums) as u64).sum();
    if estimated.saturating_mul(SURE) <= room {
        return BTreeSet::new();
    }
    paths.sort_by_key(|(path, info, sums)| {
        let is_plain = info.kind.is_none_or(|kind| kind == SectionKind::Section);
        (is_plain, Reverse(sums.moments.sum), *path)
    });
    let mut measure = Measure::new(format);
    let frame = measure.bytes(context, snapshot, &Part { is_last: true, ..Part::default() }) + HEADS_BYTES;
    let (mut used, mut estimated) = (0, 0);
    let (mut left_out, mut misses) = (BTreeSet::new(), 0);
    for (path, info, sums) in paths {
        let estimate = size(&info, sums);
        // Any two messages in turn are longer than one may be, or they would be one.
        let messages = 1 + 2 * (estimated + estimate) as u64 / MESSAGE_BYTES as u64;
        let free = room.saturating_sub(used + messages * frame);
        let least = POINTS * (info.text.len() as u64 + POINT_BYTES);
        let may_fit = least <= free && misses < MAX_MISSES;
        let needed = may_fit.then(|| measure.path(context, snapshot, info, sums));
        match needed.filter(|&bytes| bytes <= free) {
            Some(bytes) => (used, estimated) = (used + bytes, estimated + estimate),
            None => {
                misses += usize::from(may_fit);
                left_out.insert(path);
            }
        }
    }
    left_out
}

/// Makes messages to see how long they get.
struct Measure {
    message: Message,
    /// What a message takes beside its paths, of paths without memory figures and of those with them.
    beside: [Option<u64>; 2],
}

impl Measure {
    fn new(format: Format) -> Self {
        Self { message: Message::new(Encoder::metrics(format)), beside: [None; 2] }
    }

    fn bytes(&mut self, context: &Context<'_>, snapshot: &Snapshot, part: &Part<'_>) -> u64 {
        let encoder = self.message.next(context);
        with_encoder!(encoder, encoder => write_metrics(encoder.as_mut(), context, snapshot, part));
        let bytes = self.message.finish().0.len() as u64;
        self.message.clear();
        bytes
    }

    /// What a path adds to a message that has others.
    fn path(&mut self, context: &Context<'_>, snapshot: &Snapshot, info: PathInfo, sums: &Sums) -> u64 {
        let is_with_memory = usize::from(sums.memory.is_some());
        let of = |paths| Part { paths, ..Part::default() };
        let alone = self.bytes(context, snapshot, &of(vec![(info.clone(), sums)]));
        let beside = match self.beside.get(is_with_memory).copied().flatten() {
            Some(known) => known,
            None => (2 * alone).saturating_sub(self.bytes(
                context,
                snapshot,
                &of(vec![(info.clone(), sums), (info, sums)]),
            )),
        };
        self.beside.get_mut(is_with_memory).into_iter().for_each(|slot| *slot = Some(beside));
        alone.saturating_sub(beside)
    }
}

#[cfg(test)]
mod tests;
