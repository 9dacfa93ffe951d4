//! The services of processes, and the names of spans by them: a span of another service than the span around it is called
//! after both, as Jaeger calls it (`service: operation`), or what several services do would be one section.

use std::collections::HashMap;
use std::sync::Arc;

use super::deliver::NONE;
use crate::{Resource, Trace};

/// Processes whose service is kept, at most.
const MAX_PROCESSES: usize = 1 << 16;

/// The service of each process, by [`Span::process`](crate::Span::process).
#[derive(Debug, Default)]
pub(crate) struct Services {
    by_process: HashMap<u32, Arc<str>>,
    /// The last process that was noted.
    last: Option<u32>,
    first: Arc<str>,
    are_several: bool,
}

impl Services {
    /// Notes whose process it is.
    #[inline]
    pub(crate) fn note(&mut self, process: u32, resource: &Resource) {
        if self.last != Some(process) {
            self.last = Some(process);
            self.insert(process, &resource.service_name);
        }
    }

    pub(crate) fn insert(&mut self, process: u32, name: &str) {
        let is_full = self.by_process.len() >= MAX_PROCESSES;
        if name.is_empty() || is_full || self.by_process.contains_key(&process) {
            return;
        }
        let name = if *self.first == *name { Arc::clone(&self.first) } else { Arc::from(name) };
        if self.by_process.is_empty() {
            self.first = Arc::clone(&name);
        }
        self.are_several |= name != self.first;
        self.by_process.insert(process, name);
    }

    /// The service of a process; empty where it is not known.
    pub(crate) fn of(&self, process: u32) -> &str {
        self.by_process.get(&process).map_or("", |name| name)
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
