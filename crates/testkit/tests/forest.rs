//! Generated runs, read back with the decoders and counted.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::attr;
use stepscope_otlp::{
    LinkHead, MetricHead, PointData, PointHead, Signal, SpanHead, Value, Visitor, json, proto,
};
use stepscope_testkit::{Forest, ForestOptions, Format, TempFolder, Truth, crosscheck, disturb};

/// A span as it came back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    trace: Vec<u8>,
    id: Vec<u8>,
    parent: Vec<u8>,
    name: String,
    start_ns: u64,
    end_ns: u64,
    numbers: BTreeMap<String, i64>,
    texts: BTreeMap<String, String>,
    links: Vec<(Vec<u8>, Vec<u8>)>,
}

#[derive(Debug, Default)]
struct Reader {
    spans: Vec<Seen>,
    points: Vec<(String, String, i64)>,
    instances: BTreeSet<i64>,
    numbers: BTreeMap<String, i64>,
    texts: BTreeMap<String, String>,
    links: Vec<(Vec<u8>, Vec<u8>)>,
    metric: String,
}

impl Reader {
    fn keep(&mut self, key: &str, value: Value<'_>) {
        match value {
            Value::Int(value) => {
                self.numbers.insert(key.into(), value);
            }
            Value::Str(value) => {
                self.texts.insert(key.into(), value.into());
            }
            _ => {}
        }
    }
}

impl Visitor for Reader {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        if let (attr::PROCESS_PID, Value::Int(pid)) = (key, value) {
            self.instances.insert(pid);
        }
    }
    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        self.keep(key, value);
    }
    fn link(&mut self, head: &LinkHead<'_>) {
        self.links.push((head.trace_id.to_vec(), head.span_id.to_vec()));
    }
    fn span(&mut self, head: &SpanHead<'_>) {
        self.spans.push(Seen {
            trace: head.trace_id.to_vec(),
            id: head.span_id.to_vec(),
            parent: head.parent_span_id.to_vec(),
            name: head.name.into(),
            start_ns: head.start_unix_ns,
            end_ns: head.end_unix_ns,
            numbers: std::mem::take(&mut self.numbers),
            texts: std::mem::take(&mut self.texts),
            links: std::mem::take(&mut self.links),
        });
    }
    fn metric(&mut self, head: &MetricHead<'_>) {
        self.metric = head.name.into();
    }
    fn point_attribute(&mut self, key: &str, value: Value<'_>) {
        self.keep(key, value);
    }
    fn point(&mut self, head: &PointHead<'_>) {
        let path = std::mem::take(&mut self.texts).remove(attr::PATH).unwrap_or_default();
        if let PointData::Number(Some(stepscope_otlp::Number::Int(value))) = head.data {
            self.points.push((self.metric.clone(), path, value));
        }
    }
}

fn read(messages: &[Vec<u8>], format: Format) -> Reader {
    let mut reader = Reader::default();
    for message in messages {
        let signal = stepscope_otlp::detect(message).and_then(|detected| detected.signal);
        let stats = match (format, signal) {
            (Format::Proto, Some(Signal::Traces)) => proto::decode_traces(message, &mut reader),
            (Format::Proto, Some(Signal::Metrics)) => proto::decode_metrics(message, &mut reader),
            (Format::Json, Some(Signal::Traces)) => json::decode_traces(message, &mut reader),
            (Format::Json, Some(Signal::Metrics)) => json::decode_metrics(message, &mut reader),
            _ => panic!("a message that is neither traces nor metrics"),
        };
        assert!(stats.is_ok_and(|stats| stats.unknown_fields == 0));
    }
    reader
}

fn options() -> ForestOptions {
    ForestOptions { ranks: 2, steps: 120, ..ForestOptions::default() }
}

fn generate(options: ForestOptions) -> (Reader, Truth) {
    let (messages, truth) = Forest::new(options).messages(Format::Proto);
    (read(&messages, Format::Proto), truth)
}

#[test]
fn every_span_that_was_generated_is_there_once() {
    let (reader, truth) = generate(options());
    assert_eq!(reader.spans.len() as u64, truth.spans);
    let ids: BTreeSet<_> = reader.spans.iter().map(|span| (&span.trace, &span.id)).collect();
    assert_eq!(ids.len(), reader.spans.len());
    let traces: BTreeSet<_> = reader.spans.iter().map(|span| &span.trace).collect();
    assert_eq!(traces.len() as u64, truth.traces);
    assert_eq!(reader.instances, BTreeSet::from([4_000, 4_001]));
    let sections: u64 = truth.paths.values().map(|path| path.moments.count).sum();
    // Of the 82 levels of each deep step (three of each rank), 17 are parts of the 65th.
    assert_eq!(sections + truth.markers + 6 * 17, truth.spans);
    // Of each rank: 120 steps, one in ten followed by an evaluation, three epochs begun, one run.
    assert_eq!((truth.train_steps, truth.eval_steps, truth.batches, truth.markers), (240, 24, 240, 8));
}

#[test]
fn roots_announce_their_traces_and_link_to_their_run() {
    let (reader, _) = generate(options());
    let mut sizes: BTreeMap<&[u8], i64> = BTreeMap::new();
    for span in &reader.spans {
        *sizes.entry(&span.trace).or_default() += 1;
    }
    let runs: BTreeSet<_> =
        reader.spans.iter().filter(|span| span.name == "run").map(|span| &span.id).collect();
    assert_eq!(runs.len(), 2);
    let roots: Vec<&Seen> = reader.spans.iter().filter(|span| span.parent.is_empty()).collect();
    assert_eq!(roots.len(), sizes.len());
    for root in roots {
        assert_eq!(root.numbers[attr::TRACE_SPANS], sizes[&*root.trace], "{}", root.name);
        if root.name != "run" {
            assert!(runs.contains(&root.links[0].1));
        }
    }
}

#[test]
fn steps_have_the_size_that_was_asked_for() {
    let plain = ForestOptions { deep_every: 0, checkpoint_every: 0, ..options() };
    for spans_per_step in [1, 2, 6, 50, 333] {
        let options = ForestOptions { spans_per_step, batches: false, steps: 20, ..plain.clone() };
        let (reader, _) = generate(options);
        for root in reader.spans.iter().filter(|span| span.name == "train_step") {
            assert_eq!(root.numbers[attr::TRACE_SPANS], i64::from(spans_per_step));
        }
    }
}

#[test]
fn a_wait_says_what_its_batch_was() {
    let (reader, _) = generate(options());
    let batches: BTreeMap<_, _> = reader
        .spans
        .iter()
        .filter(|span| span.texts.get(attr::SECTION_KIND).is_some_and(|kind| kind == "batch"))
        .map(|span| ((span.trace.clone(), span.id.clone()), span))
        .collect();
    let waits: Vec<&Seen> = reader.spans.iter().filter(|span| span.name == "wait_batch").collect();
    assert_eq!((waits.len(), batches.len()), (240, 240));
    for wait in waits {
        let batch = batches[&wait.links[0]];
        assert_eq!(wait.numbers[attr::BATCH_ID], batch.numbers[attr::BATCH_ID]);
        assert_eq!(wait.numbers[attr::BATCH_PRODUCE_NS], (batch.end_ns - batch.start_ns) as i64);
        assert_eq!(wait.numbers[attr::BATCH_QUEUE_NS], (wait.end_ns - batch.end_ns) as i64);
    }
}

#[test]
fn the_promised_shapes_occur() {
    let (reader, truth) = generate(ForestOptions { spans_per_step: 40, ..options() });
    let by_id: BTreeMap<_, _> = reader.spans.iter().map(|span| ((&span.trace, &span.id), span)).collect();
    let pairs: Vec<(&Seen, &Seen)> = reader
        .spans
        .iter()
        .filter_map(|span| Some((*by_id.get(&(&span.trace, &span.parent))?, span)))
        .collect();
    let thread = |span: &Seen| span.numbers[attr::THREAD_ID];
    assert!(pairs.iter().any(|(parent, child)| parent.name == child.name), "recursion");
    assert!(pairs.iter().any(|(parent, child)| thread(parent) != thread(child)), "threads");
    assert!(pairs.iter().any(|(parent, child)| child.end_ns > parent.end_ns), "outlived parents");
    assert!(reader.spans.iter().any(|span| span.numbers.contains_key(attr::BUSY_NS)), "suspended sections");
    assert!(truth.paths.keys().any(|path| path.ends_with('…')), "deep nesting");
    assert!(truth.paths.keys().any(|path| path.contains("residual\\/add")), "escaped names");
    for (parent, child) in &pairs {
        assert!(parent.start_ns <= child.start_ns && child.start_ns <= child.end_ns);
    }
    let deep = truth.paths.iter().find(|(path, _)| path.ends_with('…')).unwrap().1;
    // 80 levels below search (level 2): levels 65 to 82 share a path, each step counts only the topmost.
    assert_eq!(deep.moments.count, 6);
    assert_eq!(deep.total_ns, deep.moments.sum);
}

#[test]
fn the_last_published_sums_are_the_truth() {
    let (reader, truth) = generate(ForestOptions { ranks: 1, steps: 1_100, ..options() });
    let mut last: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for (metric, path, value) in &reader.points {
        last.insert((metric, path), *value);
    }
    let get = |metric, path: &str| u128::try_from(last[&(metric, path)]).unwrap();
    for (path, sums) in &truth.paths {
        assert_eq!(
            get(stepscope_core::metric::SECTION_COUNT, path),
            u128::from(sums.moments.count),
            "{path}"
        );
        assert_eq!(get(stepscope_core::metric::SECTION_TOTAL, path), sums.total_ns, "{path}");
        assert_eq!(get(stepscope_core::metric::SECTION_SELF_BUSY, path), sums.self_busy_ns, "{path}");
        assert!(sums.self_busy_ns <= sums.moments.sum, "{path}");
    }
    assert_eq!(last[&(stepscope_core::metric::SPANS_EMITTED, "")] as u64, truth.spans);
}

#[test]
fn options_alone_decide_what_is_generated() {
    let (one, truth) = Forest::new(options()).messages(Format::Proto);
    let (two, same) = Forest::new(options()).messages(Format::Proto);
    assert!(one == two && truth == same);
    let (other, _) = Forest::new(ForestOptions { seed: 2, ..options() }).messages(Format::Proto);
    assert!(one != other);
}

#[test]
fn both_formats_hold_the_same_run() {
    let forest = Forest::new(options());
    let (proto, truth) = forest.messages(Format::Proto);
    let (json, same) = forest.messages(Format::Json);
    let (proto, json) = (read(&proto, Format::Proto), read(&json, Format::Json));
    assert_eq!(proto.spans, json.spans);
    assert_eq!(proto.points, json.points);
    assert_eq!(truth, same);
}

#[test]
fn a_killed_run_has_no_end() {
    let (reader, truth) = generate(ForestOptions { ended: false, ..options() });
    assert!(reader.spans.iter().all(|span| span.name != "run"));
    assert_eq!(reader.spans.iter().filter(|span| span.name == "run.started").count(), 2);
    // Of three epochs begun two ended, and keep the path they would have had.
    assert_eq!(truth.paths["run/epoch"].moments.count, 4);
    assert!(!truth.paths.contains_key("run"));
}

#[test]
fn disturbed_files_hold_the_same_messages() {
    let (mut messages, _) = Forest::new(options()).messages(Format::Json);
    let mut before = messages.clone();
    disturb::shuffle(&mut messages, 5);
    assert_ne!(messages, before);
    messages.sort();
    before.sort();
    assert_eq!(messages, before);
}

#[test]
fn a_written_file_is_the_framed_messages() {
    let folder = TempFolder::new("forest").unwrap();
    for format in [Format::Proto, Format::Json] {
        let forest = Forest::new(options());
        let (messages, _) = forest.messages(format);
        forest.write_file(format, &folder.join("run")).unwrap();
        assert!(std::fs::read(folder.join("run")).unwrap() == disturb::file(&messages, format));
    }
    disturb::cut(&folder.join("run"), 1_000).unwrap();
    assert_eq!(std::fs::metadata(folder.join("run")).unwrap().len(), 1_000);
}

#[test]
fn the_second_implementation_finds_the_sums_equal_to_the_spans() {
    let folder = TempFolder::new("forest").unwrap();
    for format in [Format::Proto, Format::Json] {
        let (mut messages, truth) = Forest::new(options()).messages(format);
        disturb::duplicate(&mut messages, 200, 1);
        disturb::shuffle(&mut messages, 1);
        let path = folder.join("run");
        std::fs::write(&path, disturb::file(&messages, format)).unwrap();
        let output = crosscheck::aggregates(&[&path]).unwrap();
        let sections = truth.paths.len();
        assert!(output.contains(&format!("of {sections} sections: all equal")), "{output}");
    }
}
