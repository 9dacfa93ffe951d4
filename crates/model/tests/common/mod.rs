//! Generated runs with known truth: spans, their OTLP bytes by a writer of the tests' own (protobuf and
//! JSON), and the traces that a reader must make of them.

#![expect(dead_code, unreachable_pub, reason = "every test file uses its own part of it")]
#![expect(clippy::unwrap_used, reason = "a failure here is a failure of the test")]

pub mod otlp;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use stepscope_core::identity::{TraceId, TraceIds, mix};
use stepscope_core::{SCOPE_NAME, attr};
use stepscope_model::{
    Completeness, Figure, IssueKind, MetricPoint, PhaseTag, Poll, ReadOptions, ReadOutcome, Reader, Resource,
    Sink, Span, Trace,
};

/// Value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Attr {
    Int(i64),
    Str(String),
    Double(f64),
    Ints(Vec<i64>),
}

/// A span as generated.
#[derive(Debug, Clone, PartialEq)]
pub struct GenSpan {
    pub trace: Vec<u8>,
    pub id: Vec<u8>,
    pub parent: Vec<u8>,
    pub name: String,
    pub start: u64,
    pub end: u64,
    pub attributes: Vec<(String, Attr)>,
    pub links: Vec<(Vec<u8>, Vec<u8>)>,
    pub is_error: bool,
}

/// One message: spans of one resource and scope.
#[derive(Debug, Clone, PartialEq)]
pub struct GenMessage {
    pub resource: Vec<(String, Attr)>,
    pub scope: String,
    pub spans: Vec<GenSpan>,
}

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

pub fn int(key: &str, value: i64) -> (String, Attr) {
    (key.into(), Attr::Int(value))
}

pub fn text(key: &str, value: &str) -> (String, Attr) {
    (key.into(), Attr::Str(value.into()))
}

pub fn resource(rank: i64) -> Vec<(String, Attr)> {
    vec![text(attr::RUN_ID, "run"), int(attr::RANK, rank), text(attr::SERVICE_NAME, "train")]
}

pub fn ids(rank: i64) -> TraceIds {
    TraceIds::new("run", 0, &[b"host", &rank.to_le_bytes()])
}

pub const BASE_NS: u64 = 1_700_000_000_000_000_000;

/// One span with fields that most tests do not care for.
pub fn span(trace: TraceId, id: u64, parent: u64, name: &str, start: u64, end: u64) -> GenSpan {
    GenSpan {
        trace: trace.to_vec(),
        id: id.to_be_bytes().to_vec(),
        parent: if parent == 0 { Vec::new() } else { parent.to_be_bytes().to_vec() },
        name: name.into(),
        start: BASE_NS + start,
        end: BASE_NS + end,
        attributes: Vec::new(),
        links: Vec::new(),
        is_error: false,
    }
}

/// A step as the layer writes it: children first, the root with the number of spans last.
pub fn step(rank: i64, number: u32, children: u64, random: &mut Random) -> Vec<GenSpan> {
    let trace = ids(rank).trace_id(number, Some(u64::from(number)));
    let begin = u64::from(number) * 1_000_000;
    let root_id = random.next() | 1;
    let mut spans = Vec::new();
    let mut parents = vec![(root_id, begin, begin + 900_000)];
    for child in 0..children {
        let (parent, from, to) = parents[random.below(parents.len() as u64) as usize];
        let start = from + random.below(to - from);
        let end = start + random.below(to - start);
        let id = random.next() | 1;
        let mut made =
            span(trace, id, parent, ["forward", "backward", "é/x"][child as usize % 3], start, end);
        if child % 2 == 0 {
            made.attributes.push(text(attr::PHASE, ["forward", "my phase"][child as usize / 2 % 2]));
            made.attributes.push(int(attr::MEM_ALLOC_BYTES, random.below(1 << 40) as i64));
        }
        if child % 5 == 0 {
            made.is_error = true;
            made.links.push((vec![7; 16], vec![9; 8]));
        }
        if end > start {
            parents.push((id, start, end));
        }
        spans.push(made);
    }
    let mut root = span(trace, root_id, 0, "step", begin, begin + 900_000);
    root.attributes = vec![
        text(attr::SECTION_KIND, "step"),
        int(attr::STEP, i64::from(number)),
        int(attr::TRACE_SPANS, children as i64 + 1),
        text(attr::THREAD_NAME, "main"),
        (format!("{}loss", attr::VALUE_PREFIX), Attr::Double(0.5)),
        (attr::POLLS.into(), Attr::Ints(vec![7, 0, 100, 1, 0, 400_000, 300_000, 5])),
    ];
    spans.push(root);
    spans
}

/// A run of steps, cut into messages of about `per_message` spans without regard to traces.
pub fn run(rank: i64, steps: u32, per_message: usize, seed: u64) -> Vec<GenMessage> {
    let mut random = Random(seed);
    let spans: Vec<GenSpan> = (0..steps)
        .flat_map(|number| {
            let children = random.below(7);
            step(rank, number, children, &mut random)
        })
        .collect();
    spans
        .chunks(per_message)
        .map(|chunk| GenMessage { resource: resource(rank), scope: SCOPE_NAME.into(), spans: chunk.to_vec() })
        .collect()
}

/// Every trace in one comparable text, the expected ones by the same words.
pub type Traces = BTreeMap<TraceId, String>;

fn describe(out: &mut String, id: u64, parent: Option<u64>, name: &str, start: u64, end: u64, more: &str) {
    let parent = parent.map_or("-".to_owned(), |parent| format!("{parent:x}"));
    writeln!(out, "{id:x} {parent} {name:?} {start}+{} {more}", end - start).unwrap();
}

/// What a reader must make of these messages, computed from the generated spans alone.
pub fn expected(messages: &[GenMessage]) -> Traces {
    let mut spans: BTreeMap<TraceId, BTreeMap<u64, &GenSpan>> = BTreeMap::new();
    for span in messages.iter().flat_map(|message| &message.spans) {
        let id = u64::from_be_bytes(span.id.as_slice().try_into().unwrap());
        spans.entry(span.trace.as_slice().try_into().unwrap()).or_default().insert(id, span);
    }
    spans
        .into_iter()
        .map(|(trace, spans)| {
            let mut sorted: Vec<(&u64, &&GenSpan)> = spans.iter().collect();
            sorted.sort_by_key(|(id, span)| (span.start, std::cmp::Reverse(span.end), **id));
            let mut out = String::new();
            for (&id, span) in sorted {
                let parent = span.parent.as_slice().try_into().ok().map(u64::from_be_bytes);
                let mut more = String::new();
                let mut attributes = span.attributes.clone();
                attributes.sort_by(|a, b| a.0.cmp(&b.0));
                for (key, value) in &attributes {
                    match value {
                        Attr::Int(value) => write!(more, "{key}={value};").unwrap(),
                        Attr::Str(value) => write!(more, "{key}={value};").unwrap(),
                        Attr::Double(value) => write!(more, "{key}={value};").unwrap(),
                        Attr::Ints(values) => write!(more, "{key}={values:?};").unwrap(),
                    }
                }
                write!(more, "error={} links={}", span.is_error, span.links.len()).unwrap();
                describe(&mut out, id, parent, &span.name, span.start, span.end, &more);
            }
            (trace, out)
        })
        .collect()
}

/// The poll intervals of a span as they are written.
pub fn poll_numbers(trace: &Trace, span: &Span) -> Vec<i64> {
    let numbers = |poll: &Poll| {
        let (after_ns, length_ns) = (poll.start_ns - span.start_ns, poll.end_ns - poll.start_ns);
        [poll.thread.unwrap_or(0), after_ns as i64, length_ns as i64, poll.count as i64]
    };
    trace.polls(span.polls).iter().flat_map(numbers).collect()
}

/// The same for a trace that was read.
pub fn described(trace: &Trace) -> String {
    let mut out = String::new();
    for span in &trace.spans {
        let mut attributes: BTreeMap<String, String> = Figure::ALL
            .iter()
            .filter_map(|&figure| Some((figure.key().to_owned(), span.figure(figure)?.to_string())))
            .collect();
        if span.kind != stepscope_core::SectionKind::Section {
            attributes.insert(attr::SECTION_KIND.into(), span.kind.to_string());
        }
        match span.phase {
            PhaseTag::Absent => {}
            PhaseTag::Known(phase) => drop(attributes.insert(attr::PHASE.into(), phase.to_string())),
            PhaseTag::Custom(custom) => {
                drop(attributes.insert(attr::PHASE.into(), trace.text(custom).to_owned()));
            }
        }
        if !span.thread_name.is_empty() {
            attributes.insert(attr::THREAD_NAME.into(), trace.text(span.thread_name).to_owned());
        }
        if !span.polls.is_empty() {
            attributes.insert(attr::POLLS.into(), format!("{:?}", poll_numbers(trace, span)));
        }
        for value in trace.values.iter().filter(|value| value.span == span.id) {
            let key = format!("{}{}", attr::VALUE_PREFIX, trace.text(value.name));
            attributes.insert(key, value.value.to_string());
        }
        let mut more = String::new();
        attributes.iter().for_each(|(key, value)| write!(more, "{key}={value};").unwrap());
        let links = trace.links.iter().filter(|link| link.span == span.id).count();
        write!(more, "error={} links={links}", span.is_error).unwrap();
        describe(&mut out, span.id, span.parent, trace.text(span.name), span.start_ns, span.end_ns, &more);
    }
    out
}

/// Keeps everything a reader delivers.
#[derive(Debug, Default)]
pub struct Collected {
    pub traces: Traces,
    pub incomplete: Vec<TraceId>,
    pub resources: BTreeMap<TraceId, Arc<Resource>>,
    pub points: Vec<(Arc<Resource>, u64, u64, MetricPoint)>,
    /// Traces that were delivered more than once.
    pub repeated: Vec<TraceId>,
    pub last: Option<Trace>,
    pub progress: Vec<(u64, Option<u64>)>,
}

impl Sink for Collected {
    fn trace(&mut self, trace: &Trace) {
        if self.traces.insert(trace.id, described(trace)).is_some() {
            self.repeated.push(trace.id);
        }
        if trace.completeness == Completeness::Incomplete {
            self.incomplete.push(trace.id);
        }
        self.resources.insert(trace.id, Arc::clone(&trace.resource));
        self.last = Some(trace.clone());
    }

    fn metric(&mut self, resource: &Arc<Resource>, start: u64, time: u64, point: &MetricPoint) {
        self.points.push((Arc::clone(resource), start, time, point.clone()));
    }

    fn progress(&mut self, read: u64, total: Option<u64>) {
        self.progress.push((read, total));
    }
}

/// Reads several inputs with one reader.
pub fn read_with(options: ReadOptions, inputs: &[(&str, &[u8])]) -> (Collected, ReadOutcome) {
    let mut collected = Collected::default();
    let mut reader = Reader::new(options);
    for (name, bytes) in inputs {
        reader.read_stream(name, *bytes, &mut collected).unwrap();
    }
    let outcome = reader.finish(&mut collected);
    assert_eq!(collected.repeated, Vec::<TraceId>::new());
    (collected, outcome)
}

/// Reads one input.
pub fn read(bytes: &[u8]) -> (Collected, ReadOutcome) {
    read_with(ReadOptions::default(), &[("input", bytes)])
}

/// The kinds of issues, with counts.
pub fn kinds(outcome: &ReadOutcome) -> Vec<(IssueKind, u64)> {
    outcome.issues.iter().map(|issue| (issue.kind, issue.count)).collect()
}
