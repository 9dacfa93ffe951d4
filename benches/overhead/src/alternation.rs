//! Steps with and without stepscope in one process, in rounds (`rounds`), or all of them with.

use std::fmt;
use std::fs;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use stepscope::{Guard, Level};
use tracing::Dispatch;

use crate::clocks::{ThreadClock, process_cpu_ns, thread_cpu_ns, thread_faults};
use crate::rounds::{self, ALIKE, ROUND};
use crate::statistics::{mean, mean_and_bound};

/// Steps that warm up, and count for nothing: whole rounds.
const WARM_UP: usize = 13 * ROUND;

/// One in so many bytes is remembered, by default.
pub(crate) const LIVE_BYTES: u64 = 512 << 10;

/// Steps of a run for callgrind that it does not count.
pub(crate) const UNCOUNTED: usize = 5;

/// Where callgrind counts.
#[inline(never)]
fn counted<R>(step: impl FnOnce() -> R) -> R {
    step()
}

/// How stepscope records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Not at all.
    None,
    /// Not at all, but what the system is asked for at both ends of a step is asked for: CPU time and resident memory.
    Figures,
    /// By the root subscriber, at `basic`.
    Root,
    /// By the layer on `Registry`.
    Layer(Level),
    /// By the layer at `detailed`, without live memory too: only that comes and goes.
    Live,
}

impl Mode {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "none" => Some(Self::None),
            "figures" => Some(Self::Figures),
            "root" => Some(Self::Root),
            "live" => Some(Self::Live),
            _ => Level::parse(text).map(Self::Layer),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Figures => "figures",
            Self::Root => "root",
            Self::Live => "live",
            Self::Layer(level) => level.as_str(),
        }
    }

    fn level(self) -> Level {
        match self {
            Self::None | Self::Figures => Level::Off,
            Self::Root => Level::Basic,
            Self::Live => Level::Detailed,
            Self::Layer(level) => level,
        }
    }
}

/// What a step took.
#[derive(Debug, Clone, Copy)]
struct Step {
    wall_ns: f64,
    thread_ns: f64,
    /// Of all threads but the recorder's, which works when it likes.
    others_ns: f64,
    faults: f64,
}

/// See the module.
pub(crate) struct Alternation {
    mode: Mode,
    alternates: bool,
    run: Option<Guard>,
    resident: fs::File,
    _directory: tempfile::TempDir,
    steps: Vec<Step>,
    /// One more than callgrind still is not to count.
    uncounted: usize,
    recorder: Option<ThreadClock>,
    /// CPU time of the recorder's thread when the warm-up was over.
    since_ns: u64,
}

impl Alternation {
    /// Steps with and without.
    pub(crate) fn between(mode: Mode) -> std::io::Result<Self> {
        Self::new(mode, true)
    }

    /// Each step with.
    pub(crate) fn always(mode: Mode) -> std::io::Result<Self> {
        Self::new(mode, false)
    }

    fn new(mode: Mode, alternates: bool) -> std::io::Result<Self> {
        let directory = tempfile::tempdir()?;
        let builder = stepscope::builder().level(mode.level()).directory(directory.path());
        let run = match mode {
            Mode::None | Mode::Figures => None,
            Mode::Root => Some(builder.install_root()),
            Mode::Layer(_) | Mode::Live => Some(builder.install()),
        };
        Ok(Self {
            mode,
            alternates,
            run,
            resident: fs::File::open("/proc/self/statm")?,
            _directory: directory,
            steps: Vec::with_capacity(1 << 16),
            uncounted: UNCOUNTED + 1,
            recorder: None,
            since_ns: 0,
        })
    }

    /// Does a step, with stepscope or without.
    pub(crate) fn step<R>(&mut self, step: impl FnOnce() -> R) -> R {
        if !self.alternates {
            self.uncounted = self.uncounted.saturating_sub(1);
            return if self.uncounted > 0 { step() } else { counted(step) };
        }
        if self.steps.len() == WARM_UP {
            // It has its name by now.
            self.recorder = ThreadClock::of("stepscope");
            self.since_ns = self.recorder_ns();
        }
        let is_without = rounds::is_without(self.steps.len());
        if self.mode == Mode::Live {
            if self.steps.len().is_multiple_of(ALIKE) {
                stepscope_mem::live::start(if is_without { 0 } else { LIVE_BYTES });
            }
        } else if self.steps.len().is_multiple_of(ALIKE)
            && let Some(run) = &self.run
        {
            run.handle().set_level(if is_without { Level::Off } else { self.mode.level() });
        }
        // As if no subscriber had been installed, but for the spans' way to one that does nothing.
        let has_nobody = is_without && self.mode != Mode::Live;
        let _without = has_nobody.then(|| tracing::dispatcher::set_default(&Dispatch::none()));
        let faults = thread_faults();
        let others_ns = self.others_ns();
        let (start, start_ns) = (Instant::now(), thread_cpu_ns());
        let asks = self.mode == Mode::Figures && !is_without;
        if asks {
            self.ask();
        }
        let result = step();
        if asks {
            self.ask();
        }
        let thread_ns = (thread_cpu_ns() - start_ns) as f64;
        let wall_ns = start.elapsed().as_nanos() as f64;
        let others_ns = self.others_ns().saturating_sub(others_ns) as f64;
        let faults = (thread_faults() - faults) as f64;
        self.steps.push(Step { wall_ns, thread_ns, others_ns, faults });
        result
    }

    fn recorder_ns(&self) -> u64 {
        self.recorder.map_or(0, ThreadClock::ns)
    }

    fn others_ns(&self) -> u64 {
        process_cpu_ns().saturating_sub(self.recorder_ns())
    }

    /// What a step asks the system for at `basic`.
    fn ask(&self) {
        let mut text = [0; 256];
        let read = self.resident.read_at(&mut text, 0);
        std::hint::black_box((thread_cpu_ns(), read.is_ok(), text));
    }

    /// What came out, in a line.
    pub(crate) fn finish(self) -> Comparison {
        if let Some(run) = &self.run {
            let _ = run.flush(Duration::from_secs(10));
        }
        let recorder_ns = self.recorder_ns().saturating_sub(self.since_ns) as f64;
        let (all, _) = self.steps.get(WARM_UP..).unwrap_or_default().as_chunks::<ROUND>();
        let compare = |figure: fn(&Step) -> f64| {
            let compared = all.iter().map(|round| rounds::compare(round, figure));
            let (without, differences): (Vec<f64>, Vec<f64>) =
                compared.map(|[without, more]| (without, more)).unzip();
            let (usual, _) = mean_and_bound(&without);
            let (trimmed, bound) = mean_and_bound(&differences);
            (usual, [trimmed, bound, mean(&differences)])
        };
        let percent = |(usual, differences): (f64, [f64; 3])| differences.map(|ns| 100.0 * ns / usual);
        let wall = compare(|step| step.wall_ns);
        let cpu = compare(|step| step.thread_ns);
        let (others_ns, [others, others_bound, _]) = compare(|step| step.others_ns);
        let (faults, [.., more_faults]) = compare(|step| step.faults);
        let wall_ns = wall.0;
        let [wall, wall_bound, _] = percent(wall);
        let [thread, thread_bound, thread_of_all] = percent(cpu);
        let steps = all.len() * ROUND;
        // The recorder's thread works for half of the steps; all that it did is known.
        let both = self.mode == Mode::Live;
        let background_ns = if both { 0.0 } else { 2.0 * recorder_ns / steps.max(1) as f64 };
        let process = |more_ns: f64| 100.0 * (more_ns + background_ns) / others_ns;
        Comparison {
            steps,
            wall_ns,
            wall,
            wall_bound,
            thread,
            thread_bound,
            thread_of_all,
            process: process(others),
            process_bound: process(others_bound),
            faults: [faults, more_faults],
        }
    }
}

/// Differences in percent of what it is without.
pub(crate) struct Comparison {
    steps: usize,
    wall_ns: f64,
    wall: f64,
    wall_bound: f64,
    thread: f64,
    thread_bound: f64,
    /// Nothing trimmed away.
    thread_of_all: f64,
    process: f64,
    process_bound: f64,
    /// Of a step without, and how many more one with has.
    faults: [f64; 2],
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} steps of {:.0} us: step time {:+.3} % (at most {:+.3} %), its thread's CPU time {:+.3} % (at most \
             {:+.3} %; of all rounds {:+.3} %), the process' {:+.3} % (at most {:+.3} %); {:.1} page faults, {:+.2}",
            self.steps,
            self.wall_ns / 1e3,
            self.wall,
            self.wall_bound,
            self.thread,
            self.thread_bound,
            self.thread_of_all,
            self.process,
            self.process_bound,
            self.faults[0],
            self.faults[1]
        )
    }
}
