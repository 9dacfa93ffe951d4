//! Live memory in the directory of a program: there after a kill, and told by the section that submitted the work.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use stepscope_core::metric::live;
use stepscope_core::{LIVE_MEMORY_SCOPE_NAME, attr};
use stepscope_otlp::{MetricHead, Number, PointData, PointHead, ScopeHead, Value, Visitor, proto};

use crate::common::Program;
use crate::common::recording::files;

const PATIENCE: Duration = Duration::from_secs(120);
const MIB: i64 = 1 << 20;

/// Live bytes of one moment by path, and those of each row. (Stacks need frame pointers, which the program does not have.)
#[derive(Default)]
struct Moment {
    is_ours: bool,
    metric: String,
    path: String,
    bytes: BTreeMap<String, i64>,
    rows: BTreeMap<String, Vec<i64>>,
}

impl Visitor for Moment {
    fn scope(&mut self, head: &ScopeHead<'_>) {
        self.is_ours = head.name == LIVE_MEMORY_SCOPE_NAME;
    }

    fn metric(&mut self, head: &MetricHead<'_>) {
        self.metric = head.name.to_owned();
    }

    fn point_attribute(&mut self, key: &str, value: Value<'_>) {
        if let (attr::PATH, Value::Str(path)) = (key, value) {
            self.path = path.to_owned();
        }
    }

    fn point(&mut self, head: &PointHead<'_>) {
        let path = std::mem::take(&mut self.path);
        if let (live::MEMORY_LIVE_SAMPLED, PointData::Number(Some(Number::Int(bytes)))) =
            (self.metric.as_str(), &head.data)
        {
            *self.bytes.entry(path.clone()).or_default() += bytes;
            self.rows.entry(path).or_default().push(*bytes);
        }
    }
}

/// The last moment below `directory`; the last record may be torn.
fn last(directory: &Path) -> Option<Moment> {
    let is_memory = |path: &Path| path.file_name().unwrap().to_str().unwrap().starts_with("memory-");
    let mut last = None;
    for path in files(directory).iter().filter(|path| is_memory(path)) {
        let bytes = std::fs::read(path).unwrap();
        let mut rest = &bytes[..];
        while let Some((len, tail)) = rest.split_first_chunk::<4>() {
            let Some((message, tail)) = tail.split_at_checked(u32::from_be_bytes(*len) as usize) else {
                break;
            };
            let mut moment = Moment::default();
            proto::decode_metrics(message, &mut moment).unwrap();
            assert!(moment.is_ours, "in a scope of its own");
            last = Some(moment);
            rest = tail;
        }
    }
    last
}

#[test]
fn what_was_live_at_the_last_peak_is_on_disk_when_the_program_is_killed() {
    let mut program = Program::new(&["live_memory", "until_killed"]);
    let mut child = program.start();
    let directory = program.path().join("profiles");
    let deadline = Instant::now() + PATIENCE;
    // Of 40 MiB at most 10 % are not worth another publication.
    let is_there = || {
        last(&directory)
            .is_some_and(|moment| moment.bytes.get("step/keep").is_some_and(|&bytes| bytes >= 36 * MIB))
    };
    while !is_there() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let ended = program.end(output);
    let left = last(&ended.path().join("profiles")).unwrap();
    assert!((36 * MIB..=40 * MIB).contains(&left.bytes["step/keep"]), "{:?}", left.bytes);
}

#[test]
fn what_other_threads_allocate_is_the_submitters() {
    let ended = Program::new(&["live_memory", "submitted"]).succeed();
    let moment = last(&ended.path().join("profiles")).unwrap();
    assert_eq!(moment.bytes["step/submit"], 3 * MIB, "{:?}", moment.rows);
    assert_eq!(moment.bytes["inner"], 4 * MIB, "{:?}", moment.rows);
    assert!(moment.rows[""].contains(&(5 * MIB)), "{:?}", moment.rows);
}

#[test]
fn every_block_may_be_remembered_in_threads_that_come_and_go() {
    let mut program = Program::new(&["live_memory", "in_threads"]);
    program = program.env("STEPSCOPE_MEMORY_SAMPLE_BYTES", "1");
    let moment = last(&program.succeed().path().join("profiles")).unwrap();
    assert!(moment.bytes.values().sum::<i64>() > 0, "{:?}", moment.bytes);
}

#[test]
fn sections_that_are_long_enough_have_resident_memory_by_sample() {
    let ended = Program::new(&["live_memory", "resident"]).succeed();
    let recording = ended.recording();
    let load = recording.only("load");
    let figures = (load.int(attr::MEM_RSS_DELTA_BYTES), load.int(attr::MEM_RSS_PEAK_BYTES));
    let (Some(delta), Some(peak)) = figures else { panic!("{figures:?}: a section of 600 ms") };
    // 128 MiB were there at once, and 64 of them stayed; a sample may be 40 ms away.
    assert!((60 * MIB..=70 * MIB).contains(&delta), "{delta}");
    assert!((128 * MIB..=200 * MIB).contains(&peak), "{peak}");
    let short = recording.only("short");
    assert_eq!((short.int(attr::MEM_RSS_DELTA_BYTES), short.int(attr::MEM_RSS_PEAK_BYTES)), (None, None));
}
