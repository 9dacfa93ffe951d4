//! Five hundred series as Prometheus' text: ours beside two exporters that have the same names, labels and values.

use std::time::Duration;

use metrics::Label as Peer;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};
use opentelemetry::KeyValue;
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use prometheus::{Encoder as _, Registry, TextEncoder};
use stepscope_core::vocabulary::Metric;
use stepscope_metrics::view::prometheus::{Format, Renderer};
use stepscope_metrics::{Label, Sampler, Snapshot, Value, Visitor, visit};

use crate::{Failure, of, timed};

const SERIES: u64 = 500;
const ROUNDS: usize = 5;
const RENDERINGS: usize = 300;
/// How much faster ours is to be than each of the others.
const AIM: f64 = 10.0;

/// The machine at hand, with as many processors as make the series enough. Shares have as many digits as real ones.
fn snapshot() -> Snapshot {
    let mut sampler = Sampler::new(std::process::id());
    sampler.pass();
    let mut snapshot = sampler.pass().clone();
    snapshot.cores.clear();
    let without = visit(&snapshot, usize::MAX, &mut Points::default()).published;
    let share = |core: u64| Some((core as f64 * 0.618_033_988_749_894_8).fract());
    snapshot.cores = (0..SERIES.saturating_sub(without)).map(share).collect();
    snapshot
}

/// Every series, for the others.
#[derive(Default)]
struct Points {
    name: &'static str,
    description: &'static str,
    all: Vec<Point>,
}

struct Point {
    name: &'static str,
    description: &'static str,
    labels: Vec<(&'static str, String)>,
    value: f64,
}

impl Visitor for Points {
    fn metric(&mut self, row: &'static Metric) {
        (self.name, self.description) = (row.name, row.doc);
    }

    fn point(&mut self, labels: &[Label<'_>], value: Value) {
        let value = match value {
            Value::Int(value) => value as f64,
            Value::Double(value) => value,
        };
        let labels = labels.iter().map(|(key, text)| (*key, (*text).to_owned())).collect();
        self.all.push(Point { name: self.name, description: self.description, labels, value });
    }
}

fn facade(points: &[Point]) -> PrometheusRecorder {
    let recorder = PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&recorder, || {
        for Point { name, description, labels, value } in points {
            metrics::describe_gauge!(*name, *description);
            let labels: Vec<Peer> = labels.iter().map(|(key, text)| Peer::new(*key, text.clone())).collect();
            metrics::gauge!(*name, labels).set(*value);
        }
    });
    recorder
}

fn opentelemetry(points: &[Point]) -> Result<(Registry, SdkMeterProvider), Failure> {
    let registry = Registry::new();
    // Without what ours does not write for each series.
    let exporter = opentelemetry_prometheus::exporter()
        .with_registry(registry.clone())
        .scope_info_enabled(false)
        .without_target_info()
        .build()?;
    let provider = SdkMeterProvider::builder().with_reader(exporter).build();
    let meter = provider.meter("bench");
    for Point { name, description, labels, value } in points {
        let labels: Vec<KeyValue> =
            labels.iter().map(|(key, text)| KeyValue::new(*key, text.clone())).collect();
        meter.f64_gauge(*name).with_description(*description).build().record(*value, &labels);
    }
    Ok((registry, provider))
}

fn series(text: &str) -> usize {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).count()
}

/// Prints the ratios; the mean of the rounds' is held against the aim.
pub(crate) fn compare() -> Result<(), Failure> {
    let snapshot = snapshot();
    let mut points = Points::default();
    visit(&snapshot, usize::MAX, &mut points);
    let recorder = facade(&points.all);
    let handle = recorder.handle();
    let (registry, _provider) = opentelemetry(&points.all)?;
    let mut renderer = Renderer::new(Format::Text);
    let mut means = [0.0; 2];
    for round in 1..=ROUNDS {
        let [mut ours, mut facade, mut opentelemetry] = [const { Vec::<Duration>::new() }; 3];
        let mut lines = [0; 3];
        for _ in 0..RENDERINGS {
            ours.push(timed(|| {
                // As a scrape does it: a text of its own.
                let mut text = String::with_capacity(64 << 10);
                renderer.render(&snapshot, usize::MAX, &[], &mut text);
                lines[0] = std::hint::black_box(&text).len();
            }));
            facade.push(timed(|| lines[1] = std::hint::black_box(handle.render()).len()));
            opentelemetry.push(timed(|| {
                let mut text = Vec::with_capacity(64 << 10);
                if TextEncoder::new().encode(&registry.gather(), &mut text).is_ok() {
                    lines[2] = std::hint::black_box(&text).len();
                }
            }));
        }
        let [(ours, _), (facade, _), (opentelemetry, _)] =
            [of(&mut ours), of(&mut facade), of(&mut opentelemetry)];
        let ratios = [facade, opentelemetry].map(|peer| peer.as_secs_f64() / ours.as_secs_f64());
        means.iter_mut().zip(ratios).for_each(|(mean, ratio)| *mean += ratio / ROUNDS as f64);
        println!(
            "round {round}: ours {ours:?}, metrics-exporter-prometheus {facade:?} ({:.1}), opentelemetry-prometheus \
             {opentelemetry:?} ({:.1}); bytes {lines:?}",
            ratios[0], ratios[1]
        );
    }
    let mut text = String::new();
    renderer.render(&snapshot, usize::MAX, &[], &mut text);
    let mut peer = Vec::new();
    TextEncoder::new().encode(&registry.gather(), &mut peer)?;
    println!(
        "series: ours {}, metrics-exporter-prometheus {}, opentelemetry-prometheus {}",
        series(&text),
        series(&handle.render()),
        series(&String::from_utf8(peer)?)
    );
    for (peer, mean) in ["metrics-exporter-prometheus", "opentelemetry-prometheus"].into_iter().zip(means) {
        let verdict = if mean >= AIM { "reached" } else { "missed" };
        println!("mean: {mean:.1} times as fast as {peer} (aim {AIM}: {verdict})");
    }
    Ok(())
}
