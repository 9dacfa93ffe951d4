//! A record as an OTLP span: names, locations, links and figures that the hot path left to the background
//! thread.

use stepscope_core::{Mode, SectionKind, attr};
use stepscope_otlp::{
    EventHead, HAS_IS_REMOTE, IS_REMOTE, Key, LinkHead, SpanHead, SpanKind, StatusCode, Value, Visitor,
};

use super::known_callsite::Known;
use super::poll_intervals;
use super::span_template::{Owner, SpanTemplate, is_located, owner};
use crate::context::propagation::TraceContext;
use crate::export::thread_names::ThreadNames;
use crate::hot::field_visitor::{LATER_NAME, OTEL_NAME};
use crate::hot::recorder::Recorder;
use crate::shared::attrs::{Entries, Entry, FieldValue};
use crate::shared::callsite::{SHORT_NAMES, Source, full_name};
use crate::shared::record::{RootRecord, SectionRecord};

/// What the background thread knows beside the records.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub recorder: &'a Recorder,
    pub callsites: &'a [Known],
    pub threads: &'a ThreadNames,
    pub cpus: Option<u64>,
}

/// A span entered once and this soon after its creation, as `#[instrument]` does it, was never suspended.
const PROMPT_NS: u64 = 10_000;

/// The name of an attribute of ours, made ready.
macro_rules! ready {
    ($name:expr) => {{
        static KEY: Key = Key::new($name);
        &KEY
    }};
}

fn int(value: u64) -> Value<'static> {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

/// The other name by which a field may come whose attribute is that of `key`.
fn other_name(source: Option<&Source>, key: &str) -> Option<&'static str> {
    matches!(source, Some(Source::Section(_))).then_some(())?;
    SHORT_NAMES.iter().find_map(|&(short, full)| match key {
        _ if key == short => Some(full),
        _ if key == full => Some(short),
        _ => None,
    })
}

/// Writes `record` as a span.
pub(crate) fn write_span(
    visitor: &mut impl Visitor,
    context: &Context<'_>,
    record: &SectionRecord,
    entries: &[u8],
) {
    let recorder = context.recorder;
    let callsite = context.callsites.get(record.callsite as usize);
    let source = callsite.map(|callsite| &callsite.source);
    let mut name = source.map_or("unknown", |source| source.name());
    let mut status = if record.is_error { StatusCode::ERROR } else { StatusCode::UNSET };
    let (mut status_message, mut span_kind) = ("", SpanKind::INTERNAL);
    let mut later_name = None;
    // Fields of names of which the layer says something itself.
    let mut overridden = 0;

    write_identity(visitor, context, record);
    write_figures(visitor, record);
    let mut rest = Entries::new(entries, Known::fields(callsite));
    let template = callsite.map(|callsite| &callsite.template);
    let template = template.filter(|template| template.names_differ && rest.come_once());
    loop {
        if let Some(template) = template {
            write_declared(visitor, template, &mut rest);
        }
        let Some(entry) = rest.next() else { break };
        if is_repeated(&entry, &rest, source) {
            continue;
        }
        if let Entry::Field(key, value) = entry
            && let Some(owner) = owner(key)
            && says(owner, key, source, context, record)
        {
            overridden += u32::from(!is_said(owner, value, record));
            continue;
        }
        match entry {
            Entry::Field(OTEL_NAME, FieldValue::Str(text)) => name = text,
            Entry::Field(LATER_NAME, FieldValue::Str(text)) => later_name = Some(text),
            Entry::Field("otel.kind", FieldValue::Str(text)) => span_kind = kind_of(text),
            Entry::Field("otel.status_code", FieldValue::Str(text)) => {
                status = status_of(text).unwrap_or(status);
            }
            Entry::Field("otel.status_message" | "otel.status_description", FieldValue::Str(text)) => {
                status_message = text;
            }
            Entry::Field(key, value) => write_field(visitor, full_name(source, key), value),
            // The root of a trace has it from there.
            Entry::Own(attr::EPOCH, _) if epoch(record).is_some() => {}
            Entry::Own(key, value) => write_field(visitor, key, value),
            Entry::UserValue(short, value) => {
                visitor.span_attribute(&format!("{}{short}", attr::VALUE_PREFIX), Value::Double(value));
            }
            Entry::Event(time_ns, is_error, text) => {
                let level = if is_error { "ERROR" } else { "WARN" };
                visitor.event_attribute(attr::LEVEL_TEXT, Value::Str(level));
                let time_unix_ns = recorder.anchor.unix_ns(time_ns);
                visitor.event(&EventHead { time_unix_ns, name: text, dropped_attributes_count: 0 });
                if is_error && status_message.is_empty() {
                    status_message = text;
                }
            }
            Entry::Link(trace, span) => write_link(visitor, &trace, span),
            Entry::Polls(bytes) => poll_intervals::write(visitor, record, bytes),
            Entry::Samples(bytes) => write_samples(visitor, bytes),
        }
    }
    if let (Some(callsite), true) = (callsite, recorder.config.locations && record.kind != SectionKind::Run) {
        visitor.constant_attributes(&callsite.template.location);
    }
    if record.kind == SectionKind::Run {
        write_caller(visitor, &recorder.identity.caller);
        write_costs(visitor, context);
    }
    if let Some(root) = &record.root {
        write_root(visitor, context, record, root);
    }
    if let Some(later) = later_name.filter(|&later| later != name) {
        visitor.span_attribute(attr::SECTION_NAME, Value::Str(name));
        name = later;
    }
    if status == StatusCode::OK {
        // A message is why something failed, and somebody has said that nothing did.
        status_message = "";
    }
    let (span_id, parent) = (record.span_id.to_be_bytes(), record.parent_span_id.to_be_bytes());
    visitor.span(&SpanHead {
        trace_id: &record.trace_id,
        span_id: &span_id,
        parent_span_id: if record.parent_span_id == 0 { &[] } else { &parent },
        // Sampled and random (W3C trace context level 2), parent known to be local.
        flags: 0x103,
        name,
        kind: span_kind,
        start_unix_ns: recorder.anchor.unix_ns(record.start_ns),
        end_unix_ns: recorder.anchor.unix_ns(record.end_ns),
        status,
        status_message,
        dropped_attributes_count: u32::from(record.left_out.attributes).saturating_add(overridden),
        dropped_events_count: dropped_events(context, record),
        dropped_links_count: u32::from(record.left_out.links),
        ..SpanHead::default()
    });
}

/// Writes the declared fields that come next, up to one that needs a second look. No other field may have their names.
#[inline]
fn write_declared(visitor: &mut impl Visitor, template: &SpanTemplate, rest: &mut Entries<'_>) {
    loop {
        let mut ahead = rest.clone();
        let Some((number, value)) = ahead.next_declared() else { return };
        let Some(key) = template.key(number) else { return };
        write_prepared(visitor, key, value);
        *rest = ahead;
    }
}

/// Whether `rest` has the attribute of `entry` once more: it counts as it was recorded last.
fn is_repeated(entry: &Entry<'_>, rest: &Entries<'_>, source: Option<&Source>) -> bool {
    let has_value =
        |name: &str| rest.clone().any(|later| matches!(later, Entry::UserValue(other, _) if other == name));
    let has_field = |name: &str| rest.clone().has_field(name);
    match *entry {
        Entry::Field(key, _) => {
            has_field(key)
                || other_name(source, key).is_some_and(has_field)
                || key.strip_prefix(attr::VALUE_PREFIX).is_some_and(has_value)
        }
        Entry::UserValue(name, _) => {
            let is_it = |key: &str| key.strip_prefix(attr::VALUE_PREFIX) == Some(name);
            has_value(name) || rest.clone().any(|later| matches!(later, Entry::Field(key, _) if is_it(key)))
        }
        Entry::Own(..) | Entry::Event(..) | Entry::Link(..) | Entry::Polls(_) | Entry::Samples(_) => false,
    }
}

/// Whether it is `owner`, and no field, that says `key` of the section: what the layer itself says wins.
fn says(
    owner: Owner,
    key: &str,
    source: Option<&Source>,
    context: &Context<'_>,
    record: &SectionRecord,
) -> bool {
    match owner {
        Owner::Layer => true,
        Owner::WithPhase => record.phase.is_some(),
        Owner::WithEpoch => record.kind == SectionKind::Epoch || epoch(record).is_some(),
        Owner::WithLocations => {
            context.recorder.config.locations && source.is_some_and(|&source| is_located(source, key))
        }
        Owner::Head => false,
    }
}

/// Whether a field says what the layer does, or what a later word has replaced: nothing is lost of that.
fn is_said(owner: Owner, value: FieldValue<'_>, record: &SectionRecord) -> bool {
    match owner {
        Owner::WithPhase => true,
        Owner::WithEpoch => match value {
            FieldValue::Uint(value) => epoch(record) == Some(value),
            FieldValue::Int(value) => epoch(record) == u64::try_from(value).ok() && value >= 0,
            _ => false,
        },
        _ => false,
    }
}

/// The number of the epoch that the root of a trace has.
fn epoch(record: &SectionRecord) -> Option<u64> {
    record.root.and_then(|root| root.epoch)
}

fn write_identity(visitor: &mut impl Visitor, context: &Context<'_>, record: &SectionRecord) {
    if record.kind != SectionKind::Section {
        visitor.span_attribute(attr::SECTION_KIND, Value::Str(record.kind.as_str()));
    }
    if let Some(phase) = record.phase {
        visitor.prepared_attribute(ready!(attr::PHASE), Value::Str(phase.as_str()));
    }
    visitor.prepared_attribute(ready!(attr::THREAD_ID), int(record.thread));
    if (record.root.is_some() || record.on_foreign_thread)
        && let Some(name) = context.threads.get(record.thread)
    {
        visitor.span_attribute(attr::THREAD_NAME, Value::Str(name));
    }
}

fn write_figures(visitor: &mut impl Visitor, record: &SectionRecord) {
    // A section that was entered once, right after its start, was busy all the time. Several stays at the same
    // time (on two threads, or one inside of the other) do not make it busier than that.
    let duration_ns = record.end_ns.saturating_sub(record.start_ns);
    let busy_ns = record.busy_ns.min(duration_ns);
    let idle_ns = duration_ns - busy_ns;
    let was_suspended = record.enters != 1 || idle_ns > PROMPT_NS;
    let mut figure = |key, figure: Option<u64>| {
        if let Some(value) = figure {
            write_figure(visitor, key, int(value));
        }
    };
    if was_suspended && record.kind != SectionKind::Run && duration_ns > 0 {
        figure(ready!(attr::BUSY_NS), Some(busy_ns));
        figure(ready!(attr::IDLE_NS), Some(idle_ns));
    }
    if let Some(memory) = &record.memory {
        figure(ready!(attr::MEM_ALLOC_BYTES), Some(memory.alloc_bytes));
        figure(ready!(attr::MEM_FREE_BYTES), Some(memory.free_bytes));
        figure(ready!(attr::MEM_ALLOC_COUNT), Some(memory.alloc_count));
        figure(ready!(attr::MEM_FREE_COUNT), Some(memory.free_count));
    }
    figure(ready!(attr::MEM_PEAK_BYTES), record.peak_bytes);
    figure(ready!(attr::CPU_NS), record.cpu_ns);
    figure(ready!(attr::MEM_LIVE_BYTES), record.live_bytes);
    figure(ready!(attr::MEM_RSS_BYTES), record.rss_bytes);
    figure(ready!(attr::MEM_RSS_PEAK_BYTES), record.rss_peak_bytes);
    if let Some(delta) = record.rss_delta_bytes {
        write_figure(visitor, ready!(attr::MEM_RSS_DELTA_BYTES), Value::Int(delta.cast_signed()));
    }
}

/// One copy for all figures: most spans have none or few.
#[inline(never)]
fn write_figure(visitor: &mut impl Visitor, key: &Key, value: Value<'_>) {
    visitor.prepared_attribute(key, value);
}

/// A field whose name is made ready.
#[inline]
fn write_prepared(visitor: &mut impl Visitor, key: &Key, value: FieldValue<'_>) {
    match value {
        FieldValue::Int(value) => visitor.prepared_attribute(key, Value::Int(value)),
        FieldValue::Uint(value) => match i64::try_from(value) {
            Ok(value) => visitor.prepared_attribute(key, Value::Int(value)),
            Err(_) => visitor.span_attribute(key.text(), Value::Str(&value.to_string())),
        },
        FieldValue::Double(value) => visitor.prepared_attribute(key, Value::Double(value)),
        FieldValue::Bool(value) => visitor.prepared_attribute(key, Value::Bool(value)),
        FieldValue::Str(value) => visitor.prepared_attribute(key, Value::Str(value)),
    }
}

fn write_field(visitor: &mut impl Visitor, key: &str, value: FieldValue<'_>) {
    match value {
        FieldValue::Int(value) => visitor.span_attribute(key, Value::Int(value)),
        FieldValue::Uint(value) => match i64::try_from(value) {
            Ok(value) => visitor.span_attribute(key, Value::Int(value)),
            Err(_) => visitor.span_attribute(key, Value::Str(&value.to_string())),
        },
        FieldValue::Double(value) => visitor.span_attribute(key, Value::Double(value)),
        FieldValue::Bool(value) => visitor.span_attribute(key, Value::Bool(value)),
        FieldValue::Str(value) => visitor.span_attribute(key, Value::Str(value)),
    }
}

fn write_root(visitor: &mut impl Visitor, context: &Context<'_>, record: &SectionRecord, root: &RootRecord) {
    let numbers = [(attr::STEP, root.step), (attr::EPOCH, root.epoch)];
    for (key, number) in numbers {
        if let Some(number) = number {
            visitor.span_attribute(key, int(number));
        }
    }
    let around = root.continues.map(|(path, ..)| stepscope_core::PathId(path));
    let is_beside = record.kind == SectionKind::Section && around == Some(stepscope_core::PathId::ROOT);
    if root.is_deep && (record.kind == SectionKind::Step || is_beside) {
        visitor.span_attribute(attr::STEP_DEEP, Value::Bool(true));
    }
    if root.mode != Mode::Train {
        visitor.span_attribute(attr::MODE, Value::Str(root.mode.as_str()));
    }
    if let Some(path) = around.filter(|_| !is_beside) {
        let path = context.recorder.path_info(path);
        visitor.span_attribute(attr::PARENT_PATH, Value::Str(&path.text));
    }
    if !root.announces {
        return;
    }
    visitor.span_attribute(attr::TRACE_SPANS, Value::Int(i64::from(root.trace_spans)));
    visitor.span_attribute(attr::TRACE_DROPPED, Value::Int(i64::from(root.trace_dropped)));
    if let Some(left_out) = root.left_out {
        visitor.span_attribute(attr::TRACE_LEFT_OUT, Value::Int(i64::from(left_out)));
    }
    if let Some(parts) = root.trace_parts {
        visitor.span_attribute(attr::TRACE_PARTS, Value::Int(i64::from(parts)));
    }
    if let Some((_, trace, span)) = root.continues {
        write_link(visitor, &trace, span);
    }
    if record.kind == SectionKind::Run {
        write_levels(visitor, context);
        #[cfg(feature = "metrics")]
        write_alerts(visitor, context);
    } else {
        let run = context.recorder.run_parent();
        write_link(visitor, &context.recorder.run_trace_id, run.span_id);
    }
}

/// Links the run, and the mark of its start, to where it was started from.
fn write_caller(visitor: &mut impl Visitor, caller: &TraceContext) {
    if let Some(ids) = caller.ids() {
        visitor.link(&LinkHead {
            trace_id: &ids.trace_id,
            span_id: &ids.span_id,
            trace_state: caller.trace_state(),
            flags: HAS_IS_REMOTE | IS_REMOTE | u32::from(caller.flags()),
            ..LinkHead::default()
        });
    }
}

/// What memory costs in this process, as far as it is known by now.
fn write_costs(visitor: &mut impl Visitor, context: &Context<'_>) {
    let costs = context.recorder.costs.get();
    for (key, cost_ns) in [(attr::ALLOC_COST_NS, costs.alloc_ns), (attr::FAULT_COST_NS, costs.fault_ns)] {
        if let Some(cost_ns) = cost_ns {
            visitor.span_attribute(key, int(cost_ns));
        }
    }
}

/// What threads were seen doing.
fn write_samples(visitor: &mut impl Visitor, bytes: &[u8]) {
    let words = bytes.as_chunks().0.iter();
    let numbers: Vec<Value<'_>> = words.map(|word| int(u64::from_le_bytes(*word))).collect();
    visitor.span_attribute(attr::THREAD_SAMPLES, Value::Array(&numbers));
}

/// The changes of the level, as events of the run.
fn write_levels(visitor: &mut impl Visitor, context: &Context<'_>) {
    for (time_ns, level) in context.recorder.levels.changes() {
        visitor.event_attribute(attr::LEVEL, Value::Str(level.as_str()));
        let time_unix_ns = context.recorder.anchor.unix_ns(time_ns);
        visitor.event(&EventHead { time_unix_ns, name: attr::LEVEL, dropped_attributes_count: 0 });
    }
}

/// Alerts that began and ended to fire, as events of the run.
#[cfg(feature = "metrics")]
fn write_alerts(visitor: &mut impl Visitor, context: &Context<'_>) {
    for change in context.recorder.gauges.alerts() {
        let state = if change.is_firing { "firing" } else { "over" };
        let texts =
            [(attr::ALERT, state), (attr::ALERT_RULE, change.rule), (attr::ALERT_SEVERITY, change.severity)];
        for (key, text) in texts {
            visitor.event_attribute(key, Value::Str(text));
        }
        if let Some(value) = change.value {
            visitor.event_attribute(attr::ALERT_VALUE, Value::Double(value));
        }
        let time_unix_ns = context.recorder.anchor.unix_ns(change.time_ns);
        visitor.event(&EventHead { time_unix_ns, name: attr::ALERT, dropped_attributes_count: 0 });
    }
}

/// Events of a span that were left out.
fn dropped_events(context: &Context<'_>, record: &SectionRecord) -> u32 {
    let left_out = u32::from(record.left_out.events);
    #[cfg(feature = "metrics")]
    if record.kind == SectionKind::Run && record.root.is_some() {
        return left_out.saturating_add(context.recorder.gauges.further_alerts());
    }
    let _ = context;
    left_out
}

fn write_link(visitor: &mut impl Visitor, trace: &[u8; 16], span: u64) {
    visitor.link(&LinkHead { trace_id: trace, span_id: &span.to_be_bytes(), ..LinkHead::default() });
}

fn kind_of(text: &str) -> SpanKind {
    match text.to_ascii_lowercase().as_str() {
        "server" => SpanKind::SERVER,
        "client" => SpanKind::CLIENT,
        "producer" => SpanKind::PRODUCER,
        "consumer" => SpanKind::CONSUMER,
        _ => SpanKind::INTERNAL,
    }
}

fn status_of(text: &str) -> Option<StatusCode> {
    match text.to_ascii_lowercase().as_str() {
        "ok" => Some(StatusCode::OK),
        "error" => Some(StatusCode::ERROR),
        "unset" => Some(StatusCode::UNSET),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
