//! Some steps recorded more closely than the others, by a plan or on request: the level rises with the first of them and
//! falls with the first step after them. What a plan says is in `config::capture`, how a request comes from outside in `worker`.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use stepscope_core::Level;

use crate::config::capture::Capture;
use crate::hot::recorder::Recorder;
use crate::os::clock::now_ns;
use crate::os::memory;
use crate::shared::lock::lock;

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
    /// How many steps are requested, and their level.
    requested: Option<(u64, Level)>,
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

    /// Captures the next `steps` that begin; of two requests before them the later one holds.
    pub(crate) fn request(&self, steps: u64, level: Level) {
        if steps > 0 {
            let mut state = lock(&self.state);
            state.requested = Some((steps, level));
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
                // What is requested or planned meanwhile waits, or is a part of this one.
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
        let planned = state.plan.filter(|_| starts).map(|plan| plan.extent());
        if let Some((steps, at_level)) = state.requested.take().or(planned) {
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
    fn a_request_is_met_by_the_next_steps() {
        let captures = Captures::default();
        let told = levels(&captures, 12, |number, _| match number {
            2 => captures.request(3, Level::Comprehensive),
            3 => captures.request(1, Level::Detailed),
            9 => captures.request(0, Level::Comprehensive),
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
}
