//! JSON as other programs write it.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::trace::v1 as trace;
use stepscope_otlp::{DecodeErrorKind, DecodeStats, json};

use crate::common::{Metrics, Traces};

fn read(text: &str) -> (DecodeStats, Traces) {
    let mut traces = Traces::default();
    let stats =
        json::decode_traces(text.as_bytes(), &mut traces).unwrap_or_else(|error| panic!("{error} in {text}"));
    traces.assert_settled();
    (stats, traces)
}

/// The only span of a scope of a resource, `members` being its object's.
fn read_span(members: &str) -> trace::Span {
    let (stats, traces) =
        read(&format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{{members}}}]}}]}}]}}"#));
    assert_eq!(stats.items, 1);
    traces.spans()[0].clone()
}

fn read_value(value: &str) -> Option<Value> {
    let span = read_span(&format!(r#""attributes":[{{"key":"k","value":{value}}}]"#));
    assert_eq!(span.attributes[0].key, "k");
    span.attributes[0].value.clone().expect("a value").value
}

fn span_error(members: &str) -> (DecodeErrorKind, &'static str, usize) {
    let frame = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"#;
    let mut traces = Traces::default();
    let result = json::decode_traces(format!("{frame}{members}}}]}}]}}]}}").as_bytes(), &mut traces);
    traces.assert_settled();
    assert_eq!((traces.abandoned, traces.spans().len()), (1, 0), "{members}");
    let (kind, reason, offset) = match result {
        Err(error) => (error.kind(), error.reason(), error.offset()),
        // Sound JSON: only the span is lost.
        Ok(stats) => {
            assert_eq!((stats.abandoned_spans(), stats.items), (1, 0), "{members}");
            let by_id = stats.bad_ids.spans == 1;
            let (kind, left_out) = if by_id {
                (DecodeErrorKind::Id, stats.bad_ids)
            } else {
                (DecodeErrorKind::Type, stats.bad_values)
            };
            (kind, left_out.reason, left_out.offset)
        }
    };
    (kind, reason, offset - frame.len())
}

#[test]
fn the_specification_s_own_example_in_every_dress() {
    let expected = read_span(
        r#""traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","parentSpanId":"eee19b7ec3c1b173","name":"I'm a server span","startTimeUnixNano":"1544712660000000000","endTimeUnixNano":"1544712661000000000","kind":2,"attributes":[{"key":"my.span.attr","value":{"stringValue":"some value"}}],"status":{"code":2}"#,
    );
    assert_eq!(expected.trace_id[..3], [0x5b, 0x8e, 0xff]);
    assert_eq!((expected.kind, expected.status.as_ref().expect("a status").code), (2, 2));
    // Python's and older collectors': upper-case ids, enum names, numbers bare, nulls, white space.
    let other = read_span(
        r#" "kind" : "SPAN_KIND_SERVER" ,
            "parentSpanId" : "EEE19B7EC3C1B173", "traceState": null, "events": null, "links": [], "flags": null,
            "end_time_unix_nano" : 1544712661000000000, "start_time_unix_nano" : 1544712660000000000,
            "attributes" : [ { "value" : { "string_value" : "some value" }, "key" : "my.span.attr" } ],
            "status" : { "code" : "STATUS_CODE_ERROR", "message": null }, "name" : "I\u0027m a server span",
            "span_id" : "EEE19B7EC3C1B174", "trace_id" : "5B8EFFF798038103D269B633813FC60C" "#,
    );
    assert_eq!(other, expected);
    // Protobuf's own JSON mapping: base64 ids.
    let base64 = read_span(
        r#""traceId":"W47/95gDgQPSabYzgT/GDA==","spanId":"7uGbfsPBsXQ=","parentSpanId":"7uGbfsPBsXM","name":"I'm a server span","startTimeUnixNano":1.54471266e18,"endTimeUnixNano":"1544712661000000000","kind":"SERVER","attributes":[{"key":"my.span.attr","value":{"stringValue":"some value"}}],"status":{"code":"ERROR"}"#,
    );
    assert_eq!(base64, expected);
}

#[test]
fn values() {
    assert_eq!(
        read_value(r#"{"stringValue":"\"\\\/\b\f\n\r\t é \u00e9 \ud83d\ude00"}"#),
        Some(Value::StringValue("\"\\/\u{8}\u{c}\n\r\t é é 😀".into()))
    );
    assert_eq!(read_value(r#"{"intValue":"-42"}"#), Some(Value::IntValue(-42)));
    assert_eq!(read_value(r#"{"intValue":-42}"#), Some(Value::IntValue(-42)));
    assert_eq!(read_value(r#"{"intValue":"-9223372036854775808"}"#), Some(Value::IntValue(i64::MIN)));
    assert_eq!(read_value(r#"{"intValue":4e2}"#), Some(Value::IntValue(400)));
    // One that does not fit stays as its digits.
    let digits = "9223372036854775808";
    for written in [format!("\"{digits}\""), digits.to_owned()] {
        let read = read_value(&format!(r#"{{"intValue":{written}}}"#));
        assert_eq!(read, Some(Value::StringValue(digits.into())));
    }
    assert_eq!(read_value(r#"{"boolValue":true}"#), Some(Value::BoolValue(true)));
    assert_eq!(read_value(r#"{"boolValue":"false"}"#), Some(Value::BoolValue(false)));
    assert_eq!(read_value(r#"{"doubleValue":1}"#), Some(Value::DoubleValue(1.0)));
    assert_eq!(read_value(r#"{"doubleValue":"1.25e-3"}"#), Some(Value::DoubleValue(0.00125)));
    assert_eq!(read_value(r#"{"doubleValue":"Infinity"}"#), Some(Value::DoubleValue(f64::INFINITY)));
    assert_eq!(read_value(r#"{"doubleValue":"-Infinity"}"#), Some(Value::DoubleValue(f64::NEG_INFINITY)));
    assert!(matches!(read_value(r#"{"doubleValue":"NaN"}"#), Some(Value::DoubleValue(nan)) if nan.is_nan()));
    assert_eq!(read_value(r#"{"bytesValue":"-_8="}"#), Some(Value::BytesValue(vec![0xfb, 0xff])));
    assert_eq!(read_value(r#"{"bytesValue":"+\/8"}"#), Some(Value::BytesValue(vec![0xfb, 0xff])));
    // Structures of Go's, written as they are.
    assert_eq!(read_value(r#"{"Value":{"StringValue":"a"}}"#), Some(Value::StringValue("a".into())));
    assert_eq!(read_value(r#"{"Value":{"int_value":7}}"#), Some(Value::IntValue(7)));
    assert_eq!(read_value("{}"), None);
    assert_eq!(read_value("null"), None);
    assert_eq!(read_value(r#"{"stringValue":null,"intValue":7}"#), Some(Value::IntValue(7)));
    let Some(Value::ArrayValue(array)) = read_value(
        r#"{"arrayValue":{"values":[{"intValue":1},null,{"kvlistValue":{"values":[{"key":"\u0061","value":{"stringValue":"\n"}}]}}]}}"#,
    ) else {
        panic!("an array")
    };
    assert_eq!(array.values.len(), 3);
    let Some(Value::KvlistValue(map)) = &array.values[2].value else { panic!("a map") };
    assert_eq!(
        (map.values[0].key.as_str(), map.values[0].value.clone().expect("a value").value),
        ("a", Some(Value::StringValue("\n".into())))
    );
    assert_eq!(read_value(r#"{"arrayValue":{}}"#), read_value(r#"{"arrayValue":{"values":null}}"#));
}

#[test]
fn lone_surrogates_are_replaced_and_counted() {
    let (stats, traces) = read(r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a\ud800b"}]}]}]}"#);
    assert_eq!((stats.invalid_utf8, traces.spans()[0].name.as_str()), (1, "a\u{fffd}b"));
}

#[test]
fn members_that_are_not_known_are_skipped_and_counted() {
    let (stats, traces) = read(
        r#"{"extra":{"deep":[1,{"a":"]}\"{"},[[]],true,null]},"resourceSpans":[{"new":"x","scopeSpans":[{"spans":[{"future":-1.5e3,"name":"n","\u006bind":3}],"other":[]}]}],"resourceMetrics":[{}]}"#,
    );
    assert_eq!(stats.unknown_fields, 4);
    assert_eq!((traces.spans()[0].name.as_str(), traces.spans()[0].kind), ("n", 3));
}

#[test]
fn headers_come_first_wherever_they_stand() {
    let in_order = read(
        r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"a","value":{"intValue":1}}]},"schemaUrl":"r","scopeSpans":[{"scope":{"name":"s\n","version":"1"},"schemaUrl":"u","spans":[{"name":"x"}]},{"schemaUrl":"w","spans":[]}]}]}"#,
    );
    for text in [
        r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"x"}],"scope":{"name":"s\n","version":"1"},"schemaUrl":"u"},{"spans":[],"schemaUrl":"w"}],"schemaUrl":"r","resource":{"attributes":[{"key":"a","value":{"intValue":1}}]}}]}"#,
        r#"{"resource_spans":[{"resource":{"attributes":[{"key":"a","value":{"int_value":1}}]},"scope_spans":[{"scope":{"name":"s\n","version":"1"},"spans":[{"name":"x"}],"schema_url":"u"},{"schema_url":"w"}],"schema_url":"r"}]}"#,
        r#"{"resourceSpans":[{"instrumentationLibrarySpans":[{"spans":[{"name":"x"}],"schemaUrl":"u","instrumentationLibrary":{"name":"s\n","version":"1"}},{"schemaUrl":"w"}],"resource":{"attributes":[{"key":"a","value":{"intValue":1}}]},"schemaUrl":"r"}]}"#,
    ] {
        let (stats, traces) = read(text);
        assert_eq!(traces.data, in_order.1.data, "{text}");
        assert_eq!((stats.items, stats.unknown_fields), (1, 0), "{text}");
    }
}

#[test]
fn a_header_damaged_behind_its_items_does_not_cost_them() {
    let mut traces = Traces::default();
    let text = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"x"}]}],"resource":{"attributes":[{"key":"a","value":{"intValue":"q"}}]}}]}"#;
    let error = json::decode_traces(text.as_bytes(), &mut traces).expect_err("damage");
    traces.assert_settled();
    assert_eq!((error.kind(), traces.spans().len()), (DecodeErrorKind::Type, 1));
    assert_eq!(error.offset(), text.find("\"q\"").expect("the damage"));
}

#[test]
fn metrics_of_other_writers() {
    let text = r#"{"resource_metrics":[{"scope_metrics":[{"metrics":[
        {"sum":{"is_monotonic":true,"data_points":[{"as_int":"5","time_unix_nano":7,"exemplars":[{"asDouble":1,"traceId":"00"}]},{"asDouble":"NaN","flags":1}],"aggregation_temporality":"AGGREGATION_TEMPORALITY_CUMULATIVE"},"unit":"1","name":"late"},
        {"name":"h","metadata":[],"histogram":{"aggregationTemporality":1,"dataPoints":[{"count":3,"sum":4.5,"bucketCounts":[1,"2"],"explicitBounds":[1],"min":null,"max":2}]}},
        {"name":"e","exponentialHistogram":{"aggregationTemporality":"DELTA","dataPoints":[{"count":"1","scale":-1,"positive":{"offset":-4,"bucketCounts":["1"]},"negative":{}}]}}
    ]}]}]}"#;
    let mut read = Metrics::default();
    let stats = json::decode_metrics(text.as_bytes(), &mut read).expect("metrics");
    read.assert_settled();
    assert_eq!((stats.items, stats.unknown_fields), (4, 0));
    let metrics = &read.data.resource_metrics[0].scope_metrics[0].metrics;
    assert_eq!((metrics[0].name.as_str(), metrics[0].unit.as_str()), ("late", "1"));
    let Some(Data::Sum(sum)) = &metrics[0].data else { panic!("a sum") };
    assert_eq!((sum.is_monotonic, sum.aggregation_temporality), (true, 2));
    assert_eq!((sum.data_points[0].value, sum.data_points[0].time_unix_nano), (Some(Number::AsInt(5)), 7));
    assert!(matches!(sum.data_points[1].value, Some(Number::AsDouble(nan)) if nan.is_nan()));
    let Some(Data::Histogram(histogram)) = &metrics[1].data else { panic!("a histogram") };
    let point = &histogram.data_points[0];
    assert_eq!((point.count, point.sum, point.min, point.max), (3, Some(4.5), None, Some(2.0)));
    assert_eq!((&point.bucket_counts[..], &point.explicit_bounds[..]), (&[1, 2][..], &[1.0][..]));
    let Some(Data::ExponentialHistogram(histogram)) = &metrics[2].data else { panic!("a histogram") };
    assert_eq!(histogram.aggregation_temporality, 1);
    assert_eq!(histogram.data_points[0].positive.as_ref().expect("buckets").offset, -4);
}

#[test]
fn wrong_values_are_told_with_their_place() {
    use DecodeErrorKind::{Id, Malformed, Type};
    for (members, kind, reason, offset) in [
        (r#""startTimeUnixNano":"-1""#, Type, "a number is negative", 20),
        (
            r#""startTimeUnixNano":18446744073709551616"#,
            Type,
            "an integer of at most 64 bits is expected",
            20,
        ),
        (r#""startTimeUnixNano":1.5"#, Type, "an integer of at most 64 bits is expected", 20),
        (r#""startTimeUnixNano":"12x""#, Type, "an integer of at most 64 bits is expected", 20),
        (r#""startTimeUnixNano":"""#, Type, "an integer of at most 64 bits is expected", 20),
        (r#""flags":4294967296"#, Type, "a number does not fit 32 bits", 8),
        (r#""traceId":"xyz""#, Id, "an id is neither hex nor base64 of its length", 10),
        (r#""traceId":1"#, Malformed, "a string is expected", 10),
        (r#""name":{}"#, Malformed, "a string is expected", 7),
        (r#""name":"\q""#, Malformed, "an escape does not exist", 8),
        (r#""events":{}"#, Malformed, "an array is expected", 9),
        (r#""name":"a" "kind":1"#, Malformed, "a comma or the end of the object is expected", 11),
        (r#""name":"a","#, Malformed, "a key is expected", 11),
        (r#""name" "a""#, Malformed, "a colon is expected", 7),
        (r#""attributes":[{"key":"k","value":{"boolValue":1}}]"#, Malformed, "a boolean is expected", 46),
        (r#""attributes":[{"key":"k","value":{"bytesValue":"?"}}]"#, Type, "bytes are not base64", 47),
        (r#""attributes":[{"key":"k","value":{"doubleValue":"inf"}}]"#, Type, "a number is expected", 48),
        (r#""kind":nul"#, Malformed, "a value is expected", 7),
    ] {
        assert_eq!(span_error(members), (kind, reason, offset), "{members}");
    }
    for text in ["", " ", "[]", "{\"resourceSpans\":[]}x", "{\"resourceSpans\":{}}", "null null"] {
        assert!(json::decode_traces(text.as_bytes(), &mut Traces::default()).is_err(), "{text}");
    }
}

#[test]
fn a_span_with_a_bad_value_costs_only_itself() {
    let big = "1".to_owned() + &"0".repeat(30);
    for (bad, ids, values) in [
        (r#""traceId":"not-an-id!""#.to_owned(), 1, 0),
        (r#""spanId":"zz""#.to_owned(), 1, 0),
        (r#""spanId":"0102030405060708","kind":1,"spanId":"0102030405060709""#.to_owned(), 1, 0),
        (r#""startTimeUnixNano":"-5""#.to_owned(), 0, 1),
        (format!(r#""endTimeUnixNano":{big}"#), 0, 1),
        (r#""links":[{"traceId":"?"}]"#.to_owned(), 1, 0),
    ] {
        for place in [0, 60, 120] {
            let spans: Vec<String> = (0..121)
                .map(|n| {
                    if n == place {
                        format!(r#" {{"attributes":[{{"key":"a","value":{{}}}}],{bad},"name":"bad"}} "#)
                    } else {
                        format!(r#"{{"name":"{n}"}}"#)
                    }
                })
                .collect();
            let text =
                format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","));
            let (stats, traces) = read(&text);
            let names: Vec<&str> = traces.spans().iter().map(|span| span.name.as_str()).collect();
            let expected: Vec<String> =
                (0..121).filter(|&n| n != place).map(|n: usize| n.to_string()).collect();
            assert_eq!(names, expected, "{bad}");
            assert!(traces.spans().iter().all(|span| span.attributes.is_empty()), "{bad}");
            assert_eq!(
                (stats.items, stats.bad_ids.spans, stats.bad_values.spans),
                (120, ids, values),
                "{bad}"
            );
            assert_eq!((traces.abandoned, stats.abandoned_spans()), (1, 1), "{bad}");
            let object = format!(r#"{{"attributes":[{{"key":"a","value":{{}}}}],{bad},"name":"bad"}}"#);
            assert_eq!(stats.bad_ids.bytes + stats.bad_values.bytes, object.len() as u64, "{bad}");
        }
    }
    // The same id twice is one.
    let id = r#""spanId":"0102030405060708""#;
    let text = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{{id},{id}}}]}}]}}]}}"#);
    assert_eq!(read(&text).0.items, 1);
    // A span that is no JSON ends the message.
    let mut traces = Traces::default();
    let text = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a"},{"name":b},{"name":"c"}]}]}]}"#;
    let error = json::decode_traces(text.as_bytes(), &mut traces).expect_err("no JSON");
    assert_eq!((error.kind(), traces.spans().len()), (DecodeErrorKind::Malformed, 1));
}
