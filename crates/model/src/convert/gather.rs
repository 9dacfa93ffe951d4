//! Gathers the spans of each trace, for targets that want them together: in memory, then in temporary files
//! split by trace.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stepscope_core::identity::TraceId;
use stepscope_otlp::{EventHead, LinkHead, ResourceHead, ScopeHead, SpanHead, Value, Visitor};

use super::item::{Any, Attributes, Event, Item, Link, Process};
use super::lost::{self, Lost};
use crate::assembly::{Part, Spill};
use crate::issues::FileId;
use crate::{ReadOptions, Resource};

/// What a trace costs in memory besides its spans.
const TRACE_OVERHEAD: usize = 160;

/// What is kept of a trace, one after the other.
#[derive(Debug, Serialize, Deserialize)]
enum Entry {
    /// Who wrote the spans that follow.
    Process(Process),
    Span(Item),
}

#[derive(Debug, Default)]
struct Open {
    /// Entries, a line of JSON each.
    bytes: Vec<u8>,
    /// Number of the process of the last span.
    process: u64,
}

/// The spans of one trace with who wrote them, as they were found.
pub(super) struct Gathered {
    pub(super) trace_id: TraceId,
    pub(super) processes: Vec<Process>,
    /// Index of the process, and the span; by start, then by id.
    pub(super) spans: Vec<(usize, Item)>,
}

/// Gathers spans; a visitor.
#[derive(Debug)]
pub(super) struct Gather {
    memory_bytes: usize,
    spill_dir: Option<PathBuf>,
    traces: HashMap<TraceId, Open>,
    bytes: usize,
    spill: Option<Spill>,
    failed: Option<io::Error>,
    resource: Attributes,
    process: Process,
    /// Counts processes as they begin.
    number: u64,
    item: Item,
    event: Attributes,
    link: Attributes,
    pub(super) lost: Lost,
    /// Earliest start of all.
    pub(super) first_ns: u64,
}

impl Gather {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Self {
            memory_bytes: options.memory_bytes,
            spill_dir: options.spill_dir.clone(),
            traces: HashMap::new(),
            bytes: 0,
            spill: None,
            failed: None,
            resource: Attributes::new(),
            process: Process::default(),
            number: 0,
            item: Item::default(),
            event: Attributes::new(),
            link: Attributes::new(),
            lost: Lost::default(),
            first_ns: u64::MAX,
        }
    }

    fn keep(&mut self, trace_id: &[u8]) -> io::Result<()> {
        // An id of a wrong length is padded: the span is still a span.
        self.lost.note(lost::TRACE_IDS, u64::from(trace_id.len() != 16));
        let mut id = [0; 16];
        id.iter_mut().rev().zip(trace_id.iter().rev()).for_each(|(to, &from)| *to = from);
        let open = self.traces.entry(id).or_insert_with(|| {
            self.bytes += TRACE_OVERHEAD;
            Open::default()
        });
        let before = open.bytes.len();
        if open.process != self.number || open.bytes.is_empty() {
            open.process = self.number;
            append(&mut open.bytes, &Entry::Process(self.process.clone()))?;
        }
        append(&mut open.bytes, &Entry::Span(std::mem::take(&mut self.item)))?;
        self.bytes += open.bytes.len() - before;
        if self.bytes > self.memory_bytes { self.spill_all() } else { Ok(()) }
    }

    fn spill_all(&mut self) -> io::Result<()> {
        let spill = match &mut self.spill {
            Some(spill) => spill,
            None => self.spill.insert(Spill::new(self.spill_dir.as_ref(), 0, true)?),
        };
        for (id, open) in self.traces.drain() {
            spill.write_piece(&id, FileId::NONE, &Resource::default(), &open.bytes)?;
        }
        self.bytes = 0;
        spill.flush()
    }

    /// Hands out every trace; by id, as long as all of them fit into memory.
    pub(super) fn finish(
        mut self,
        lost: &mut Lost,
        each: &mut dyn FnMut(Gathered, &mut Lost) -> io::Result<()>,
    ) -> io::Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        lost.append(std::mem::take(&mut self.lost));
        if self.spill.is_none() {
            let traces = self.traces.into_iter().map(|(id, open)| (id, open.bytes)).collect();
            return hand_out(traces, lost, each);
        }
        self.spill_all()?;
        let mut parts: Vec<Part> = self.spill.take().into_iter().flat_map(Spill::into_parts).collect();
        parts.reverse();
        while let Some(part) = parts.pop() {
            if part.bytes > self.memory_bytes as u64 && part.can_split() {
                let mut smaller: Vec<Part> = part.split(self.spill_dir.as_ref())?.into_parts().collect();
                smaller.reverse();
                parts.append(&mut smaller);
                continue;
            }
            let mut traces: BTreeMap<TraceId, Vec<u8>> = BTreeMap::new();
            part.read(|piece| traces.entry(piece.id).or_default().extend_from_slice(&piece.records))?;
            hand_out(traces, lost, each)?;
        }
        Ok(())
    }
}

fn append(bytes: &mut Vec<u8>, entry: &Entry) -> io::Result<()> {
    serde_json::to_writer(&mut *bytes, entry)?;
    bytes.push(b'\n');
    Ok(())
}

fn hand_out(
    traces: BTreeMap<TraceId, Vec<u8>>,
    lost: &mut Lost,
    each: &mut dyn FnMut(Gathered, &mut Lost) -> io::Result<()>,
) -> io::Result<()> {
    for (trace_id, bytes) in traces {
        let mut gathered = Gathered { trace_id, processes: Vec::new(), spans: Vec::new() };
        let mut process = 0;
        for line in bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            match serde_json::from_slice(line)? {
                Entry::Process(found) => {
                    let known = gathered.processes.iter().position(|known| *known == found);
                    process = known.unwrap_or(gathered.processes.len());
                    if known.is_none() {
                        gathered.processes.push(found);
                    }
                }
                Entry::Span(item) => gathered.spans.push((process, item)),
            }
        }
        gathered.spans.sort_by(|(_, a), (_, b)| {
            let key = |item: &Item| (item.start_ns, std::cmp::Reverse(item.end_ns));
            key(a).cmp(&key(b)).then_with(|| a.span_id.cmp(&b.span_id))
        });
        each(gathered, lost)?;
    }
    Ok(())
}

impl Visitor for Gather {
    fn resource_attribute(&mut self, key: &str, value: Value<'_>) {
        self.resource.push((key.to_owned(), Any::of(value)));
    }

    fn resource(&mut self, head: &ResourceHead<'_>) {
        self.number += 1;
        let attributes = std::mem::take(&mut self.resource);
        self.process = Process { attributes, ..Process::default() };
        self.lost.note(lost::SCHEMA_URLS, u64::from(!head.schema_url.is_empty()));
        self.lost.note(lost::DROPPED_COUNTS, u64::from(head.dropped_attributes_count > 0));
    }

    fn scope_attribute(&mut self, _: &str, _: Value<'_>) {
        self.lost.note(lost::SCOPE_ATTRIBUTES, 1);
    }

    fn scope(&mut self, head: &ScopeHead<'_>) {
        self.number += 1;
        head.name.clone_into(&mut self.process.scope);
        head.version.clone_into(&mut self.process.version);
        self.lost.note(lost::SCHEMA_URLS, u64::from(!head.schema_url.is_empty()));
        self.lost.note(lost::DROPPED_COUNTS, u64::from(head.dropped_attributes_count > 0));
    }

    fn span_attribute(&mut self, key: &str, value: Value<'_>) {
        self.item.attributes.push((key.to_owned(), Any::of(value)));
    }

    fn event_attribute(&mut self, key: &str, value: Value<'_>) {
        self.event.push((key.to_owned(), Any::of(value)));
    }

    fn event(&mut self, head: &EventHead<'_>) {
        let attributes = std::mem::take(&mut self.event);
        self.lost.note(lost::DROPPED_COUNTS, u64::from(head.dropped_attributes_count > 0));
        self.item.events.push(Event { time_ns: head.time_unix_ns, name: head.name.to_owned(), attributes });
    }

    fn link_attribute(&mut self, key: &str, value: Value<'_>) {
        self.link.push((key.to_owned(), Any::of(value)));
    }

    fn link(&mut self, head: &LinkHead<'_>) {
        let attributes = std::mem::take(&mut self.link);
        self.lost.note(lost::DROPPED_COUNTS, u64::from(head.dropped_attributes_count > 0));
        self.lost.note(lost::LINK_STATES, u64::from(!head.trace_state.is_empty()));
        self.item.links.push(Link {
            trace_id: head.trace_id.to_vec(),
            span_id: head.span_id.to_vec(),
            attributes,
        });
    }

    fn span(&mut self, head: &SpanHead<'_>) {
        let dropped = [head.dropped_attributes_count, head.dropped_events_count, head.dropped_links_count];
        self.lost.note(lost::DROPPED_COUNTS, u64::from(dropped != [0; 3]));
        self.item.head(head);
        self.first_ns = self.first_ns.min(head.start_unix_ns);
        if self.failed.is_none() {
            self.failed = self.keep(head.trace_id).err();
        }
        self.item = Item::default();
    }

    fn span_abandoned(&mut self) {
        self.item = Item::default();
        self.event.clear();
        self.link.clear();
    }
}
