//! Our points into the recorder that the program has installed. The facade has no way to take a series back: a gauge of what
//! is gone becomes NaN.

use std::sync::Arc;

use metrics::{Counter, Gauge, Key, Level, Metadata, Recorder, Unit};
use stepscope_core::vocabulary::{Instrument, Metric};

use super::FORWARDS;
use crate::exporter::Follower;
use crate::points::{Label, Value, Visitor, visit};
use crate::snapshot::Snapshot;

/// The handles at that recorder.
#[derive(Default)]
pub(crate) struct Forward {
    handles: Vec<Handle>,
    described: Vec<&'static str>,
    /// Where the recorder was: another one may have been installed meanwhile.
    recorder: usize,
}

struct Handle {
    row: &'static Metric,
    labels: Vec<(&'static str, Arc<str>)>,
    to: To,
    /// Whether there was a point in this pass.
    is_there: bool,
}

enum To {
    Counter(Counter),
    Gauge(Gauge),
}

impl Forward {
    pub(crate) fn follower(mut self, budget: usize) -> Follower {
        let follow = move |snapshot: &Snapshot| {
            FORWARDS.set(true);
            metrics::with_recorder(|recorder| self.hand_on(snapshot, budget, recorder));
            FORWARDS.set(false);
        };
        Follower { name: "the program's recorder", follow: Box::new(follow) }
    }

    fn hand_on(&mut self, snapshot: &Snapshot, budget: usize, recorder: &dyn Recorder) {
        let place = std::ptr::from_ref(recorder).cast::<()>() as usize;
        if std::mem::replace(&mut self.recorder, place) != place {
            self.handles.clear();
            self.described.clear();
        }
        self.handles.iter_mut().for_each(|handle| handle.is_there = false);
        visit(snapshot, budget, &mut Pass { forward: self, recorder, row: None, next: 0 });
        self.handles.retain(|handle| {
            if let (false, To::Gauge(gauge)) = (handle.is_there, &handle.to) {
                gauge.set(f64::NAN);
            }
            handle.is_there
        });
    }
}

struct Pass<'f> {
    forward: &'f mut Forward,
    recorder: &'f dyn Recorder,
    row: Option<&'static Metric>,
    /// Where the next handle is, if they are the same as last time.
    next: usize,
}

impl Visitor for Pass<'_> {
    fn metric(&mut self, row: &'static Metric) {
        self.row = Some(row);
    }

    fn point(&mut self, labels: &[Label<'_>], value: Value) {
        let Some(row) = self.row else { return };
        let is_it = |handle: &Handle| {
            std::ptr::eq(handle.row, row)
                && handle.labels.len() == labels.len()
                && handle.labels.iter().zip(labels).all(|((key, text), label)| (*key, &**text) == *label)
        };
        let handles = &self.forward.handles;
        let known = match handles.get(self.next).filter(|handle| is_it(handle)) {
            Some(_) => Some(self.next),
            None => handles.iter().position(is_it),
        };
        let index = known.unwrap_or_else(|| {
            let handle = self.handle(row, labels, value);
            self.forward.handles.push(handle);
            self.forward.handles.len() - 1
        });
        self.next = index + 1;
        let Some(handle) = self.forward.handles.get_mut(index) else { return };
        handle.is_there = true;
        match (&handle.to, value) {
            (To::Counter(counter), Value::Int(value)) => counter.absolute(value),
            (To::Gauge(gauge), Value::Int(value)) => gauge.set(value as f64),
            (To::Gauge(gauge), Value::Double(value)) => gauge.set(value),
            (To::Counter(_), Value::Double(_)) => {}
        }
    }
}

impl Pass<'_> {
    fn handle(&mut self, row: &'static Metric, labels: &[Label<'_>], value: Value) -> Handle {
        const METADATA: Metadata<'static> =
            Metadata::new("stepscope_metrics", Level::INFO, Some(module_path!()));
        // Counters of the facade are whole numbers: seconds and joules are gauges there.
        let counts = row.instrument == Instrument::Counter && matches!(value, Value::Int(_));
        if !self.forward.described.contains(&row.name) {
            self.forward.described.push(row.name);
            let unit = match row.unit {
                "s" => Some(Unit::Seconds),
                "By" => Some(Unit::Bytes),
                _ => None,
            };
            if counts {
                self.recorder.describe_counter(row.name.into(), unit, row.doc.trim().into());
            } else {
                self.recorder.describe_gauge(row.name.into(), unit, row.doc.trim().into());
            }
        }
        let all: Vec<metrics::Label> =
            labels.iter().map(|&(key, text)| metrics::Label::new(key, text.to_owned())).collect();
        let key = Key::from_parts(row.name, all);
        let to = if counts {
            To::Counter(self.recorder.register_counter(&key, &METADATA))
        } else {
            To::Gauge(self.recorder.register_gauge(&key, &METADATA))
        };
        let labels = labels.iter().map(|&(key, text)| (key, Arc::from(text))).collect();
        Handle { row, labels, to, is_there: true }
    }
}
