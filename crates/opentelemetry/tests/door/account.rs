//! What an exporter does not take is counted, and it holds up nobody.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

use crate::support::{Ended, Keep, run, run_with};

fn steps(from: u64) {
    for number in from..from + 10 {
        let _step = stepscope::step!(number);
        let _section = stepscope::section!("forward");
    }
}

/// Spans that were emitted, taken by the exporter and lost by it.
fn account(ended: &Ended) -> [u64; 3] {
    let figures = ended.handle.figures();
    let spans = figures.spans();
    let (_, taken, lost) = *spans.sinks.iter().find(|(name, ..)| *name == "exporter").unwrap();
    assert!(spans.sinks.contains(&("directory", spans.emitted, 0)), "{:?}", spans.sinks);
    [spans.emitted, taken, lost]
}

/// Fails in turn in every manner that there is.
#[derive(Debug, Clone, Default)]
struct Moody {
    keep: Keep,
    calls: Arc<AtomicUsize>,
}

impl SpanExporter for Moody {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        match self.calls.fetch_add(1, Ordering::SeqCst) % 5 {
            0 => Err(OTelSdkError::Timeout(Duration::from_secs(1))),
            1 => Err(OTelSdkError::InternalFailure("no".into())),
            2 => Err(OTelSdkError::AlreadyShutdown),
            3 => panic!("as told"),
            _ => self.keep.export(batch).await,
        }
    }
}

#[test]
fn each_manner_of_failing_is_counted() {
    let moody = Moody::default();
    let ended = run_with(
        moody.clone(),
        tracing_subscriber::layer::Identity::new(),
        |builder| builder,
        |handle| {
            for round in 0..12 {
                steps(round * 10);
                // Whatever becomes of them.
                let _ = handle.flush(Duration::from_secs(60));
            }
        },
    );
    let [emitted, taken, lost] = account(&ended);
    assert!(moody.calls.load(Ordering::SeqCst) >= 5, "too few batches");
    assert_eq!(taken, moody.keep.kept().spans.len() as u64);
    assert_eq!(emitted, taken + lost);
    assert!(taken > 0 && lost > 0);
}

/// Hangs until it is told to go on.
#[derive(Debug)]
struct Hangs(Mutex<mpsc::Receiver<()>>);

impl SpanExporter for Hangs {
    async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
        let _ = self.0.lock().unwrap().recv();
        Ok(())
    }
}

#[test]
fn one_that_never_ends_is_given_up() {
    let (go_on, told) = mpsc::sync_channel::<()>(1);
    let ended = run_with(
        Hangs(Mutex::new(told)),
        tracing_subscriber::layer::Identity::new(),
        |builder| builder.exit_timeout(Duration::from_millis(300)),
        |_| steps(0),
    );
    let [emitted, taken, lost] = account(&ended);
    assert_eq!((emitted, taken), (lost, 0));
    drop(go_on);
}

#[test]
fn one_that_takes_everything_loses_nothing() {
    let keep = Keep::default();
    let ended = run(keep.clone(), || steps(0));
    assert_eq!(account(&ended), [22, 22, 0]);
    assert_eq!(keep.kept().spans.len(), 22);
}
