//! Runs of steps with deep ones among them, whose threads do what was planted: traces as the layer writes them, folded.

use std::sync::Arc;

use stepscope_analyze::{Config, Partial, Summary};
use stepscope_core::{Phase, SectionKind, ThreadState};
use stepscope_model::{Figure, PhaseTag, Resource, Span, ThreadSample, Trace};

use crate::fixture::MS;

/// The thread of the steps.
pub(crate) const OWN: i64 = 1;
const STEP_NS: u64 = 10 * MS;
/// Rounds of looks at each deep step.
const ROUNDS: u64 = 50;
const CPUS: i64 = 4;

/// A section of each deep step: path below the step, thread, where it begins and ends, CPU time and time runnable without
/// one; all in hundredths of the step. A path that begins with a slash is outside of all steps.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Section(pub &'static str, pub i64, pub u64, pub u64, pub u64, pub u64);

/// What threads do in a round: thread, state, address.
pub(crate) type Round = Vec<(i64, ThreadState, u64)>;

/// What was planted.
#[derive(Debug, Clone)]
pub(crate) struct Planted {
    /// Hundredths of each step that its thread is on a CPU, and runnable without one.
    pub(crate) cpu: u64,
    pub(crate) runnable: u64,
    pub(crate) sections: Vec<Section>,
    /// Processors that other processes use, in hundredths.
    pub(crate) others: u64,
    /// The step from which on they use them, and steps take half as long again.
    pub(crate) others_since: u64,
    pub(crate) steps: u64,
    /// And threads of the program without sections.
    pub(crate) unseen: u64,
    /// Every eighth step is deep.
    pub(crate) has_deep: bool,
    pub(crate) allocations: i64,
    pub(crate) costs: Option<(i64, i64)>,
    pub(crate) phase: Option<(&'static str, Phase)>,
}

impl Default for Planted {
    fn default() -> Self {
        Self {
            cpu: 95,
            runnable: 0,
            sections: Vec::new(),
            others: 0,
            others_since: 0,
            steps: 64,
            unseen: 0,
            has_deep: true,
            allocations: 10,
            costs: None,
            phase: None,
        }
    }
}

fn id(number: u64) -> [u8; 16] {
    let mut id = [0; 16];
    id[8..].copy_from_slice(&number.to_be_bytes());
    id
}

fn span_of(id: u64, start_ns: u64, end_ns: u64) -> Span {
    let mut span = Span::default();
    (span.id, span.start_ns, span.end_ns) = (id, start_ns, end_ns);
    span
}

impl Planted {
    /// The run, with these looks at the threads of its deep steps, by the number of the round.
    pub(crate) fn run(&self, looks: impl Fn(u64) -> Round) -> Summary {
        let resource = Arc::new(Resource {
            run_id: "run".into(),
            rank: Some(0),
            cpus: Some(CPUS),
            level: "detailed".into(),
            ..Resource::default()
        });
        let mut partial = Partial::new(Config::default());
        if let Some((alloc, fault)) = self.costs {
            let mut run = Trace::new(id(9_999), Arc::clone(&resource));
            let mut span = span_of(1, 1, 2);
            span.kind = SectionKind::Run;
            span.name = run.push_text("run");
            span.set_figure(Figure::AllocCostNs, alloc);
            span.set_figure(Figure::FaultCostNs, fault);
            run.spans.push(span);
            partial.add(&run);
        }
        for number in 0..self.steps {
            partial.add(&self.step(number, &resource, &looks));
        }
        partial.finish(None)
    }

    fn step(&self, number: u64, resource: &Arc<Resource>, looks: &impl Fn(u64) -> Round) -> Trace {
        let mut trace = Trace::new(id(number + 1), Arc::clone(resource));
        let since = if self.others_since > 0 { self.others_since } else { u64::MAX };
        let until = |number: u64| number * STEP_NS + number.saturating_sub(since) * STEP_NS / 2;
        let (start_ns, end_ns) = (1_000 * MS + until(number), 1_000 * MS + until(number + 1));
        let at = |hundredths: u64| hundredths * STEP_NS / 100;
        let is_deep = self.has_deep && number % 8 == 7;
        let mut root = span_of(1, start_ns, end_ns);
        root.kind = SectionKind::Step;
        root.name = trace.push_text("step");
        let set = |span: &mut Span, figures: &[(Figure, u64)]| {
            figures.iter().for_each(|&(figure, value)| span.set_figure(figure, value.cast_signed()));
        };
        let (cpu, runnable) = (at(self.cpu), at(self.runnable));
        set(&mut root, &[(Figure::Step, number), (Figure::ThreadId, OWN.cast_unsigned())]);
        set(&mut root, &[(Figure::CpuNs, cpu), (Figure::RunQueueNs, runnable)]);
        root.set_figure(Figure::AllocCount, self.allocations);
        root.set_figure(Figure::MinorFaults, 0);
        if is_deep {
            let elapsed_ns = until(number + 1);
            let disturbed_ns = elapsed_ns.saturating_sub(until(self.others_since));
            let process_ns = elapsed_ns * (self.cpu + self.unseen) / 100;
            set(&mut root, &[(Figure::StepDeep, 1), (Figure::ProcessCpuNs, process_ns)]);
            set(&mut root, &[(Figure::HostCpuNs, process_ns + disturbed_ns * self.others / 100)]);
            for round in 0..ROUNDS {
                let time_ns = start_ns + round * STEP_NS / ROUNDS;
                let of = |(thread, state, address)| ThreadSample { time_ns, thread, state, address };
                trace.samples.extend(looks(round).into_iter().map(of));
            }
        }
        trace.spans.push(root);
        let mut ids: Vec<(&str, i64, u64)> = Vec::new();
        for (&Section(path, thread, from, to, cpu, runnable), span_id) in self.sections.iter().zip(2..) {
            let (around, name) = path.rsplit_once('/').unwrap_or(("", path));
            // On its own thread, else on another, else of the step.
            let around_it = |is_own: bool| {
                ids.iter().find(|(other, on, _)| *other == around && (*on == thread || !is_own))
            };
            let parent = around_it(true).or_else(|| around_it(false)).map_or(1, |of| of.2);
            ids.push((path, thread, span_id));
            let is_beside = path.starts_with('/');
            if is_beside && !is_deep {
                continue;
            }
            let mut span = span_of(span_id, start_ns + at(from), start_ns + at(to));
            span.parent = (!is_beside).then_some(parent);
            if is_beside {
                span.set_figure(Figure::StepDeep, 1);
            }
            span.name = trace.push_text(name);
            if let Some((_, phase)) = self.phase.filter(|(of, _)| *of == path) {
                span.phase = PhaseTag::Known(phase);
            }
            set(&mut span, &[(Figure::ThreadId, thread.cast_unsigned())]);
            if is_deep {
                set(&mut span, &[(Figure::CpuNs, at(cpu)), (Figure::RunQueueNs, at(runnable))]);
            }
            trace.spans.push(span);
        }
        trace.spans.sort_by_key(|span| (span.start_ns, std::cmp::Reverse(span.end_ns), span.id));
        trace
    }
}

/// Four threads that take turns in `share/update` on one lock, while the step's own waits for them at `address(thread)`.
pub(crate) fn lock(address: impl Fn(i64) -> u64) -> Summary {
    lock_beside(0, address)
}

/// The same beside other programs.
pub(crate) fn lock_beside(others: u64, address: impl Fn(i64) -> u64) -> Summary {
    let workers = 2..6;
    let of =
        |thread| [Section("share", thread, 0, 100, 25, 0), Section("share/update", thread, 0, 100, 25, 0)];
    let sections = workers.clone().flat_map(of).collect();
    let planted = Planted { cpu: 5, sections, others, ..Planted::default() };
    planted.run(|round| {
        let running = 2 + (round / 2 % 4).cast_signed();
        let of = |thread| match thread == running {
            true => (thread, ThreadState::Running, 0),
            false => (thread, ThreadState::Futex, address(thread)),
        };
        std::iter::once((OWN, ThreadState::Futex, 77)).chain(workers.clone().map(of)).collect()
    })
}

/// The step waits in `draw` for one thread that renders all the time.
pub(crate) fn pool(others: u64) -> Summary {
    let sections = vec![Section("draw", OWN, 5, 100, 0, 0), Section("draw/render", 2, 5, 100, 95, 0)];
    Planted { cpu: 5, sections, others, ..Planted::default() }.run(|round| match round {
        0..3 => vec![(OWN, ThreadState::Running, 0), (2, ThreadState::Futex, 9)],
        _ => vec![(OWN, ThreadState::Futex, 8), (2, ThreadState::Running, 0)],
    })
}

/// Two thirds of the step's own time in `settle` are blocked in that state.
pub(crate) fn blocked(state: ThreadState) -> Planted {
    let _ = state;
    let sections = vec![Section("advance", OWN, 0, 30, 30, 0), Section("settle", OWN, 30, 100, 4, 0)];
    Planted { cpu: 34, sections, ..Planted::default() }
}

/// What its threads do.
pub(crate) fn blocked_looks(state: ThreadState) -> impl Fn(u64) -> Round {
    move |round| vec![(OWN, if round < 16 { ThreadState::Running } else { state }, 0)]
}
