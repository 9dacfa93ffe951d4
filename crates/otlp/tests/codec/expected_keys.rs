//! Attributes of JSON whose key was met before, and is expected: read as if it had not been, whatever comes.

use opentelemetry_proto::tonic::trace::v1::Span;
use stepscope_otlp::json;

use crate::common::Traces;

/// The attribute that teaches the decoder what to expect, and ways in which the next one may differ from it.
const ATTRIBUTES: &[&str] = &[
    r#"{"key":"k","value":{"intValue":"17"}}"#,
    r#"{"key":"k","value":{"stringValue":"text"}}"#,
    r#"{"key":"other","value":{"intValue":"0"}}"#,
    r#"{"key":"","value":{"intValue":"3"}}"#,
    r#"{"key":"k","value":{"intValue":"-17"}}"#,
    r#"{"key":"k","value":{"intValue":17}}"#,
    r#"{"key":"k","value":{"intValue":"9223372036854775807"}}"#,
    r#"{"key":"k","value":{"intValue":"9223372036854775808"}}"#,
    r#"{"key":"k","value":{"intValue":"99999999999999999999"}}"#,
    r#"{"key":"k","value":{"intValue":"1e3"}}"#,
    r#"{"key":"k","value":{"intValue":""}}"#,
    r#"{"key":"k","value":{"intValue":"17","stringValue":"later"}}"#,
    r#"{"key":"k","value":{"intValue":"17"},"key":"later"}"#,
    r#"{"key":"k","value":{"intValue":"17"} }"#,
    r#"{"key":"k","value":{"intValue":"17"},"value":{"boolValue":true}}"#,
    r#"{"key":"k", "value":{"intValue":"17"}}"#,
    r#"{"value":{"intValue":"17"},"key":"k"}"#,
    r#"{"key":"k","value":{"stringValue":""}}"#,
    r#"{"key":"k","value":{"stringValue":"é \"}} \u00e9"}}"#,
    r#"{"key":"k","value":{"stringValue":"text","intValue":"5"}}"#,
    r#"{"key":"k","value":{"doubleValue":1.5}}"#,
    r#"{"key":"k","value":{"boolValue":true}}"#,
    r#"{"key":"k","value":{}}"#,
    r#"{"key":"k","value":null}"#,
    r#"{"key":"\u006b","value":{"intValue":"17"}}"#,
    r#"{"key":"k","value":{"unknownValue":"17"}}"#,
    r#"null"#,
];

fn span(id: usize, attributes: &str) -> String {
    format!(
        r#"{{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"{id:016x}","name":"s","attributes":[{attributes}]}}"#
    )
}

fn document(spans: &[String]) -> String {
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","))
}

fn read(text: &[u8]) -> (bool, Vec<Span>) {
    let mut traces = Traces::default();
    let result = json::decode_traces(text, &mut traces);
    traces.assert_settled();
    (result.is_ok(), traces.spans().into_iter().cloned().collect())
}

#[test]
fn what_is_expected_changes_nothing() {
    // Each alone, by a decoder that knows no key.
    let alone: Vec<Option<Span>> =
        ATTRIBUTES.iter().map(|attribute| read(document(&[span(1, attribute)]).as_bytes()).1.pop()).collect();
    assert!(alone.iter().filter(|span| span.is_some()).count() > 20);
    for (a, alone_a) in ATTRIBUTES.iter().zip(&alone) {
        for (b, alone_b) in ATTRIBUTES.iter().zip(&alone) {
            let row = [a, a, b, a, b, b];
            let expected: Vec<_> = [alone_a, alone_a, alone_b, alone_a, alone_b, alone_b]
                .into_iter()
                .filter_map(|span| Some(span.as_ref()?.attributes.clone()))
                .collect();
            let spans: Vec<String> = row.iter().zip(1..).map(|(attribute, id)| span(id, attribute)).collect();
            let (is_ok, spans) = read(document(&spans).as_bytes());
            assert!(is_ok, "{a} {b}");
            let found: Vec<_> = spans.into_iter().map(|span| span.attributes).collect();
            assert_eq!(found, expected, "{a} {b}");
        }
    }
}

#[test]
fn a_message_that_ends_inside_an_expected_attribute_gives_the_spans_before() {
    let spans: Vec<String> =
        (1..5).map(|id| span(id, &[ATTRIBUTES[0], ATTRIBUTES[1], ATTRIBUTES[2]].join(","))).collect();
    let whole = document(&spans);
    // Where each span ends: the frame behind them is left away.
    let ends: Vec<usize> = (1..=4).map(|count| document(&spans[..count]).len() - "]}]}]}".len()).collect();
    for len in 0..whole.len() {
        let (is_ok, found) = read(&whole.as_bytes()[..len]);
        assert!(!is_ok, "{len}");
        assert_eq!(found.len(), ends.iter().filter(|&&end| end <= len).count(), "{len}");
    }
}
