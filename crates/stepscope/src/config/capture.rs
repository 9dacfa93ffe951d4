//! Some steps recorded more closely than the others, by a plan or on demand: the level rises with the first of them and
//! falls with the first step after them. How a demand comes from outside of the program is in `demand`.

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use stepscope_core::Level;

use crate::hot::recorder::{Recorder, lock};
use crate::os::clock::now_ns;
use crate::os::memory;

/// Which steps are recorded at a higher level: for [`Builder::capture`](crate::Builder::capture) and, as text,
/// `STEPSCOPE_CAPTURE`.
///
/// Of all steps that begin in the process, whatever their number and mode: first `skip` go by, then in turn `wait` go by and
/// `steps` are captured, `repeat` times.
///
/// ```
/// use stepscope::{Capture, Level};
///
/// // Steps 10 to 19 of each thousand.
/// let capture = Capture::steps(10).skip(10).wait(990).level(Level::Comprehensive);
/// assert_eq!(Ok(capture), "steps=10,skip=10,wait=990,level=comprehensive".parse());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a capture does nothing until a builder has it"]
pub struct Capture {
    steps: u64,
    skip: u64,
    wait: u64,
    repeat: Option<u64>,
    level: Level,
}

impl Capture {
    /// The name of the file in the directory of a process that asks it for a capture of its next steps: a text that
    /// is one of this type, of which `steps` and `level` count. The process looks for it twice a second, and removes it.
    pub const REQUEST_FILE: &'static str = "capture.request";

    /// So many steps at [`Level::Comprehensive`], once, from the first on: see the other methods.
    pub fn steps(steps: u64) -> Self {
        Self { steps: steps.max(1), skip: 0, wait: 0, repeat: None, level: Level::Comprehensive }
    }

    /// Lets so many steps go by at the start of the run (`skip=10`; default: 0).
    pub fn skip(mut self, steps: u64) -> Self {
        self.skip = steps;
        self
    }

    /// Lets so many steps go by before those captured, each time (`wait=990`; default: 0, and then it is done once).
    pub fn wait(mut self, steps: u64) -> Self {
        self.wait = steps;
        self
    }

    /// Captures so many times (`repeat=3`; default: until the end of the run, or once where none are waited for).
    pub fn repeat(mut self, times: u64) -> Self {
        self.repeat = Some(times);
        self
    }

    /// Captures at this level (`level=detailed`; default: comprehensive). Where the run is at a higher one, that stays.
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// How many steps at which level.
    pub(crate) fn extent(&self) -> (u64, Level) {
        (self.steps, self.level)
    }

    /// Whether the step with so many before it is the first of some that are captured; `None` when there are none
    /// any more.
    fn begins_at(&self, before: u64) -> Option<bool> {
        let Some(position) = before.checked_sub(self.skip) else { return Some(false) };
        let round = self.wait.saturating_add(self.steps);
        let times = self.repeat.unwrap_or(if self.wait == 0 { 1 } else { u64::MAX });
        (position / round < times).then_some(position % round == self.wait)
    }
}

impl fmt::Display for Capture {
    /// The text that it is parsed from; without what is the default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "steps={}", self.steps)?;
        for (key, steps) in [("skip", self.skip), ("wait", self.wait)] {
            if steps > 0 {
                write!(f, ",{key}={steps}")?;
            }
        }
        if let Some(times) = self.repeat {
            write!(f, ",repeat={times}")?;
        }
        write!(f, ",level={}", self.level)
    }
}

/// A part of a capture's text that is none of those that there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureError(String);

impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is none of steps=10, skip=10, wait=990, repeat=3, level=basic, level=detailed, \
             level=comprehensive",
            self.0
        )
    }
}

impl std::error::Error for CaptureError {}

impl FromStr for Capture {
    type Err = CaptureError;

    /// Parts `key=value`, separated by commas; ten steps where it does not say how many.
    fn from_str(text: &str) -> Result<Self, CaptureError> {
        let mut capture = Self::steps(10);
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let refused = || CaptureError(part.to_owned());
            let (key, value) = part.split_once('=').ok_or_else(refused)?;
            let value = value.trim();
            let number = || value.parse::<u64>().map_err(|_| refused());
            match key.trim() {
                "steps" => capture.steps = number().ok().filter(|&steps| steps > 0).ok_or_else(refused)?,
                "skip" => capture.skip = number()?,
                "wait" => capture.wait = number()?,
                "repeat" => capture.repeat = Some(number()?),
                "level" => {
                    let level = Level::parse(&value.to_ascii_lowercase());
                    capture.level = level.filter(|&level| level > Level::Off).ok_or_else(refused)?;
                }
                _ => return Err(refused()),
            }
        }
        Ok(capture)
    }
}

/// A capture that goes on.
#[derive(Debug)]
struct Running {
    /// Steps that are still to begin.
    left: u64,
    before: Level,
    level: Level,
}

#[derive(Debug, Default)]
struct State {
    plan: Option<Capture>,
    /// Steps that have begun, as long as there is a plan.
    begun: u64,
    /// How many steps are demanded, and their level.
    demanded: Option<(u64, Level)>,
    running: Option<Running>,
    /// When captures went on, in the order of the clock: from the first of these times until the second one. The last ones.
    times: VecDeque<(u64, u64)>,
}

/// Captures that are remembered, the one that goes on among them.
const MAX_TIMES: usize = 256;

/// The captures of a run.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    /// Whether steps have to be counted.
    is_wanted: AtomicBool,
    /// Whether there has been one.
    has_captured: AtomicBool,
    state: Mutex<State>,
}

impl Captures {
    pub(crate) fn new(plan: Option<Capture>) -> Self {
        let is_wanted = AtomicBool::new(plan.is_some());
        let has_captured = AtomicBool::new(false);
        Self { is_wanted, has_captured, state: Mutex::new(State { plan, ..State::default() }) }
    }

    /// Captures the next `steps` that begin; of two demands before them the later one holds.
    pub(crate) fn demand(&self, steps: u64, level: Level) {
        if steps > 0 {
            let mut state = lock(&self.state);
            state.demanded = Some((steps, level));
            self.is_wanted.store(true, Ordering::Relaxed);
        }
    }

    /// A step is about to begin.
    #[inline]
    pub(crate) fn step_begins(&self, recorder: &Recorder) {
        if self.is_wanted.load(Ordering::Relaxed) {
            self.turn(|| recorder.level(), |level| recorder.set_level(level));
        }
    }

    /// Whether a capture went on when something began at this time.
    pub(crate) fn covers(&self, start_ns: u64) -> bool {
        self.has_captured.load(Ordering::Relaxed) && {
            let times = &lock(&self.state).times;
            let next = times.partition_point(|&(_, end_ns)| end_ns <= start_ns);
            times.get(next).is_some_and(|&(begin_ns, _)| begin_ns <= start_ns)
        }
    }

    #[cold]
    fn turn(&self, level: impl Fn() -> Level, set_level: impl Fn(Level)) {
        let _own = memory::own_call();
        let mut state = lock(&self.state);
        let planned = state.plan.map(|plan| plan.begins_at(state.begun));
        state.begun = state.begun.saturating_add(1);
        let starts = planned.flatten() == Some(true);
        if planned == Some(None) {
            state.plan = None;
        }
        if let Some(running) = &mut state.running {
            if running.left > 0 {
                // What is demanded or planned meanwhile waits, or is a part of this one.
                running.left -= 1;
                return;
            }
            // Unless the program has chosen another level meanwhile.
            if level() == running.level {
                set_level(running.before);
            }
            state.running = None;
            if let Some((_, end_ns)) = state.times.back_mut() {
                *end_ns = now_ns();
            }
        }
        let planned = state.plan.filter(|_| starts).map(|plan| (plan.steps, plan.level));
        if let Some((steps, at_level)) = state.demanded.take().or(planned) {
            let before = level();
            let at_level = at_level.max(before);
            if state.times.len() >= MAX_TIMES {
                state.times.pop_front();
            }
            state.times.push_back((now_ns(), u64::MAX));
            self.has_captured.store(true, Ordering::Relaxed);
            if at_level > before {
                set_level(at_level);
            }
            state.running = Some(Running { left: steps - 1, before, level: at_level });
        }
        if state.plan.is_none() && state.running.is_none() {
            self.is_wanted.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// The levels at which so many steps are recorded, as letters; `each` is called before each.
    fn levels(captures: &Captures, steps: usize, each: impl Fn(usize, &Cell<Level>)) -> String {
        let level = Cell::new(Level::Basic);
        let step = |number| {
            each(number, &level);
            if captures.is_wanted.load(Ordering::Relaxed) {
                captures.turn(|| level.get(), |to| level.set(to));
            }
            match level.get() {
                Level::Off => 'o',
                Level::Basic => '.',
                Level::Detailed => 'd',
                Level::Comprehensive => 'C',
            }
        };
        (0..steps).map(step).collect()
    }

    fn planned(text: &str, steps: usize) -> String {
        levels(&Captures::new(Some(text.parse().unwrap())), steps, |_, _| ())
    }

    #[test]
    fn a_plan_captures_the_steps_that_it_names() {
        assert_eq!(planned("steps=2", 6), "CC....");
        assert_eq!(planned("steps=2,skip=1", 6), ".CC...");
        assert_eq!(planned("steps=2,wait=3", 14), "...CC...CC...C");
        assert_eq!(planned("steps=1,skip=2,wait=2,repeat=2,level=detailed", 14), "....d..d......");
        assert_eq!(planned("steps=1,repeat=3", 6), "CCC...");
        assert_eq!(planned("steps=1,wait=1,repeat=0", 4), "....");
        assert_eq!(planned("level=basic,steps=3", 4), "....");
    }

    #[test]
    fn a_demand_is_met_by_the_next_steps() {
        let captures = Captures::default();
        let told = levels(&captures, 12, |number, _| match number {
            2 => captures.demand(3, Level::Comprehensive),
            3 => captures.demand(1, Level::Detailed),
            9 => captures.demand(0, Level::Comprehensive),
            _ => {}
        });
        // The second one waits for the end of the first.
        assert_eq!(told, "..CCCd......");
        assert!(!captures.is_wanted.load(Ordering::Relaxed));
    }

    #[test]
    fn what_began_during_a_capture_is_known() {
        let captures = Captures::new(Some("steps=2,wait=3".parse().unwrap()));
        assert!(!captures.covers(0));
        // Each step begins 10 ns after the one before it, and its start is read 1 ns later.
        let steps = 0..5 * (MAX_TIMES as u64 + 10);
        let starts = steps.map(|number| {
            crate::os::clock::told::set(10 * number);
            captures.turn(|| Level::Basic, |_| ());
            10 * number + 1
        });
        let starts: Vec<u64> = starts.collect();
        let covered = |start_ns: u64| captures.covers(start_ns);
        for (number, &start_ns) in starts.iter().enumerate().skip(100) {
            assert_eq!(covered(start_ns), number % 5 > 2, "{number}");
        }
        // The last one goes on; the first ones are forgotten.
        assert!(covered(u64::MAX - 1) && !covered(starts[4]));
    }

    #[test]
    fn the_program_has_the_last_word() {
        let captures = Captures::new(Some("steps=3,skip=1".parse().unwrap()));
        let told = levels(&captures, 8, |number, level| match number {
            2 => level.set(Level::Detailed),
            6 => level.set(Level::Basic),
            _ => {}
        });
        assert_eq!(told, ".Cdddd..");
    }

    #[test]
    fn a_text_comes_back() {
        let all = Capture::steps(3).skip(1).wait(4).repeat(2).level(Level::Detailed);
        for capture in [Capture::steps(7), all] {
            assert_eq!(capture.to_string().parse(), Ok(capture));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["steps=0", "steps", "steps=-1", "every=10", "level=off", "level=high", "wait=x", "=1"] {
            assert_eq!(text.parse::<Capture>(), Err(CaptureError(text.to_owned())), "{text}");
        }
        assert_eq!("".parse(), Ok(Capture::steps(10)));
        assert_eq!(" steps = 2 , level = Detailed,".parse(), Ok(Capture::steps(2).level(Level::Detailed)));
    }
}
