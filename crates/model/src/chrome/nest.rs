//! Slices out of events: the events of a lane in time order, with a stack of what is open. A slice's parent is what
//! is open around it on its lane, or else the step in which it begins; what was launched belongs to the step of its
//! launch.
//!
//! The events are walked twice with the same rules. The first walk finds where flows and launches begin, because
//! their ends may stand on an earlier lane.

use std::collections::HashMap;
use std::rc::Rc;

use stepscope_core::identity::{TraceId, hash_parts};

use super::document::Document;
use super::event::{is_device_annotation, is_launch, is_of_device, is_on_device};
use super::fold::Folds;
use super::names::PROFILER_STEP;
use super::steps::{Steps, number, span_id, trace_id};
use super::store::{Body, Key};

/// Slices open on one lane; what begins deeper has no children.
const MAX_DEPTH: usize = 1_024;
/// Events of one slice, and links.
const MAX_ITEMS: usize = 1_024;
/// Launches, and flows, whose beginnings are remembered.
const MAX_TIES: usize = 1 << 19;
/// By how much the end of a slice is beyond the next one's start, at most, where times are rounded: to whole microseconds by
/// the oldest writers.
const ROUNDING_NS: i128 = 1_000;
/// What a step is called that has no end.
const UNFINISHED: &str = "ProfilerStep (unfinished)";

/// How events are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// As they are written.
    Raw,
    /// As they are meant.
    Meant,
    /// With names folded as well.
    Folded,
}

/// Beginnings of flows and launches.
#[derive(Debug, Default)]
pub(crate) struct Index {
    flows: HashMap<u64, (TraceId, u64)>,
    launches: HashMap<u64, (TraceId, u64)>,
    pub(super) folds: Folds,
}

/// What a slice belongs to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) pid: String,
    pub(super) tid: String,
    /// Number of a thread that says so by another name.
    pub(super) number: u64,
    pub(super) is_async: bool,
    pub(super) is_device: bool,
}

/// Something that happened at one time.
#[derive(Debug)]
pub(super) struct Instant {
    pub(super) at_ns: i128,
    pub(super) name: String,
    pub(super) args: Vec<u8>,
}

/// A span to be.
#[derive(Debug)]
pub(super) struct Slice {
    pub(super) lane: Rc<Lane>,
    pub(super) trace: TraceId,
    pub(super) span: u64,
    pub(super) parent: Option<u64>,
    pub(super) name: String,
    pub(super) category: String,
    pub(super) start_ns: i128,
    pub(super) end_ns: i128,
    /// Whether an event of its own ends it.
    is_open: bool,
    /// What those inside of it have in common by its name.
    scope: u64,
    pub(super) args: Vec<u8>,
    /// Arguments of the event that ended it.
    pub(super) end_args: Vec<u8>,
    pub(super) events: Vec<Instant>,
    pub(super) left_out_events: u32,
    pub(super) links: Vec<(TraceId, u64)>,
    /// Number of the step that it is.
    pub(super) step: Option<i64>,
    /// Whether it is a span of OTLP, whose fields are among its arguments.
    pub(super) is_otlp: bool,
}

/// A value of a counter.
#[derive(Debug)]
pub(super) struct Count {
    pub(super) pid: String,
    pub(super) name: String,
    pub(super) at_ns: i128,
    pub(super) args: Vec<u8>,
}

/// What comes out.
#[derive(Debug, Default)]
pub(super) struct Out {
    pub(super) slices: Vec<Slice>,
    pub(super) counts: Vec<Count>,
    pub(super) unmatched: u64,
    pub(super) unended: u64,
    pub(super) beyond: u64,
}

impl Out {
    pub(super) fn clear(&mut self) {
        self.slices.clear();
        self.counts.clear();
    }
}

/// The walk over the events.
pub(super) struct Nest<'c> {
    steps: &'c Steps,
    seed: u64,
    index: &'c mut Index,
    is_indexing: bool,
    manner: Manner,
    lane_key: Option<u64>,
    lane: Rc<Lane>,
    stack: Vec<Slice>,
    /// When the slice began that began last, and the names of all that began then with how often: equal slices have
    /// different ids.
    begun_ns: i128,
    begun: HashMap<u64, u64>,
    last_ns: i128,
    /// Begun beyond [`MAX_DEPTH`] and not ended.
    too_deep: u64,
}

impl<'c> Nest<'c> {
    pub(super) fn new(
        document: &Document,
        steps: &'c Steps,
        index: &'c mut Index,
        is_indexing: bool,
        manner: Manner,
    ) -> Self {
        Self {
            steps,
            seed: document.seed(),
            index,
            is_indexing,
            manner,
            lane_key: None,
            lane: Rc::default(),
            stack: Vec::new(),
            begun_ns: 0,
            begun: HashMap::new(),
            last_ns: 0,
            too_deep: 0,
        }
    }

    /// Takes the next event.
    pub(super) fn event(&mut self, key: &Key, body: &Body<'_>, out: &mut Out) {
        let has_length = body.phase != b'X' || key.end_ns.0 != body.at_ns || key.at_ns != body.at_ns;
        let is_step = || number(body.name).is_some() && !is_of_device(body.category);
        if !has_length && self.manner != Manner::Raw && is_step() {
            // A step that has not ended, whatever it says.
            return;
        }
        if self.lane_key != Some(key.lane) {
            self.finish(out);
            self.begin_lane(key, body);
        }
        // Spans of OTLP have their times elsewhere, and one lane each.
        let is_otlp = body.phase != b'C' && key.at_ns == 0 && self.is_otlp(key, body);
        let at_ns = body.at_ns;
        if !is_otlp {
            if body.phase != b'E' {
                self.end_with_around(at_ns, out);
            }
            while self.stack.last().is_some_and(|top| !top.is_open && top.end_ns <= at_ns) {
                self.close(out);
            }
        }
        self.last_ns = at_ns;
        match body.phase {
            b'X' | b'B' | b'b' => self.open(key, body, at_ns, is_otlp, out),
            b'E' | b'e' => self.end(body, at_ns, out),
            b'i' | b'n' => self.instant(key, body, at_ns, is_otlp, out),
            b's' | b't' | b'f' => self.flow(body, out),
            b'C' => {
                let (pid, name) = (body.pid.to_owned(), body.name.to_owned());
                out.counts.push(Count { pid, name, at_ns, args: body.args.to_vec() });
            }
            _ => {}
        }
    }

    /// How many names became how many others.
    pub(super) fn folded(&self) -> (u64, u64) {
        self.index.folds.counts()
    }

    /// Closes what is open on the last lane.
    pub(super) fn finish(&mut self, out: &mut Out) {
        while let Some(top) = self.stack.last_mut() {
            if top.is_open {
                top.end_ns = self.last_ns.max(top.start_ns);
                out.unended += 1;
            }
            self.close(out);
        }
        out.unended += self.too_deep;
        self.too_deep = 0;
    }

    /// Ends what was begun within a slice that is over: the events that ended it are lost.
    fn end_with_around(&mut self, at_ns: i128, out: &mut Out) {
        if self.lane.is_async || !self.stack.last().is_some_and(|top| top.is_open) {
            return;
        }
        let is_over = |slice: &Slice| !slice.is_open && slice.end_ns <= at_ns;
        let Some((around, end_ns)) = self
            .stack
            .iter()
            .enumerate()
            .find(|(_, slice)| is_over(slice))
            .map(|(at, slice)| (at, slice.end_ns))
        else {
            return;
        };
        while self.stack.len() > around + 1 {
            if let Some(top) = self.stack.last_mut().filter(|top| top.is_open) {
                top.end_ns = end_ns.max(top.start_ns);
                out.unended += 1;
            }
            self.close(out);
        }
    }

    fn begin_lane(&mut self, key: &Key, body: &Body<'_>) {
        self.lane_key = Some(key.lane);
        self.begun_ns = i128::MIN;
        let is_async = matches!(body.phase, b'b' | b'e' | b'n');
        self.lane = Rc::new(Lane {
            pid: body.pid.to_owned(),
            tid: body.tid.to_owned(),
            number: key.lane >> 1,
            is_async,
            is_device: is_of_device(body.category),
        });
    }

    /// Whether the lane is that of one span of OTLP.
    fn is_otlp(&self, key: &Key, body: &Body<'_>) -> bool {
        super::emit::owner(body.args)
            .is_some_and(|(trace, span)| super::lane("span", [&trace, &span]) == key.lane)
    }

    fn close(&mut self, out: &mut Out) {
        if let Some(slice) = self.stack.pop()
            && !self.is_indexing
        {
            out.slices.push(slice);
        }
    }

    fn open(&mut self, key: &Key, body: &Body<'_>, at_ns: i128, is_otlp: bool, out: &mut Out) {
        if body.phase == b'X' && !is_otlp && !is_device_annotation(body.category) {
            // What ends before it is not around it: times are rounded, so that neighbours may overlap.
            while let Some(top) = self.stack.last_mut()
                && !top.is_open
                && top.end_ns < key.end_ns.0
            {
                // A stream does one thing after the other, and waits may be for the first of two.
                if self.lane.is_device && top.end_ns - at_ns <= ROUNDING_NS {
                    top.end_ns = at_ns.max(top.start_ns);
                }
                self.close(out);
            }
        }
        let mut slice = self.slice(key, body, at_ns);
        slice.is_open = body.phase != b'X';
        slice.is_otlp = is_otlp;
        if body.phase == b'X' {
            slice.end_ns = if is_otlp { key.end_ns.0.max(at_ns) } else { key.end_ns.0 };
        }
        if self.is_indexing && is_launch(body.category) {
            let id = body.correlation.map(|id| self.of_home(id, body));
            self.tie(id, (slice.trace, slice.span), true, out);
        }
        if is_device_annotation(body.category) && !slice.is_open && !is_otlp {
            // It says of what runs there what it is for, and is not around it.
            if !self.is_indexing {
                out.slices.push(slice);
            }
        } else if self.stack.len() < MAX_DEPTH {
            self.stack.push(slice);
        } else {
            self.too_deep += u64::from(slice.is_open);
            out.beyond += 1;
            if !slice.is_open && !self.is_indexing {
                out.slices.push(slice);
            }
        }
    }

    /// A slice without length, in its trace and under its parent.
    fn slice(&mut self, key: &Key, body: &Body<'_>, at_ns: i128) -> Slice {
        let hash = hash_parts(&[body.name.as_bytes()]);
        if self.begun_ns != at_ns {
            self.begun_ns = at_ns;
            self.begun.clear();
        }
        let times = self.begun.entry(hash).or_default();
        let repeated = *times;
        *times += 1;
        let mut span = span_id(self.seed, key.lane, at_ns, body.name, repeated);
        let steps = self.steps;
        let launch = body.correlation.filter(|_| is_on_device(body.category));
        let launch = launch.map(|launch| self.of_home(launch, body));
        let launch = launch.and_then(|launch| self.index.launches.get(&launch)).copied();
        let end_ns = if body.phase == b'X' { key.end_ns.0 } else { at_ns };
        let home = steps.home(body.pid, body.category);
        let at = home.and_then(|home| steps.at(home, key.lane, at_ns, end_ns));
        let top = self.stack.last();
        let mut name = body.name;
        let (mut parent, mut step) = (None, None);
        let trace = match (at, launch, top) {
            (Some(at), ..) if repeated == 0 && at.is(key.lane, at_ns, hash) => {
                (step, span) = (Some(at.number), at.span);
                at.trace
            }
            (at, launch, top) => {
                let of_step = at.map(|at| (at.trace, Some(at.span)));
                // A launch outside of steps says nothing about them.
                let of_launch =
                    launch.and_then(|(trace, _)| steps.root(&trace).map(|root| (trace, Some(root))));
                let of_top = top.map(|top| (top.trace, Some(top.span)));
                match of_launch.or(of_step) {
                    Some((trace, _)) if top.is_some_and(|top| top.trace == trace) => {
                        parent = of_top.and_then(|(_, span)| span);
                        trace
                    }
                    Some((trace, root)) => {
                        parent = root;
                        trace
                    }
                    None => match of_top {
                        Some((trace, span)) => {
                            parent = span;
                            trace
                        }
                        None => trace_id(span),
                    },
                }
            }
        };
        // Devices have no sections of their own around what runs there.
        let around = top.filter(|_| !self.lane.is_device).map_or(0, |top| top.scope);
        let folds = self.manner == Manner::Folded;
        let scope = if folds { self.index.folds.scope(body.name, hash) } else { 0 };
        let mut folded = None;
        if step.is_some() && number(name).is_some() {
            name = PROFILER_STEP;
        } else if self.manner != Manner::Raw && number(name).is_some() && !is_of_device(body.category) {
            name = UNFINISHED;
        } else if folds && self.is_indexing {
            self.index.folds.note(around, name, hash);
        } else if folds {
            folded = self.index.folds.fold(around, name, hash);
        }
        Slice {
            lane: Rc::clone(&self.lane),
            trace,
            span,
            parent,
            name: folded.unwrap_or_else(|| name.to_owned()),
            scope,
            category: body.category.to_owned(),
            start_ns: at_ns,
            end_ns: at_ns,
            is_open: false,
            args: if self.is_indexing { Vec::new() } else { body.args.to_vec() },
            end_args: Vec::new(),
            events: Vec::new(),
            left_out_events: 0,
            links: launch.into_iter().collect(),
            step,
            is_otlp: false,
        }
    }

    fn end(&mut self, body: &Body<'_>, at_ns: i128, out: &mut Out) {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        let open = |slice: &Slice| slice.is_open;
        let named = |slice: &Slice| slice.is_open && slice.name == body.name;
        // Asynchronous slices may end in another order than they began.
        let is_async = body.phase == b'e';
        let found = is_async.then(|| self.stack.iter().rposition(named)).flatten();
        let Some(at) = found.or_else(|| self.stack.iter().rposition(open)) else {
            out.unmatched += 1;
            return;
        };
        if !is_async {
            while self.stack.len() > at + 1 {
                self.close(out);
            }
        }
        let mut slice = self.stack.remove(at);
        slice.end_ns = at_ns.max(slice.start_ns);
        slice.is_open = false;
        if !self.is_indexing {
            slice.end_args = body.args.to_vec();
            out.slices.push(slice);
        }
    }

    fn instant(&mut self, key: &Key, body: &Body<'_>, at_ns: i128, is_otlp: bool, out: &mut Out) {
        if is_otlp && self.stack.is_empty() {
            out.unmatched += 1;
            return;
        }
        if self.stack.is_empty() {
            // Kineto's own marks belong to no process.
            let is_mark = body.pid.is_empty() || body.pid == "Traces";
            if !is_mark && !self.is_indexing {
                let slice = self.slice(key, body, at_ns);
                out.slices.push(slice);
            }
            return;
        }
        if self.is_indexing {
            return;
        }
        if let Some(top) = self.stack.last_mut() {
            if top.events.len() < MAX_ITEMS {
                top.events.push(Instant { at_ns, name: body.name.to_owned(), args: body.args.to_vec() });
            } else {
                top.left_out_events = top.left_out_events.saturating_add(1);
            }
        }
    }

    fn flow(&mut self, body: &Body<'_>, out: &mut Out) {
        if body.phase == b's' {
            if self.is_indexing
                && let Some(top) = self.stack.last()
            {
                let begin = (top.trace, top.span);
                self.tie(Some(self.of_home(body.id, body)), begin, false, out);
            }
            return;
        }
        let id = self.of_home(body.id, body);
        if let Some(top) = self.stack.last_mut()
            && let Some(&begin) = self.index.flows.get(&id)
            && begin != (top.trace, top.span)
            && !top.links.contains(&begin)
            && top.links.len() < MAX_ITEMS
        {
            top.links.push(begin);
        }
    }

    /// The id of a launch or a flow, which each process counts for itself, among those of several.
    fn of_home(&self, id: u64, body: &Body<'_>) -> u64 {
        if !self.steps.are_several() {
            return id;
        }
        let home = self.steps.home(body.pid, body.category).unwrap_or_default();
        hash_parts(&[&id.to_le_bytes(), home.as_bytes()])
    }

    fn tie(&mut self, id: Option<u64>, begin: (TraceId, u64), is_launch: bool, out: &mut Out) {
        let table = if is_launch { &mut self.index.launches } else { &mut self.index.flows };
        let Some(id) = id else { return };
        if table.len() < MAX_TIES || table.contains_key(&id) {
            table.insert(id, begin);
        } else {
            out.beyond += 1;
        }
    }
}
