//! A writer of OTLP traces in protobuf and JSON that shares no code with the crates under test.

use super::{Attr, GenMessage, GenSpan};

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn field(out: &mut Vec<u8>, number: u64, content: &[u8]) {
    varint(out, number << 3 | 2);
    varint(out, content.len() as u64);
    out.extend_from_slice(content);
}

fn fixed(out: &mut Vec<u8>, number: u64, value: u64) {
    varint(out, number << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

fn attribute(key: &str, value: &Attr) -> Vec<u8> {
    let mut any = Vec::new();
    match value {
        Attr::Str(text) => field(&mut any, 1, text.as_bytes()),
        Attr::Int(number) => {
            varint(&mut any, 3 << 3);
            varint(&mut any, *number as u64);
        }
        Attr::Double(number) => fixed(&mut any, 4, number.to_bits()),
        Attr::Ints(numbers) => {
            let mut list = Vec::new();
            for &number in numbers {
                let mut item = Vec::new();
                varint(&mut item, 3 << 3);
                varint(&mut item, number as u64);
                field(&mut list, 1, &item);
            }
            field(&mut any, 5, &list);
        }
    }
    let mut out = Vec::new();
    field(&mut out, 1, key.as_bytes());
    field(&mut out, 2, &any);
    out
}

fn proto_span(span: &GenSpan) -> Vec<u8> {
    let mut out = Vec::new();
    field(&mut out, 1, &span.trace);
    field(&mut out, 2, &span.id);
    if !span.parent.is_empty() {
        field(&mut out, 4, &span.parent);
    }
    field(&mut out, 5, span.name.as_bytes());
    fixed(&mut out, 7, span.start);
    fixed(&mut out, 8, span.end);
    for (key, value) in &span.attributes {
        field(&mut out, 9, &attribute(key, value));
    }
    for (trace, id) in &span.links {
        let mut link = Vec::new();
        field(&mut link, 1, trace);
        field(&mut link, 2, id);
        field(&mut out, 13, &link);
    }
    if span.is_error {
        field(&mut out, 15, &[3 << 3, 2]);
    }
    out
}

/// One message in protobuf.
pub fn proto(message: &GenMessage) -> Vec<u8> {
    let mut resource = Vec::new();
    for (key, value) in &message.resource {
        field(&mut resource, 1, &attribute(key, value));
    }
    let mut scope = Vec::new();
    field(&mut scope, 1, message.scope.as_bytes());
    let mut scope_spans = Vec::new();
    field(&mut scope_spans, 1, &scope);
    for span in &message.spans {
        field(&mut scope_spans, 2, &proto_span(span));
    }
    let mut resource_spans = Vec::new();
    field(&mut resource_spans, 1, &resource);
    field(&mut resource_spans, 2, &scope_spans);
    let mut out = Vec::new();
    field(&mut out, 1, &resource_spans);
    out
}

fn string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn json_attributes(attributes: &[(String, Attr)]) -> String {
    let all: Vec<String> = attributes
        .iter()
        .map(|(key, value)| {
            let value = match value {
                Attr::Str(text) => format!("\"stringValue\":{}", string(text)),
                Attr::Int(number) => format!("\"intValue\":\"{number}\""),
                Attr::Double(number) => format!("\"doubleValue\":{number}"),
                Attr::Ints(numbers) => {
                    let items: Vec<String> =
                        numbers.iter().map(|number| format!("{{\"intValue\":\"{number}\"}}")).collect();
                    format!("\"arrayValue\":{{\"values\":[{}]}}", items.join(","))
                }
            };
            format!("{{\"key\":{},\"value\":{{{value}}}}}", string(key))
        })
        .collect();
    format!("[{}]", all.join(","))
}

fn json_span(span: &GenSpan) -> String {
    let links: Vec<String> = span
        .links
        .iter()
        .map(|(trace, id)| format!("{{\"traceId\":\"{}\",\"spanId\":\"{}\"}}", hex(trace), hex(id)))
        .collect();
    format!(
        "{{\"traceId\":\"{}\",\"spanId\":\"{}\",\"parentSpanId\":\"{}\",\"name\":{},\"kind\":1,\
         \"startTimeUnixNano\":\"{}\",\"endTimeUnixNano\":\"{}\",\"attributes\":{},\"links\":[{}],\
         \"status\":{{{}}}}}",
        hex(&span.trace),
        hex(&span.id),
        hex(&span.parent),
        string(&span.name),
        span.start,
        span.end,
        json_attributes(&span.attributes),
        links.join(","),
        if span.is_error { "\"code\":2" } else { "" },
    )
}

/// One message in JSON, without a newline.
pub fn json(message: &GenMessage) -> String {
    let spans: Vec<String> = message.spans.iter().map(json_span).collect();
    format!(
        "{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":{}}},\"scopeSpans\":[{{\"scope\":\
         {{\"name\":{}}},\"spans\":[{}]}}]}}]}}",
        json_attributes(&message.resource),
        string(&message.scope),
        spans.join(",")
    )
}

/// The same over many lines, as pretty-printers do it. Strings of the generators hold no braces.
pub fn pretty(message: &GenMessage) -> String {
    let text = json(message);
    text.replace("{\"", "{\n  \"").replace(",\"", ",\n  \"").replace("[{", "[\n {") + "\n"
}

/// A file of lines.
pub fn lines(messages: &[GenMessage]) -> Vec<u8> {
    messages.iter().flat_map(|message| (json(message) + "\n").into_bytes()).collect()
}

/// A record behind its length.
pub fn record(message: &[u8]) -> Vec<u8> {
    [&u32::try_from(message.len()).unwrap().to_be_bytes()[..], message].concat()
}

/// A file of length-prefixed protobuf messages.
pub fn prefixed(messages: &[GenMessage]) -> Vec<u8> {
    messages.iter().flat_map(|message| record(&proto(message))).collect()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A file of length-prefixed messages, each a zstd frame.
pub fn prefixed_zstd(messages: &[GenMessage], encode: impl Fn(&GenMessage) -> Vec<u8>) -> Vec<u8> {
    messages.iter().flat_map(|message| record(&zstd(&encode(message)))).collect()
}
