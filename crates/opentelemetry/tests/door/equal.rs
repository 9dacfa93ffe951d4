//! What exporters get is what the layer writes itself: ids, times, attributes with their types, events, links, status,
//! resource and scope.

use std::fmt;
use std::future::Future;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::pin::Pin;

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use stepscope_server::{Limits, Receiver};

use crate::support::{Ended, Keep, read, run, spans_of};

/// A bit of everything that a span can have.
fn work() {
    let _epoch = stepscope::epoch!(0);
    let loader = stepscope::Loader::new("train");
    for number in 0..20_u64 {
        let batch = loader.produce(|| number);
        let mut step = stepscope::step!(number, samples = 32);
        step.record("half", 0.5);
        let batch = loader.wait(|| Some(batch));
        assert!(batch.is_some());
        let before = tracing::info_span!(
            "forward",
            stepscope.phase = "forward",
            otel.kind = "client",
            whole = -3_i64,
            share = 0.25,
            yes = true,
            text = "ä\"\\\n"
        );
        before.in_scope(|| tracing::warn!("it may be late"));
        let failed = tracing::info_span!("backward", otel.name = "another name", most = u64::MAX);
        failed.follows_from(&before);
        failed.in_scope(|| tracing::error!("it went wrong"));
        let fine = tracing::info_span!("optimizer", otel.status_code = "ok");
        fine.in_scope(|| {});
        fine.in_scope(|| {});
        stepscope::value!("loss", 0.125);
    }
    let _outside = stepscope::section!("outside");
}

/// As both write them: the SDK says of a status that it is not set, where the layer says nothing, and of flags of links
/// that they are known.
fn alike(mut span: Span) -> Span {
    span.status.get_or_insert_default();
    span.links.iter_mut().for_each(|link| link.flags = 0);
    span
}

/// Resource attributes in order, and where they and the scope come from.
fn around(message: &ExportTraceServiceRequest) -> Vec<String> {
    let [of_resource] = &message.resource_spans[..] else { panic!("one resource") };
    let [of_scope] = &of_resource.scope_spans[..] else { panic!("one scope") };
    let attributes = &of_resource.resource.as_ref().unwrap().attributes;
    let mut said: Vec<String> = attributes.iter().map(|attribute| format!("{attribute:?}")).collect();
    said.sort();
    let scope = of_scope.scope.as_ref().unwrap();
    said.extend(
        [&of_resource.schema_url, &of_scope.schema_url, &scope.name, &scope.version].map(Clone::clone),
    );
    said
}

/// `sent` is all that the run has written.
fn assert_equal(sent: &[ExportTraceServiceRequest], ended: &Ended) {
    let written = ended.written();
    let spans = spans_of(&written);
    let sent_spans = spans_of(sent);
    assert_eq!(sent_spans.len(), spans.len());
    for (sent, written) in sent_spans.into_iter().zip(&spans) {
        assert_eq!(alike(sent), alike(written.clone()));
    }
    let first = around(&written[0]);
    assert!(written.iter().chain(sent).all(|message| around(message) == first));
    // The run with its mark, the epoch with its, and 20 steps of 4 with their batches.
    assert_eq!(spans.len(), 2 + 2 + 20 * 6 + 1);
    let mut values =
        spans.iter().flat_map(|span| &span.attributes).filter_map(|attribute| attribute.value.as_ref());
    assert!(values.any(|value| matches!(value.value, Some(any_value::Value::ArrayValue(_)))), "no list");
    for wanted in ["forward", "another name", "optimizer", "step", "run", "epoch", "outside"] {
        assert!(spans.iter().any(|span| span.name == wanted), "{wanted}");
    }
    let figures = ended.handle.figures();
    let (emitted, sinks) = (figures.spans().emitted, &figures.spans().sinks);
    assert_eq!(emitted, spans.len() as u64);
    assert!(sinks.contains(&("exporter", emitted, 0)), "{sinks:?}");
}

#[test]
fn an_exporter_gets_what_the_directory_gets() {
    let keep = Keep::default();
    let ended = run(keep.clone(), work);
    let kept = keep.kept().clone();
    assert!(kept.was_shut_down);
    let [resource] = &kept.resources[..] else { panic!("the resource is said once: {:?}", kept.resources) };
    // The SDK's own way from its types to OTLP.
    let resource = ResourceAttributesWithSchema::from(resource);
    let resource_spans = group_spans_by_resource_and_scope(kept.spans, &resource);
    assert_equal(&[ExportTraceServiceRequest { resource_spans }], &ended);
}

/// HTTP/1.1 in a few lines, so that no client has to be built for it.
pub(crate) struct Client;

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
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
            let (head, body) = request.into_parts();
            let authority = head.uri.authority().unwrap().as_str();
            let mut stream = TcpStream::connect(authority)?;
            let (path, length) = (head.uri.path(), body.len());
            write!(
                stream,
                "POST {path} HTTP/1.1\r\nhost: {authority}\r\ncontent-type: application/x-protobuf\r\n\
                 content-length: {length}\r\nconnection: close\r\n\r\n"
            )?;
            stream.write_all(&body)?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            let status: u16 = answer.split_whitespace().nth(1).unwrap().parse()?;
            Ok(Response::builder().status(status).body(Bytes::new())?)
        })
    }
}

#[test]
fn the_exporter_of_otlp_sends_what_the_directory_gets() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = Receiver::start(folder.path(), Limits::default()).unwrap();
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Client)
        .with_endpoint(format!("{}/v1/traces", receiver.endpoint()))
        .build()
        .unwrap();
    let ended = run(exporter, work);
    let counts = receiver.stop();
    assert_eq!(counts.spans, ended.handle.figures().spans().emitted);
    assert_eq!((counts.refused, counts.rejected), (0, 0));
    assert_equal(&read(folder.path()), &ended);
}
