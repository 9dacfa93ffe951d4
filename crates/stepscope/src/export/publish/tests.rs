//! What is said again and what is not, and how large messages get.

use super::*;
use crate::config::{Config, Format};
use crate::context::identity::{Given, Identity};
use crate::export::message::{Encoder, Message, with_encoder};
use crate::export::thread_names::ThreadNames;
use crate::hot::open::Spec;
use crate::shared::callsite::{Callsite, Source};

static SITE: Callsite = Callsite::new("site", None, "module", "file", 1, &[]);

const PATHS: u32 = 3_000;

fn recorder() -> Recorder {
    let recorder =
        Recorder::new(Config::default(), Identity::resolve(Given::default(), |_| None, &mut Vec::new()));
    let name = |number: u32| format!("a section with a name of usual length, number {number}");
    for number in 0..PATHS {
        recorder.path(PathId::ROOT, Source::Section(&SITE), &name(number), &Spec::default());
    }
    recorder
}

fn snapshot(time_ns: u64) -> Snapshot {
    let mut snapshot = Snapshot { time_ns, ..Snapshot::default() };
    for path in 0..PATHS {
        let sums = snapshot.sums.entry(path + 3).or_default();
        // From microseconds to a second, as a section with many values has them.
        for value in (0..20).flat_map(|octave| [1_000u64 << octave, 1_300 << octave]) {
            sums.moments.record(value);
            sums.histogram.record(value);
        }
    }
    snapshot
}

/// Nothing is left out.
const ALL: BTreeSet<u32> = BTreeSet::new();

fn said(parts: &[Part<'_>]) -> usize {
    parts.iter().map(|part| part.paths.len()).sum()
}

#[test]
fn a_path_without_news_is_said_now_and_then() {
    let recorder = recorder();
    let mut publisher = Publisher::default();
    let second = 1_000_000_000;
    assert_eq!(said(&publisher.plan(&recorder, &snapshot(second), &ALL)), PATHS as usize);
    let mut later = snapshot(11 * second);
    assert_eq!(said(&publisher.plan(&recorder, &later, &ALL)), 0);
    for sums in later.sums.values_mut().take(7) {
        sums.moments.record(5);
    }
    assert_eq!(said(&publisher.plan(&recorder, &later, &ALL)), 7);
    assert_eq!(said(&publisher.plan(&recorder, &later, &ALL)), 0);
    later.time_ns = 61 * second;
    assert_eq!(said(&publisher.plan(&recorder, &later, &ALL)), PATHS as usize);
    later.time_ns = 62 * second;
    assert_eq!(said(&publisher.plan(&recorder, &later, &ALL)), 0);
    publisher.forget();
    assert_eq!(said(&publisher.plan(&recorder, &later, &ALL)), PATHS as usize);
    later.is_full = true;
    assert_eq!(said(&publisher.plan(&recorder, &later, &ALL)), PATHS as usize);
}

#[test]
fn messages_stay_far_below_what_receivers_take() {
    let recorder = recorder();
    let snapshot = snapshot(1);
    let parts = Publisher::default().plan(&recorder, &snapshot, &ALL);
    assert!(parts.iter().rev().skip(1).all(|part| !part.is_last) && parts.last().unwrap().is_last);
    let context =
        Context { recorder: &recorder, callsites: &[], threads: &ThreadNames::default(), cpus: None };
    let mut sizes = Vec::new();
    for part in &parts {
        let mut message = Message::new(Encoder::metrics(Format::Protobuf));
        let encoder = message.next(&context);
        with_encoder!(encoder, encoder => write_metrics(encoder.as_mut(), &context, &snapshot, part));
        sizes.push(message.finish().0.len());
    }
    assert!(sizes.iter().all(|&size| size < 3 << 19), "{sizes:?}");
    assert!(sizes.len() > 3 && sizes.iter().sum::<usize>() > 4 << 20, "{sizes:?}");
}
