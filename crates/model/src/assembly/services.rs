//! Whose spans those of a trace are, where it has several processes: a span of another service than the span around it is
//! called after both, as Jaeger calls it (`service: operation`), or what several services do would be one section. And what
//! has the same ids in several processes is told apart.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::deliver::NONE;
use crate::record::Record;
use crate::{Resource, Trace};

/// Processes whose resource is kept, at most.
const MAX_PROCESSES: usize = 1 << 16;

/// The resource of each process, by [`Span::process`](crate::Span::process).
#[derive(Debug, Default)]
pub(crate) struct Services {
    by_process: HashMap<u32, Arc<Resource>>,
    /// The last process that was noted.
    last: Option<u32>,
    /// The first that has a service.
    first: Option<Arc<Resource>>,
    are_several: bool,
}

impl Services {
    /// Notes whose process it is.
    #[inline]
    pub(crate) fn note(&mut self, process: u32, resource: &Arc<Resource>) {
        if self.last != Some(process) {
            self.last = Some(process);
            self.insert(process, resource);
        }
    }

    fn insert(&mut self, process: u32, resource: &Arc<Resource>) {
        if self.by_process.len() >= MAX_PROCESSES || self.by_process.contains_key(&process) {
            return;
        }
        self.by_process.insert(process, Arc::clone(resource));
        if !resource.service_name.is_empty() {
            let first = self.first.get_or_insert_with(|| Arc::clone(resource));
            self.are_several |= first.service_name != resource.service_name;
        }
    }

    /// Whose a process is.
    pub(crate) fn resource(&self, process: u32) -> Option<&Arc<Resource>> {
        self.by_process.get(&process)
    }

    /// The service of a process; empty where it is not known.
    fn of(&self, process: u32) -> &str {
        self.resource(process).map_or("", |resource| &resource.service_name)
    }

    /// The records of a trace by whose they are, where several have made the same ids.
    pub(crate) fn split(&self, bytes: &[u8]) -> Option<Vec<(Arc<Resource>, Vec<u8>)>> {
        let mut parts: BTreeMap<&Arc<Resource>, Vec<u8>> = BTreeMap::new();
        let mut owners: HashMap<u64, &Arc<Resource>> = HashMap::new();
        let (mut rest, mut collides) = (bytes, false);
        while let Some((record, after)) = Record::first(rest) {
            let resource = self.resource(record.process())?;
            collides |= *owners.entry(record.id()).or_insert(resource) != resource;
            let record = rest.get(..rest.len() - after.len()).unwrap_or_default();
            parts.entry(resource).or_default().extend_from_slice(record);
            rest = after;
        }
        let parts = || parts.into_iter().map(|(resource, bytes)| (Arc::clone(resource), bytes)).collect();
        collides.then(parts)
    }

    /// Whether a trace can have spans of several of them.
    pub(crate) fn may_differ(&self, trace: &Trace) -> bool {
        let first = trace.spans.first().map_or(0, |span| span.process);
        self.are_several && trace.spans.iter().any(|span| span.process != first)
    }

    /// Puts the service before the names of spans whose parent, which stands at the index in `parents`, is of another one. Work
    /// of a device is that of who launched it.
    pub(crate) fn name(&self, trace: &mut Trace, parents: &[u32]) {
        let own = trace.resource.service_name.clone();
        for (position, &parent) in parents.iter().enumerate() {
            let Some(span) = trace.spans.get(position).filter(|span| !span.is_on_device) else { continue };
            let service = self.of(span.process);
            let around = match trace.spans.get(parent as usize).filter(|_| parent != NONE) {
                Some(parent) => self.of(parent.process),
                None => &own,
            };
            if service.is_empty() || around.is_empty() || service == around {
                continue;
            }
            let name = format!("{service}: {}", trace.text(span.name));
            let name = trace.push_text(&name);
            if let Some(span) = trace.spans.get_mut(position) {
                span.name = name;
            }
        }
    }
}
