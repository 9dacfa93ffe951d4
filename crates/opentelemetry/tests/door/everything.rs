//! The exporters of OTLP under a subscriber that wants everything, of the whole process: what they do to send spans makes none.
//! In a process of its own, as such a subscriber stays for ever.
#![expect(clippy::print_stdout, reason = "standard output is how that process says what it counted")]

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use stepscope_server::{Limits, Receiver};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id};
use tracing::{Event, Subscriber, trace_span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::equal::Client;
use crate::support::{read, spans_of};

/// Where the process that records gets its settings: which exporter, where it sends to, and the directory.
const HOW: &str = "STEPSCOPE_TEST_HOW";
const ENDPOINT: &str = "STEPSCOPE_TEST_ENDPOINT";
const FOLDER: &str = "STEPSCOPE_TEST_FOLDER";

/// Its name, for the other process.
const NAME: &str = "everything::exporters_of_the_sdk_are_not_recorded_where_everything_else_is";

const STEPS: u64 = 40;

/// Counts what others than this program say, with spans and events.
#[derive(Debug, Clone, Default)]
struct Others(Arc<[AtomicU64; 2]>);

impl Others {
    fn count(&self, index: usize, target: &str) {
        if !target.starts_with("door") {
            self.0[index].fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl<S: Subscriber> Layer<S> for Others {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        self.count(0, attributes.metadata().target());
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        self.count(1, event.metadata().target());
    }
}

/// The process that records.
fn record(how: &str) {
    let variable = |name| std::env::var(name).unwrap();
    let endpoint = variable(ENDPOINT);
    // Its threads are the exporter's, and those of nobody else.
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().on_thread_start(stepscope::suppress_thread);
    let runtime = runtime.build().unwrap();
    let exporter = match how {
        "grpc" => {
            let _inside = runtime.enter();
            SpanExporter::builder().with_tonic().with_endpoint(endpoint).build().unwrap()
        }
        _ => SpanExporter::builder()
            .with_http()
            .with_http_client(Client)
            .with_endpoint(format!("{endpoint}/v1/traces"))
            .build()
            .unwrap(),
    };
    let timeout = Duration::from_secs(60);
    let (layer, run) = stepscope::builder()
        .directory(variable(FOLDER))
        .max_level(LevelFilter::TRACE)
        .exit_timeout(timeout)
        .exporter(stepscope_opentelemetry::exporter(exporter))
        .build();
    let (handle, others) = (run.handle(), Others::default());
    let subscriber = tracing_subscriber::registry().with(others.clone()).with(layer);
    tracing::subscriber::set_global_default(subscriber).unwrap();
    for number in 0..STEPS {
        {
            let _step = stepscope::step!(number);
            trace_span!("traced").in_scope(|| tracing::trace!("nobody keeps this"));
        }
        if number % 4 == 0 {
            assert!(run.flush(timeout).is_complete());
        }
    }
    drop(run);
    let figures = handle.figures();
    println!("= emitted {}", figures.spans().emitted);
    for &(name, taken, lost) in &figures.spans().sinks {
        println!("= {name}.taken {taken}\n= {name}.lost {lost}");
    }
    let [spans, events] = &*others.0;
    println!("= others.spans {}", spans.load(Ordering::SeqCst));
    println!("= others.events {}", events.load(Ordering::SeqCst));
}

#[test]
fn exporters_of_the_sdk_are_not_recorded_where_everything_else_is() {
    if let Ok(how) = std::env::var(HOW) {
        return record(&how);
    }
    for how in ["http", "grpc"] {
        let [received, folder] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let receiver = Receiver::start(received.path(), Limits::default()).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", NAME, "--nocapture"]).env(HOW, how);
        command.env(ENDPOINT, receiver.endpoint()).env(FOLDER, folder.path());
        let output = command.output().unwrap();
        let counts = receiver.stop();
        let said = String::from_utf8_lossy(&output.stdout);
        let trouble = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && trouble.is_empty(), "{how}: {said}\n{trouble}");
        let lines = said.lines().filter_map(|line| line.strip_prefix("= ")?.split_once(' '));
        let said: BTreeMap<&str, u64> = lines.map(|(name, value)| (name, value.parse().unwrap())).collect();
        // Steps with a part, the run and its mark: and nothing of what was said on the way.
        let own = 2 * STEPS + 2;
        assert_eq!(said["emitted"], own, "{how}: {said:?}");
        for sink in ["directory", "exporter"] {
            let [taken, lost] = ["taken", "lost"].map(|what| said[format!("{sink}.{what}").as_str()]);
            assert_eq!((taken, lost), (own, 0), "{how} {sink}: {said:?}");
        }
        assert_eq!((counts.spans, counts.refused, counts.rejected), (own, 0, 0), "{how}");
        for messages in [read(folder.path()), read(received.path())] {
            let spans = spans_of(&messages);
            assert_eq!(spans.len() as u64, own, "{how}");
            let is_own = |name: &str| ["run", "run.started", "step", "traced"].contains(&name);
            assert!(
                spans.iter().all(|span| is_own(&span.name) && span.events.is_empty()),
                "{how}: {spans:?}"
            );
        }
        // There was something to be recorded, as the other layer saw.
        let talk = if how == "grpc" { said["others.spans"] } else { said["others.events"] };
        assert!(talk >= STEPS / 4, "{how}: {said:?}");
    }
}
