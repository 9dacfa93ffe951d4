//! What fits is said, in either format, and what took most time is said first.

use super::*;
use crate::config::Config;
use crate::context::identity::{Given, Identity};
use crate::export::publish::Publisher;
use crate::export::thread_names::ThreadNames;
use crate::hot::open::Spec;
use crate::hot::recorder::Recorder;
use crate::shared::callsite::{Callsite, Source};

static SITE: Callsite = Callsite::new("site", None, "module", "file", 1, &[]);

const PATHS: u32 = 3_000;

/// Paths of all lengths up to the longest name's, every seventh one with many buckets; the later, the more time.
fn many() -> (Recorder, Snapshot) {
    let recorder =
        Recorder::new(Config::default(), Identity::resolve(Given::default(), |_| None, &mut Vec::new()));
    let mut snapshot = Snapshot { time_ns: 1, ..Snapshot::default() };
    for number in 0..PATHS {
        let name = format!("{number} \"{}", "é".repeat(number as usize % 120));
        let (path, _) = recorder.path(PathId::ROOT, Source::Section(&SITE), &name, &Spec::default());
        let sums = snapshot.sums.entry(path.0).or_default();
        let values = if number % 7 == 0 { 20 } else { 1 };
        for value in (0..values).map(|octave| (u64::from(number) + 1) << (20 - octave)) {
            sums.moments.record(value);
            sums.histogram.record(value);
        }
    }
    (recorder, snapshot)
}

fn published(format: Format, context: &Context<'_>, snapshot: &Snapshot, left_out: &BTreeSet<u32>) -> u64 {
    let parts = Publisher::default().plan(context.recorder, snapshot, left_out);
    let said: usize = parts.iter().map(|part| part.paths.len()).sum();
    assert_eq!(said + left_out.len(), PATHS as usize);
    assert_eq!(parts.last().unwrap().left_out, left_out.len() as u64);
    let mut measure = Measure::new(format);
    parts.iter().map(|part| measure.bytes(context, snapshot, part) + 4).sum()
}

#[test]
fn a_publication_fills_its_room_and_no_more() {
    let (recorder, snapshot) = many();
    let threads = ThreadNames::default();
    let context = Context { recorder: &recorder, callsites: &[], threads: &threads, cpus: None };
    for format in [Format::Protobuf, Format::JsonLines] {
        let whole = published(format, &context, &snapshot, &BTreeSet::new());
        assert!(left_out(format, &context, &snapshot, 10 * whole).is_empty());
        assert!(left_out(format, &context, &snapshot, whole + whole / 4).is_empty());
        for room in [60_000, 200_000, 1_000_000, whole - whole / 8] {
            let left_out = left_out(format, &context, &snapshot, room);
            let bytes = published(format, &context, &snapshot, &left_out);
            assert!(bytes <= room, "{bytes} of {room}");
            assert!(bytes > room - room / 8 - 16_000, "{bytes} of {room}");
            // At the end, a shorter path may have found room where a longer one that took more time did not.
            let said = |path: &u32| !left_out.contains(path);
            let mut all: Vec<u32> = snapshot.sums.keys().copied().collect();
            all.sort_by_key(|path| Reverse(snapshot.sums.get(path).unwrap().moments.sum));
            let first = all.iter().position(|path| !said(path)).unwrap();
            let beyond = all.get(first..).unwrap().iter().filter(|path| said(path)).count();
            assert!(first > beyond && first > 2, "{first} and {beyond}");
        }
    }
}
