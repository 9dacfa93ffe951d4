//! What each measured process does with an input; all give the number of spans that they saw.

use std::path::Path;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;
use stepscope_model::{ReadOptions, Reader, Sink, Trace};
use stepscope_otlp::{Signal, SpanHead, Visitor, detect, json, proto};

use crate::input::Format;
use crate::messages;

/// One way to read.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Whether others made what it measures.
    pub(crate) is_peer: bool,
    /// The format that it can read; absent where it reads both.
    format: Option<Format>,
}

impl Case {
    const fn peer(name: &'static str, about: &'static str, format: Format) -> Self {
        Self { name, about, is_peer: true, format: Some(format) }
    }

    const fn part(name: &'static str, about: &'static str) -> Self {
        Self { name, about, is_peer: false, format: None }
    }

    /// Whether it can read this format.
    pub(crate) fn is_for(&self, format: Format) -> bool {
        self.format.is_none_or(|own| own == format)
    }
}

/// All of them.
pub(crate) const CASES: &[Case] = &[
    Case::peer("serde_json", "serde_json into opentelemetry-proto", Format::Json),
    Case::peer("prost", "prost into opentelemetry-proto", Format::Proto),
    Case::part("decode", "stepscope-otlp, decoding alone"),
    Case::part("read", "stepscope-model, decoded and assembled"),
];

/// Reads `path` as the case `name` does.
pub(crate) fn run(name: &str, path: &Path) -> Result<u64, String> {
    match name {
        "serde_json" => messages::each(path, Format::Json, peer_json),
        "prost" => messages::each(path, Format::Proto, peer_proto),
        "decode" => {
            let (mut proto, mut json) = (proto::Decoder::new(), json::Decoder::new());
            let format = messages::format(path)?;
            messages::each(path, format, |bytes| decode(&mut proto, &mut json, format, bytes))
        }
        "read" => {
            let mut reader = Reader::new(ReadOptions::default());
            let mut count = Count::default();
            reader.read_path(path, &mut count).map_err(|error| error.to_string())?;
            let outcome = reader.finish(&mut count);
            if outcome.issues.is_empty() { Ok(count.0) } else { Err("the input is damaged".into()) }
        }
        _ => Err(format!("there is no case {name}")),
    }
}

fn peer_json(bytes: &[u8]) -> Result<u64, String> {
    if is_metrics(bytes) {
        let request: Result<ExportMetricsServiceRequest, _> = serde_json::from_slice(bytes);
        return request.map(|_| 0).map_err(|error| error.to_string());
    }
    let request: Result<ExportTraceServiceRequest, _> = serde_json::from_slice(bytes);
    request.map(|request| spans(&request)).map_err(|error| error.to_string())
}

fn peer_proto(bytes: &[u8]) -> Result<u64, String> {
    if is_metrics(bytes) {
        return ExportMetricsServiceRequest::decode(bytes).map(|_| 0).map_err(|error| error.to_string());
    }
    let request = ExportTraceServiceRequest::decode(bytes);
    request.map(|request| spans(&request)).map_err(|error| error.to_string())
}

fn spans(request: &ExportTraceServiceRequest) -> u64 {
    let scopes = request.resource_spans.iter().flat_map(|resource| &resource.scope_spans);
    scopes.map(|scope| scope.spans.len() as u64).sum()
}

fn is_metrics(bytes: &[u8]) -> bool {
    detect(bytes).is_some_and(|found| found.signal == Some(Signal::Metrics))
}

fn decode(
    proto: &mut proto::Decoder,
    json: &mut json::Decoder,
    format: Format,
    bytes: &[u8],
) -> Result<u64, String> {
    let mut count = Count::default();
    let result = match (format, is_metrics(bytes)) {
        (Format::Proto, false) => proto.decode_traces(bytes, &mut count),
        (Format::Proto, true) => proto.decode_metrics(bytes, &mut count),
        (Format::Json, false) => json.decode_traces(bytes, &mut count),
        (Format::Json, true) => json.decode_metrics(bytes, &mut count),
    };
    result.map(|_| count.0).map_err(|error| error.to_string())
}

/// Counts spans.
#[derive(Default)]
struct Count(u64);

impl Visitor for Count {
    fn span(&mut self, head: &SpanHead<'_>) {
        self.0 += u64::from(!head.name.is_empty());
    }
}

impl Sink for Count {
    fn trace(&mut self, trace: &Trace) {
        self.0 += trace.spans.len() as u64;
    }
}
