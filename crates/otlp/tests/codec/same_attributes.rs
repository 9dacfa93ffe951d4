//! Attributes that come again as a whole: a visitor that takes them as those it has kept sees what one sees that is handed
//! all of them each time.

use std::collections::HashMap;

use stepscope_otlp::{LinkHead, SpanHead, Value, Visitor, json, proto};

/// Arrays of attributes; some are none, or none that come again.
const ROWS: &[&str] = &[
    r#"[{"key":"a","value":{"intValue":"17"}},{"key":"b","value":{"stringValue":"text"}}]"#,
    r#"[{"key":"a","value":{"intValue":"18"}},{"key":"b","value":{"stringValue":"text"}}]"#,
    r#"[{"key":"a","value":{"intValue":"17"}}]"#,
    r#"[{"key":"a","value":{"intValue":"17"}},{"key":"a","value":{"intValue":"300"}}]"#,
    r#"[ {"key":"a","value":{"intValue":"17"}} ]"#,
    r#"[{"key":"c","value":{"arrayValue":{"values":[{"intValue":"1"},{}]}}}]"#,
    r#"[{"key":"a","value":{"intValue":"-1"}},{"key":"d","value":{"doubleValue":1.5}}]"#,
    r#"[]"#,
    r#"null"#,
];

/// Each span with its attributes.
#[derive(Default)]
struct Seen {
    keeps: bool,
    kept: HashMap<u64, Vec<String>>,
    attributes: Vec<String>,
    spans: Vec<(String, Vec<String>)>,
    taken: usize,
}

impl Visitor for Seen {
    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        self.attributes.push(format!("{key}={value:?}"));
    }

    fn same_attributes(&mut self, number: u64) -> bool {
        let Some(kept) = self.kept.get(&number).filter(|_| self.keeps) else { return false };
        assert!(self.attributes.is_empty());
        self.attributes.clone_from(kept);
        self.taken += 1;
        true
    }

    fn keep_attributes(&mut self, number: u64) {
        if self.keeps {
            self.kept.insert(number, self.attributes.clone());
        }
    }

    fn link(&mut self, head: &LinkHead<'_>) {
        self.attributes.push(format!("link to {:?}", head.span_id));
    }

    fn span(&mut self, head: &SpanHead<'_>) {
        self.spans.push((head.name.to_owned(), std::mem::take(&mut self.attributes)));
    }

    fn span_abandoned(&mut self) {
        self.attributes.clear();
    }
}

fn span(id: usize, row: &str) -> String {
    let behind = if id.is_multiple_of(3) {
        r#","links":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174"}]"#
    } else {
        ""
    };
    let name = id % 5;
    format!(
        r#"{{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"{id:016x}","name":"s{name}","attributes":{row}{behind}}}"#
    )
}

/// Messages of spans whose attributes come in the same order for a while, and then in another one.
fn messages() -> Vec<String> {
    let mut state = 7usize;
    let mut order: Vec<usize> = (0..ROWS.len()).collect();
    (0..60)
        .map(|message| {
            if message % 12 == 0 {
                for at in 0..order.len() {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    order.swap(at, (state >> 33) % ROWS.len());
                }
            }
            let spans: Vec<String> = order.iter().zip(1..).map(|(&row, id)| span(id, ROWS[row])).collect();
            format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","))
        })
        .collect()
}

/// Reads all messages with one decoder, those before `from` by another visitor; each up to the end that `cut` gives it.
fn read<M: AsRef<[u8]>>(
    messages: &[M],
    keeps: bool,
    from: usize,
    cut: impl Fn(usize, usize) -> usize,
    mut decode: impl FnMut(&[u8], &mut Seen),
) -> Seen {
    let mut other = Seen::default();
    let mut seen = Seen { keeps, ..Seen::default() };
    for (at, message) in messages.iter().enumerate() {
        let bytes = message.as_ref();
        let visitor = if at < from { &mut other } else { &mut seen };
        decode(&bytes[..cut(at, bytes.len())], visitor);
    }
    seen
}

fn check<M: AsRef<[u8]>>(messages: &[M], read_all: impl Fn(&[M], bool, usize, bool) -> Seen) {
    for from in [0, 3] {
        for is_cut in [false, true] {
            let (plain, keeping) =
                (read_all(messages, false, from, is_cut), read_all(messages, true, from, is_cut));
            assert_eq!(plain.spans, keeping.spans, "{from} {is_cut}");
            assert!(plain.taken == 0 && keeping.taken > 50, "{from} {is_cut}: {}", keeping.taken);
        }
    }
}

/// Of every fourth message only a part, each time a longer one.
fn part(is_cut: bool) -> impl Fn(usize, usize) -> usize {
    move |at, len| if is_cut && at % 4 == 3 { len * at / 64 } else { len }
}

#[test]
fn attributes_of_json_that_come_again_are_the_same() {
    check(&messages(), |messages, keeps, from, is_cut| {
        let mut decoder = json::Decoder::new();
        read(messages, keeps, from, part(is_cut), |bytes, seen| {
            let _ = decoder.decode_traces(bytes, seen);
        })
    });
}

#[test]
fn attributes_of_protobuf_that_come_again_are_the_same() {
    let as_proto = |text: &String| {
        let mut encoder = proto::Encoder::traces();
        json::decode_traces(text.as_bytes(), &mut encoder).unwrap();
        encoder.take()
    };
    let messages: Vec<Vec<u8>> = messages().iter().map(as_proto).collect();
    check(&messages, |messages, keeps, from, is_cut| {
        let mut decoder = proto::Decoder::new();
        read(messages, keeps, from, part(is_cut), |bytes, seen| {
            let _ = decoder.decode_traces(bytes, seen);
        })
    });
}
