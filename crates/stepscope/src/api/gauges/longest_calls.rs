//! The longest calls of sections that ended since the last reading. Exact, of the sums of all threads; of sections whose longest
//! call ever is a second or more, and of a bounded number of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use stepscope_core::{PathId, SectionKind};

use crate::hot::recorder::Recorder;
use crate::shared::aggregate::Sums;

/// Of sections whose calls are all shorter nothing is told, as reading them costs time and nobody waits for them.
const LONG_NS: u64 = 1_000_000_000;

/// Sections that are followed; those that are long later are not.
const MAX_SECTIONS: usize = 64;

/// The sections that are followed, by path.
#[derive(Debug, Default)]
pub(super) struct LongestCalls(BTreeMap<u32, Section>);

#[derive(Debug)]
struct Section {
    /// Absent of what is no part of the work.
    name: Option<Arc<str>>,
    /// As they were at the last reading.
    sums: Sums,
}

impl LongestCalls {
    /// Puts the sections of which calls have ended, each with the longest of them in seconds, in place of what is in `found`.
    pub(super) fn read(&mut self, recorder: &Recorder, found: &mut Vec<(Arc<str>, f64)>) {
        found.clear();
        let (ended_threads, threads) = recorder.thread_registry.read();
        let mut follow = |path: u32, longest_ns: u64| {
            if longest_ns >= LONG_NS && self.0.len() < MAX_SECTIONS {
                self.0.entry(path).or_insert_with(|| Section::new(recorder, path));
            }
        };
        ended_threads.sums.iter().for_each(|(&path, sums)| follow(path, sums.moments.max));
        threads.iter().for_each(|thread| thread.aggregates.for_each_longest(&mut follow));
        for (path, section) in &mut self.0 {
            let Some(name) = &section.name else { continue };
            let mut now = ended_threads.sums.get(path).cloned().unwrap_or_default();
            let mut copies = threads.iter().filter_map(|thread| thread.aggregates.sums(*path));
            // Of what a thread is writing all the time the next reading tells.
            let is_whole = copies.all(|copy| copy.map(|sums| now.merge(&sums)).is_some());
            if !is_whole {
                continue;
            }
            let since = now.since(&section.sums).moments;
            if since.count > 0 {
                found.push((Arc::clone(name), since.max as f64 / 1e9));
            }
            section.sums = now;
        }
    }
}

impl Section {
    fn new(recorder: &Recorder, path: u32) -> Self {
        let info = recorder.path_info(PathId(path));
        let is_part = matches!(info.kind, None | Some(SectionKind::Section | SectionKind::MicroStep));
        Self { name: is_part.then(|| info.text.into()), sums: Sums::default() }
    }
}
