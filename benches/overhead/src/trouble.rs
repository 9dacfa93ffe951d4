//! Steps of one training whose receiver changes between well and in trouble, in the order well, trouble, trouble, well:
//! whatever the machine does meanwhile does it to both. What is wrong with a receiver is in `receiver`.

use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

use stepscope::{Guard, Level, SpanFigures};

use crate::clocks::{process_cpu_ns, thread_cpu_ns};
use crate::receiver::{Receiver, Trouble};
use crate::statistics::mean_and_bound;

/// How long steps of a phase count.
const COUNTED: Duration = Duration::from_secs(2);
/// How long those before do not, after a change: the queue behind a receiver in trouble begins to fill.
const SETTLING: Duration = Duration::from_secs(1);
/// How long at most until a receiver that is well again has what had waited: a pause between two tries, and the work.
const DRAINING: Duration = Duration::from_secs(15);
/// How often is looked whether it has.
const LOOK: Duration = Duration::from_millis(200);
/// What warms up, and counts for nothing.
const WARM_UP: Duration = Duration::from_secs(3);

/// Phases of a round.
const PHASES: usize = 4;

type Failure = Box<dyn Error + Send + Sync>;

/// What the steps of a phase took, and what the whole process did meanwhile.
#[derive(Debug, Clone, Copy, Default)]
struct Phase {
    steps: usize,
    wall_ns: f64,
    thread_ns: f64,
    process_ns: f64,
}

impl Phase {
    /// Means of a step: wall time, CPU time of its thread, of the process.
    fn means(&self) -> [f64; 3] {
        [self.wall_ns, self.thread_ns, self.process_ns].map(|ns| ns / self.steps.max(1) as f64)
    }
}

/// Where in a phase the training is.
enum Now {
    /// Nothing counts until this time, and until what had waited (emitted spans, as of a look after that time) is gone.
    Settles { until: Instant, latest: Instant, waited: Option<u64> },
    /// Steps count until this time; the CPU time of the process was this much at the beginning.
    Counts { until: Instant, since_ns: u64 },
    /// All rounds are over, or nothing more can come of them.
    Over,
}

/// See the module.
pub(crate) struct Course {
    trouble: Trouble,
    /// Ends before the receiver does, which is behind it for that.
    run: Guard,
    receiver: Receiver,
    rounds: usize,
    now: Now,
    /// The one that is under way.
    phase: Phase,
    phases: Vec<Phase>,
    /// Phases that began to count although not all that had waited was gone.
    undrained: usize,
    failure: Option<Failure>,
}

impl Course {
    /// Starts the receiver, and the recorder that sends to it.
    pub(crate) fn start(trouble: Trouble, rounds: usize) -> Result<Self, Failure> {
        let receiver = Receiver::start()?;
        let run = stepscope::builder().level(Level::Detailed).endpoint(receiver.url()).install();
        let until = Instant::now() + WARM_UP;
        let now = Now::Settles { until, latest: until + DRAINING, waited: None };
        let (phase, phases) = (Phase::default(), Vec::new());
        Ok(Self { trouble, receiver, run, rounds, now, phase, phases, undrained: 0, failure: None })
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.now, Now::Over)
    }

    /// What is wrong with the receiver in the phase under way.
    fn present(&self) -> Trouble {
        if matches!(self.phases.len() % PHASES, 1 | 2) { self.trouble } else { Trouble::None }
    }

    /// Does a step.
    pub(crate) fn step<R>(&mut self, step: impl FnOnce() -> R) -> R {
        if let Err(failure) = self.advance() {
            (self.failure, self.now) = (Some(failure), Now::Over);
        }
        let (start, start_ns) = (Instant::now(), thread_cpu_ns());
        let result = step();
        if let Now::Counts { .. } = self.now {
            self.phase.thread_ns += (thread_cpu_ns() - start_ns) as f64;
            self.phase.wall_ns += start.elapsed().as_nanos() as f64;
            self.phase.steps += 1;
        }
        result
    }

    /// Goes on with what is next, when its time has come.
    fn advance(&mut self) -> Result<(), Failure> {
        let time = Instant::now();
        match self.now {
            Now::Settles { until, .. } | Now::Counts { until, .. } if time < until => {}
            Now::Settles { latest, waited, .. } => {
                // In trouble, it is not to be gone.
                let is_well = self.present() == Trouble::None;
                let spans = is_well.then(|| self.run.handle().figures().spans().clone());
                let is_drained =
                    spans.as_ref().is_none_or(|spans| waited.is_some_and(|all| gone(spans) >= all));
                if is_drained || time >= latest {
                    self.undrained += usize::from(!is_drained);
                    self.count();
                } else {
                    let waited = waited.or(spans.map(|spans| spans.emitted));
                    self.now = Now::Settles { until: time + LOOK, latest, waited };
                }
            }
            Now::Counts { since_ns, .. } => {
                let mut phase = std::mem::take(&mut self.phase);
                phase.process_ns = process_cpu_ns().saturating_sub(since_ns) as f64;
                self.phases.push(phase);
                if self.phases.len() / PHASES >= self.rounds {
                    self.now = Now::Over;
                } else if self.phases.len().is_multiple_of(2) {
                    // As it was: nothing has to settle.
                    self.count();
                } else {
                    self.receiver.be(self.present())?;
                    let until = Instant::now() + SETTLING;
                    self.now = Now::Settles { until, latest: until + DRAINING, waited: None };
                }
            }
            Now::Over => {}
        }
        Ok(())
    }

    /// From now on, steps count.
    fn count(&mut self) {
        self.now = Now::Counts { until: Instant::now() + COUNTED, since_ns: process_cpu_ns() };
    }

    /// What came out, in a line.
    pub(crate) fn finish(self) -> Result<Difference, Failure> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let _ = self.run.flush(DRAINING);
        let spans = self.run.handle().figures().spans().clone();
        let (rounds, _) = self.phases.as_chunks::<PHASES>();
        let compare = |figure: usize| {
            let mean = |a: &Phase, b: &Phase| {
                let figure = |phase: &Phase| phase.means().get(figure).copied().unwrap_or(f64::NAN);
                f64::midpoint(figure(a), figure(b))
            };
            let well: Vec<f64> = rounds.iter().map(|[before, .., after]| mean(before, after)).collect();
            let ill = rounds.iter().map(|[_, first, second, _]| mean(first, second));
            let differences: Vec<f64> = ill.zip(&well).map(|(ill, well)| ill - well).collect();
            let (usual, _) = mean_and_bound(&well);
            let (mean, bound) = mean_and_bound(&differences);
            Percent { usual_ns: usual, mean: 100.0 * mean / usual, bound: 100.0 * bound / usual }
        };
        let steps = self.phases.iter().map(|phase| phase.steps).sum();
        let [wall, thread, process] = [0, 1, 2].map(compare);
        Ok(Difference {
            rounds: rounds.len(),
            steps,
            wall,
            thread,
            process,
            spans,
            undrained: self.undrained,
        })
    }
}

/// Spans that wait for nothing any more.
fn gone(spans: &SpanFigures) -> u64 {
    let [acknowledged, lost] = sent(spans);
    acknowledged + lost + spans.dropped.iter().map(|(_, count)| count).sum::<u64>()
}

/// Spans that the receiver has taken, and those that were lost on the way to it: there is no other place for them.
fn sent(spans: &SpanFigures) -> [u64; 2] {
    spans.sinks.iter().fold([0, 0], |[taken, lost], sink| [taken + sink.1, lost + sink.2])
}

/// In percent of what a step takes while the receiver is well.
struct Percent {
    usual_ns: f64,
    mean: f64,
    bound: f64,
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+.3} % (at most {:+.3} %)", self.mean, self.bound)
    }
}

/// What trouble changes.
pub(crate) struct Difference {
    rounds: usize,
    steps: usize,
    wall: Percent,
    thread: Percent,
    process: Percent,
    spans: SpanFigures,
    undrained: usize,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rounds, steps, wall, thread, process, spans, undrained } = self;
        let [acknowledged, lost] = sent(spans);
        write!(
            f,
            "{rounds} rounds, {steps} steps of {:.0} us: step time {wall}, its thread's CPU time {thread}, the process' \
             {process}; of {} spans {acknowledged} were acknowledged, {lost} lost in sending",
            wall.usual_ns / 1e3,
            spans.emitted,
        )?;
        for (reason, count) in &spans.dropped {
            write!(f, ", {count} before ({})", reason.as_str())?;
        }
        if *undrained > 0 {
            write!(f, "; {undrained} phases began with spans that still waited")?;
        }
        Ok(())
    }
}
