//! A run with an exporter, an exporter that keeps what it gets, and the reading of directories.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use prost::Message as _;
use stepscope::{Builder, Handle};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::{Layer, SubscriberExt as _};

/// Keeps what it gets.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keep(Arc<Mutex<Kept>>);

#[derive(Debug, Clone, Default)]
pub(crate) struct Kept {
    pub(crate) resources: Vec<Resource>,
    pub(crate) spans: Vec<SpanData>,
    pub(crate) was_shut_down: bool,
}

impl Keep {
    pub(crate) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap()
    }
}

impl SpanExporter for Keep {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        self.kept().spans.append(&mut batch);
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        self.kept().was_shut_down = true;
        Ok(())
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.kept().resources.push(resource.clone());
    }
}

/// A recorder is one of the whole process.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A run that has ended.
pub(crate) struct Ended {
    pub(crate) handle: Handle,
    folder: tempfile::TempDir,
}

/// Runs `work` with `exporter`, between `below` and nothing.
pub(crate) fn run_with<L: Layer<Registry> + Send + Sync>(
    exporter: impl SpanExporter + 'static,
    below: L,
    configure: impl FnOnce(Builder) -> Builder,
    work: impl FnOnce(&Handle),
) -> Ended {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let builder = stepscope::builder()
        .directory(folder.path())
        // Which steps are deep ones is no part of what these tests are about.
        .deep_steps(false)
        .handle_signals(false)
        .hook_panics(false)
        .hook_exit(false)
        .exit_timeout(Duration::from_secs(60))
        .exporter(stepscope_opentelemetry::exporter(exporter))
        .link_roots(stepscope_opentelemetry::current);
    let (layer, run) = configure(builder).build();
    let handle = run.handle();
    let subscriber = tracing_subscriber::registry().with(below).with(layer);
    tracing::subscriber::with_default(subscriber, || work(&handle));
    drop(run);
    Ended { handle, folder }
}

/// As [`run_with`], beside no other layer.
pub(crate) fn run(exporter: impl SpanExporter + 'static, work: impl FnOnce()) -> Ended {
    run_with(exporter, tracing_subscriber::layer::Identity::new(), |builder| builder, |_| work())
}

impl Ended {
    /// What the directory holds.
    pub(crate) fn written(&self) -> Vec<ExportTraceServiceRequest> {
        read(self.folder.path())
    }
}

/// All trace messages below a folder, each behind its length.
pub(crate) fn read(folder: &Path) -> Vec<ExportTraceServiceRequest> {
    let mut messages = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            messages.extend(read(&path));
            continue;
        }
        if !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("traces")) {
            continue;
        }
        let bytes = std::fs::read(path).unwrap();
        let mut rest = &bytes[..];
        while let Some((length, behind)) = rest.split_first_chunk() {
            let (message, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
            messages.push(ExportTraceServiceRequest::decode(message).unwrap());
            rest = behind;
        }
    }
    messages
}

/// The spans of messages, in the order of their ids.
pub(crate) fn spans_of(messages: &[ExportTraceServiceRequest]) -> Vec<Span> {
    let scopes = messages
        .iter()
        .flat_map(|message| &message.resource_spans)
        .flat_map(|resource| &resource.scope_spans);
    let mut spans: Vec<Span> = scopes.flat_map(|scope| scope.spans.clone()).collect();
    spans.sort_by(|a, b| (&a.trace_id, &a.span_id).cmp(&(&b.trace_id, &b.span_id)));
    spans
}
