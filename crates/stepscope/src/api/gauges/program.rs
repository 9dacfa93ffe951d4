//! What the layer tells the exporter of its own program at each reading: steps, values, long calls. Of sums that threads keep
//! anyway and of what the background thread has seen: the program's threads do nothing for it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stepscope_core::{Level, Mode, Phase, SectionKind};
use stepscope_metrics::snapshot::{Program, Run, Steps};

use super::longest_calls::LongestCalls;
use crate::api::figures::Figures;
use crate::hot::recorder::Recorder;
use crate::os::diagnostics::print_diagnostic;
use crate::os::memory;
use crate::shared::lock::lock;

/// Figures of steps are taken so often…
const STEPS_EVERY: Duration = Duration::from_secs(5);
/// …and are those of this time.
const STEPS_OF: Duration = Duration::from_secs(60);

/// See the module.
pub(super) struct ProgramWatch {
    recorder: Arc<Recorder>,
    run: Run,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Oldest first; of a little more than the time that is looked at.
    readings: VecDeque<(Instant, Figures)>,
    steps: Steps,
    silence: Silence,
    longest_calls: LongestCalls,
    has_warned: bool,
}

impl ProgramWatch {
    pub(super) fn new(recorder: &Arc<Recorder>) -> Self {
        let identity = &recorder.identity;
        let run = Run {
            id: identity.run_id.as_str().into(),
            attempt: identity.attempt,
            rank: identity.rank,
            world_size: identity.world_size,
            service: identity.service_name.as_str().into(),
            host: identity.host.as_str().into(),
        };
        Self { recorder: Arc::clone(recorder), run, state: Mutex::default() }
    }

    /// Tells everything as it is now.
    pub(super) fn tell(&self, program: &mut Program) {
        let _own = memory::own_call();
        let recorder = &self.recorder;
        if program.run.is_none() {
            program.run = Some(self.run.clone());
        }
        let mut state = lock(&self.state);
        state.take_steps(recorder);
        state.longest_calls.read(recorder, &mut program.longest_s);
        program.values.clear();
        let (number, has_more) = recorder.gauges.with_said(|said| {
            program.values.extend(said.values());
            (said.step(), said.has_more)
        });
        // While nothing is recorded nobody knows whether there are steps.
        let count = (recorder.level() != Level::Off).then(|| recorder.thread_registry.steps());
        let p50_s = state.steps.p50_s;
        let overdue = state.silence.overdue(Instant::now(), count, p50_s);
        program.steps = Steps { number, overdue, ..state.steps };
        if has_more && !std::mem::replace(&mut state.has_warned, true) {
            print_diagnostic(
                "values of more names than can be gauges are recorded: those of the first names are; all are in the profile",
            );
        }
    }
}

impl State {
    fn take_steps(&mut self, recorder: &Recorder) {
        let Self { readings, steps, .. } = self;
        if readings.back().is_some_and(|(taken, _)| taken.elapsed() < STEPS_EVERY) {
            return;
        }
        let now = Figures::of(recorder);
        while readings.get(1).is_some_and(|(taken, _)| taken.elapsed() >= STEPS_OF) {
            readings.pop_front();
        }
        *steps = readings.front().map_or_else(|| summary(&now), |(_, then)| summary(&now.since(then)));
        readings.push_back((Instant::now(), now));
    }
}

/// For how long no step has ended.
#[derive(Debug, Default)]
struct Silence {
    /// Steps so far, and since when there have been so many.
    known: Option<(u64, Instant)>,
    /// The latest that was known.
    median_s: Option<f64>,
}

impl Silence {
    /// The silence over the median step; absent before the first step.
    fn overdue(&mut self, now: Instant, count: Option<u64>, median_s: Option<f64>) -> Option<f64> {
        self.median_s = median_s.or(self.median_s);
        let Some(count) = count else {
            self.known = None;
            return None;
        };
        let since = match self.known {
            Some((known, since)) if known == count => since,
            _ => self.known.insert((count, now)).1,
        };
        let median_s = self.median_s.filter(|median_s| count > 0 && *median_s > 0.0)?;
        Some(now.saturating_duration_since(since).as_secs_f64() / median_s)
    }
}

/// Absent where no step has ended.
fn summary(figures: &Figures) -> Steps {
    let steps = figures.sections().iter().filter(|section| section.kind == SectionKind::Step);
    let Some(most) = steps.max_by_key(|section| section.count) else { return Steps::default() };
    let seconds = |ns: u64| ns as f64 / 1e9;
    let inside = format!("{}/", most.path);
    let waits = figures.sections().iter().filter(|section| {
        let is_wait = section.phase == Some(Phase::DataWait);
        is_wait && section.path.strip_prefix(&inside).is_some_and(|rest| !rest.is_empty())
    });
    let waited_ns: u64 = waits.map(|section| section.self_busy_ns).sum();
    Steps {
        p50_s: Some(seconds(most.p50_ns)),
        p95_s: Some(seconds(most.p95_ns)),
        sample_rate: figures
            .steps(Mode::Train)
            .samples
            .filter(|_| figures.elapsed() > Duration::ZERO)
            .map(|samples| samples as f64 / figures.elapsed().as_secs_f64()),
        data_wait_share: (most.total_ns > 0).then(|| (waited_ns as f64 / most.total_ns as f64).min(1.0)),
        // Of what is not in these figures.
        ..Steps::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_measured_in_steps_and_not_while_nothing_is_recorded() {
        let start = Instant::now();
        let mut silence = Silence::default();
        let mut at = |second: u64, count: Option<u64>, median_s: Option<f64>| {
            silence.overdue(start + Duration::from_secs(second), count, median_s)
        };
        assert_eq!(at(0, Some(0), None), None);
        assert_eq!(at(1, Some(0), Some(0.5)), None, "no step has ended");
        assert_eq!(at(2, Some(4), Some(0.5)), Some(0.0));
        assert_eq!(at(5, Some(4), Some(0.5)), Some(6.0));
        assert_eq!(at(8, Some(4), None), Some(12.0), "the last minute had no step, the one before did");
        assert_eq!(at(9, Some(5), None), Some(0.0));
        assert_eq!(at(10, None, None), None);
        assert_eq!(at(90, Some(5), None), Some(0.0), "what went on meanwhile is not known");
    }
}
