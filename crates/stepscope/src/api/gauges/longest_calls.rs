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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::context::identity::{Given, Identity};
    use crate::hot::open::Spec;
    use crate::shared::aggregate::Ended;
    use crate::shared::callsite::{Callsite, Source};
    use crate::shared::thread_shared::ThreadShared;

    static SITE: Callsite = Callsite::new("site", None, "module", "file", 1, &[]);

    #[test]
    fn a_long_call_is_told_once_and_then_what_came_behind_it_on_any_thread() {
        let identity = Identity::resolve(Given::default(), |_| None, &mut Vec::new());
        let recorder = Recorder::new(Config::default(), identity);
        let path =
            |name: &str, spec: &Spec| recorder.path(PathId::ROOT, Source::Section(&SITE), name, spec).0.0;
        let save = path("save", &Spec::default());
        let step = path("step", &Spec { kind: Some(SectionKind::Step), ..Spec::default() });
        let (one, other) = (recorder.register_thread().0, recorder.register_thread().0);
        let (mut calls, mut found) = (LongestCalls::default(), Vec::new());
        let mut read = |ended_ms: &[(&ThreadShared, u32, u64)]| {
            for &(thread, path, duration_ms) in ended_ms {
                let duration_ns = duration_ms * 1_000_000;
                let ended = Ended { duration_ns, collapsed: false, self_busy_ns: 0 };
                thread.aggregates.record(path, &ended, None);
            }
            calls.read(&recorder, &mut found);
            let rounded = |seconds: f64| (seconds * 100.0).round() / 100.0;
            found.iter().map(|(name, seconds)| (name.to_string(), rounded(*seconds))).collect::<Vec<_>>()
        };
        let told = |seconds: f64| vec![("save".to_owned(), seconds)];
        assert_eq!(
            read(&[(&*one, save, 900), (&*one, step, 7_000)]),
            [],
            "none was ever long, and a step is no part"
        );
        assert_eq!(read(&[(&*one, save, 5_500), (&*other, save, 1_200)]), told(5.5));
        assert_eq!(read(&[]), []);
        // Shorter ones are known within a percent.
        let [(_, seconds)] = &read(&[(&*other, save, 2_000), (&*one, save, 300)])[..] else { panic!() };
        assert!((seconds / 2.0 - 1.0).abs() < 0.01, "{seconds}");
        // What a thread leaves that ends is no call again.
        recorder.thread_registry.end(&one);
        assert_eq!(read(&[]), []);
        assert_eq!(read(&[(&*other, save, 9_000)]), told(9.0));
    }
}
