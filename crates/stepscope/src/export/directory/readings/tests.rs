//! What a directory keeps of gauges: every reading as it was, and within its share the first, the last, and those between evenly.

use std::collections::BTreeMap;
use std::time::Duration;

use stepscope_core::vocabulary::Metric;
use stepscope_metrics::{Label, Metrics, Snapshot, Value as Figure};
use stepscope_otlp::{MetricHead, Number, PointData, PointHead, Value, Visitor, json, proto};

use super::*;
use crate::config::Config;
use crate::context::identity::{Given, Identity};
use crate::export::Sink;
use crate::export::directory::DirectorySink;
use crate::export::encode::Context;
use crate::export::thread_names::ThreadNames;
use crate::hot::recorder::Recorder;
use crate::shared::gauges::Feed;

/// A share of 64 kB.
const BOUND_BYTES: u64 = 1_024_000;

/// Readings of a hundred bytes, each of which begins with its number.
struct Series {
    folder: tempfile::TempDir,
    files: Readings,
    next: u64,
}

impl Series {
    fn new(format: Format) -> Self {
        let mut bound_bytes = BOUND_BYTES;
        let files = Readings::take_share("gauges", format, &mut bound_bytes);
        assert_eq!(bound_bytes, BOUND_BYTES - BOUND_BYTES / SHARE, "the others have the rest");
        Self { folder: tempfile::tempdir().unwrap(), files, next: 0 }
    }

    fn append(&mut self, len: usize, is_last: bool) -> io::Result<bool> {
        let message = format!("{:<len$}", self.next);
        self.next += 1;
        let framed = Frame::new(self.files.format, message.as_bytes());
        self.files.append(self.folder.path(), &framed, is_last)
    }

    fn paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }

    fn bytes(&self) -> u64 {
        self.paths().iter().map(|path| fs::metadata(path).unwrap().len()).sum()
    }

    /// Numbers of the readings that are there.
    fn numbers(&self) -> Vec<u64> {
        let mut numbers = Vec::new();
        for path in self.paths() {
            let contents = fs::read(path).unwrap();
            let all = messages(self.files.format, &contents);
            numbers.extend(all.map(|text| std::str::from_utf8(text).unwrap().trim().parse::<u64>().unwrap()));
        }
        numbers.sort_unstable();
        numbers
    }
}

#[test]
fn a_share_that_is_full_has_the_first_and_the_last_reading_and_even_steps_between() {
    for format in [Format::Protobuf, Format::JsonLines] {
        let mut series = Series::new(format);
        for number in 0..20_000_u64 {
            series.append(100, false).unwrap();
            if number.is_multiple_of(37) {
                let bytes = series.bytes();
                assert!(bytes <= BOUND_BYTES / SHARE && bytes == series.files.bytes, "{number}: {bytes}");
            }
        }
        assert!(series.append(100, true).unwrap());
        let numbers = series.numbers();
        let (last, others) = numbers.split_last().unwrap();
        assert_eq!((others[0], *last), (0, 20_000));
        let gaps: Vec<u64> = others.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (least, most) = (*gaps.iter().min().unwrap(), *gaps.iter().max().unwrap());
        // Of those that were written before the last halving some are still twice as close.
        assert!(least.is_power_of_two() && (most == least || most == 2 * least), "{least} {most}");
        assert!(numbers.len() > 250, "a half of the share is used at least: {}", numbers.len());
    }
}

#[test]
fn what_fits_is_all_there() {
    let mut series = Series::new(Format::Protobuf);
    (0..500).for_each(|_| assert!(series.append(100, false).unwrap()));
    assert_eq!(series.numbers(), (0..500).collect::<Vec<u64>>());
}

#[test]
fn a_reading_that_is_too_large_and_files_that_somebody_deletes_are_no_end() {
    let mut series = Series::new(Format::Protobuf);
    assert!(series.append(20_000, false).is_err());
    assert_eq!(series.paths(), Vec::<PathBuf>::new());
    for _ in 0..2_000 {
        series.append(100, false).unwrap();
    }
    series.paths().iter().for_each(|path| fs::remove_file(path).unwrap());
    for _ in 0..2_000 {
        series.append(100, false).unwrap();
    }
    let numbers = series.numbers();
    assert!(numbers.len() > 100 && numbers[0] > 2_000, "{} {:?}", numbers.len(), numbers.first());
    assert!(series.bytes() <= BOUND_BYTES / SHARE);
}

/// A point: its metric, its attributes in a text, and its value.
type Points = BTreeMap<(String, String), f64>;

/// What a message says.
#[derive(Default)]
struct Read {
    resource: BTreeMap<String, String>,
    name: String,
    attributes: String,
    points: Points,
    times: Vec<u64>,
}

impl Visitor for Read {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        if let Value::Str(text) = value {
            self.resource.insert(key.to_owned(), text.to_owned());
        }
    }

    fn metric(&mut self, head: &MetricHead<'_>) {
        self.name = head.name.to_owned();
    }

    fn point_attribute(&mut self, key: &str, value: Value<'_>) {
        let Value::Str(text) = value else { panic!("{value:?}") };
        self.attributes += &format!("{key}={text},");
    }

    fn point(&mut self, head: &PointHead<'_>) {
        let value = match head.data {
            PointData::Number(Some(Number::Int(value))) => value as f64,
            PointData::Number(Some(Number::Double(value))) => value,
            ref other => panic!("{other:?}"),
        };
        self.times.push(head.time_unix_ns);
        let key = (self.name.clone(), std::mem::take(&mut self.attributes));
        assert_eq!(self.points.insert(key.clone(), value), None, "{key:?} twice");
    }
}

/// What a snapshot publishes, but for single processors.
#[derive(Default)]
struct Published {
    name: &'static str,
    points: Points,
}

impl stepscope_metrics::Visitor for Published {
    fn metric(&mut self, row: &'static Metric) {
        self.name = row.name;
    }

    fn point(&mut self, labels: &[Label<'_>], value: Figure) {
        if self.name == stepscope_core::metric::host::CPU_CORE_UTILIZATION {
            return;
        }
        let value = match value {
            Figure::Int(value) => value as f64,
            Figure::Double(value) => value,
        };
        let attributes = labels.iter().map(|(key, text)| format!("{key}={text},")).collect();
        self.points.insert((self.name.to_owned(), attributes), value);
    }
}

fn published(snapshot: &Snapshot) -> Points {
    let mut published = Published::default();
    stepscope_metrics::visit(snapshot, usize::MAX, &mut published);
    published.points
}

#[test]
fn a_directory_has_each_reading_once_as_the_snapshot_says_it() {
    for format in [Format::Protobuf, Format::JsonLines] {
        let folder = tempfile::tempdir().unwrap();
        let identity = Identity::resolve(Given::default(), |_| None, &mut Vec::new());
        let recorder = Recorder::new(Config::default(), identity);
        let metrics = Metrics::builder()
            .interval(Duration::from_secs(300))
            .gpus(false)
            .program(|program| {
                program.steps.number = Some(7);
                program.values = vec![("loss".into(), 0.25), ("half \"quoted\"".into(), -1.5)];
            })
            .start()
            .unwrap();
        let (latest, limit) = (metrics.latest(), Duration::from_secs(60));
        recorder.gauges.begin(Feed { latest: latest.clone(), is_sent: false, is_kept: true });
        let threads = ThreadNames::default();
        let context = Context { recorder: &recorder, callsites: &[], threads: &threads, cpus: None };
        let mut sink = DirectorySink::create(folder.path(), format, 1 << 30).unwrap();
        sink.keep_gauges();
        let mut snapshots = Vec::new();
        for is_last in [false, false, true] {
            assert!(latest.refresh(limit));
            snapshots.push(published(&metrics.snapshot()));
            // The second look finds nothing that is new.
            (0..2).for_each(|_| sink.keep_reading(&context, is_last));
        }
        metrics.stop();
        let extension = if format == Format::Protobuf { "otlp" } else { "jsonl" };
        let contents = fs::read(folder.path().join(format!("gauges-000001.{extension}"))).unwrap();
        let mut times = Vec::new();
        let mut found = Vec::new();
        for message in messages(format, &contents) {
            let mut read = Read::default();
            match format {
                Format::Protobuf => proto::decode_metrics(message, &mut read).unwrap(),
                Format::JsonLines => json::decode_metrics(message, &mut read).unwrap(),
            };
            assert_eq!(
                read.resource[stepscope_core::attr::SERVICE_INSTANCE_ID],
                recorder.identity.instance_id()
            );
            read.times.dedup();
            times.extend(read.times);
            found.push(read.points);
        }
        assert_eq!(times.len(), 3, "all points of a reading have its time");
        assert!(times.is_sorted_by(|earlier, later| earlier < later));
        assert_eq!(found, snapshots);
        let value =
            (stepscope_core::metric::program::VALUE.to_owned(), "stepscope.value_name=loss,".to_owned());
        assert_eq!(found[0].get(&value), Some(&0.25));
    }
}
