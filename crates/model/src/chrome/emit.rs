//! Slices as calls to a visitor: their lane as resource and thread, arguments as attributes, what the converter
//! kept of a span of OTLP as that span.

use std::rc::Rc;

use serde_json::{Map, Value as Json};
use stepscope_core::identity::TraceId;
use stepscope_core::{SectionKind, attr};
use stepscope_otlp::{
    EventHead, LinkHead, MetricHead, MetricKind, Number, PointData, PointHead, ResourceHead, ScopeHead,
    SpanHead, SpanKind, StatusCode, Temporality, Value, Visitor,
};

use super::Gathered;
use super::document::Document;
use super::kineto;
use super::names::{CATEGORY, OTLP, SERIES};
use super::nest::{Count, Lane, Manner, Nest, Out, Slice};
use super::store::Walk;
use crate::jaeger::tag;

/// Containers in one value; one with more becomes text.
const MAX_NESTED: usize = 64;
/// Spans handed over at once.
const BATCH: usize = 512;
/// A category of threads of a process.
const HOST: &str = "cpu_op";

/// Trace and span that an object of arguments names, where it is of a span of OTLP.
pub(super) fn owner(args: &[u8]) -> Option<(String, String)> {
    super::event::owner(args)
}

/// Hands out everything that was gathered, piece by piece.
pub(crate) struct Emitter<'g> {
    gathered: &'g Gathered,
    walk: Walk<'g>,
    nest: Nest<'g>,
    out: Out,
    has_ended: bool,
    /// Spans whose times lie before the Unix epoch or beyond 64 bits.
    pub(crate) bad_times: u64,
}

impl Gathered {
    /// Begins to hand out.
    ///
    /// # Errors
    /// Where temporary files fail.
    pub(crate) fn emitter<'g>(&'g self, index: &'g mut super::Index) -> std::io::Result<Emitter<'g>> {
        Ok(Emitter {
            gathered: self,
            walk: self.store.walk()?,
            nest: Nest::new(&self.document, &self.steps, index, false, self.manner),
            out: Out::default(),
            has_ended: false,
            bad_times: 0,
        })
    }
}

impl Emitter<'_> {
    /// Makes the next spans and counts ready; `false` where there are none any more.
    ///
    /// # Errors
    /// Where temporary files fail.
    pub(crate) fn advance(&mut self) -> std::io::Result<bool> {
        self.out.clear();
        while !self.has_ended && self.out.slices.len() < BATCH && self.out.counts.len() < BATCH {
            match self.walk.next()? {
                Some((key, body)) => self.nest.event(&key, &body, &mut self.out),
                None => {
                    self.nest.finish(&mut self.out);
                    self.has_ended = true;
                }
            }
        }
        Ok(!(self.out.slices.is_empty() && self.out.counts.is_empty() && self.has_ended))
    }

    /// Ends without beginnings, beginnings without ends, and what was beyond bounds.
    pub(crate) fn odd(&self) -> (u64, u64, u64) {
        (self.out.unmatched, self.out.unended, self.out.beyond)
    }

    /// How many names became how many others.
    pub(crate) fn folded(&self) -> (u64, u64) {
        self.nest.folded()
    }

    /// Events with values of counters among what is ready.
    pub(crate) fn counts(&self) -> u64 {
        self.out.counts.len() as u64
    }

    /// Hands over the spans that are ready.
    pub(crate) fn spans(&mut self, visitor: &mut (impl Visitor + ?Sized)) {
        let Gathered { document, steps, manner, .. } = self.gathered;
        let mut frame: Option<(Rc<Lane>, String, String)> = None;
        for slice in &self.out.slices {
            let args = object(&slice.args);
            let fields = args.get(OTLP).and_then(Json::as_object).filter(|_| slice.is_otlp);
            let (scope, version) = (text(fields, "scope"), text(fields, "scope_version"));
            let is_same = frame
                .as_ref()
                .is_some_and(|(lane, open, of)| lane.pid == slice.lane.pid && open == scope && of == version);
            if !is_same {
                if frame.is_some() {
                    visitor.scope_end();
                    visitor.resource_end();
                }
                resource(self.gathered, &slice.lane, visitor);
                visitor.scope(&ScopeHead { name: scope, version, ..ScopeHead::default() });
                frame = Some((Rc::clone(&slice.lane), scope.to_owned(), version.to_owned()));
            }
            let times = document.unix_ns(slice.start_ns).zip(document.unix_ns(slice.end_ns));
            match (times, fields) {
                (None, _) => self.bad_times += 1,
                (Some(times), Some(fields)) => otlp(document, slice, &args, fields, times, visitor),
                (Some(times), None) => {
                    let are_steps_known = steps.are_some() && *manner != Manner::Raw;
                    foreign(document, slice, &args, times, are_steps_known, visitor);
                }
            }
        }
        if frame.is_some() {
            visitor.scope_end();
            visitor.resource_end();
        }
    }

    /// Hands over the values of counters that are ready, each a point of a gauge.
    pub(crate) fn points(&self, visitor: &mut (impl Visitor + ?Sized)) {
        let document = &self.gathered.document;
        for count in &self.out.counts {
            let Some(time_unix_ns) = document.unix_ns(count.at_ns) else { continue };
            self.count(count, time_unix_ns, visitor);
        }
    }

    fn count(&self, count: &Count, time_unix_ns: u64, visitor: &mut (impl Visitor + ?Sized)) {
        let lane = Lane { pid: count.pid.clone(), ..Lane::default() };
        resource(self.gathered, &lane, visitor);
        visitor.scope(&ScopeHead::default());
        visitor.metric(&MetricHead {
            name: &count.name,
            unit: "",
            description: "",
            kind: MetricKind::Gauge,
            temporality: Temporality::default(),
            monotonic: false,
        });
        for (series, value) in &object(&count.args) {
            let number = match (value.as_i64(), value.as_f64()) {
                (Some(integer), _) => Number::Int(integer),
                (None, Some(double)) => Number::Double(double),
                (None, None) => continue,
            };
            visitor.point_attribute(SERIES, Value::Str(series));
            let data = PointData::Number(Some(number));
            visitor.point(&PointHead { start_unix_ns: 0, time_unix_ns, flags: 0, data });
        }
        visitor.metric_end();
        visitor.scope_end();
        visitor.resource_end();
    }
}

fn object(args: &[u8]) -> Map<String, Json> {
    if args.is_empty() {
        return Map::new();
    }
    serde_json::from_slice(args)
        .or_else(|_| serde_json::from_str(&String::from_utf8_lossy(args)))
        .unwrap_or_default()
}

fn text<'a>(fields: Option<&'a Map<String, Json>>, key: &str) -> &'a str {
    fields.and_then(|fields| fields.get(key)).and_then(Json::as_str).unwrap_or_default()
}

/// The process of a lane as a resource.
fn resource(gathered: &Gathered, lane: &Lane, visitor: &mut (impl Visitor + ?Sized)) {
    let Gathered { document, steps, .. } = gathered;
    let pid = lane.pid.as_str();
    let process = document.processes.get(pid);
    if let Some(attributes) = process.and_then(|process| process.attributes.as_ref()) {
        for (key, json) in attributes {
            value(json, &mut |value| visitor.resource_attribute(key, value));
        }
    } else {
        let own = process.map_or("", |process| process.name.as_str());
        let name = if document.service.is_empty() { own } else { &document.service };
        if !name.is_empty() {
            visitor.resource_attribute(attr::SERVICE_NAME, Value::Str(name));
        }
        // The program is one process with its devices; others of the file are others.
        let home = steps.home(pid, if steps.hosts.is_host(pid) { HOST } else { "" });
        // Files of several ranks that do not say which they are differ in their processes.
        let says_no_rank = steps.are_some() && document.rank.is_none();
        let apart = match home {
            Some(home) => Some(home).filter(|_| steps.are_several() || says_no_rank),
            None => Some(pid).filter(|_| steps.are_some() || !document.is_kineto),
        };
        match apart.map(|pid| (pid, pid.parse::<i64>())) {
            Some((_, Ok(pid))) => visitor.resource_attribute(attr::PROCESS_PID, Value::Int(pid)),
            Some((pid, Err(_))) if document.is_kineto && !pid.is_empty() => {
                visitor.resource_attribute(attr::SERVICE_INSTANCE_ID, Value::Str(pid));
            }
            _ => {}
        }
        let of_file = (document.rank, document.world_size);
        let (rank, world_size) = match home {
            Some(home) if steps.are_several() => {
                let least = i64::try_from(steps.processes()).unwrap_or(i64::MAX);
                (steps.rank(home), document.world_size.filter(|&size| size >= least))
            }
            None if steps.are_some() => (None, None),
            _ => of_file,
        };
        for (key, number) in [(attr::RANK, rank), (attr::WORLD_SIZE, world_size)] {
            if let Some(number) = number {
                visitor.resource_attribute(key, Value::Int(number));
            }
        }
    }
    visitor.resource(&ResourceHead::default());
}

/// A slice that any tracer wrote. Where it is known which slices are steps, no other is one for a number that it carries.
fn foreign(
    document: &Document,
    slice: &Slice,
    args: &Map<String, Json>,
    times: (u64, u64),
    are_steps_known: bool,
    visitor: &mut (impl Visitor + ?Sized),
) {
    let lane = &slice.lane;
    if !lane.is_async {
        let number = match lane.tid.parse::<i64>() {
            Ok(number) if !lane.is_device => number,
            // Streams have the numbers of threads.
            _ => i64::try_from(lane.number).unwrap_or(i64::MAX),
        };
        visitor.span_attribute(attr::THREAD_ID, Value::Int(number));
        let name = document
            .threads
            .get(&(lane.pid.clone(), lane.tid.clone()))
            .map_or(lane.tid.as_str(), String::as_str);
        visitor.span_attribute(attr::THREAD_NAME, Value::Str(name));
    }
    if !slice.category.is_empty() {
        visitor.span_attribute(CATEGORY, Value::Str(&slice.category));
    }
    if let Some(step) = slice.step {
        visitor.span_attribute(attr::STEP, Value::Int(step));
        visitor.span_attribute(attr::SECTION_KIND, Value::Str(SectionKind::Step.as_str()));
    } else if let Some(phase) = kineto::phase(&slice.category, &slice.name) {
        visitor.span_attribute(attr::PHASE, Value::Str(phase.as_str()));
    }
    let end_args = object(&slice.end_args);
    let is_meant = |key: &str| !are_steps_known || attr::find(key).is_none_or(|row| row.key != attr::STEP);
    let args = args.iter().filter(|(key, _)| !end_args.contains_key(*key)).chain(&end_args);
    for (key, json) in args.filter(|(key, _)| is_meant(key)) {
        value(json, &mut |value| visitor.span_attribute(key, value));
    }
    events(document, slice, visitor);
    for (trace, target) in &slice.links {
        link(trace, *target, visitor);
    }
    visitor.span(&SpanHead {
        trace_id: &slice.trace,
        span_id: &slice.span.to_be_bytes(),
        parent_span_id: slice.parent.map(u64::to_be_bytes).as_ref().map_or(&[], |parent| parent),
        name: &slice.name,
        start_unix_ns: times.0,
        end_unix_ns: times.1,
        dropped_events_count: slice.left_out_events,
        ..SpanHead::default()
    });
}

fn link(trace: &TraceId, target: u64, visitor: &mut (impl Visitor + ?Sized)) {
    visitor.link(&LinkHead { trace_id: trace, span_id: &target.to_be_bytes(), ..LinkHead::default() });
}

fn events(document: &Document, slice: &Slice, visitor: &mut (impl Visitor + ?Sized)) {
    for instant in &slice.events {
        for (key, json) in object(&instant.args).iter().filter(|(key, _)| !slice.is_otlp || *key != OTLP) {
            value(json, &mut |value| visitor.event_attribute(key, value));
        }
        let time_unix_ns = document.unix_ns(instant.at_ns).unwrap_or(0);
        visitor.event(&EventHead { time_unix_ns, name: &instant.name, dropped_attributes_count: 0 });
    }
}

/// A span that our converter wrote.
fn otlp(
    document: &Document,
    slice: &Slice,
    args: &Map<String, Json>,
    fields: &Map<String, Json>,
    times: (u64, u64),
    visitor: &mut (impl Visitor + ?Sized),
) {
    for (key, json) in args.iter().filter(|(key, _)| *key != OTLP) {
        value(json, &mut |value| visitor.span_attribute(key, value));
    }
    events(document, slice, visitor);
    let id = |text: &str| -> Vec<u8> {
        let digits = text.as_bytes().as_chunks::<2>().0;
        digits
            .iter()
            .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
            .collect()
    };
    for one in fields.get("links").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_object)
    {
        for (key, json) in one.get("attributes").and_then(Json::as_object).into_iter().flatten() {
            value(json, &mut |value| visitor.link_attribute(key, value));
        }
        let (trace, span) = (id(text(Some(one), "trace_id")), id(text(Some(one), "span_id")));
        visitor.link(&LinkHead { trace_id: &trace, span_id: &span, ..LinkHead::default() });
    }
    let number = |key: &str| fields.get(key).and_then(Json::as_i64).unwrap_or(0);
    let small = |key: &str| i32::try_from(number(key)).unwrap_or(0);
    let kind = match fields.get("kind") {
        Some(Json::String(name)) => tag::KINDS
            .iter()
            .position(|known| known == name)
            .and_then(|kind| i32::try_from(kind).ok())
            .unwrap_or(0),
        _ => small("kind"),
    };
    let text = |key: &str| text(Some(fields), key);
    visitor.span(&SpanHead {
        trace_id: &id(text("trace_id")),
        span_id: &id(text("span_id")),
        parent_span_id: &id(text("parent_span_id")),
        flags: u32::try_from(number("flags")).unwrap_or(0),
        trace_state: text("trace_state"),
        name: &slice.name,
        kind: SpanKind(kind),
        start_unix_ns: times.0,
        end_unix_ns: times.1,
        status: StatusCode(small("status")),
        status_message: text("status_message"),
        dropped_events_count: slice.left_out_events,
        ..SpanHead::default()
    });
}

/// Calls `f` with a JSON value; what nests too much is JSON text.
fn value(json: &Json, f: &mut dyn FnMut(Value<'_>)) {
    match json {
        Json::Null => f(Value::Empty),
        Json::Bool(value) => f(Value::Bool(*value)),
        Json::String(text) => f(Value::Str(text)),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => f(Value::Int(integer)),
            (None, Some(double)) if number.is_f64() => f(Value::Double(double)),
            // More than 63 bits: digits are kept rather than rounded.
            _ => f(Value::Str(&number.to_string())),
        },
        Json::Array(_) | Json::Object(_) if containers(json, MAX_NESTED) > MAX_NESTED => {
            f(Value::Str(&json.to_string()))
        }
        Json::Array(items) => list(items, Vec::new(), f),
        Json::Object(members) => map(&members.iter().collect::<Vec<_>>(), Vec::new(), f),
    }
}

/// Lists and objects in a value, itself included, counted to one more than `limit`.
fn containers(json: &Json, limit: usize) -> usize {
    let count = |items: &mut dyn Iterator<Item = &Json>| {
        let mut sum = 1;
        for item in items {
            if sum > limit {
                break;
            }
            sum += containers(item, limit - sum.min(limit));
        }
        sum
    };
    match json {
        Json::Array(items) => count(&mut items.iter()),
        Json::Object(members) => count(&mut members.values()),
        _ => 0,
    }
}

/// The items of a list, of which `done` come first. Nested values live on the stack until `f` has been called.
fn list<'v>(items: &'v [Json], mut done: Vec<Value<'v>>, f: &mut dyn FnMut(Value<'_>)) {
    for (at, item) in items.iter().enumerate() {
        match scalar(item) {
            Some(value) => done.push(value),
            None => {
                let rest = items.get(at + 1..).unwrap_or_default();
                return value(item, &mut |nested| {
                    let mut done: Vec<Value<'_>> = done.clone();
                    done.push(nested);
                    list(rest, done, f);
                });
            }
        }
    }
    f(Value::Array(&done));
}

fn map<'v>(
    members: &[(&'v String, &'v Json)],
    mut done: Vec<(&'v str, Value<'v>)>,
    f: &mut dyn FnMut(Value<'_>),
) {
    for (at, (key, item)) in members.iter().enumerate() {
        match scalar(item) {
            Some(value) => done.push((key, value)),
            None => {
                let rest = members.get(at + 1..).unwrap_or_default();
                return value(item, &mut |nested| {
                    let mut done: Vec<(&str, Value<'_>)> = done.clone();
                    done.push((key, nested));
                    map(rest, done, f);
                });
            }
        }
    }
    let members: Vec<stepscope_otlp::KeyValue<'_>> =
        done.iter().map(|&(key, value)| stepscope_otlp::KeyValue { key, value }).collect();
    f(Value::Map(&members));
}

/// A value that holds no others.
fn scalar(json: &Json) -> Option<Value<'_>> {
    match json {
        Json::Null => Some(Value::Empty),
        Json::Bool(value) => Some(Value::Bool(*value)),
        Json::String(text) => Some(Value::Str(text)),
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Some(Value::Int(integer)),
            None => number.is_f64().then(|| number.as_f64().map(Value::Double)).flatten(),
        },
        Json::Array(_) | Json::Object(_) => None,
    }
}
