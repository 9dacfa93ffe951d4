//! One group of spans (a step, a section outside of steps, a batch) into the accumulators.

use std::mem;

use stepscope_core::{Mode, Phase, SectionKind};
use stepscope_model::{Figure, Span, Trace};

use crate::accumulate::gauge::GaugeAcc;
use crate::accumulate::step_series::StepIndex;
use crate::between_steps::accumulator::{BetweenRecord, OTHERS, other};
use crate::loaders::batches::{OUTSIDE, Waits};
use crate::phases::PhaseKey;
use crate::phases::observe::clamp;
use crate::phases::section_time::{id_inside, id_of};
use crate::sections::paths::UNCUT;
use crate::sections::{InStepAcc, SpanFacts};
use crate::step_view::forest::NONE;
use crate::step_view::phase_slots::SlotSum;
use crate::step_view::place::{Node, Role};
use crate::step_view::{Fold, Seen, Target};
use crate::steps::PhaseTime;
use crate::steps::step_point::StepPoint;
use crate::steps::warmup_sections::WarmupStep;

impl Fold {
    /// Adds the spans of `members`, which are those of `anchor` in time order and the steps directly inside
    /// them.
    pub(crate) fn group(&mut self, trace: &Trace, anchor: u32, target: &mut Target<'_>) {
        let Some(&window) = self.nodes.get(anchor as usize) else { return };
        let Some(root) = trace.spans.get(anchor as usize) else { return };
        self.sums.clear();
        self.sums.resize(self.slots.len(), SlotSum::default());
        self.group = self.group.wrapping_add(1);
        let step_mode = (window.role == Role::Step).then(|| self.mode_of(root, &window, anchor));
        let mode = step_mode.map(|mode| mode as usize);
        self.is_outside = trace.is_ours && window.role == Role::Outside;
        self.place = mode.and_then(|_| step_index_of(root));
        self.is_in_warmup_sections = self.is_whole
            && target.sections.tree().cut() == UNCUT
            && mode
                .and_then(|mode| target.warmup_sections.get(mode))
                .zip(self.place)
                .is_some_and(|(of, at)| of.wants(at));
        self.parts.clear();
        let place = mode.or((window.role == Role::Outside).then(|| self.place_outside(root, &window)));
        self.waiting.clear();
        self.paths.waits.clear();
        self.nets.clear();
        let members = mem::take(&mut self.members);
        let nodes = mem::take(&mut self.nodes);
        for &index in &members {
            let Some(node) = nodes.get(index as usize) else { continue };
            let Some(span) = trace.spans.get(index as usize) else { continue };
            if let Some(sum) = self.sums.get_mut(usize::from(node.slot)) {
                let (start_ns, end_ns) = clamp(node, &window);
                sum.cover(start_ns, end_ns);
                if node.anchor == anchor {
                    let self_ns = node.duration_ns() - node.covered_ns;
                    sum.self_ns = sum.self_ns.saturating_add(self_ns);
                    sum.spans += 1;
                }
            }
            if node.anchor != anchor || node.role == Role::Marker {
                continue;
            }
            self.span(trace, span, node, mode, target);
            if self.waits_elsewhere(trace, span, index, node) {
                self.paths.waits.push(index);
            }
            if node.is_wait {
                self.waiting.push(index);
            }
        }
        self.members = members;
        self.nodes = nodes;
        self.hold(root, &window, step_mode, target);
        match window.role {
            Role::Step => {
                if self.is_whole {
                    self.expose(trace, anchor, &window, mode, target);
                }
                let wait_ns = self.waits(trace, place, (self.is_whole, true), target);
                let mode = step_mode.unwrap_or(root.mode);
                self.step(trace, root, &window, (mode, wait_ns), target);
            }
            Role::Outside => {
                self.expose(trace, anchor, &window, None, target);
                let wait_ns = self.waits(trace, place, (true, false), target);
                self.outside(trace, root, &window, wait_ns, target);
                self.made(trace, anchor, target);
            }
            Role::Inside | Role::Container | Role::Marker | Role::Other => {
                self.waits(trace, place, (false, false), target);
                if window.role == Role::Other
                    && matches!(root.kind, SectionKind::Batch | SectionKind::Request)
                {
                    self.made(trace, anchor, target);
                }
            }
        }
    }

    /// Adds one span to its section and to what its kind and figures say.
    fn span(
        &mut self,
        trace: &Trace,
        span: &Span,
        node: &Node,
        mode: Option<usize>,
        target: &mut Target<'_>,
    ) {
        let duration_ns = node.duration_ns();
        let is_step = mode.is_some();
        // The work of a run or an epoch is in traces of its own.
        let is_elsewhere = trace.is_ours && matches!(span.kind, SectionKind::Run | SectionKind::Epoch);
        let has_children = self.is_whole && !is_elsewhere;
        if node.parent == NONE && !span.parent_path.is_empty() {
            // A part of the section around it, in another trace.
            let around = target.sections.tree().parent(node.path);
            let around = if node.is_collapsed { node.path } else { around };
            let acc = target.sections.acc(around);
            acc.selfless = acc.selfless.saturating_add(1);
            self.continues(span, around);
        }
        let acc = target.acc(node);
        let net = acc.add(
            span,
            &SpanFacts {
                duration_ns,
                self_ns: has_children.then_some(duration_ns - node.covered_ns),
                is_outside: self.is_outside,
                is_collapsed: node.is_collapsed,
                kind: if node.role == Role::Step { SectionKind::Step } else { span.kind },
                child_alloc: node.child_alloc,
                child_free: node.child_free,
            },
        );
        if net != 0 && !is_elsewhere {
            if node.is_orphan {
                self.nets.unplaced = self.nets.unplaced.wrapping_add(net);
            } else {
                self.nets.add(node.path, net);
            }
        }
        if !node.is_collapsed {
            if node.is_tagged {
                acc.tag(self.slots.key(node.slot));
            }
            let mode = mode.filter(|_| self.is_whole);
            if let Some(part) = mode.and_then(|mode| acc.in_steps.get_mut(mode)) {
                let path = node.path as usize;
                if path >= self.seen.len() {
                    self.seen.resize(path + 1, Seen::default());
                }
                if let Some(seen) = self.seen.get_mut(path) {
                    let before_ns = count_call(part, seen, self.group, node);
                    if let Some(place) = self.place.filter(|_| before_ns.is_none_or(|ns| duration_ns > ns)) {
                        part.longest.add(duration_ns, place);
                    }
                }
                if self.is_in_warmup_sections && !node.is_orphan {
                    self.parts.add(node.path, |part| part.with_call(duration_ns, node.is_driving));
                }
            }
        }
        if span.kind == SectionKind::Batch {
            if let Some(instance) = &mut target.instance {
                let name = loader_of(trace, span);
                instance.loaders.add(name, span, node.thread, target.bounds.loaders, target.bounds.threads);
            }
        } else if Waits::says_batch(span) {
            if let Some(waits) = target.waits_of(node, is_step) {
                waits.batch(span);
            }
            // Few have one.
            let loader = if span.loader.is_empty() { "" } else { trace.text(span.loader) };
            if let Some(named) = target.named_waits.of(loader, target.bounds.loaders) {
                named.waits.batch(span);
            }
        }
    }

    /// What a part of a section in a further trace left allocated is in the figures of that section as well.
    fn continues(&mut self, span: &Span, around: u32) {
        let amount = |figure| span.amount(figure).unwrap_or(0);
        let net = amount(Figure::FreeBytes).wrapping_sub(amount(Figure::AllocBytes)).cast_signed();
        if net != 0 {
            self.nets.add(around, net);
        }
    }

    /// Keeps what the sections of the group left allocated: of a step that has a number at that, of all others at their
    /// end. A step that says what it allocated has a point whether something is left or not.
    fn hold(&mut self, root: &Span, window: &Node, mode: Option<Mode>, target: &mut Target<'_>) {
        let is_step = mode.is_some();
        let says = |figure| root.amount(figure).is_some();
        if self.nets.is_empty() && !(is_step && (says(Figure::AllocBytes) || says(Figure::FreeBytes))) {
            return;
        }
        let step = mode.zip(step_index_of(root)).map(|(mode, place)| (mode as usize, place));
        target.retained.add(step, window.end_ns, &mut self.nets, target.sections.tree(), target.bounds);
    }

    /// The mode of a step. One that names none, and whose sections are all evaluation or inference, and input for it, is
    /// of that mode, where these take half of it at least.
    fn mode_of(&self, root: &Span, window: &Node, anchor: u32) -> Mode {
        if root.mode != Mode::Train {
            return root.mode;
        }
        let (mut found, mut of_mode_ns) = (None, 0u64);
        for &index in &self.members {
            let Some(node) = self.nodes.get(index as usize).filter(|node| node.parent == anchor) else {
                continue;
            };
            let mode = match self.slots.key(node.slot) {
                key if *key == PhaseKey::known(Phase::Evaluation) => Mode::Eval,
                key if *key == PhaseKey::known(Phase::Inference) => Mode::Inference,
                PhaseKey::Known(index) if Phase::from_index(*index).is_some_and(Phase::is_input) => continue,
                _ => return Mode::Train,
            };
            if found.is_some_and(|other| other != mode) {
                return Mode::Train;
            }
            found = Some(mode);
            of_mode_ns = of_mode_ns.saturating_add(node.duration_ns());
        }
        let is_most = of_mode_ns.saturating_mul(2) >= window.duration_ns();
        found.filter(|_| is_most).unwrap_or(Mode::Train)
    }

    /// Where waits in a section outside of steps go: to the mode of what it does, where that is told.
    fn place_outside(&self, root: &Span, window: &Node) -> usize {
        let other = other(self.slots.key(window.slot), root.mode);
        let of = other.and_then(|at| OTHERS.get(usize::from(at)));
        of.map_or(OUTSIDE, |&(_, mode)| mode as usize)
    }

    fn step(
        &mut self,
        trace: &Trace,
        root: &Span,
        window: &Node,
        (step_mode, wait_ns): (Mode, u64),
        target: &mut Target<'_>,
    ) {
        let work = (
            self.work(trace, root, window, Figure::Samples),
            self.work(trace, root, window, Figure::Tokens),
            self.work(trace, root, window, Figure::Bytes),
        );
        let record = &mut self.record;
        (record.epoch, record.step) = (root.amount(Figure::Epoch), root.amount(Figure::Step));
        (record.start_ns, record.end_ns) = (window.start_ns, window.end_ns);
        (record.trace, record.span) = (trace.id, root.id);
        record.rank = target.rank;
        (record.samples, record.tokens, record.bytes) = work;
        record.is_whole = self.is_whole;
        record.phases.clear();
        for (slot, sum) in self.sums.iter().enumerate().filter(|_| self.is_whole) {
            if sum.exposed_ns == 0 && sum.spans == 0 && sum.total_ns == 0 {
                continue;
            }
            let key = self.slots.key(slot as u16).clone();
            let total_ns = if key == PhaseKey::Absent { 0 } else { sum.total_ns };
            let time = PhaseTime {
                exposed_ns: sum.exposed_ns.into(),
                total_ns: total_ns.into(),
                self_ns: sum.self_ns.into(),
                spans: sum.spans,
            };
            record.phases.push((key, time));
        }
        record.phases.sort_unstable();
        self.warmup_sections(window, step_mode, target);
        let record = &self.record;
        if let Some(instance) = &mut target.instance {
            let mode = step_mode as usize;
            if let Some(steps) = instance.steps.get_mut(mode) {
                steps.add(record, target.bounds.custom_phases);
            }
            instance.outside.drives(window.thread, target.bounds.threads);
        }
        let input_before_ns = root.amount(Figure::InputBeforeNs);
        if let Some(series) = target.phase_series.get_mut(step_mode as usize) {
            let tree = target.sections.tree();
            // Where paths were cut nothing is kept of them.
            let is_whole = tree.cut() == UNCUT;
            let sections =
                self.section_time.iter().filter(|_| is_whole).map(|(path, ns)| (tree.id(path), ns));
            series.step(record, input_before_ns, sections, target.bounds.phase_points);
        }
        let duration_ns = window.duration_ns();
        let point = StepPoint {
            count: 1,
            sum_ns: duration_ns,
            min_ns: Some(duration_ns),
            max_ns: Some(duration_ns),
            live: GaugeAcc::of(root.amount(Figure::LiveBytes)),
            rss: GaugeAcc::of(root.amount(Figure::RssBytes)),
            samples: record.samples,
            wait_ns,
            run_queue_ns: root.amount(Figure::RunQueueNs),
            input_before_ns,
            first_ns: Some(window.start_ns),
        };
        let place = record.place();
        target.point(step_mode, place, &point);
        if target.examples.get(step_mode as usize).is_some_and(|kept| kept.wants(&self.record)) {
            let example = self.example(trace, window);
            if let Some(kept) = target.examples.get_mut(step_mode as usize) {
                kept.add(&self.record, example);
            }
        }
    }

    /// Keeps what the sections of a step took, where it is one of the first.
    fn warmup_sections(&mut self, window: &Node, mode: Mode, target: &mut Target<'_>) {
        let Some(place) = self.place.filter(|_| self.is_in_warmup_sections) else { return };
        let Self { parts, section_time, own_ns, .. } = self;
        section_time.iter().for_each(|(path, ns)| parts.add(path, |part| part.with_exposed(ns)));
        let mut step = WarmupStep::one(window.duration_ns(), *own_ns);
        let tree = target.sections.tree();
        parts.drain().for_each(|(path, part)| step.add(tree.id(path), &part));
        if let Some(steps) = target.warmup_sections.get_mut(mode as usize) {
            steps.add(place, &step);
        }
    }

    /// What a step did: what its root says, else the sum over the outermost sections that say it. Where some of these were
    /// not read, that sum would pass for the whole.
    fn work(&self, trace: &Trace, root: &Span, window: &Node, figure: Figure) -> Option<u64> {
        let said = root.amount(figure);
        if said.is_some() || !self.is_whole {
            return said;
        }
        let says = |index: u32| trace.spans.get(index as usize).and_then(|span| span.amount(figure));
        let mut sum = None;
        for &index in &self.members {
            let Some(amount) = says(index) else { continue };
            let Some(node) = self.nodes.get(index as usize).filter(|node| node.anchor == window.anchor)
            else {
                continue;
            };
            let mut above = node.parent;
            // No chain of parents is longer than there are spans.
            let is_inner = (0..trace.spans.len())
                .map_while(|_| {
                    let around =
                        self.nodes.get(above as usize).filter(|around| around.anchor == window.anchor)?;
                    let here = mem::replace(&mut above, around.parent);
                    Some(says(here).is_some())
                })
                .any(|says| says);
            if !is_inner {
                sum = Some(sum.unwrap_or(0u64).saturating_add(amount));
            }
        }
        sum
    }

    fn outside(&mut self, trace: &Trace, root: &Span, window: &Node, wait_ns: u64, target: &mut Target<'_>) {
        if wait_ns > 0 {
            let point = StepPoint { wait_ns, ..StepPoint::default() };
            target.point(root.mode, step_index_of(root), &point);
        }
        let Some(instance) = &mut target.instance else { return };
        let mut exposed: Vec<(PhaseKey, u64)> = self
            .sums
            .iter()
            .enumerate()
            .filter(|(_, sum)| sum.exposed_ns > 0)
            .map(|(slot, sum)| (self.slots.key(slot as u16).clone(), sum.exposed_ns))
            .collect();
        exposed.sort_unstable();
        let record = BetweenRecord {
            start_ns: window.start_ns,
            end_ns: window.end_ns,
            trace: trace.id,
            span: root.id,
            path: self.path_of(trace, root, window),
            phase: self.slots.key(window.slot).clone(),
            other: other(self.slots.key(window.slot), root.mode),
            exposed,
        };
        instance.outside.add(window.thread, record, target.bounds.threads, target.bounds.custom_phases);
    }
}

impl Fold {
    /// Identity of the path of a section as its trace tells it, whatever is cut off of paths: see [`id_inside`].
    fn path_of(&self, trace: &Trace, section: &Span, window: &Node) -> u64 {
        let (mut names, mut first, mut above) = (vec![trace.text(section.name)], section, window.parent);
        // No chain of parents is longer than there are spans.
        for _ in 0..trace.spans.len() {
            let (Some(node), Some(span)) = (self.nodes.get(above as usize), trace.spans.get(above as usize))
            else {
                break;
            };
            names.push(trace.text(span.name));
            (first, above) = (span, node.parent);
        }
        let around = match trace.text(first.parent_path) {
            "" => 0,
            path => id_of(path),
        };
        names.iter().rev().fold(around, |around, name| id_inside(around, name))
    }
}

/// Where a step is in a series, if it has a number.
fn step_index_of(root: &Span) -> Option<StepIndex> {
    root.amount(Figure::Step).map(|step| StepIndex { epoch: root.amount(Figure::Epoch), step })
}

/// The loader that makes a batch: as the batch says, else by its name.
fn loader_of<'a>(trace: &'a Trace, batch: &Span) -> &'a str {
    let loader = trace.text(batch.loader);
    if loader.is_empty() { trace.text(batch.name) } else { loader }
}

/// The loader that makes the batch which a wait is part of, and the thread that makes it.
pub(crate) fn maker<'a>(trace: &'a Trace, nodes: &[Node], wait: &Node) -> Option<(&'a str, Option<i64>)> {
    let mut above = wait.parent;
    loop {
        // Ends: parents lead to roots.
        let node = nodes.get(above as usize)?;
        let span = trace.spans.get(above as usize)?;
        if span.kind == SectionKind::Batch {
            return Some((loader_of(trace, span), node.thread));
        }
        above = node.parent;
    }
}

/// Counts a call of a section in a step, and gives the longest one before it in this step.
fn count_call(part: &mut InStepAcc, seen: &mut Seen, group: u64, node: &Node) -> Option<u64> {
    if seen.group != group {
        *seen = Seen { group, ..Seen::default() };
        part.steps = part.steps.saturating_add(1);
    }
    let before_ns = (seen.calls > 0).then_some(seen.longest_ns);
    seen.calls += 1;
    seen.longest_ns = seen.longest_ns.max(node.duration_ns());
    part.calls = part.calls.saturating_add(1);
    part.max_calls = part.max_calls.max(seen.calls);
    part.total_ns = part.total_ns.saturating_add(node.duration_ns().into());
    if node.is_driving {
        part.driving_ns = part.driving_ns.saturating_add(node.duration_ns().into());
    }
    before_ns
}
