//! A plan of which steps are recorded more closely than the others, and its text. What carries it out is in `hot::captures`.

use std::fmt;
use std::str::FromStr;

use stepscope_core::Level;

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
    pub(crate) fn begins_at(&self, before: u64) -> Option<bool> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
