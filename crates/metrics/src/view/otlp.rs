//! Pushes to a collector, by OpenTelemetry's SDK and exporter: OTLP over HTTP, each right after a pass, since the SDK stamps
//! points with the time at which it collects them. What fails is told once and counted; as the values are cumulative, the next
//! push says it all.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use opentelemetry::metrics::MeterProvider as _;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{MetricExporter, Protocol, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::metrics::data::ResourceMetrics;
use opentelemetry_sdk::metrics::exporter::PushMetricExporter;
use opentelemetry_sdk::metrics::{PeriodicReader, SdkMeterProvider, Temporality};

use super::instruments::Instruments;
use crate::exporter::{Follower, Latest, Shared};
use crate::snapshot::Snapshot;

/// Time from one push to the next, unless the environment says another.
const INTERVAL: Duration = Duration::from_secs(10);
/// What says another, in milliseconds.
const INTERVAL_VARIABLE: &str = "OTEL_METRIC_EXPORT_INTERVAL";
/// The SDK's own interval: it collects when it is told to.
const NEVER: Duration = Duration::from_secs(1 << 32);
/// Time that a request may take.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Time that the last push may take.
const PATIENCE: Duration = Duration::from_secs(1);
/// Where collectors take metrics.
const PATH: &str = "v1/metrics";

/// Time that a last pass may take.
const LAST_PASS: Duration = Duration::from_millis(500);

/// Pushes until it is dropped, which sends everything a last time.
#[derive(Debug)]
pub(crate) struct Push {
    provider: Option<SdkMeterProvider>,
    latest: Latest,
}

impl Push {
    /// Starts; the error says what is wrong with the endpoint. Passes come every `pass_interval`.
    pub(crate) fn start(
        endpoint: &str,
        resource: &[(&'static str, String)],
        latest: &Latest,
        pass_interval: Duration,
    ) -> Result<Self, String> {
        let failed = |why: &dyn std::fmt::Display| {
            format!("failed to push to {endpoint}: {why}; give a URL as http://localhost:4318")
        };
        let url = whole(endpoint).map_err(|why| failed(&why))?;
        let why = Arc::default();
        let exporter = MetricExporter::builder()
            .with_http()
            .with_http_client(Client::new(&why).map_err(|error| failed(&error))?)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(url)
            .with_timeout(TIMEOUT)
            .build()
            .map_err(|error| failed(&error))?;
        let shared = Arc::clone(&latest.shared);
        let exporter = Told { exporter, endpoint: endpoint.to_owned(), why, shared };
        let reader = PeriodicReader::builder(exporter).with_interval(NEVER);
        let attributes = resource.iter().map(|(key, text)| KeyValue::new(*key, text.clone()));
        let provider = SdkMeterProvider::builder()
            .with_reader(reader.build())
            .with_resource(Resource::builder().with_attributes(attributes).build())
            .build();
        let scope = InstrumentationScope::builder("stepscope").with_version(env!("CARGO_PKG_VERSION"));
        let meter = provider.meter_with_scope(scope.build());
        latest.shared.add(Instruments::new(latest.clone(), meter).follower());
        // Behind the one that makes the instruments.
        let every = interval(std::env::var(INTERVAL_VARIABLE).ok().as_deref());
        let pushes = Due::new(Instant::now(), every, pass_interval).follower(provider.clone());
        latest.shared.add(pushes.map_err(|error| failed(&error))?);
        Ok(Self { provider: Some(provider), latest: latest.clone() })
    }
}

/// The time from one push to the next.
fn interval(variable: Option<&str>) -> Duration {
    let milliseconds = variable.and_then(|text| text.trim().parse().ok()).filter(|&number| number > 0);
    milliseconds.map_or(INTERVAL, Duration::from_millis)
}

/// When pushes are due.
#[derive(Debug)]
struct Due {
    next: Instant,
    every: Duration,
    /// A pass that comes so much too early is the nearest.
    early: Duration,
}

impl Due {
    fn new(now: Instant, every: Duration, pass_interval: Duration) -> Self {
        Self { next: now + every, every, early: pass_interval / 2 }
    }

    /// After a pass: whether it is to be pushed.
    fn is_now(&self, now: Instant) -> bool {
        now + self.early >= self.next
    }

    /// It is.
    fn begin(&mut self, now: Instant) {
        self.next = now + self.every;
    }

    /// Has a thread push, which is not waited for; while it is at it, passes are not pushed.
    fn follower(mut self, provider: SdkMeterProvider) -> std::io::Result<Follower> {
        let (send, receive) = mpsc::sync_channel::<()>(0);
        let push = move || {
            while receive.recv().is_ok() {
                // The exporter says what fails.
                let _ = provider.force_flush();
            }
        };
        std::thread::Builder::new().name("stepscope-push".into()).spawn(push)?;
        let follow = move |_: &Snapshot| {
            let now = Instant::now();
            if self.is_now(now) && send.try_send(()).is_ok() {
                self.begin(now);
            }
        };
        Ok(Follower { name: "the push to a collector", follow: Box::new(follow) })
    }
}

impl Drop for Push {
    /// On a thread of its own, which is not waited for where the collector does not answer.
    fn drop(&mut self) {
        let Some(provider) = self.provider.take() else { return };
        let latest = self.latest.clone();
        let (send, receive) = mpsc::sync_channel(1);
        let end = move || {
            // What is collected now is stamped with now.
            latest.refresh(LAST_PASS);
            let _ = provider.shutdown();
            let _ = send.send(());
        };
        if std::thread::Builder::new().name("stepscope-push-end".into()).spawn(end).is_ok() {
            let _ = receive.recv_timeout(PATIENCE);
        }
    }
}

/// The URL with the path of the signal.
fn whole(endpoint: &str) -> Result<String, &'static str> {
    let endpoint = endpoint.trim().trim_end_matches('/');
    if endpoint.starts_with("https://") {
        return Err("https is not spoken here: a collector on this machine can forward it");
    }
    if !endpoint.starts_with("http://") {
        return Err("it does not begin with http://");
    }
    Ok(if endpoint.ends_with(PATH) { endpoint.to_owned() } else { format!("{endpoint}/{PATH}") })
}

/// Hyper's client on a runtime of its own: the SDK's reader has none.
#[derive(Debug)]
struct Client {
    client: HyperClient,
    runtime: Option<tokio::runtime::Runtime>,
    why: Why,
}

/// Why the last request failed: of that the SDK says no more than that it did.
type Why = Arc<Mutex<Option<String>>>;

impl Client {
    fn new(why: &Why) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let client = HyperClient::with_default_connector(TIMEOUT, None);
        Ok(Self { client, runtime: Some(runtime), why: Arc::clone(why) })
    }
}

/// What is at the bottom of an error.
fn cause(error: &HttpError) -> String {
    let mut cause: &dyn std::error::Error = error.as_ref();
    while let Some(below) = cause.source() {
        cause = below;
    }
    cause.to_string()
}

impl Drop for Client {
    /// Without waiting for a name that is being looked up.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl HttpClient for Client {
    fn send_bytes<'s, 'f>(
        &'s self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            let Some(runtime) = &self.runtime else { return Err("it has ended".into()) };
            let result = runtime.block_on(self.client.send_bytes(request));
            *self.why.lock().unwrap_or_else(PoisonError::into_inner) = result.as_ref().err().map(cause);
            result
        })
    }
}

/// Says what fails.
struct Told {
    exporter: MetricExporter,
    endpoint: String,
    why: Why,
    shared: Arc<Shared>,
}

impl PushMetricExporter for Told {
    async fn export(&self, metrics: &ResourceMetrics) -> OTelSdkResult {
        let result = self.exporter.export(metrics).await;
        if let Err(error) = &result {
            self.shared.pushes_failed.fetch_add(1, Ordering::Relaxed);
            let why = self.why.lock().unwrap_or_else(PoisonError::into_inner).take();
            let why = why.unwrap_or_else(|| error.to_string());
            let text = format!("pushes to {} fail: {why}; it goes on trying", self.endpoint);
            self.shared.notes.tell("push", &text);
        }
        result
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn temporality(&self) -> Temporality {
        self.exporter.temporality()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushes_come_with_the_passes_that_are_nearest() {
        let start = Instant::now();
        let after = |ms: u64| start + Duration::from_millis(ms);
        // Passes that are a little early and a little late; the first push was missed, as another was under way.
        let pushed = |every: &str, passes: &[u64], missed: &[u64]| {
            let mut due = Due::new(start, interval(Some(every)), Duration::from_secs(1));
            let is_pushed = |&&pass: &&u64| {
                let is_now = due.is_now(after(pass)) && !missed.contains(&pass);
                if is_now {
                    due.begin(after(pass));
                }
                is_now
            };
            passes.iter().filter(is_pushed).copied().collect::<Vec<_>>()
        };
        let passes = [990, 2_005, 2_995, 4_001, 5_000, 5_990, 7_010];
        assert_eq!(pushed("1000", &passes, &[]), passes);
        assert_eq!(pushed("3000", &passes, &[]), [2_995, 5_990]);
        assert_eq!(pushed("3000", &passes, &[2_995]), [4_001, 7_010]);
        assert_eq!(pushed("100", &passes, &[5_000]), [990, 2_005, 2_995, 4_001, 5_990, 7_010]);
        assert_eq!([interval(None), interval(Some("0")), interval(Some("soon"))], [INTERVAL; 3]);
    }

    #[test]
    fn an_endpoint_is_a_base_or_the_whole() {
        assert_eq!(whole("http://a:4318").as_deref(), Ok("http://a:4318/v1/metrics"));
        assert_eq!(whole(" http://a:4318/x/ ").as_deref(), Ok("http://a:4318/x/v1/metrics"));
        assert_eq!(whole("http://a:4318/v1/metrics").as_deref(), Ok("http://a:4318/v1/metrics"));
        for (endpoint, why) in [("https://a", "https"), ("localhost:4318", "begin"), ("", "begin")] {
            assert!(whole(endpoint).is_err_and(|text| text.contains(why)), "{endpoint}");
        }
    }
}
