//! The Trace Event Format of `chrome://tracing`, which Perfetto reads. A span whose thread is known, and that
//! nests in the others on it, is a slice of that thread; any other is an asynchronous slice with an id of its
//! own, because slices of one thread that overlap are dropped or garbled by viewers. Times are exact decimals,
//! relative to the second in which the first span starts, so that the doubles of those who read them hold their
//! nanoseconds. What OTLP has fields for is an object among the arguments, by which our reader knows a span again.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Map, Value as Json, json};
use stepscope_core::{SectionKind, attr};

use super::gather::{Gather, Gathered};
use super::item::{Any, Attributes, Item, Process, find};
use super::lost::{self, Lost};
use crate::assembly::hex;
use crate::chrome::OTLP;
use crate::jaeger::tag;

const NS_PER_S: u64 = 1_000_000_000;
/// Processes that are told apart; the others are one.
const MAX_PROCESSES: usize = 1 << 16;
/// Threads that have slices; spans of others are asynchronous.
const MAX_THREADS: usize = 1 << 16;

/// Writes one document.
pub(super) fn write(gather: Gather, lost: &mut Lost, out: &mut impl Write) -> io::Result<()> {
    let first_ns = if gather.first_ns == u64::MAX { 0 } else { gather.first_ns };
    let base_ns = first_ns / NS_PER_S * NS_PER_S;
    let head = json!({"base_unix_ns": base_ns.to_string()});
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{head},\"traceEvents\":[")?;
    let mut events =
        Events { out, base_ns, is_first: true, processes: HashMap::new(), lanes: HashMap::new() };
    gather.finish(lost, &mut |trace, lost| events.trace(&trace, lost))?;
    out.write_all(b"\n]}\n")
}

/// A thread of a process, and when its slices so far end.
type Lanes = HashMap<(usize, i64), u64>;

struct Events<'w, W> {
    out: &'w mut W,
    base_ns: u64,
    is_first: bool,
    /// Numbers of processes by their attributes.
    processes: HashMap<String, usize>,
    lanes: Lanes,
}

/// Where a span is shown.
#[derive(Clone, Copy)]
enum Place {
    Thread(i64),
    Async,
}

impl<W: Write> Events<'_, W> {
    /// Writes an event, with times that are exact where doubles would not be.
    fn event(&mut self, event: &Json, times: &[(&str, String)]) -> io::Result<()> {
        self.out.write_all(if self.is_first { b"\n" } else { b",\n" })?;
        self.is_first = false;
        let mut text = serde_json::to_vec(event)?;
        text.pop();
        for (name, time) in times {
            text.extend_from_slice(format!(",\"{name}\":{time}").as_bytes());
        }
        text.push(b'}');
        self.out.write_all(&text)
    }

    fn time(&self, unix_ns: u64) -> (&'static str, String) {
        ("ts", microseconds(i128::from(unix_ns) - i128::from(self.base_ns)))
    }

    /// The number of a process, which is named when it is first met.
    fn process(&mut self, process: &Process, lost: &mut Lost) -> io::Result<usize> {
        let mut untyped = Lost::default();
        let attributes = object(&process.attributes, &mut untyped);
        let key = serde_json::to_string(&attributes)?;
        if let Some(&number) = self.processes.get(&key) {
            return Ok(number);
        }
        if self.processes.len() >= MAX_PROCESSES {
            return Ok(MAX_PROCESSES + 1);
        }
        lost.append(untyped);
        let number = self.processes.len() + 1;
        self.processes.insert(key, number);
        let of = |key| find(&process.attributes, key);
        let mut name = of(attr::SERVICE_NAME).and_then(Any::as_str).unwrap_or("process").to_owned();
        if let Some(Any::Int(rank)) = of(attr::RANK) {
            name += &format!(" rank {rank}");
        }
        let args = json!({"name": name, "attributes": attributes});
        self.event(&json!({"ph": "M", "name": "process_name", "pid": number, "tid": 0, "args": args}), &[])?;
        Ok(number)
    }

    fn trace(&mut self, trace: &Gathered, lost: &mut Lost) -> io::Result<()> {
        // Ends of the slices that are open on each thread, and of all in this trace.
        let mut stacks: HashMap<(usize, i64), Vec<u64>> = HashMap::new();
        let mut ends = Lanes::new();
        for (index, item) in &trace.spans {
            let Some(process) = trace.processes.get(*index) else { continue };
            let pid = self.process(process, lost)?;
            let end_ns = item.end_ns.max(item.start_ns);
            let mut place = Place::Async;
            if let Some(&Any::Int(tid)) = find(&item.attributes, attr::THREAD_ID)
                && !is_around_steps(item)
            {
                let lane = (pid, tid);
                if self.name_thread(lane, item)? {
                    let stack = stacks.entry(lane).or_default();
                    while stack.last().is_some_and(|&end| end <= item.start_ns) {
                        stack.pop();
                    }
                    let busy_until = self.lanes.get(&lane).copied().unwrap_or(0);
                    let nests = stack.last().is_none_or(|&end| end_ns <= end);
                    if nests && item.start_ns >= busy_until {
                        stack.push(end_ns);
                        let end = ends.entry(lane).or_default();
                        *end = end_ns.max(*end);
                        place = Place::Thread(tid);
                    }
                }
            }
            self.span(item, process, pid, place, trace, lost)?;
        }
        self.lanes.extend(ends);
        Ok(())
    }

    /// Names a thread when it is first met; whether it may have slices.
    fn name_thread(&mut self, lane: (usize, i64), item: &Item) -> io::Result<bool> {
        if self.lanes.contains_key(&lane) {
            return Ok(true);
        }
        if self.lanes.len() >= MAX_THREADS {
            return Ok(false);
        }
        self.lanes.insert(lane, 0);
        if let Some(name) = find(&item.attributes, attr::THREAD_NAME).and_then(Any::as_str) {
            let (pid, tid) = lane;
            let args = json!({"name": name});
            self.event(
                &json!({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": args}),
                &[],
            )?;
        }
        Ok(true)
    }

    fn span(
        &mut self,
        item: &Item,
        process: &Process,
        pid: usize,
        place: Place,
        trace: &Gathered,
        lost: &mut Lost,
    ) -> io::Result<()> {
        let category = find(&item.attributes, attr::PHASE).and_then(Any::as_str).unwrap_or("span");
        let tid = if let Place::Thread(tid) = place { tid } else { 0 };
        // Span ids differ within a trace only.
        let id = hex(&trace.trace_id) + &hex(&item.span_id);
        let owner = json!({"trace_id": hex(&trace.trace_id), "span_id": hex(&item.span_id)});
        let args = arguments(item, process, trace, lost);
        let mut event = json!({
            "name": item.name, "cat": category, "pid": pid, "tid": tid, "args": args,
        });
        let set = |event: &mut Json, key: &str, value: Json| {
            if let Some(members) = event.as_object_mut() {
                members.insert(key.to_owned(), value);
            }
        };
        lost.note(lost::NEGATIVE, u64::from(item.end_ns < item.start_ns));
        let end_ns = item.end_ns.max(item.start_ns);
        let start = self.time(item.start_ns);
        match place {
            Place::Thread(_) => {
                set(&mut event, "ph", "X".into());
                let duration = microseconds(i128::from(end_ns - item.start_ns));
                self.event(&event, &[start, ("dur", duration)])?;
            }
            Place::Async => {
                set(&mut event, "ph", "b".into());
                set(&mut event, "id", id.clone().into());
                self.event(&event, &[start])?;
            }
        }
        for instant in &item.events {
            let mut args = object(&instant.attributes, lost);
            lost.note(lost::OWN_NAME, u64::from(args.insert(OTLP.to_owned(), owner.clone()).is_some()));
            let mut event = json!({
                "name": instant.name, "cat": category, "pid": pid, "tid": tid, "args": args,
            });
            match place {
                Place::Thread(_) => {
                    set(&mut event, "ph", "i".into());
                    set(&mut event, "s", "t".into());
                }
                Place::Async => {
                    set(&mut event, "ph", "n".into());
                    set(&mut event, "id", id.clone().into());
                }
            }
            let time = self.time(instant.time_ns);
            self.event(&event, &[time])?;
        }
        if let Place::Async = place {
            let event = json!({
                "name": item.name, "cat": category, "ph": "e", "id": id, "pid": pid, "tid": tid,
                "args": {OTLP: owner},
            });
            let end = self.time(end_ns);
            self.event(&event, &[end])?;
        }
        Ok(())
    }
}

/// Nanoseconds as microseconds, exactly.
fn microseconds(ns: i128) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let (whole, rest) = (ns.unsigned_abs() / 1_000, ns.unsigned_abs() % 1_000);
    if rest == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{rest:03}") }
}

/// Whether a span lasts longer than the traces beside its own, so that its thread has their slices.
fn is_around_steps(item: &Item) -> bool {
    let kind = find(&item.attributes, attr::SECTION_KIND).and_then(Any::as_str).and_then(SectionKind::parse);
    matches!(kind, Some(SectionKind::Run | SectionKind::Epoch))
}

/// Attributes as members of an object; of one key the last value. Names what JSON has no type for.
fn object(attributes: &Attributes, lost: &mut Lost) -> Map<String, Json> {
    let value = |(key, value): &(String, Any)| {
        lost.untyped(value);
        (key.clone(), value.to_json())
    };
    attributes.iter().map(value).collect()
}

/// The attributes, and beside them in one object what OTLP has fields for.
fn arguments(item: &Item, process: &Process, trace: &Gathered, lost: &mut Lost) -> Map<String, Json> {
    let links: Vec<Json> = item
        .links
        .iter()
        .map(|link| {
            json!({
                "trace_id": hex(&link.trace_id), "span_id": hex(&link.span_id),
                "attributes": object(&link.attributes, lost),
            })
        })
        .collect();
    // Kinds without a name are their number.
    let known = usize::try_from(item.kind).ok().and_then(|kind| tag::KINDS.get(kind));
    let kind = known.map_or_else(|| Json::from(item.kind), |&name| Json::from(name));
    let fields = json!({
        "trace_id": hex(&trace.trace_id),
        "span_id": hex(&item.span_id),
        "parent_span_id": hex(&item.parent_span_id),
        "kind": kind,
        "status": item.status,
        "status_message": item.status_message,
        "trace_state": item.trace_state,
        "flags": item.flags,
        "scope": process.scope,
        "scope_version": process.version,
        "links": links,
    });
    let is_empty = |value: &Json| match value {
        Json::String(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        value => value.as_i64() == Some(0),
    };
    let mut arguments = object(&item.attributes, lost);
    if let Json::Object(fields) = fields {
        let fields = fields.into_iter().filter(|(_, value)| !is_empty(value)).collect();
        let replaced = arguments.insert(OTLP.to_owned(), Json::Object(fields));
        lost.note(lost::OWN_NAME, u64::from(replaced.is_some()));
    }
    arguments
}
