//! The points as OpenTelemetry's SDK collects them, and pushes to a collector that is not there.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, Metric, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, PeriodicReader, SdkMeterProvider};
use stepscope_core::metric;
use stepscope_core::vocabulary::Instrument;
use stepscope_metrics::{Builder, Metrics};

use crate::common::series;

const PATIENCE: Duration = Duration::from_secs(60);

/// An exporter whose points go to a provider that keeps what it collects.
struct Collected {
    metrics: Metrics,
    provider: SdkMeterProvider,
    kept: InMemoryMetricExporter,
}

fn started(builder: Builder) -> Collected {
    let kept = InMemoryMetricExporter::default();
    let reader = PeriodicReader::builder(kept.clone()).with_interval(Duration::from_secs(86_400)).build();
    let provider = SdkMeterProvider::builder().with_reader(reader).build();
    let metrics = builder.start().unwrap();
    metrics.instruments(provider.meter("stepscope"));
    Collected { metrics, provider, kept }
}

/// A metric as it was collected.
struct Read {
    name: String,
    unit: String,
    description: String,
    instrument: Instrument,
    points: BTreeMap<String, f64>,
}

/// Metrics of one collection.
fn collect(provider: &SdkMeterProvider, kept: &InMemoryMetricExporter) -> Vec<Read> {
    kept.reset();
    provider.force_flush().unwrap();
    let all = kept.get_finished_metrics().unwrap();
    let metrics = all.iter().flat_map(|all| all.scope_metrics()).flat_map(|scope| scope.metrics());
    let read = |metric: &Metric| {
        let (instrument, points) = points(metric);
        let (name, unit, description) = (metric.name(), metric.unit(), metric.description());
        let [name, unit, description] = [name, unit, description].map(str::to_owned);
        Read { name, unit, description, instrument, points }
    };
    metrics.map(read).collect()
}

impl Collected {
    fn collect(&self) -> Vec<Read> {
        collect(&self.provider, &self.kept)
    }
}

/// The points of a metric by what their labels say, and its instrument.
fn points(metric: &Metric) -> (Instrument, BTreeMap<String, f64>) {
    fn key<'a>(attributes: impl Iterator<Item = &'a KeyValue>) -> String {
        let texts: BTreeSet<String> =
            attributes.map(|label| format!("{}={}", label.key, label.value)).collect();
        texts.into_iter().collect::<Vec<_>>().join(",")
    }
    macro_rules! of {
        ($data:expr) => {
            match $data {
                MetricData::Gauge(gauge) => (
                    Instrument::Gauge,
                    gauge
                        .data_points()
                        .map(|point| (key(point.attributes()), point.value() as f64))
                        .collect(),
                ),
                MetricData::Sum(sum) => (
                    if sum.is_monotonic() { Instrument::Counter } else { Instrument::UpDownCounter },
                    sum.data_points().map(|point| (key(point.attributes()), point.value() as f64)).collect(),
                ),
                _ => panic!("{} is something else", metric.name()),
            }
        };
    }
    match metric.data() {
        AggregatedMetrics::F64(data) => of!(data),
        AggregatedMetrics::U64(data) => of!(data),
        AggregatedMetrics::I64(data) => of!(data),
    }
}

#[test]
fn instruments_are_those_of_the_table_and_values_those_of_the_snapshot() {
    let interval = Duration::from_secs(300);
    let collected = started(Metrics::builder().interval(interval).gpus(false));
    assert!(collected.metrics.wait_for_pass(1, PATIENCE));
    let known = series(&collected.metrics.snapshot());
    let names: BTreeSet<&str> = known.keys().filter_map(|key| key.split('{').next()).collect();
    // They are made while or right after the first pass is published.
    let deadline = Instant::now() + PATIENCE;
    let metrics = loop {
        let metrics = collected.collect();
        if metrics.len() == names.len() {
            break metrics;
        }
        assert!(Instant::now() < deadline, "{}", metrics.len());
    };
    let mut count = 0;
    for metric in &metrics {
        let Read { name, unit, description, instrument, points } = metric;
        let row = metric::all().find(|row| row.name == name).unwrap();
        assert_eq!((*instrument, &**unit), (row.instrument, row.unit), "{name}");
        assert_eq!(description, row.doc.trim());
        let of_row = |key: &&String| **key == row.name || key.starts_with(&format!("{}{{", row.name));
        let known: Vec<u64> = known.keys().filter(of_row).map(|key| known[key].to_bits()).collect();
        let found: Vec<u64> = points.values().map(|value| value.to_bits()).collect();
        let sorted = |mut bits: Vec<u64>| {
            bits.sort_unstable();
            bits
        };
        assert_eq!(sorted(found), sorted(known), "{}", row.name);
        count += points.len();
    }
    assert_eq!(count, known.len());
    // After its end there is nothing any more.
    let Collected { metrics, provider, kept } = collected;
    metrics.stop();
    let left = collect(&provider, &kept);
    assert_eq!(left.iter().map(|read| read.points.len()).sum::<usize>(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_gone_vanishes() {
    let folder = tempfile::tempdir().unwrap();
    let library = stepscope_fake_nvml::install(folder.path(), "devices 2\nlost 1 after 150\n").unwrap();
    let builder = Metrics::builder().interval(Duration::from_millis(200)).gpu_library(library);
    let collected = started(builder);
    let of_device = |device: usize| {
        let name = format!("gpu{device}");
        let metrics = collected.collect();
        metrics.iter().map(|read| read.points.keys().filter(|key| key.contains(&name)).count()).sum()
    };
    let wait = |device: usize, is_so: &dyn Fn(usize) -> bool| {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(of_device(device)) {
            assert!(Instant::now() < deadline, "{}", of_device(device));
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    wait(1, &|points| points > 10);
    wait(1, &|points| points == 3);
    wait(0, &|points| points > 10);
}

#[test]
fn pushes_that_fail_are_counted_and_told_once_and_the_end_waits_for_none() {
    let nobody = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let endpoint = format!("http://{}", nobody.local_addr().unwrap());
    // It takes connections, and answers none.
    let metrics = Metrics::builder().otlp(&endpoint).gpus(false).start().unwrap();
    assert!(metrics.wait_for_pass(1, PATIENCE));
    assert_eq!(metrics.snapshot().pushes_failed, Some(0));
    let begun = Instant::now();
    metrics.stop();
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let error = Metrics::builder().otlp("localhost:4318").start().unwrap_err().to_string();
    assert!(error.contains("http://localhost:4318"), "{error}");
}
