//! Steps of one training whose receiver changes between well and in trouble, in the order well, trouble, trouble, well, and
//! in each of these phases with stepscope and without, in rounds (`rounds`): whatever the machine does meanwhile does it to
//! both. What is wrong with a receiver is in `receiver`.

use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

use stepscope::{Guard, Level, SpanFigures};
use tracing::Dispatch;

use crate::clocks::{ThreadClock, process_cpu_ns, thread_cpu_ns};
use crate::receiver::{Receiver, Trouble};
use crate::rounds::{self, ALIKE, ROUND};
use crate::statistics::{difference_and_bound, mean, mean_and_bound};

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

/// Phases of a course: well, in trouble, in trouble, well.
const PHASES: usize = 4;

type Failure = Box<dyn Error + Send + Sync>;

/// What the steps of a phase took, and what other threads did meanwhile.
#[derive(Debug, Clone, Default)]
struct Phase {
    steps: Vec<Step>,
    process_ns: f64,
    recorder_ns: f64,
}

/// What a step took: wall time, CPU time of its thread.
type Step = [f64; 2];

impl Phase {
    /// How much more steps with stepscope took than those without, round by round, in percent.
    fn more_with(&self, figure: usize) -> impl Iterator<Item = f64> {
        let (all, _) = self.steps.as_chunks::<ROUND>();
        all.iter().map(move |round| {
            let [without, more] = rounds::compare(round, |step| figure_of(step, figure));
            100.0 * more / without
        })
    }

    /// The mean of a figure over all steps.
    fn step_ns(&self, figure: usize) -> f64 {
        mean(&self.steps.iter().map(|step| figure_of(step, figure)).collect::<Vec<_>>())
    }

    /// Of what the process does for a step.
    fn process_step_ns(&self) -> f64 {
        self.process_ns / self.steps.len().max(1) as f64
    }

    /// What the recorder's thread does for a step that is recorded, of which there are as many as others, in percent of
    /// a step's CPU time.
    fn recorder(&self) -> f64 {
        100.0 * 2.0 * self.recorder_ns / self.steps.iter().map(|[_, thread_ns]| thread_ns).sum::<f64>()
    }
}

fn figure_of(step: &Step, figure: usize) -> f64 {
    step.get(figure).copied().unwrap_or(f64::NAN)
}

/// Where in a phase the training is.
enum Now {
    /// Nothing counts until this time, and until what had waited (emitted spans, as of a look after that time) is gone.
    Settles { until: Instant, latest: Instant, waited: Option<u64> },
    /// Steps count until this time; the CPU time of the process and of the recorder's thread was this much at the beginning.
    Counts { until: Instant, since_ns: [u64; 2] },
    /// All rounds are over, or nothing more can come of them.
    Over,
}

/// See the module.
pub(crate) struct Course {
    trouble: Trouble,
    /// Ends before the receiver does, which is behind it for that.
    run: Guard,
    receiver: Receiver,
    recorder: Option<ThreadClock>,
    courses: usize,
    now: Now,
    /// Steps since the phase under way began, or since those of it began to count.
    place: usize,
    /// The one that is under way.
    phase: Phase,
    phases: Vec<Phase>,
    /// Phases that began to count although not all that had waited was gone.
    undrained: usize,
    failure: Option<Failure>,
}

impl Course {
    /// Starts the receiver, and the recorder that sends to it.
    pub(crate) fn start(trouble: Trouble, courses: usize) -> Result<Self, Failure> {
        let receiver = Receiver::start()?;
        let run = stepscope::builder().level(Level::Detailed).endpoint(receiver.url()).install();
        let until = Instant::now() + WARM_UP;
        let now = Now::Settles { until, latest: until + DRAINING, waited: None };
        let (phase, phases) = (Phase::default(), Vec::new());
        let (recorder, place, undrained, failure) = (None, 0, 0, None);
        Ok(Self { trouble, run, receiver, recorder, courses, now, place, phase, phases, undrained, failure })
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
        let is_without = rounds::is_without(self.place);
        if self.place.is_multiple_of(ALIKE) {
            self.run.handle().set_level(if is_without { Level::Off } else { Level::Detailed });
        }
        self.place += 1;
        // As if no subscriber had been installed, but for the spans' way to one that does nothing.
        let _without = is_without.then(|| tracing::dispatcher::set_default(&Dispatch::none()));
        let (start, start_ns) = (Instant::now(), thread_cpu_ns());
        let result = step();
        if let Now::Counts { .. } = self.now {
            let thread_ns = (thread_cpu_ns() - start_ns) as f64;
            self.phase.steps.push([start.elapsed().as_nanos() as f64, thread_ns]);
        }
        result
    }

    /// CPU time of the process, and of the recorder's thread.
    fn cpu_ns(&self) -> [u64; 2] {
        [process_cpu_ns(), self.recorder.map_or(0, ThreadClock::ns)]
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
                let [now_ns, [process_ns, recorder_ns]] = [self.cpu_ns(), since_ns];
                let mut phase = std::mem::take(&mut self.phase);
                phase.process_ns = now_ns[0].saturating_sub(process_ns) as f64;
                phase.recorder_ns = now_ns[1].saturating_sub(recorder_ns) as f64;
                self.phases.push(phase);
                if self.phases.len() / PHASES >= self.courses {
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
        // It has its name by now.
        self.recorder = self.recorder.or_else(|| ThreadClock::of("stepscope"));
        (self.place, self.now) =
            (0, Now::Counts { until: Instant::now() + COUNTED, since_ns: self.cpu_ns() });
    }

    /// What came out, in a line.
    pub(crate) fn finish(self) -> Result<Difference, Failure> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let _ = self.run.flush(DRAINING);
        let spans = self.run.handle().figures().spans().clone();
        let (courses, _) = self.phases.as_chunks::<PHASES>();
        let more_with = [0, 1].map(|figure| {
            let of = |places: [usize; 2]| -> Vec<f64> {
                let phases = courses.iter().flat_map(|course| places.map(|place| course.get(place)));
                phases.flatten().flat_map(|phase| phase.more_with(figure)).collect()
            };
            let [well, ill] = [of([0, 3]), of([1, 2])];
            More {
                well: Percent::of(mean_and_bound(&well)),
                ill: Percent::of(mean_and_bound(&ill)),
                difference: Percent::of(difference_and_bound(&well, &ill)),
            }
        });
        // Of each course one figure.
        let compare = |figure: &dyn Fn(&Phase) -> f64| {
            let both = |a: &Phase, b: &Phase| f64::midpoint(figure(a), figure(b));
            let well: Vec<f64> = courses.iter().map(|[before, .., after]| both(before, after)).collect();
            let ill = courses.iter().map(|[_, first, second, _]| both(first, second));
            let differences: Vec<f64> = ill.zip(&well).map(|(ill, well)| ill - well).collect();
            (mean_and_bound(&well).0, mean_and_bound(&differences))
        };
        let percent = |(usual, (mean, bound))| Percent::of((100.0 * mean / usual, 100.0 * bound / usual));
        let step = compare(&|phase| phase.step_ns(0));
        let (recorder, recorder_more) = compare(&Phase::recorder);
        Ok(Difference {
            courses: courses.len(),
            steps: self.phases.iter().map(|phase| phase.steps.len()).sum(),
            step_ns: step.0,
            more_with,
            recorder: (recorder, Percent::of(recorder_more)),
            all: [
                percent(step),
                percent(compare(&|phase| phase.step_ns(1))),
                percent(compare(&Phase::process_step_ns)),
            ],
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

/// A mean in percent of a step, and its bound.
struct Percent {
    mean: f64,
    bound: f64,
}

impl Percent {
    fn of((mean, bound): (f64, f64)) -> Self {
        Self { mean, bound }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+.3} % (at most {:+.3} %)", self.mean, self.bound)
    }
}

/// How much more a step with stepscope takes than one without.
struct More {
    /// While the receiver is well.
    well: Percent,
    /// While it is in trouble.
    ill: Percent,
    /// By how much that is more.
    difference: Percent,
}

/// What trouble changes.
pub(crate) struct Difference {
    courses: usize,
    steps: usize,
    /// While the receiver is well.
    step_ns: f64,
    /// By wall time, and by CPU time of the step's thread.
    more_with: [More; 2],
    /// What the recorder's thread does while the receiver is well, and how much more in trouble.
    recorder: (f64, Percent),
    /// Of all steps, those in trouble and those while it is well: wall time, CPU time of the thread and of the process.
    all: [Percent; 3],
    spans: SpanFigures,
    undrained: usize,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { courses, steps, step_ns, more_with, recorder, all, spans, undrained } = self;
        let [acknowledged, lost] = sent(spans);
        write!(f, "{courses} rounds, {steps} steps of {:.0} us", step_ns / 1e3)?;
        for (name, more) in ["step time", "its thread's CPU time"].iter().zip(more_with) {
            let More { well, ill, difference } = more;
            write!(f, "\n  {name} with, beside without: well {well}, in trouble {ill}: {difference} more")?;
        }
        let (usual, more) = recorder;
        write!(f, "\n  the recorder's thread for a step with: well {usual:+.3} %; in trouble {more} more")?;
        let [wall, thread, process] = all;
        write!(
            f,
            "\n  all steps, in trouble beside well: time {wall}, CPU time of their thread {thread}, of the process"
        )?;
        write!(
            f,
            " {process}\n  of {} spans {acknowledged} were acknowledged, {lost} lost in sending",
            spans.emitted
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
