//! The gauges of `stepscope-metrics` in the program's own `MeterProvider`.

use opentelemetry::InstrumentationScope;
use opentelemetry::metrics::MeterProvider;
use stepscope_metrics::Metrics;

/// Makes an observable instrument of `provider` for each metric that `metrics` has a point of, under the names, types and
/// units of its table: now, and when there come more. Collecting reads the latest snapshot and never a device; after the end
/// of `metrics` there are no points.
///
/// ```
/// use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
/// use stepscope_metrics::Metrics;
///
/// # use std::time::Duration;
/// let exporter = InMemoryMetricExporter::default(); // or one of opentelemetry-otlp, …
/// let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
/// let metrics = Metrics::builder().start()?;
/// # assert!(metrics.wait_for_pass(1, Duration::from_secs(60)));
/// stepscope_opentelemetry::instruments(&metrics, &provider);
/// provider.force_flush()?;
/// let batches = exporter.get_finished_metrics()?;
/// let mut names = batches.iter().flat_map(|batch| batch.scope_metrics()).flat_map(|scope| scope.metrics());
/// assert!(names.any(|metric| metric.name() == "process.memory.usage"));
/// metrics.stop();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn instruments(metrics: &Metrics, provider: &impl MeterProvider) {
    let scope = InstrumentationScope::builder("stepscope").with_version(env!("CARGO_PKG_VERSION"));
    metrics.instruments(provider.meter_with_scope(scope.build()));
}
