//! Summaries made by hand, one field at a time. Times of phases are per step.

mod series;

pub(crate) use series::{point, queued};
use stepscope_analyze::summary::{
    BatchSummary, BetweenStepsRow, CourseVerdict, Coverage, CriticalPath, DurationBucket, FigureSum, InSteps,
    InstanceRow, LoaderRow, Losses, MemoryCourse, ModeSummary, PhaseName, PhaseRow, PhaseSource, RunIdentity,
    RunState, SectionMemory, SectionRow, SeriesPoint, SlowStep, Stats, StepPhase, StepSeries, StepUseRow,
    ThreadShares, Throughput, Trend, TrendPair, WaitSummary, Warmup, WholeSteps, WorkerRow,
};
use stepscope_analyze::{Config, Partial, Summary};
use stepscope_core::{Distribution, Mode, Phase, SectionKind};
use stepscope_model::Resource;

pub(crate) const MS: u64 = 1_000_000;

fn distribution(values: impl IntoIterator<Item = u64>) -> Distribution {
    let mut distribution = Distribution::default();
    values.into_iter().for_each(|value| distribution.record(value));
    distribution
}

/// What memory does by a gauge: `growing`, where it grows.
fn course(pair: &TrendPair, growing: CourseVerdict, is_suspected: bool) -> MemoryCourse {
    let grows = pair.whole.is_some_and(|trend| trend.slope_per_step > 0.0);
    MemoryCourse {
        verdict: if grows { growing } else { CourseVerdict::None },
        is_suspected,
        trend: pair.whole,
        plateau_bytes: None,
        least_seen_bytes_per_step: 2_048.0,
        more_steps: None,
        fell: None,
    }
}

/// Figures of a list of values.
pub(crate) fn stats(values: impl IntoIterator<Item = u64>) -> Stats {
    Stats::of(&distribution(values))
}

/// Its values by buckets.
pub(crate) fn buckets(values: impl IntoIterator<Item = u64>) -> Vec<DurationBucket> {
    DurationBucket::of(&distribution(values))
}

/// `count` equal values.
pub(crate) fn same(count: u64, value: u64) -> Stats {
    stats(std::iter::repeat_n(value, usize::try_from(count).unwrap()))
}

/// An input without any run.
pub(crate) fn nothing() -> Summary {
    Partial::new(Config::default()).finish(None)
}

/// A run that is made step by step.
pub(crate) struct Run {
    pub(crate) summary: Summary,
}

impl Run {
    /// A run that finished cleanly, of equal steps that hold no phase yet.
    pub(crate) fn of(steps: u64, step_ns: u64) -> Self {
        Self::with_durations(vec![step_ns; usize::try_from(steps).unwrap()])
    }

    /// The same with steps of these durations.
    pub(crate) fn with_durations(durations: Vec<u64>) -> Self {
        let count = durations.len() as u64;
        let all = stats(durations.iter().copied());
        let mut summary = nothing();
        summary.found = true;
        summary.run = RunIdentity { id: "run-1".into(), attempt: 0, is_foreign: false };
        let resource = Resource {
            run_id: "run-1".into(),
            rank: Some(0),
            world_size: Some(1),
            service_name: "trainer".into(),
            host_name: "host-a".into(),
            cpus: Some(16),
            level: "detailed".into(),
            schema_version: Some(1),
            ..Resource::default()
        };
        let start_ns = 1_700_000_000_000_000_000;
        summary.state = RunState {
            first_ns: Some(start_ns),
            last_ns: Some(start_ns + all.total),
            started: 1,
            ended: 1,
            instances: 1,
            world_size: Some(1),
            epochs_started: 2,
            epochs_ended: 2,
            traces: count,
            spans: count * 5,
            is_ours: true,
            ..RunState::default()
        };
        summary.losses = Losses {
            emitted: Some(count * 5),
            exported: vec![("directory".into(), count * 5)],
            dropped: Vec::new(),
            absent: Some(0),
            unplaced: 0,
        };
        summary.coverage = Coverage {
            recorded_steps: Some(count),
            read_steps: count,
            whole_steps: count,
            ..Coverage::default()
        };
        let throughput = Throughput {
            elapsed_ns: all.total,
            steps_per_second: (all.total > 0).then(|| count as f64 * 1e9 / all.total as f64),
            ..Throughput::default()
        };
        summary.instances = vec![InstanceRow {
            resource,
            first_ns: Some(start_ns),
            last_ns: Some(start_ns + all.total),
            started: true,
            ended: true,
            ended_by: None,
            traces: count,
            steps: all,
            work_time: all,
            warmup_steps: 0,
            throughput,
            communication_per_step_ns: None,
            phases_per_step: Vec::new(),
            phases_between_steps: Vec::new(),
            other_steps_ns: 0,
            usual_gap_ns: None,
            steps_overlap: false,
            memory_limit: None,
        }];
        let mut longest: Vec<(u64, u64)> = durations.iter().copied().zip(0..).collect();
        longest.sort_by_key(|&(duration, step)| (std::cmp::Reverse(duration), step));
        let slowest = longest
            .into_iter()
            .take(10)
            .map(|(duration_ns, step)| SlowStep {
                step: Some(step),
                rank: Some(0),
                duration_ns,
                start_ns,
                trace_id: format!("{step:032x}"),
                phases: Vec::new(),
                unattributed_ns: duration_ns,
            })
            .collect();
        summary.modes = vec![ModeSummary {
            mode: Mode::Train,
            all,
            steady: all,
            distribution: buckets(durations.iter().copied()),
            warmup: Warmup::default(),
            numbers: stepscope_analyze::summary::StepNumbers::default(),
            step_range: (count > 0).then(|| (0, count - 1)),
            whole_all: WholeSteps { steps: count, total_ns: all.total },
            whole_warmup: WholeSteps::default(),
            whole: WholeSteps { steps: count, total_ns: all.total },
            phases: Vec::new(),
            unattributed_ns: all.total,
            deep_steps: 0,
            threads: None,
            use_per_step: StepUseRow::default(),
            quick_without_waiting_ns: None,
            quick_without_preparation_ns: None,
            input_between_ns: 0,
            steady_ns: all.total,
            throughput,
            slowest_together: Vec::new(),
            slowest,
            step_gaps: Vec::new(),
        }];
        let mut run = Self { summary };
        run.section("step", SectionKind::Step, None, all, 0);
        run.judge_input();
        run
    }

    pub(crate) fn steps(&self) -> u64 {
        self.summary.modes[0].steady.count
    }

    /// Has the steps' threads on a CPU and runnable without one for these parts of a hundred, and blocked for the rest.
    pub(crate) fn threads(mut self, cpu: u64, runnable: u64) -> Self {
        let mode = &mut self.summary.modes[0];
        let (cpu_ns, run_queue_ns) = (mode.steady_ns / 100 * cpu, mode.steady_ns / 100 * runnable);
        mode.threads = Some(ThreadShares {
            steps: mode.steady.count,
            duration_ns: mode.steady_ns,
            cpu_ns,
            run_queue_ns: Some(run_queue_ns),
            blocked_ns: Some(mode.steady_ns - cpu_ns - run_queue_ns),
        });
        self
    }

    /// Has the steps allocate, and fault pages in, so often.
    pub(crate) fn allocates(mut self, allocations: f64, faults: f64) -> Self {
        self.summary.modes[0].use_per_step =
            StepUseRow { alloc_count: Some(allocations), minor_faults: Some(faults) };
        self
    }

    /// Gives every step `per_step_ns` of a phase, as the section `step/<name>`.
    pub(crate) fn phase(mut self, phase: Phase, name: &str, per_step_ns: u64) -> Self {
        let steps = self.steps();
        let exposed_ns = per_step_ns * steps;
        let mode = &mut self.summary.modes[0];
        let share = exposed_ns as f64 / mode.steady_ns as f64;
        mode.unattributed_ns -= exposed_ns;
        mode.phases.push(PhaseRow {
            phase: PhaseName::Known(phase),
            spans: steps,
            exposed_ns,
            exposed_share: share,
            total_ns: exposed_ns,
            total_share: share,
            self_ns: exposed_ns,
        });
        mode.phases.sort_by_key(|row| (std::cmp::Reverse(row.exposed_ns), row.phase.clone()));
        let path = format!("step/{name}");
        self.section(&path, SectionKind::Section, Some(phase), same(steps, per_step_ns), exposed_ns);
        self.judge_input();
        self
    }

    /// Gives every step a section without a phase.
    pub(crate) fn untagged(mut self, name: &str, calls_per_step: u64, per_call_ns: u64) -> Self {
        let calls = self.steps() * calls_per_step;
        let path = format!("step/{name}");
        self.section(&path, SectionKind::Section, None, same(calls, per_call_ns), calls * per_call_ns);
        self
    }

    /// Has the steps of `other` beside these, as those of evaluation, `eval_step`.
    pub(crate) fn evaluation(mut self, other: Self) -> Self {
        let Summary { modes, sections, .. } = other.summary;
        self.summary.modes.extend(modes.into_iter().map(|mode| ModeSummary { mode: Mode::Eval, ..mode }));
        self.summary.sections.extend(sections.into_iter().map(|mut row| {
            row.in_steps.iter_mut().for_each(|part| part.mode = Mode::Eval);
            row.path = format!("eval_{}", row.path);
            row
        }));
        self
    }

    /// Puts sections of a phase between the steps.
    pub(crate) fn between(self, phase: Phase, name: &str, durations: &[u64]) -> Self {
        self.outside(Some(phase), name, durations)
    }

    /// Puts sections without a phase between the steps.
    pub(crate) fn between_untagged(self, name: &str, durations: &[u64]) -> Self {
        self.outside(None, name, durations)
    }

    fn outside(mut self, phase: Option<Phase>, name: &str, durations: &[u64]) -> Self {
        let stats = stats(durations.iter().copied());
        self.summary.between_steps.push(BetweenStepsRow {
            phase: phase.map(PhaseName::Known),
            stats,
            exposed_ns: stats.total,
        });
        if phase.is_some_and(Phase::is_input) {
            self.summary.input.between_ns += stats.total;
        }
        self.section(name, SectionKind::Section, phase, stats, 0);
        self.judge_input();
        self
    }

    /// One loader with `workers` threads that were busy for a share of the run.
    pub(crate) fn loader(mut self, workers: u64, produce_ns: u64, busy_share: f64) -> Self {
        let steps = self.steps();
        let elapsed_ns = self.summary.modes[0].steady_ns;
        let busy_ns = (busy_share * (elapsed_ns * workers) as f64) as u64;
        self.summary.batches = BatchSummary {
            count: steps,
            loaders: vec![LoaderRow {
                name: "train".into(),
                produce: same(steps, produce_ns),
                busy_ns,
                waiting_ns: 0,
                computing_ns: busy_ns,
                elapsed_ns,
                utilisation: Some(busy_share),
                workers_at_once: Some(workers),
                slot_wait_ns: None,
                slot_wait_share: None,
                after_warmup: None,
                slowest: None,
                under_demand: None,
                samples: Some(steps * 64),
                workers: (0..workers)
                    .map(|thread| WorkerRow {
                        rank: Some(0),
                        thread: i64::try_from(thread).ok(),
                        drives_steps: false,
                        batches: steps / workers,
                        busy_ns: busy_ns / workers,
                        waiting_ns: 0,
                        slot_wait_ns: None,
                        idle_ns: None,
                        first_ns: 0,
                        last_ns: elapsed_ns,
                    })
                    .collect(),
                waits: WaitSummary::default(),
                stalls: Vec::new(),
                waited_by: Vec::new(),
            }],
        };
        self
    }

    /// Waits as consumers saw them.
    pub(crate) fn waits(mut self, wait_ns: u64, produce_ns: u64, depth: u64) -> Self {
        let steps = self.steps();
        self.summary.waits = WaitSummary {
            wait: same(steps, wait_ns),
            produce: same(steps, produce_ns),
            queue: same(steps, 10_000),
            unused: Some(depth.saturating_sub(1)),
            depth: same(steps, depth),
        };
        self
    }

    /// Live memory that grows by the step: a leak, where it does.
    pub(crate) fn live(mut self, first_bytes: u64, per_step: f64) -> Self {
        let pair = self.pair(first_bytes, per_step);
        self.summary.memory.course = Some(course(&pair, CourseVerdict::Leak, false));
        self.summary.memory.live = Some(pair);
        self
    }

    /// The same of resident memory; where live memory is flat, fragmentation.
    pub(crate) fn rss(mut self, first_bytes: u64, per_step: f64) -> Self {
        let pair = self.pair(first_bytes, per_step);
        let memory = &mut self.summary.memory;
        match memory.course.map(|course| course.verdict) {
            None => memory.course = Some(course(&pair, CourseVerdict::Leak, true)),
            Some(CourseVerdict::None) if per_step > 0.0 => {
                memory.course = Some(course(&pair, CourseVerdict::Fragmentation, true));
            }
            Some(_) => {}
        }
        memory.rss = Some(pair);
        self
    }

    fn pair(&self, first_bytes: u64, per_step: f64) -> TrendPair {
        let n = self.steps();
        let last_bytes = first_bytes + (per_step * n as f64) as u64;
        let whole = Trend {
            n,
            from_step: 0,
            to_step: n - 1,
            slope_per_step: per_step,
            confidence_interval: (per_step - per_step.abs() * 0.01, per_step + per_step.abs() * 0.01),
            p_value: 1e-12,
        };
        TrendPair { first_bytes, last_bytes, max_bytes: last_bytes, whole: Some(whole) }
    }

    /// What a section leaves behind a step.
    pub(crate) fn leaves(mut self, path: &str, net_per_step: i64) -> Self {
        let steps = self.steps();
        let alloc = 200_000u64;
        let row = self.summary.sections.iter_mut().find(|row| row.path == path).unwrap();
        row.memory = Some(SectionMemory {
            spans: steps,
            alloc_bytes: alloc * steps,
            free_bytes: 0,
            alloc_count: 3 * steps,
            self_alloc_bytes: Some(alloc * steps),
            self_free_bytes: Some(0),
            self_net_bytes: Some(net_per_step * i64::try_from(steps).unwrap()),
            peak_bytes: Some(alloc),
        });
        self
    }

    /// Critical paths on which the steps' own code is for so long in each.
    pub(crate) fn own_code(mut self, per_step_ns: u64) -> Self {
        let mode = &self.summary.modes[0];
        let (windows, total_ns) = (mode.all.count, mode.all.total);
        let other_ns = per_step_ns * windows;
        let step = self.summary.sections.iter_mut().find(|row| row.path == "step").unwrap();
        step.in_steps[0].exposed_ns = other_ns;
        self.summary.critical_path = Some(CriticalPath {
            window: "step",
            mode: Some(Mode::Train),
            windows,
            total_ns,
            other_ns,
            warmup_other_ns: 0,
            explained_share: (total_ns - other_ns) as f64 / total_ns as f64,
            sections: Vec::new(),
            waits: None,
            through_batches: None,
        });
        self
    }

    /// Has a point for each step.
    pub(crate) fn numbered(mut self) -> Self {
        let duration_ns = self.summary.modes[0].steady.p50.unwrap();
        let taken = |step| SeriesPoint { duration_sum_ns: duration_ns, ..point(step) };
        let points = (0..self.steps()).map(taken).collect();
        self.summary.series = vec![StepSeries { mode: Mode::Train, shift: 0, points }];
        self
    }

    /// Has the threads of all steps run for all but so long of each.
    pub(crate) fn blocked(mut self, per_step_ns: u64) -> Self {
        let step = self.summary.sections.iter_mut().find(|row| row.path == "step").unwrap();
        let (spans, sum) = (step.stats.count, step.stats.total - per_step_ns * step.stats.count);
        step.cpu_ns = Some(FigureSum { spans, sum });
        self
    }

    /// Adds steps of these durations as warm-up before the others.
    pub(crate) fn warmup(mut self, durations: &[u64]) -> Self {
        let mode = &mut self.summary.modes[0];
        let usual =
            std::iter::repeat_n(mode.steady.p50.unwrap(), usize::try_from(mode.steady.count).unwrap());
        mode.all = stats(usual.chain(durations.iter().copied()));
        let (steps, total_ns) = (durations.len() as u64, durations.iter().sum());
        let usual_ns = steps * mode.steady.p50.unwrap();
        mode.warmup = Warmup { steps, max_per_instance: steps, total_ns, usual_ns, steady_step: Some(steps) };
        self
    }

    /// Says that these calls of a section, of those that it has, were in the steps of the warm-up, which are whole, and what
    /// the longest other one took.
    pub(crate) fn warmup_of(mut self, path: &str, durations: &[u64], longest_steady_ns: u64) -> Self {
        let mode = &mut self.summary.modes[0];
        mode.whole_warmup = WholeSteps { steps: mode.warmup.steps, total_ns: mode.warmup.total_ns };
        mode.whole_all = WholeSteps { steps: mode.all.count, total_ns: mode.all.total };
        let row = self.summary.sections.iter_mut().find(|row| row.path == path).unwrap();
        let (calls, total_ns) = (durations.len() as u64, durations.iter().sum());
        let part = &mut row.in_steps[0];
        (part.warmup_calls, part.warmup_total_ns, part.warmup_driving_ns) = (calls, total_ns, total_ns);
        (part.warmup_exposed_ns, part.longest_steady_ns) = (total_ns, Some(longest_steady_ns));
        self
    }

    /// Gives every step one call of a section without a phase, of these durations in turn.
    pub(crate) fn varying(mut self, name: &str, durations: &[u64]) -> Self {
        let steps = usize::try_from(self.steps()).unwrap();
        let calls = stats(durations.iter().copied().cycle().take(steps));
        self.section(&format!("step/{name}"), SectionKind::Section, None, calls, calls.total);
        let median_ns = calls.p50.unwrap();
        let slow = durations.iter().cycle().take(steps).filter(|&&ns| ns > 2 * median_ns);
        let excess_ns = slow.map(|ns| ns - median_ns).sum();
        let path = format!("step/{name}");
        let row = self.summary.sections.iter_mut().find(|row| row.path == path).unwrap();
        row.slow_excess_ns = Some(excess_ns);
        self
    }

    /// Gives the slowest steps what they exceed the median by, in one phase.
    pub(crate) fn slow_because(mut self, phase: Phase) -> Self {
        let mode = &mut self.summary.modes[0];
        let usual_ns = mode.steady.p50.unwrap();
        for step in &mut mode.slowest {
            let exposed_ns = step.duration_ns - usual_ns;
            step.phases =
                vec![StepPhase { phase: PhaseName::Known(phase), exposed_ns, total_ns: exposed_ns }];
            step.unattributed_ns = usual_ns;
        }
        self
    }

    /// Ranks that take this long for a step and communicate for so long of it.
    pub(crate) fn ranks(mut self, ranks: &[(u64, u64)]) -> Self {
        let steps = self.steps();
        let first = self.summary.instances[0].clone();
        let row = |(rank, &(step_ns, communication_ns)): (i64, &(u64, u64))| InstanceRow {
            resource: Resource { rank: Some(rank), ..first.resource.clone() },
            steps: same(steps, step_ns),
            work_time: same(steps, step_ns - communication_ns),
            throughput: Throughput { elapsed_ns: steps * step_ns, ..first.throughput },
            communication_per_step_ns: Some(communication_ns),
            ..first.clone()
        };
        self.summary.instances = (0..).zip(ranks).map(row).collect();
        self
    }

    /// A machine on which nothing is short, with a busy GPU, was watched meanwhile.
    pub(crate) fn measured(mut self) -> Self {
        crate::measured::quiet(&mut self.summary);
        self
    }

    pub(crate) fn build(self) -> Summary {
        self.summary
    }

    fn section(
        &mut self,
        path: &str,
        kind: SectionKind,
        phase: Option<Phase>,
        stats: Stats,
        exposed_ns: u64,
    ) {
        let steps = self.summary.modes[0].all.count;
        let inside = path.starts_with("step");
        let part = InSteps {
            mode: Mode::Train,
            steps,
            calls: stats.count,
            max_calls: stats.count / steps.max(1),
            total_ns: stats.total,
            driving_ns: stats.total,
            exposed_ns,
            warmup_calls: 0,
            warmup_total_ns: 0,
            warmup_driving_ns: 0,
            warmup_exposed_ns: 0,
            longest_steady_ns: None,
        };
        let name = path.rsplit('/').next().unwrap();
        let row = SectionRow {
            path: path.into(),
            name: name.into(),
            depth: u16::try_from(path.split('/').count()).unwrap(),
            kind,
            phase: phase.map(PhaseName::Known),
            phase_source: phase.map(|_| PhaseSource::Tagged),
            source: stepscope_analyze::summary::FigureSource::Spans,
            stats,
            collapsed_calls: 0,
            slow_excess_ns: stats.p50.map(|_| 0),
            self_ns: Some(stats.total),
            self_busy_ns: None,
            busy_ns: None,
            idle_ns: None,
            cpu_ns: None,
            run_queue_ns: None,
            samples: None,
            tokens: None,
            bytes: None,
            flops: None,
            memory: None,
            resident: None,
            errors: 0,
            device_calls: 0,
            in_steps: if inside { vec![part] } else { Vec::new() },
        };
        let sections = &mut self.summary.sections;
        sections.push(row);
        sections.sort_by(|a, b| a.path.cmp(&b.path));
    }

    fn judge_input(&mut self) {
        let mode = &self.summary.modes[0];
        let input = &mut self.summary.input;
        input.in_steps_ns =
            mode.phases.iter().filter(|row| row.phase.is_input()).map(|row| row.exposed_ns).sum();
        input.steps_ns = mode.steady_ns;
        input.steps = mode.steady.count;
        input.unknown_ns = mode.unattributed_ns;
        let whole = input.steps_ns + input.between_ns;
        let is_known = whole > 0 && (!mode.phases.is_empty() || input.between_ns > 0);
        input.share = is_known.then(|| (input.in_steps_ns + input.between_ns) as f64 / whole as f64);
    }
}

/// A run in which nothing is wrong: 10 ms steps, forward, backward, optimizer, a hidden loader.
pub(crate) fn healthy() -> Run {
    Run::of(200, 10 * MS)
        .phase(Phase::DataWait, "data_wait", 50_000)
        .phase(Phase::Preprocessing, "preprocessing", 100_000)
        .phase(Phase::Forward, "forward", 4 * MS)
        .phase(Phase::Backward, "backward", 4_500_000)
        .phase(Phase::Optimizer, "optimizer", 1_200_000)
        .untagged("metrics", 1, 100_000)
        .own_code(50_000)
        .blocked(50_000)
        .numbered()
        .loader(2, 18 * MS, 0.99)
        .waits(50_000, 18 * MS, 3)
        .live(3_000_000, 0.0)
        .rss(30_000_000, 0.0)
        .leaves("step/forward", 12)
        .threads(98, 1)
        .allocates(120.0, 3.0)
        .measured()
}
