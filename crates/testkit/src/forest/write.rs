//! A planned trace as spans of a message.

use stepscope_core::{Mode, Phase, SectionKind, attr};
use stepscope_otlp::{LinkHead, ResourceHead, ScopeHead, SpanHead, SpanKind, Value, Visitor};

use super::options::ForestOptions;
use super::plan::{Batch, Plan, Section};

/// Name of the one loader of generated runs.
const LOADER: &str = "train";

/// A trace's or span's identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Id {
    pub trace: [u8; 16],
    pub span: [u8; 8],
}

pub(super) fn int(value: u64) -> Value<'static> {
    Value::Int(i64::try_from(value).unwrap_or(i64::MAX))
}

/// Writes the process that everything behind it comes from.
pub(super) fn resource(visitor: &mut impl Visitor, options: &ForestOptions, rank: u32) {
    let instance = format!("{}-rank{rank}", options.run_id);
    let attributes = [
        (attr::SCHEMA_VERSION, Value::Int(stepscope_core::SCHEMA_VERSION)),
        (attr::RUN_ID, Value::Str(&options.run_id)),
        (attr::RUN_ATTEMPT, int(options.attempt)),
        (attr::RANK, Value::Int(i64::from(rank))),
        (attr::WORLD_SIZE, Value::Int(i64::from(options.ranks.max(1)))),
        (attr::LEVEL, Value::Str("detailed")),
        (attr::SERVICE_NAME, Value::Str("generated")),
        (attr::SERVICE_INSTANCE_ID, Value::Str(&instance)),
        (attr::HOST_NAME, Value::Str("host")),
        (attr::PROCESS_PID, int(pid(rank))),
        (attr::HOST_CPUS, Value::Int(8)),
        (attr::TELEMETRY_SDK_NAME, Value::Str(stepscope_core::SCOPE_NAME)),
        (attr::TELEMETRY_SDK_LANGUAGE, Value::Str("rust")),
    ];
    for (key, value) in attributes {
        visitor.resource_attribute(key, value);
    }
    visitor.resource(&ResourceHead { schema_url: stepscope_core::SEMCONV_URL, ..ResourceHead::default() });
    let version = env!("CARGO_PKG_VERSION");
    visitor.scope(&ScopeHead { name: stepscope_core::SCOPE_NAME, version, ..ScopeHead::default() });
}

/// Process id of a rank.
pub(super) fn pid(rank: u32) -> u64 {
    4_000 + u64::from(rank)
}

/// Writes one section; the root of a trace with what only roots carry.
pub(super) fn section(
    visitor: &mut impl Visitor,
    plan: &Plan,
    section: &Section,
    id: Id,
    parent: Option<[u8; 8]>,
    run: Option<Id>,
) {
    if section.kind != SectionKind::Section {
        visitor.span_attribute(attr::SECTION_KIND, Value::Str(section.kind.as_str()));
    }
    if let Some(phase) = section.phase {
        visitor.span_attribute(attr::PHASE, Value::Str(Phase::as_str(phase)));
    }
    visitor.span_attribute(attr::THREAD_ID, int(section.thread));
    if section.was_suspended() {
        visitor.span_attribute(attr::BUSY_NS, int(section.busy_ns));
        visitor.span_attribute(attr::IDLE_NS, int(section.duration_ns() - section.busy_ns));
    }
    let memory = &section.memory;
    if memory.alloc_count > 0 {
        visitor.span_attribute(attr::MEM_ALLOC_BYTES, int(memory.alloc_bytes));
        visitor.span_attribute(attr::MEM_FREE_BYTES, int(memory.free_bytes));
        visitor.span_attribute(attr::MEM_ALLOC_COUNT, int(memory.alloc_count));
        visitor.span_attribute(attr::MEM_FREE_COUNT, int(memory.free_count));
        visitor.span_attribute(attr::MEM_PEAK_BYTES, int(memory.alloc_bytes));
    }
    if let Some(samples) = section.samples {
        visitor.span_attribute(attr::SAMPLES, int(samples));
    }
    if let Some(batch) = &section.waited_for {
        wait(visitor, batch);
    }
    if let Some(batch) = &section.made {
        visitor.span_attribute(attr::BATCH_ID, int(batch.id));
        visitor.span_attribute(attr::BATCH_LOADER, Value::Str(LOADER));
    }
    if section.parent.is_none() {
        root(visitor, plan, section, run);
    }
    span(visitor, section.name, id, parent, (section.start_ns, section.end_ns));
}

fn wait(visitor: &mut impl Visitor, batch: &Batch) {
    visitor.span_attribute(attr::BATCH_ID, int(batch.id));
    visitor.span_attribute(attr::BATCH_LOADER, Value::Str(LOADER));
    visitor.span_attribute(attr::BATCH_PRODUCE_NS, int(batch.produce_ns));
    visitor.span_attribute(attr::BATCH_QUEUE_NS, int(batch.queue_ns));
    visitor.span_attribute(attr::BATCH_QUEUE_DEPTH, int(batch.queue_depth));
    visitor.span_attribute(attr::BATCH_WORKER, Value::Str(&format!("loader-{}", batch.worker)));
    link(visitor, Id { trace: batch.trace, span: batch.span });
}

fn root(visitor: &mut impl Visitor, plan: &Plan, section: &Section, run: Option<Id>) {
    let name = if section.kind == SectionKind::Batch { "loader" } else { "main" };
    visitor.span_attribute(attr::THREAD_NAME, Value::Str(name));
    let root = &plan.root;
    let figures = [
        (attr::STEP, root.step),
        (attr::EPOCH, root.epoch),
        (attr::MEM_LIVE_BYTES, root.live_bytes),
        (attr::MEM_RSS_BYTES, root.rss_bytes),
        (attr::TRACE_SPANS, Some(plan.sections.len() as u64 + root.markers)),
        (attr::TRACE_DROPPED, Some(0)),
    ];
    for (key, figure) in figures {
        if let Some(figure) = figure {
            visitor.span_attribute(key, int(figure));
        }
    }
    if let Some(mode) = root.mode
        && mode != Mode::Train
    {
        visitor.span_attribute(attr::MODE, Value::Str(mode.as_str()));
    }
    if let Some(loss) = root.loss {
        visitor.span_attribute(&format!("{}loss", attr::VALUE_PREFIX), Value::Double(loss));
    }
    if let Some(run) = run {
        link(visitor, run);
    }
}

fn link(visitor: &mut impl Visitor, to: Id) {
    visitor.link(&LinkHead { trace_id: &to.trace, span_id: &to.span, ..LinkHead::default() });
}

/// Writes the span itself.
pub(super) fn span(
    visitor: &mut impl Visitor,
    name: &str,
    id: Id,
    parent: Option<[u8; 8]>,
    ends: (u64, u64),
) {
    visitor.span(&SpanHead {
        trace_id: &id.trace,
        span_id: &id.span,
        parent_span_id: parent.as_ref().map_or(&[], |parent| parent),
        // Sampled and random (W3C trace context level 2), parent known to be local.
        flags: 0x103,
        name,
        kind: SpanKind::INTERNAL,
        start_unix_ns: ends.0,
        end_unix_ns: ends.1,
        ..SpanHead::default()
    });
}
