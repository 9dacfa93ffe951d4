//! Spans of many callsites in one message, with fields that come in any number, order and repetition: what another
//! decoder reads of them, and that what is made ready for a callsite writes what the attributes one by one would.

use opentelemetry_proto::tonic::common::v1::any_value::Value as ProstValue;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{Span, TracesData};
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message as _;
use stepscope_core::Phase;
use stepscope_otlp::{ResourceHead, ScopeHead, json, proto};

use super::*;
use crate::config::Config;
use crate::context::identity::{Given, Identity};
use crate::shared::attrs::{self, Attrs, Before, Declared, LeftOut, MAX_TEXT_BYTES};
use crate::shared::callsite::Callsite;

/// More fields than bits that are kept of their numbers.
static MANY: [&str; 70] = {
    let mut names = ["many"; 70];
    (names[0], names[63], names[64], names[65]) = ("first", "bit 63", "no bit 64", "no bit 65");
    names
};

static SITES: [Callsite; 5] = [
    Callsite::new("plain", None, "module", "C:\\a \"file\".rs", 7, &["index", "ratio", "text", "flag"]),
    // Names that the layer has for itself, or OTLP a place, and one with a longer name.
    Callsite::new(
        "special",
        None,
        "module",
        "file.rs",
        300,
        &[
            "samples",
            attr::PHASE,
            "otel.name",
            attr::CODE_LINE_NUMBER,
            "otel.status_message",
            attr::THREAD_ID,
            "index",
            attr::SWITCHES_VOLUNTARY,
            "stepscope.value.loss",
            attr::CODE_FUNCTION_NAME,
        ],
    ),
    Callsite::new("doubled", None, "module", "file.rs", 1, &["index", "text", "index", "unknown"]),
    Callsite::new("many", None, "module", "file.rs", 2, &MANY),
    Callsite::new("", None, "", "", 0, &[]),
];

/// Numbers of the callsites: those above, a `tracing` span's, and one that is not known.
const CALLSITES: u32 = SITES.len() as u32 + 2;

fn callsites() -> Vec<Known> {
    let metadata = tracing::subscriber::with_default(tracing_subscriber::registry(), || {
        tracing::info_span!("traced", samples = 1, text = "t", otel.name = "n").metadata()
    });
    let sections = SITES.iter().map(Source::Section);
    sections.chain([Source::Span(metadata.unwrap())]).map(Known::from).collect()
}

/// An entry that owns its texts.
#[derive(Debug, Clone)]
enum Attached {
    Declared(usize, Field),
    Named(&'static str, Field),
    Own(&'static str, i64),
    UserValue(&'static str, f64),
    Event(bool),
    Link,
    Polls,
}

#[derive(Debug, Clone)]
enum Field {
    Int(i64),
    Uint(u64),
    Double(f64),
    Bool(bool),
    Str(String),
}

impl Field {
    fn value(&self) -> FieldValue<'_> {
        match self {
            Self::Int(value) => FieldValue::Int(*value),
            Self::Uint(value) => FieldValue::Uint(*value),
            Self::Double(value) => FieldValue::Double(*value),
            Self::Bool(value) => FieldValue::Bool(*value),
            Self::Str(text) => FieldValue::Str(text),
        }
    }

    fn expected(&self) -> ProstValue {
        match self {
            Self::Int(value) => ProstValue::IntValue(*value),
            Self::Uint(value) if *value > i64::MAX as u64 => ProstValue::StringValue(value.to_string()),
            Self::Uint(value) => ProstValue::IntValue(*value as i64),
            Self::Double(value) => ProstValue::DoubleValue(*value),
            Self::Bool(value) => ProstValue::BoolValue(*value),
            Self::Str(text) => {
                let fits = |(at, letter): &(usize, char)| at + letter.len_utf8() <= MAX_TEXT_BYTES;
                let letters = text.char_indices().take_while(fits).map(|(_, letter)| letter);
                ProstValue::StringValue(letters.collect())
            }
        }
    }
}

fn field() -> impl Strategy<Value = Field> {
    // Of two bytes each, so that the longest text that is kept ends with one of them.
    let text = vec(prop::sample::select(vec!["é", "\"\\", "\n\t", "ab"]), 0..40);
    prop_oneof![
        prop_oneof![0..300_i64, any::<i64>()].prop_map(Field::Int),
        prop_oneof![0..300_u64, any::<u64>()].prop_map(Field::Uint),
        any::<i32>().prop_map(|value| Field::Double(f64::from(value) / 8.0)),
        any::<bool>().prop_map(Field::Bool),
        text.prop_map(|text| Field::Str(text.concat())),
        (0..400_usize).prop_map(|len| Field::Str("é".repeat(len))),
    ]
}

fn attached() -> impl Strategy<Value = Attached> {
    let number = prop_oneof![8 => 0..10_usize, 1 => 60..80_usize];
    let name = prop::sample::select(vec![
        "index",
        "text",
        "other",
        "first",
        attr::PHASE,
        "samples",
        attr::SAMPLES,
        "otel.name",
        "stepscope.value.index",
        attr::SWITCHES_VOLUNTARY,
        attr::INPUT_BEFORE_NS,
        attr::STEP,
        attr::CODE_FILE_PATH,
        attr::CODE_FUNCTION_NAME,
        attr::ERROR_TYPE,
    ]);
    let own = prop::sample::select(vec![attr::SWITCHES_VOLUNTARY, attr::INPUT_BEFORE_NS]);
    prop_oneof![
        20 => (number, field()).prop_map(|(number, value)| Attached::Declared(number, value)),
        2 => (name, field()).prop_map(|(name, value)| Attached::Named(name, value)),
        1 => own.prop_map(|name| Attached::Own(name, 6)),
        1 => any::<bool>().prop_map(|first| Attached::UserValue(if first { "loss" } else { "index" }, 0.5)),
        1 => any::<bool>().prop_map(Attached::Event),
        1 => Just(Attached::Link),
        1 => Just(Attached::Polls),
    ]
}

/// The fields of a section in the order in which they are declared, as most of them come, or anything.
fn all_attached() -> impl Strategy<Value = Vec<Attached>> {
    let in_order = vec(field(), 0..8).prop_map(|fields| {
        fields.into_iter().enumerate().map(|(number, value)| Attached::Declared(number, value)).collect()
    });
    // The layer says a thing once.
    let once = |mut entries: Vec<Attached>| {
        let mut said = Vec::new();
        entries.retain(|entry| match entry {
            Attached::Own(name, _) if said.contains(name) => false,
            Attached::Own(name, _) => {
                said.push(*name);
                true
            }
            _ => true,
        });
        entries
    };
    prop_oneof![in_order, vec(attached(), 0..8).prop_map(once)]
}

#[derive(Debug, Clone)]
struct Section {
    record: SectionRecord,
    attached: Vec<Attached>,
}

fn section() -> impl Strategy<Value = Section> {
    let numbers = (0..CALLSITES, prop_oneof![1..200_u64, any::<u64>()], 0..3_u64, 1..1_000_u64);
    let kinds = (any::<bool>(), prop_oneof![9 => Just(false), 1 => Just(true)], [0..2_u16, 0..2, 0..2]);
    (numbers, kinds, all_attached()).prop_map(|((callsite, thread, parent, start_ns), kinds, attached)| {
        let (has_phase, is_error, [attributes, events, links]) = kinds;
        let record = SectionRecord {
            trace_id: [7; 16],
            span_id: 5,
            parent_span_id: parent,
            start_ns,
            end_ns: start_ns + 10,
            busy_ns: 10,
            enters: 1,
            phase: has_phase.then_some(Phase::Forward),
            is_error,
            callsite,
            thread,
            left_out: LeftOut { attributes, events, links },
            ..SectionRecord::default()
        };
        Section { record, attached }
    })
}

fn entries(attached: &[Attached]) -> Vec<u8> {
    let (mut packed, nothing) = (Attrs::default(), Before::default());
    for entry in attached {
        match entry {
            Attached::Declared(number, value) => packed.push(nothing, Declared(*number, value.value())),
            Attached::Named(name, value) => packed.push(nothing, Entry::Field(name, value.value())),
            Attached::Own(name, value) => packed.push(nothing, Entry::Own(name, FieldValue::Int(*value))),
            Attached::UserValue(name, value) => packed.push(nothing, Entry::UserValue(name, *value)),
            Attached::Event(is_error) => packed.push(nothing, Entry::Event(3, *is_error, "what happened")),
            Attached::Link => packed.push(nothing, Entry::Link([9; 16], 4)),
            Attached::Polls => packed.push(nothing, Entry::Polls(&[])),
        }
    }
    let mut bytes = Vec::new();
    attrs::unpack(packed.words(), &mut bytes);
    bytes
}

fn key_value(key: &str, value: ProstValue) -> KeyValue {
    KeyValue { key: key.into(), value: Some(AnyValue { value: Some(value) }), key_strindex: 0 }
}

/// Name, status message and attributes of a section, by the rules: what the layer says wins, then what was said last. And how many
/// fields have a name of which it is the layer that says something.
fn expected(section: &Section, known: Option<&Known>) -> (String, String, Vec<KeyValue>, u32) {
    let Section { record, attached } = section;
    let text = |text: &str| ProstValue::StringValue(text.into());
    let mut attributes = Vec::new();
    if record.phase.is_some() {
        attributes.push(key_value(attr::PHASE, text("forward")));
    }
    let thread = i64::try_from(record.thread).unwrap_or(i64::MAX);
    attributes.push(key_value(attr::THREAD_ID, ProstValue::IntValue(thread)));
    let (mut name, mut message) =
        (known.map_or("unknown", |known| known.source.name()).to_owned(), String::new());
    let raw_name = |entry: &Attached| match entry {
        Attached::Declared(number, _) => {
            Some(known.and_then(|known| known.fields.get(*number)).copied().unwrap_or("unknown"))
        }
        Attached::Named(name, _) => Some(*name),
        _ => None,
    };
    let is_section = known.is_some_and(|known| matches!(known.source, Source::Section(_)));
    let is_span = matches!(known.map(|known| known.source), Some(Source::Span(_)));
    // What a field or a value is written as.
    let attribute = |entry: &Attached| match (entry, raw_name(entry)) {
        (_, Some("samples")) if is_section => Some(attr::SAMPLES.to_owned()),
        (_, Some(name)) => Some(name.to_owned()),
        (Attached::UserValue(name, _), _) => Some(format!("stepscope.value.{name}")),
        _ => None,
    };
    let mut overridden = 0;
    for (position, entry) in attached.iter().enumerate() {
        let is_again = |later: &Attached| attribute(later).is_some() && attribute(later) == attribute(entry);
        if attached[position + 1..].iter().any(is_again) {
            continue;
        }
        match entry {
            Attached::Declared(_, value) | Attached::Named(_, value) => {
                let key = raw_name(entry).unwrap();
                let is_ours = match key {
                    attr::THREAD_ID | attr::SWITCHES_VOLUNTARY | attr::INPUT_BEFORE_NS | attr::STEP => true,
                    attr::CODE_FILE_PATH | attr::CODE_LINE_NUMBER => known.is_some(),
                    attr::CODE_FUNCTION_NAME => is_span,
                    _ => false,
                };
                if is_ours || key == attr::PHASE && record.phase.is_some() {
                    overridden += u32::from(is_ours);
                    continue;
                }
                match (key, value, value.expected()) {
                    ("otel.name", Field::Str(_), ProstValue::StringValue(text)) => name = text,
                    ("otel.status_message", Field::Str(_), ProstValue::StringValue(text)) => message = text,
                    ("samples", _, value) if is_section => attributes.push(key_value(attr::SAMPLES, value)),
                    (key, _, value) => attributes.push(key_value(key, value)),
                }
            }
            Attached::UserValue(name, value) => {
                let key = format!("{}{name}", attr::VALUE_PREFIX);
                attributes.push(key_value(&key, ProstValue::DoubleValue(*value)));
            }
            Attached::Own(name, value) => attributes.push(key_value(name, ProstValue::IntValue(*value))),
            Attached::Event(true) if message.is_empty() => message = "what happened".into(),
            Attached::Polls => {
                attributes.push(key_value(attr::POLLS, ProstValue::ArrayValue(ArrayValue::default())));
            }
            Attached::Event(_) | Attached::Link => {}
        }
    }
    let (file, line) = match known.map(|known| known.source) {
        Some(Source::Section(site)) => (Some(site.file), Some(site.line)),
        Some(Source::Span(metadata)) => (metadata.file(), metadata.line()),
        None => (None, None),
    };
    attributes.extend(file.map(|file| key_value(attr::CODE_FILE_PATH, text(file))));
    attributes.extend(line.map(|line| key_value(attr::CODE_LINE_NUMBER, ProstValue::IntValue(line.into()))));
    if let Some(Source::Span(_)) = known.map(|known| known.source) {
        let function = format!("{}::traced", module_path!());
        attributes.push(key_value(attr::CODE_FUNCTION_NAME, text(&function)));
    }
    (name, message, attributes, overridden)
}

/// Hands on what spans are made of, one by one: nothing that is made ready.
struct OneByOne<'a, V>(&'a mut V);

impl<V: Visitor> Visitor for OneByOne<'_, V> {
    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        self.0.span_attribute(key, value);
    }

    fn event_attribute(&mut self, key: &str, value: Value<'_>) {
        self.0.event_attribute(key, value);
    }

    fn event(&mut self, head: &EventHead<'_>) {
        self.0.event(head);
    }

    fn link(&mut self, head: &LinkHead<'_>) {
        self.0.link(head);
    }

    fn span(&mut self, head: &SpanHead<'_>) {
        self.0.span(head);
    }
}

fn begin(visitor: &mut impl Visitor) {
    visitor.resource(&ResourceHead::default());
    visitor.scope(&ScopeHead::default());
}

fn read(message: &[u8]) -> Vec<Span> {
    let data = TracesData::decode(message).unwrap();
    data.resource_spans.into_iter().flat_map(|r| r.scope_spans).flat_map(|s| s.spans).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_made_ready_says_what_was_recorded(sections in vec(section(), 1..12)) {
        let recorder = Recorder::new(Config::default(), Identity::resolve(Given::default(), |_| None, &mut Vec::new()));
        let callsites = callsites();
        let threads = ThreadNames::default();
        let context = Context { recorder: &recorder, callsites: &callsites, threads: &threads, cpus: None };
        let (mut ready, mut one_by_one) = (proto::Encoder::traces(), proto::Encoder::traces());
        let (mut ready_json, mut one_by_one_json) = (json::Encoder::traces(), json::Encoder::traces());
        begin(&mut ready);
        begin(&mut one_by_one);
        begin(&mut ready_json);
        begin(&mut one_by_one_json);
        for Section { record, attached } in &sections {
            let entries = entries(attached);
            write_span(&mut ready, &context, record, &entries);
            write_span(&mut OneByOne(&mut one_by_one), &context, record, &entries);
            write_span(&mut ready_json, &context, record, &entries);
            write_span(&mut OneByOne(&mut one_by_one_json), &context, record, &entries);
        }
        let message = ready.finish();
        prop_assert!(message == one_by_one.finish());
        prop_assert!(ready_json.finish() == one_by_one_json.finish());
        let spans = read(message);
        prop_assert_eq!(spans.len(), sections.len());
        for (span, section) in spans.into_iter().zip(&sections) {
            let (name, status_message, attributes, overridden) = expected(section, callsites.get(section.record.callsite as usize));
            prop_assert_eq!(span.attributes, attributes);
            prop_assert_eq!(span.name, name);
            let status = span.status.unwrap_or_default();
            prop_assert_eq!((status.message, status.code), (status_message, 2 * i32::from(section.record.is_error)));
            let ids = (span.trace_id, span.span_id, span.parent_span_id);
            let parent = section.record.parent_span_id.to_be_bytes().to_vec();
            let parent = if section.record.parent_span_id == 0 { Vec::new() } else { parent };
            prop_assert_eq!(ids, (vec![7; 16], vec![0, 0, 0, 0, 0, 0, 0, 5], parent));
            prop_assert_eq!(span.end_time_unix_nano - span.start_time_unix_nano, 10);
            prop_assert_eq!((span.flags, span.kind), (0x103, 1));
            let dropped = [span.dropped_attributes_count, span.dropped_events_count, span.dropped_links_count];
            let LeftOut { attributes, events, links } = section.record.left_out;
            let [attributes, events, links] = [attributes, events, links].map(u32::from);
            prop_assert_eq!(dropped, [attributes + overridden, events, links]);
            let count = |is_one: fn(&Attached) -> bool| section.attached.iter().filter(|one| is_one(one)).count();
            prop_assert_eq!(span.events.len(), count(|entry| matches!(entry, Attached::Event(_))));
            prop_assert_eq!(span.links.len(), count(|entry| matches!(entry, Attached::Link)));
        }
    }
}

/// The span of a record with these entries.
fn written(record: &SectionRecord, attached: &[Attached]) -> Span {
    let recorder =
        Recorder::new(Config::default(), Identity::resolve(Given::default(), |_| None, &mut Vec::new()));
    let (callsites, threads) = (callsites(), ThreadNames::default());
    let context = Context { recorder: &recorder, callsites: &callsites, threads: &threads, cpus: None };
    let mut encoder = proto::Encoder::traces();
    begin(&mut encoder);
    write_span(&mut encoder, &context, record, &entries(attached));
    read(encoder.finish()).remove(0)
}

/// Code and message of the status of a section with these entries.
fn status(is_error: bool, attached: &[Attached]) -> (i32, String) {
    let record = SectionRecord { trace_id: [7; 16], span_id: 5, is_error, ..SectionRecord::default() };
    let status = written(&record, attached).status.unwrap_or_default();
    (status.code, status.message)
}

/// What a program may say on any span: the layer says it of sections of its own, of events, or nowhere.
const OF_PROGRAMS: [&str; 19] = [
    "stepscope.samples",
    "stepscope.tokens",
    "stepscope.bytes",
    "stepscope.flops",
    "stepscope.gpu.mem_delta_bytes",
    "stepscope.value.",
    "stepscope.batch.id",
    "stepscope.batch.loader",
    "stepscope.batch.produce_ns",
    "stepscope.batch.queue_ns",
    "stepscope.batch.queue_depth",
    "stepscope.batch.slot_wait_ns",
    "stepscope.batch.worker",
    "stepscope.leak.verdict",
    "stepscope.leak.bytes_per_step",
    "stepscope.leak.since_step",
    "stepscope.leak.time_left",
    "error.type",
    "level",
];

/// What comes to the background thread by entries, as fields do.
const OF_ENTRIES: [&str; 10] = [
    attr::RUN_QUEUE_NS,
    attr::SWITCHES_VOLUNTARY,
    attr::SWITCHES_INVOLUNTARY,
    attr::FAULTS_MINOR,
    attr::FAULTS_MAJOR,
    attr::IO_READ_BYTES,
    attr::IO_WRITE_BYTES,
    attr::NETWORK_RECEIVE_BYTES,
    attr::NETWORK_TRANSMIT_BYTES,
    attr::INPUT_BEFORE_NS,
];

#[test]
fn a_field_takes_the_place_of_nothing_that_the_layer_says() {
    let root = RootRecord {
        mode: Mode::Train,
        announces: true,
        is_deep: false,
        trace_spans: 1,
        trace_dropped: 0,
        left_out: None,
        step: Some(3),
        epoch: Some(2),
        trace_parts: None,
        continues: None,
    };
    let record = SectionRecord {
        trace_id: [7; 16],
        span_id: 5,
        callsite: SITES.len() as u32,
        root: Some(root),
        ..SectionRecord::default()
    };
    let mut of_programs = Vec::new();
    for row in attr::TABLE
        .iter()
        .filter(|row| !["resource", "metric point", "log record"].contains(&row.place.as_str()))
    {
        // Whether it has something to say or not.
        let own = [Attached::Own(row.key, 6)];
        let by_entries = own.get(..usize::from(OF_ENTRIES.contains(&row.key))).unwrap();
        for own in [&[], by_entries] {
            let mine = Attached::Named(row.key, Field::Str("mine".into()));
            let span = written(&record, &[own, &[mine]].concat());
            let values = span.attributes.iter().filter(|attribute| attribute.key == row.key);
            let values: Vec<String> = values.map(|attribute| format!("{:?}", attribute.value)).collect();
            let is_mine = values.iter().any(|value| value.contains("mine"));
            if is_mine && own.is_empty() {
                of_programs.push(row.key);
            }
            assert!(values.len() <= 1, "{}: {values:?}", row.key);
            // A phase is a field that the layer reads.
            let is_counted = !is_mine && row.key != attr::PHASE;
            assert_eq!(span.dropped_attributes_count, u32::from(is_counted), "{}", row.key);
        }
    }
    of_programs.sort_unstable();
    of_programs.dedup();
    let mut expected = OF_PROGRAMS.to_vec();
    expected.push(attr::PHASE);
    expected.sort_unstable();
    assert_eq!(of_programs, expected);
}

#[test]
fn an_attribute_comes_once_whether_it_is_a_field_or_a_value() {
    let record = SectionRecord { trace_id: [7; 16], span_id: 5, callsite: 1, ..SectionRecord::default() };
    let field = Attached::Declared(8, Field::Str("text".into()));
    let value = Attached::UserValue("loss", 0.5);
    for (entries, is_value) in [([field.clone(), value.clone()], true), ([value, field], false)] {
        let span = written(&record, &entries);
        let found = span.attributes.iter().filter(|attribute| attribute.key == "stepscope.value.loss");
        let found: Vec<String> = found.map(|attribute| format!("{:?}", attribute.value)).collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].contains("0.5"), is_value);
    }
}

#[test]
fn what_is_said_to_be_well_says_of_no_error() {
    let named = |name, text: &str| Attached::Named(name, Field::Str(text.into()));
    let error = Attached::Event(true);
    let said = |code| named("otel.status_code", code);
    assert_eq!(status(true, std::slice::from_ref(&error)), (2, "what happened".into()));
    assert_eq!(status(true, &[said("ERROR"), error.clone()]), (2, "what happened".into()));
    assert_eq!(status(true, &[said("OK"), error.clone()]), (1, String::new()));
    assert_eq!(status(true, &[error, said("ok"), named("otel.status_message", "m")]), (1, String::new()));
}

#[cfg(feature = "metrics")]
#[test]
fn changes_of_alerts_are_events_of_the_run() {
    use crate::shared::gauges::AlertChange;

    let recorder =
        Recorder::new(Config::default(), Identity::resolve(Given::default(), |_| None, &mut Vec::new()));
    let change =
        AlertChange { time_ns: 5, rule: "disk", severity: "warning", is_firing: true, value: Some(0.9) };
    recorder.gauges.note_alert(change);
    recorder.gauges.note_alert(AlertChange { time_ns: 9, is_firing: false, value: None, ..change });
    let (callsites, threads) = (callsites(), ThreadNames::default());
    let context = Context { recorder: &recorder, callsites: &callsites, threads: &threads, cpus: None };
    let root = RootRecord {
        mode: Mode::Train,
        announces: true,
        is_deep: false,
        trace_spans: 1,
        trace_dropped: 0,
        left_out: None,
        step: None,
        epoch: None,
        trace_parts: None,
        continues: None,
    };
    let run =
        SectionRecord { kind: SectionKind::Run, root: Some(root), span_id: 5, ..SectionRecord::default() };
    let mut encoder = proto::Encoder::traces();
    begin(&mut encoder);
    write_span(&mut encoder, &context, &run, &[]);
    let span = read(encoder.finish()).remove(0);
    let text = |text: &str| ProstValue::StringValue(text.into());
    let common = |state| {
        vec![
            key_value(attr::ALERT, text(state)),
            key_value(attr::ALERT_RULE, text("disk")),
            key_value(attr::ALERT_SEVERITY, text("warning")),
        ]
    };
    let mut first = common("firing");
    first.push(key_value(attr::ALERT_VALUE, ProstValue::DoubleValue(0.9)));
    let events: Vec<_> =
        span.events.into_iter().map(|event| (event.name, event.time_unix_nano, event.attributes)).collect();
    let at = |time_ns| recorder.anchor.unix_ns(time_ns);
    assert_eq!(
        events,
        [(attr::ALERT.to_owned(), at(5), first), (attr::ALERT.to_owned(), at(9), common("over"))]
    );
}
