//! Encoders and decoders against `opentelemetry-proto`: prost for protobuf, serde for JSON, both ways, over
//! random messages that hold every field.

use crate::common::generate::{self, Doubles};
use crate::common::{Metrics, Traces, to_visitor};
use opentelemetry_proto::tonic::metrics::v1::MetricsData;
use opentelemetry_proto::tonic::trace::v1::TracesData;
use proptest::prelude::*;
use prost::Message;
use stepscope_otlp::{Signal, json, proto};

proptest! {
    #[test]
    fn traces_in_protobuf(data in generate::traces(Doubles::All)) {
        let theirs = data.encode_to_vec();
        let mut encoder = proto::Encoder::traces();
        to_visitor::traces(&data, &mut encoder);
        prop_assert!(encoder.finish() == theirs, "the same bytes as prost");

        let mut read = Traces::default();
        let stats = proto::decode_traces(&theirs, &mut read).expect("a whole message");
        read.assert_settled();
        // Bytes, because NaN does not equal itself.
        prop_assert!(read.data.encode_to_vec() == theirs, "{:#?}\nis not\n{data:#?}", read.data);
        prop_assert_eq!(stats.items as usize, read.spans().len());
        prop_assert_eq!((stats.invalid_utf8, stats.unknown_fields), (0, 0));
        prop_assert_eq!(proto::validate(&theirs, Signal::Traces), !theirs.is_empty());
    }

    #[test]
    fn metrics_in_protobuf(data in generate::metrics(Doubles::All)) {
        let theirs = data.encode_to_vec();
        let mut encoder = proto::Encoder::metrics();
        to_visitor::metrics(&data, &mut encoder);
        prop_assert!(encoder.finish() == theirs, "the same bytes as prost");

        let mut read = Metrics::default();
        let stats = proto::decode_metrics(&theirs, &mut read).expect("a whole message");
        read.assert_settled();
        prop_assert!(read.data.encode_to_vec() == theirs, "{:#?}\nis not\n{data:#?}", read.data);
        prop_assert_eq!((stats.invalid_utf8, stats.unknown_fields), (0, 0));
        prop_assert_eq!(proto::validate(&theirs, Signal::Metrics), !theirs.is_empty());
    }

    #[test]
    fn traces_in_json(data in generate::traces(Doubles::Plain)) {
        let mut encoder = json::Encoder::traces();
        to_visitor::traces(&data, &mut encoder);
        let ours = encoder.take();
        let theirs: TracesData = serde_json::from_slice(&ours).expect("JSON by OTLP's mapping");
        prop_assert_eq!(&theirs, &data);

        let mut read = Traces::default();
        json::decode_traces(&serde_json::to_vec(&data).expect("JSON"), &mut read).expect("a whole message");
        read.assert_settled();
        prop_assert_eq!(&read.data, &data);
    }

    #[test]
    fn metrics_in_json(data in generate::metrics(Doubles::Plain)) {
        let mut encoder = json::Encoder::metrics();
        to_visitor::metrics(&data, &mut encoder);
        let ours = encoder.take();
        let theirs: MetricsData = serde_json::from_slice(&ours).expect("JSON by OTLP's mapping");
        prop_assert_eq!(&theirs, &data);

        let mut read = Metrics::default();
        json::decode_metrics(&serde_json::to_vec(&data).expect("JSON"), &mut read).expect("a whole message");
        read.assert_settled();
        prop_assert_eq!(&read.data, &data);
    }

    /// Protobuf → JSON → protobuf, with doubles that opentelemetry-proto's JSON cannot hold. A NaN's
    /// payload has no place in JSON either.
    #[test]
    fn traces_through_both(data in generate::traces(Doubles::All)) {
        let canonical = data.encode_to_vec();
        let mut to_json = json::Encoder::traces();
        proto::decode_traces(&canonical, &mut to_json).expect("a whole message");
        let text = to_json.take();
        let mut to_proto = proto::Encoder::traces();
        let stats = json::decode_traces(&text, &mut to_proto).expect("a whole message");
        prop_assert_eq!((stats.invalid_utf8, stats.unknown_fields), (0, 0));
        let mut again = json::Encoder::traces();
        let back = to_proto.take();
        proto::decode_traces(&back, &mut again).expect("a whole message");
        prop_assert!(again.finish() == text);
        prop_assert!(back.len() == canonical.len(), "nothing but NaN's payload differs");
    }

    #[test]
    fn metrics_through_both(data in generate::metrics(Doubles::All)) {
        let canonical = data.encode_to_vec();
        let mut to_json = json::Encoder::metrics();
        proto::decode_metrics(&canonical, &mut to_json).expect("a whole message");
        let text = to_json.take();
        let mut to_proto = proto::Encoder::metrics();
        let stats = json::decode_metrics(&text, &mut to_proto).expect("a whole message");
        prop_assert_eq!((stats.invalid_utf8, stats.unknown_fields), (0, 0));
        prop_assert!(to_proto.finish().len() == canonical.len(), "nothing but NaN's payload differs");
    }
}
