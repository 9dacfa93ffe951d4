//! Where each span of a trace belongs: its role, path, phase and thread.

use std::collections::{BTreeMap, BTreeSet};

use stepscope_core::path::{MAX_DEPTH, SEPARATOR, join, split};
use stepscope_core::{Phase, SectionKind};
use stepscope_model::{Figure, PhaseTag, Poll, Span, Trace};

use crate::sections::Sections;
use crate::sections::paths::{MAX_NAME_BYTES, PathSlot, ROOT, shorten};
use crate::step_view::Builder;
use crate::step_view::forest::NONE;
use crate::step_view::phase_slots::{ABSENT, Slots, known};

/// End of the name of a zero-length span that says that a run or an epoch has begun.
const STARTED: &str = ".started";

/// What a span is to its trace. All but `Inside` are anchors: their spans form a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Role {
    /// A part of its anchor.
    Inside,
    /// A step.
    Step,
    /// An outermost section that is no step.
    Outside,
    /// A run or epoch, or what another program has around its steps: what is directly inside it stands for itself.
    Container,
    /// Says that a run or epoch has begun, or what a device's work is for; no section.
    Marker,
    /// A batch, a request, the continuation of a trace, or a span whose parent was lost.
    #[default]
    Other,
}

/// A span in its place.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Node {
    pub(crate) parent: u32,
    pub(crate) path: u32,
    pub(crate) anchor: u32,
    /// Nearest of the span and its ancestors that drives the anchor.
    pub(crate) driver: u32,
    /// Of the span and those around it that run on other threads than the anchor's: which one its time goes to.
    pub(crate) carrier: u32,
    /// Whether it loads data beside its anchor: whoever needs it waits for it in a section, so that time of which the
    /// anchor says nothing was no such wait.
    pub(crate) is_beside: bool,
    pub(crate) slot: u16,
    pub(crate) role: Role,
    /// Whether its path is one of those whose beginning is not known.
    pub(crate) is_orphan: bool,
    pub(crate) is_collapsed: bool,
    pub(crate) is_tagged: bool,
    /// A wait for a batch that is in no other such wait.
    pub(crate) is_wait: bool,
    /// Whether it runs where its anchor does: on its thread, or on one on which that is polled when it begins, as far as is
    /// known.
    pub(crate) is_driving: bool,
    pub(crate) thread: Option<i64>,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) covered_ns: u64,
    covered_until_ns: u64,
    pub(crate) child_alloc: u64,
    pub(crate) child_free: u64,
}

impl Node {
    /// Adds a child's interval to the union of children; starts come in order.
    #[inline]
    pub(crate) fn cover(&mut self, start_ns: u64, end_ns: u64) {
        let start_ns = start_ns.max(self.start_ns).max(self.covered_until_ns);
        let end_ns = end_ns.min(self.end_ns);
        if end_ns > start_ns {
            self.covered_ns += end_ns - start_ns;
            self.covered_until_ns = end_ns;
        }
    }

    /// Duration of the span.
    pub(crate) const fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

impl Builder {
    /// Places every span. Paths are good until the sections are cut.
    pub(super) fn place(&mut self, trace: &Trace, sections: &mut Sections, orphans: &mut Sections) {
        self.families.of(trace, &self.forest.parents);
        self.find_around_steps(trace);
        self.find_pollers(trace);
        self.slots.clear();
        // What stands there is written over: the order has every span, parents first.
        self.nodes.resize(trace.spans.len(), Node::default());
        self.last_paths.resize(trace.spans.len(), ROOT);
        for &index in &self.forest.order {
            let Some(span) = trace.spans.get(index as usize) else { continue };
            let parent_index = self.forest.parents.get(index as usize).copied().unwrap_or(NONE);
            let parent = self.nodes.get(parent_index as usize);
            let is_around = self.around_steps.get(index as usize).is_some_and(|&is_around| is_around);
            let role = role(trace, span, parent, is_around);
            let name = trace.text(span.name);
            let family = self.families.find(span).filter(|_| parent.is_none());
            let starts = span.kind.starts_trace() || role == Role::Step;
            let is_orphan = family.is_some() || (!starts && parent.is_some_and(|parent| parent.is_orphan));
            let sections = if is_orphan { &mut *orphans } else { &mut *sections };
            let (place, around) = match family {
                // It is no section.
                _ if span.is_device_annotation => {
                    let path = parent.map_or(ROOT, |parent| parent.path);
                    (PathSlot { path, is_collapsed: true }, ABSENT)
                }
                Some(family) => {
                    let around = sections.child(None, family).path;
                    (sections.child(Some(around), name), ABSENT)
                }
                None => {
                    let last = self.last_paths.get(index as usize).copied().unwrap_or(ROOT);
                    path(trace, span, starts, name, parent, (sections, last))
                }
            };
            if let Some(last) = self.last_paths.get_mut(index as usize) {
                *last = place.path;
            }
            let own = own_phase(trace, span, name, place, sections, &mut self.slots);
            let inherited = parent.map_or(around, |parent| parent.slot);
            let own_thread = span.figure(Figure::ThreadId);
            let anchor = parent.filter(|_| role == Role::Inside).map_or(index, |parent| parent.anchor);
            let anchor_thread = if anchor == index {
                own_thread
            } else {
                self.nodes.get(anchor as usize).and_then(|node| node.thread)
            };
            let is_driving = anchor == index
                || own_thread.is_none()
                || own_thread == anchor_thread
                || self.is_polled_there(trace, span, anchor, parent_index);
            let is_part = own == ABSENT || Slots::is_part(own, inherited);
            let slot = if is_part { inherited } else { own };
            let (carrier, is_beside) = match parent {
                Some(parent) if !is_driving => {
                    self.elsewhere(span, index, parent_index, slot, parent.driver == anchor)
                }
                _ => (index, false),
            };
            let driver = if is_driving { index } else { parent.map_or(index, |parent| parent.driver) };
            let waits = own == known(Phase::DataWait) && span.kind != SectionKind::Batch;
            if let Some(node) = self.nodes.get_mut(index as usize) {
                *node = Node {
                    parent: parent_index,
                    path: place.path,
                    anchor,
                    driver,
                    carrier,
                    is_beside,
                    slot,
                    role,
                    is_orphan,
                    is_collapsed: place.is_collapsed,
                    is_tagged: span.phase != PhaseTag::Absent && !is_part,
                    is_wait: waits && inherited != own,
                    is_driving,
                    thread: own_thread.or_else(|| {
                        // Threads are of one process; what names none in another is on one that is not known.
                        let around = trace.spans.get(anchor as usize)?;
                        anchor_thread.filter(|_| around.process == span.process)
                    }),
                    start_ns: span.start_ns,
                    end_ns: span.end_ns.max(span.start_ns),
                    ..Node::default()
                };
            }
        }
        self.slots.rank_customs();
    }

    /// Marks the spans that have steps inside of them. Those of our own layer begin traces of their own.
    fn find_around_steps(&mut self, trace: &Trace) {
        self.around_steps.clear();
        let is_step = |span: &Span| span.kind == SectionKind::Step;
        if trace.is_ours || !trace.spans.iter().any(|span| is_step(span) && span.parent.is_some()) {
            return;
        }
        self.around_steps.resize(trace.spans.len(), false);
        // Children come after their parents.
        for &index in self.forest.order.iter().rev() {
            let index = index as usize;
            let is_around = self.around_steps.get(index).is_some_and(|&is_around| is_around);
            if is_around || trace.spans.get(index).is_some_and(is_step) {
                let parent =
                    self.forest.parents.get(index).and_then(|&at| self.around_steps.get_mut(at as usize));
                parent.into_iter().for_each(|parent| *parent = true);
            }
        }
    }

    /// Finds the threads that poll, where an interval does not say its own: on these something asynchronous of the trace was
    /// begun, or entered in an interval that says so.
    fn find_pollers(&mut self, trace: &Trace) {
        self.pollers.clear();
        let polled =
            || trace.spans.iter().map(|span| (span, running(trace, span))).filter(|at| !at.1.is_empty());
        if !polled().any(|(_, polls)| polls.iter().any(|poll| poll.thread.is_none())) {
            return;
        }
        for (span, polls) in polled() {
            let threads = polls.iter().map(|poll| poll.thread).chain([span.figure(Figure::ThreadId)]);
            self.pollers.extend(threads.flatten().map(|thread| (span.process, thread)));
        }
        self.pollers.sort_unstable();
        self.pollers.dedup();
    }

    /// Whether a span that names another thread than its anchor's begins there while its anchor, or the section around it, is
    /// polled there: what is asynchronous goes on on another thread after a wait, and drives its step as before. Of an interval
    /// of several polls that says no thread, each that polls may be the one; what others begin then, they do beside it.
    fn is_polled_there(&self, trace: &Trace, span: &Span, anchor: u32, parent: u32) -> bool {
        let thread = span.figure(Figure::ThreadId);
        let is_there = |around: u32| {
            let around = trace.spans.get(around as usize).filter(|around| around.process == span.process);
            let polls = around.map_or(&[][..], |around| running(trace, around));
            let here = |poll: &&Poll| poll.start_ns <= span.start_ns && span.start_ns < poll.end_ns;
            let is_poller =
                || thread.is_some_and(|thread| self.pollers.binary_search(&(span.process, thread)).is_ok());
            polls
                .iter()
                .filter(here)
                .any(|poll| poll.thread == thread || (poll.thread.is_none() && is_poller()))
        };
        let drives = |around: u32| self.nodes.get(around as usize).is_some_and(|node| node.is_driving);
        thread.is_some() && (is_there(anchor) || (parent != anchor && drives(parent) && is_there(parent)))
    }

    /// Of a span on another thread than its anchor's: [`Node::carrier`] and [`Node::is_beside`].
    fn elsewhere(&self, span: &Span, index: u32, parent: u32, slot: u16, is_outermost: bool) -> (u32, bool) {
        let above = self.nodes.get(parent as usize).filter(|above| !above.is_driving);
        let loads = [Phase::DataLoading, Phase::DataWait].map(known).contains(&slot);
        let is_beside = is_outermost && (loads || above.is_some_and(|above| above.is_beside));
        // The innermost of the highest class, as on the anchor's thread.
        let class = |slot: u16| self.slots.class(slot);
        let around = around_elsewhere(&self.nodes, parent, span.start_ns, span.end_ns.max(span.start_ns));
        let highest = around.min_by_key(|(_, node)| class(node.slot));
        let higher = highest.filter(|(_, node)| class(node.slot) < class(slot));
        (higher.map_or(index, |(higher, _)| higher), is_beside)
    }
}

/// Of the section `first` and those around it on other threads than the anchor's (as many as a path has names), those that are
/// open all through this time: what is asynchronous may outlive the one that it was begun in, and clocks may differ.
pub(crate) fn around_elsewhere(
    nodes: &[Node],
    first: u32,
    start_ns: u64,
    end_ns: u64,
) -> impl Iterator<Item = (u32, &Node)> {
    let get = |index: u32| Some((index, nodes.get(index as usize).filter(|node| !node.is_driving)?));
    let chain = std::iter::successors(get(first), move |(_, node)| get(node.parent));
    let is_open = move |node: &Node| node.start_ns <= start_ns && end_ns <= node.end_ns;
    chain.take(usize::from(MAX_DEPTH)).filter(move |(_, node)| is_open(node))
}

/// A span with more poll intervals counts as one of which it is not known when it ran; our own layer writes fewer.
const POLLS: usize = 64;

/// When a span ran, where it says so.
pub(crate) fn running<'a>(trace: &'a Trace, span: &Span) -> &'a [Poll] {
    let polls = trace.polls(span.polls);
    if polls.len() <= POLLS { polls } else { &[] }
}

/// Sections whose parent is not in their trace: it was still open when the run was killed, or it was lost. What is
/// directly inside one parent is a family, known by the names of all of them, sorted; from these the parent's path
/// can be told at the end, when all paths are known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Families {
    /// By the parent's id.
    by_parent: BTreeMap<u64, String>,
}

impl Families {
    fn of(&mut self, trace: &Trace, parents: &[u32]) {
        self.by_parent.clear();
        if !trace.is_ours {
            return;
        }
        let mut members: BTreeSet<(u64, &str)> = BTreeSet::new();
        for (span, _) in trace.spans.iter().zip(parents).filter(|(_, parent)| **parent == NONE) {
            if let Some(parent) = span.parent.filter(|_| is_part(span) && !is_marker(trace, span)) {
                members.insert((parent, shorten(trace.text(span.name))));
            }
        }
        for (parent, name) in members {
            let family = self.by_parent.entry(parent).or_default();
            let name = join([name]);
            // The first ones are enough to go by; a longer text would be cut.
            if family.is_empty() {
                *family = name;
            } else if family.len() + 1 + name.len() <= MAX_NAME_BYTES {
                family.push(SEPARATOR);
                family.push_str(&name);
            }
        }
    }

    /// The family of a span without a parent in its trace.
    fn find(&self, span: &Span) -> Option<&str> {
        if self.by_parent.is_empty() || !is_part(span) {
            return None;
        }
        self.by_parent.get(&span.parent?).map(String::as_str)
    }
}

/// Whether a span with a parent is a part of that.
fn is_part(span: &Span) -> bool {
    span.parent_path.is_empty() && !span.kind.starts_trace()
}

/// Whether a span says of a run or an epoch no more than that it began.
fn is_marker(trace: &Trace, span: &Span) -> bool {
    let is_of_kind = matches!(span.kind, SectionKind::Run | SectionKind::Epoch);
    is_of_kind && span.start_ns >= span.end_ns && trace.text(span.name).ends_with(STARTED)
}

fn role(trace: &Trace, span: &Span, parent: Option<&Node>, is_around_steps: bool) -> Role {
    if span.is_device_annotation {
        return Role::Marker;
    }
    if span.kind == SectionKind::Step {
        return Role::Step;
    }
    if parent.is_some_and(|parent| parent.role != Role::Container) {
        return Role::Inside;
    }
    match span.kind {
        SectionKind::Run | SectionKind::Epoch => {
            if is_marker(trace, span) {
                Role::Marker
            } else {
                Role::Container
            }
        }
        SectionKind::Step => Role::Step,
        SectionKind::Batch | SectionKind::Request => Role::Other,
        SectionKind::Section | SectionKind::MicroStep => {
            // Foreign programs have no kinds: a root with a step number that is no phase of a step is one.
            let is_foreign_step = !trace.is_ours
                && parent.is_none()
                && span.amount(Figure::Step).is_some()
                && span.phase == PhaseTag::Absent
                && Phase::infer(trace.text(span.name)).is_none();
            let is_orphan = parent.is_none() && span.parent.is_some() && trace.is_ours;
            if is_foreign_step {
                Role::Step
            } else if is_around_steps {
                Role::Container
            } else if is_orphan || !span.parent_path.is_empty() {
                Role::Other
            } else {
                Role::Outside
            }
        }
    }
}

/// The path of a span, and the slot of the phase that the names before it imply where they are no spans. Likely the `last`
/// one that a span in its place had.
fn path(
    trace: &Trace,
    span: &Span,
    starts: bool,
    name: &str,
    parent: Option<&Node>,
    (sections, last): (&mut Sections, u32),
) -> (PathSlot, u16) {
    match parent {
        Some(parent) if !starts => (sections.child_like(last, Some(parent.path), name), ABSENT),
        None if !span.parent_path.is_empty() => {
            let names = split(trace.text(span.parent_path));
            let implied = names.iter().rev().find_map(|name| Phase::infer(name)).map_or(ABSENT, known);
            let around = names.iter().fold(None, |around, name| Some(sections.child(around, name).path));
            (sections.child(around, name), implied)
        }
        _ => (sections.child_like(last, None, name), ABSENT),
    }
}

/// The slot of the phase that a span has without those around it.
#[inline]
fn own_phase(
    trace: &Trace,
    span: &Span,
    name: &str,
    place: PathSlot,
    sections: &Sections,
    slots: &mut Slots,
) -> u16 {
    match span.phase {
        PhaseTag::Known(phase) => return known(phase),
        PhaseTag::Custom(text) if !text.is_empty() => return slots.custom(text, trace.text(text)),
        PhaseTag::Custom(_) | PhaseTag::Absent => {}
    }
    let tree = sections.tree();
    // Where the path does not end with the span's own name, the name itself has to be looked at.
    let is_named = !place.is_collapsed && place.path != ROOT && tree.depth(place.path) <= MAX_DEPTH;
    let inferred = if is_named { tree.inferred(place.path) } else { Phase::infer(name) };
    match inferred {
        Some(phase) => known(phase),
        None if span.kind == SectionKind::Batch => known(Phase::DataLoading),
        None => ABSENT,
    }
}
