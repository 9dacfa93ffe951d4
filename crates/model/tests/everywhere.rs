//! Damage at every place of a file, for each reader: cut there, 64 bytes zeroed there, 64 bytes doubled there. A span that
//! is missing then is never missing in silence: an issue says where and how many bytes. What leaves a file sound as far as
//! it can be known is counted and printed.

#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

mod common;

use std::collections::BTreeSet;

use common::*;
use serde_json::{Value as Json, json};
use stepscope_core::SCOPE_NAME;
use stepscope_model::{Converter, IssueKind, ReadOptions, ReadOutcome, Reader, Sink, Target, Trace};

/// Bytes of each damage, and between its places.
const STEP: usize = 64;
const MIN_BYTES: usize = 64 << 10;
/// Packed, it stands for much more.
const MIN_PACKED_BYTES: usize = 16 << 10;
const MIN_SPANS: usize = 200;

/// What of a span is compared.
#[derive(Default)]
struct Spans {
    by_name: bool,
    found: BTreeSet<String>,
}

impl Sink for Spans {
    fn trace(&mut self, trace: &Trace) {
        for span in &trace.spans {
            let name = trace.text(span.name);
            // Ids of events are made of their times; their names are unique here.
            let key = if self.by_name { name.to_owned() } else { format!("{:?} {}", trace.id, span.id) };
            self.found.insert(key);
        }
    }
}

/// A file of one reader, and whether bytes are still a sound file of it as far as others can tell.
struct File {
    bytes: Vec<u8>,
    by_name: bool,
    is_packed: bool,
    is_sound: fn(&[u8]) -> bool,
}

impl File {
    fn read(&self, bytes: &[u8]) -> (BTreeSet<String>, ReadOutcome) {
        let mut spans = Spans { by_name: self.by_name, ..Spans::default() };
        let mut reader = Reader::new(ReadOptions::default());
        reader.read_stream("input", bytes, &mut spans).unwrap();
        let outcome = reader.finish(&mut spans);
        (spans.found, outcome)
    }

    /// Damages it everywhere, or today's part of that.
    fn damage(&self, reader: &str) {
        let begun = std::time::Instant::now();
        let (all, outcome) = self.read(&self.bytes);
        assert!(
            all.len() >= MIN_SPANS
                && self.bytes.len() >= if self.is_packed { MIN_PACKED_BYTES } else { MIN_BYTES },
            "{} {}",
            all.len(),
            self.bytes.len()
        );
        assert!(outcome.issues.is_empty(), "{:?}", outcome.issues);
        let (mut unseen, mut tries, mut kept, mut failed) = ([0; 3], 0, 0, Vec::new());
        let (first, stride) = places();
        for at in (first * STEP..self.bytes.len()).step_by(STEP * stride) {
            let end = (at + STEP).min(self.bytes.len());
            let mut zeroed = self.bytes.clone();
            zeroed[at..end].fill(0);
            let damaged = [
                ("cut", self.bytes[..at].to_vec()),
                ("zeroed", zeroed),
                ("doubled", [&self.bytes[..end], &self.bytes[at..]].concat()),
            ];
            for (what, (how, bytes)) in damaged.into_iter().enumerate() {
                tries += 1;
                let (found, outcome) = self.read(&bytes);
                if what > 0 {
                    kept += found.intersection(&all).count();
                }
                if all.is_subset(&found) || is_told(&outcome) {
                    continue;
                }
                // As many as before: what differs is a value of one, such as its id or its name.
                if (self.is_sound)(&bytes) || found.len() >= all.len() {
                    unseen[what] += 1;
                } else {
                    let missing = all.difference(&found).count();
                    failed.push(format!("{how} at {at}: {missing} missing, {:?}", outcome.issues));
                    eprintln!("{reader}, {}", failed[failed.len() - 1]);
                }
            }
        }
        let mean = kept as f64 / (f64::from(tries) / 3.0 * 2.0) / all.len() as f64 * 100.0;
        eprintln!(
            "{reader}: {} bytes, {} spans, {tries} damaged files in {:.1} s; cannot be seen: {} cut, {} zeroed, {} doubled; \
             kept of the spans where not cut: {:.1} %",
            self.bytes.len(),
            all.len(),
            begun.elapsed().as_secs_f64(),
            unseen[0],
            unseen[1],
            unseen[2],
            mean,
        );
        let least = if reader.ends_with("gzip") { MIN_KEPT_OF_STREAM } else { MIN_KEPT };
        assert!(mean >= least, "{reader}: {mean} % are kept");
        assert!(failed.is_empty(), "{} in silence: {:#?}", failed.len(), &failed[..failed.len().min(5)]);
    }
}

/// The first place, and the way to the next one: all of them where `STEPSCOPE_DAMAGE_EVERYWHERE` is set, else another part
/// each day.
fn places() -> (usize, usize) {
    const PARTS: u64 = 5;
    if std::env::var_os("STEPSCOPE_DAMAGE_EVERYWHERE").is_some() {
        return (0, 1);
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    ((now.as_secs() / 86_400 % PARTS) as usize, PARTS as usize)
}

/// Whether an issue says where something was lost, and how much.
fn is_told(outcome: &ReadOutcome) -> bool {
    use IssueKind::{BadCompression, Empty, Truncated};
    outcome.issues.iter().any(|issue| match issue.kind {
        // There is nothing.
        Empty => true,
        // Of what is cut off nobody knows how much it was, nor of what a damaged stream would unpack to.
        Truncated | BadCompression => issue.offset.is_some(),
        _ => issue.offset.is_some() && issue.lost_bytes.is_some(),
    })
}

/// Of the spans where nothing was cut, the least share that is read in the mean, in percent.
const MIN_KEPT: f64 = 80.0;
/// The same of a stream that cannot be unpacked behind damage.
const MIN_KEPT_OF_STREAM: f64 = 45.0;

fn messages() -> Vec<GenMessage> {
    run(0, 60, 20, 7)
}

fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Json>(bytes).is_ok()
}

/// Whether every line is a document: lines that are missing at the end are missed by nobody.
fn are_lines(bytes: &[u8]) -> bool {
    serde_json::Deserializer::from_slice(bytes).into_iter::<Json>().all(|document| document.is_ok())
}

#[test]
fn otlp_lines() {
    File { bytes: otlp::lines(&messages()), by_name: false, is_packed: false, is_sound: are_lines }
        .damage("OTLP JSON lines");
}

#[test]
fn otlp_document() {
    // Two resources, over several lines.
    let text = |rank| {
        let spans = run(rank, 28, 1_000, 7).remove(0).spans;
        otlp::json(&GenMessage { resource: resource(rank), scope: SCOPE_NAME.into(), spans })
    };
    let [mut one, mut two] = [0, 1].map(|rank| serde_json::from_str::<Json>(&text(rank)).unwrap());
    one["resourceSpans"].as_array_mut().unwrap().append(two["resourceSpans"].as_array_mut().unwrap());
    let bytes = serde_json::to_vec_pretty(&one).unwrap();
    File { bytes, by_name: false, is_packed: false, is_sound: are_lines }.damage("OTLP JSON document");
}

#[test]
fn otlp_list() {
    let list: Vec<String> = messages().iter().map(otlp::json).collect();
    let bytes = format!("[{}]", list.join(",\n")).into_bytes();
    File { bytes, by_name: false, is_packed: false, is_sound: is_json }.damage("OTLP JSON list");
}

/// Fields of a protobuf message: number and content, of those that have one; `None` where it is no message.
fn fields(mut bytes: &[u8]) -> Option<Vec<(u64, &[u8])>> {
    fn varint(bytes: &mut &[u8]) -> Option<u64> {
        let mut value = 0;
        for shift in (0..70).step_by(7) {
            let (&byte, rest) = bytes.split_first()?;
            *bytes = rest;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let len = match tag & 7 {
            0 => {
                varint(&mut bytes)?;
                continue;
            }
            1 => 8,
            2 => usize::try_from(varint(&mut bytes)?).ok()?,
            5 => 4,
            _ => return None,
        };
        let (content, rest) = bytes.split_at_checked(len)?;
        bytes = rest;
        if tag >> 3 == 0 {
            return None;
        }
        fields.push((tag >> 3, content));
    }
    Some(fields)
}

/// Whether a message is one down to the ids of its spans.
fn is_proto(message: &[u8]) -> bool {
    let inner = |bytes, number| {
        fields(bytes).map(|all| {
            all.into_iter().filter(|(of, _)| *of == number).map(|(_, content)| content).collect::<Vec<_>>()
        })
    };
    let is_span = |span| {
        let has =
            |number, len| inner(span, number).is_some_and(|ids| ids.iter().all(|id: &&[u8]| id.len() == len));
        has(1, 16) && has(2, 8)
    };
    inner(message, 1).is_some_and(|resources| {
        resources.into_iter().all(|resource| {
            inner(resource, 2).is_some_and(|scopes| {
                scopes
                    .into_iter()
                    .all(|scope| inner(scope, 2).is_some_and(|spans| spans.into_iter().all(is_span)))
            })
        })
    })
}

fn are_records(mut bytes: &[u8]) -> bool {
    while let Some((prefix, rest)) = bytes.split_first_chunk::<4>() {
        let Some((message, rest)) = rest.split_at_checked(u32::from_be_bytes(*prefix) as usize) else {
            return false;
        };
        if !is_proto(message) {
            return false;
        }
        bytes = rest;
    }
    bytes.is_empty()
}

#[test]
fn otlp_protobuf() {
    let bytes = otlp::prefixed(&run(0, 200, 20, 7));
    File { bytes, by_name: false, is_packed: false, is_sound: are_records }
        .damage("OTLP protobuf, length-prefixed");
}

#[test]
fn otlp_protobuf_zstd() {
    let bytes = otlp::prefixed_zstd(&run(0, 160, 20, 7), otlp::proto);
    File { bytes, by_name: false, is_packed: true, is_sound: |bytes| bytes.is_empty() }
        .damage("OTLP protobuf, a zstd frame each");
}

#[test]
fn otlp_protobuf_message() {
    let message = GenMessage {
        spans: run(0, 200, 10_000, 7).remove(0).spans,
        resource: resource(0),
        scope: SCOPE_NAME.into(),
    };
    File { bytes: otlp::proto(&message), by_name: false, is_packed: false, is_sound: is_proto }
        .damage("OTLP protobuf message");
}

#[test]
fn otlp_lines_in_gzip() {
    let bytes = otlp::gzip(&otlp::lines(&run(0, 200, 20, 7)));
    File { bytes, by_name: false, is_packed: true, is_sound: |bytes| bytes.is_empty() }
        .damage("OTLP JSON lines in gzip");
}

#[test]
fn jaeger() {
    let lines = otlp::lines(&run(0, 60, 20, 7));
    let mut bytes = Vec::new();
    let mut converter = Converter::new(Target::Jaeger, &ReadOptions::default(), &mut bytes);
    let mut reader = Reader::new(ReadOptions::default());
    reader.read_stream("input", lines.as_slice(), &mut converter).unwrap();
    let _ = reader.finish(&mut converter);
    converter.finish().unwrap();
    File { bytes, by_name: false, is_packed: false, is_sound: is_json }.damage("Jaeger JSON");
}

/// One trace of Jaeger, as its UI hands it out: the processes come last.
fn trace(count: u64) -> Vec<u8> {
    let span = |number: u64| {
        let parent = json!([{"refType": "CHILD_OF", "traceID": "1f", "spanID": "1"}]);
        json!({"traceID": "1f", "spanID": format!("{:x}", number + 1), "operationName": format!("op{}", number % 7),
            "references": if number == 0 { json!([]) } else { parent }, "startTime": 1_700_000_000_000_000_u64 + number * 10,
            "duration": 9, "tags": [{"key": "n", "type": "int64", "value": number}], "logs": [], "processID": "p1",
            "warnings": null})
    };
    let spans: Vec<Json> = (0..count).map(span).collect();
    let processes = json!({"p1": {"serviceName": "train", "tags": []}});
    serde_json::to_vec(&json!({"data": [{"traceID": "1f", "spans": spans, "processes": processes}]})).unwrap()
}

#[test]
fn jaeger_trace() {
    File { bytes: trace(300), by_name: false, is_packed: false, is_sound: is_json }
        .damage("Jaeger JSON, one trace");
}

fn events(count: u64) -> Vec<Json> {
    let event = |number: u64| {
        json!({"ph": "X", "cat": "cpu_op", "name": format!("aten::op{number}"), "pid": 7, "tid": 8 + number % 3,
            "ts": 1_000 + number * 10, "dur": 9.5, "args": {"External id": number, "Input Dims": [[2, 3], []], "text": "a \"b\" {c"}})
    };
    (0..count).map(event).collect()
}

/// As PyTorch's profiler writes it, its members by name.
fn profile(count: u64) -> Vec<u8> {
    let document = json!({"schemaVersion": 1, "deviceProperties": [{"id": 0}], "distributedInfo": {"rank": 0, "world_size": 1},
        "displayTimeUnit": "ms", "baseTimeNanoseconds": 1_700_000_000_000_000_000_u64, "traceEvents": events(count),
        "traceName": "t.json"});
    serde_json::to_vec_pretty(&document).unwrap()
}

#[test]
fn kineto() {
    File { bytes: profile(400), by_name: true, is_packed: false, is_sound: is_json }.damage("Kineto");
}

/// A list may lack its end; a comma may stand there.
fn is_list(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_end();
    let text = text.strip_suffix(b",").unwrap_or(text);
    is_json(text) || is_json(&[text, b"]"].concat())
}

#[test]
fn chrome_list() {
    let events: Vec<String> = events(500).iter().map(Json::to_string).collect();
    let bytes = format!("[{}]\n", events.join(",\n")).into_bytes();
    File { bytes, by_name: true, is_packed: false, is_sound: is_list }.damage("Chrome list of events");
}

#[test]
fn several_damages_at_once_end_and_are_told() {
    let messages = run(0, 6, 5, 9);
    let list: Vec<String> = events(30).iter().map(Json::to_string).collect();
    let file = |bytes, by_name, is_sound| File { bytes, by_name, is_packed: false, is_sound };
    let files = [
        file(otlp::lines(&messages), false, are_lines),
        file(otlp::pretty(&messages[0]).into_bytes(), false, are_lines),
        file(
            format!("[{}]", messages.iter().map(otlp::json).collect::<Vec<_>>().join(",")).into_bytes(),
            false,
            is_json,
        ),
        file(trace(30), false, is_json),
        file(profile(30), true, is_json),
        file(format!("[{}]", list.join(",\n")).into_bytes(), true, is_list),
    ];
    let mut random = Random(11);
    for (number, file) in files.iter().enumerate() {
        let (all, _) = file.read(&file.bytes);
        for _ in 0..400 {
            let mut bytes = file.bytes.clone();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len() as u64) as usize;
                let end = (at + 1 + random.below(300) as usize).min(bytes.len());
                match random.below(5) {
                    0 => bytes[at..end].fill(0),
                    1 => drop(bytes.drain(at..end)),
                    2 => drop(bytes.splice(at..at, b"{}[],:\"0n"[random.below(9) as usize..].to_vec())),
                    3 => drop(bytes.splice(at..at, file.bytes.clone())),
                    _ => bytes[at] = b"{}[],:\"0n"[random.below(9) as usize],
                }
            }
            let (found, outcome) = file.read(&bytes);
            let is_silent = outcome.issues.is_empty() && found.len() < all.len();
            assert!(
                !is_silent || (file.is_sound)(&bytes),
                "file {number}: {}",
                String::from_utf8_lossy(&bytes)
            );
        }
    }
}
