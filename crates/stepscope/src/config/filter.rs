//! Which sections leave no span although the level gives them one: by name, target, depth, duration, memory,
//! sampling and rate. They count in the sums all the same. What
//! carries the choice out is in `hot::span_filter`.

use std::str::FromStr;
use std::time::Duration;

/// Which sections leave no span of their own, though they count in the sums: for [`Builder::filter`](crate::Builder::filter)
/// and, as text, `STEPSCOPE_FILTER`.
///
/// A section that is left out is so with all inside of it, so that every span has its whole path. Steps, epochs,
/// batches and the run always leave.
///
/// ```
/// use std::time::Duration;
/// use stepscope::Filter;
///
/// let filter = Filter::new().without_target("hyper").min_duration(Duration::from_micros(20)).sample_name("neuron", 100);
/// assert_eq!(Ok(filter), "target=hyper,min=20us,sample:neuron=100".parse());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a filter does nothing until a builder has it"]
pub struct Filter {
    names: Vec<String>,
    targets: Vec<String>,
    min_duration: Duration,
    min_memory_bytes: u64,
    max_depth: u16,
    one_in: u32,
    one_in_of: Vec<(String, u32)>,
    max_rate: Option<u32>,
    budget_ppm: Option<u32>,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            names: Vec::new(),
            targets: Vec::new(),
            min_duration: Duration::ZERO,
            min_memory_bytes: 0,
            max_depth: u16::MAX,
            one_in: 1,
            one_in_of: Vec::new(),
            max_rate: None,
            budget_ppm: None,
        }
    }
}

impl Filter {
    /// One that lets everything pass.
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves out sections of this name (`name=NAME`).
    pub fn without_name(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// Leaves out sections of this target and those below it (`target=TARGET`): of `section!` the module it is in.
    pub fn without_target(mut self, target: impl Into<String>) -> Self {
        self.targets.push(target.into());
        self
    }

    /// Leaves out sections that took less (`min=20us`; `ns`, `us`, `ms`, `s`), unless they failed, or one inside of them
    /// leaves as a span or is still open.
    pub fn min_duration(mut self, duration: Duration) -> Self {
        self.min_duration = duration;
        self
    }

    /// Leaves out sections that allocated less (`memory=64KiB`; `B`, `KiB`, `MiB`, `GiB`), with all inside of them, under
    /// the same conditions. Beside [`min_duration`](Self::min_duration) only those that are below both. Where nothing counts
    /// allocations, it leaves out none.
    pub fn min_memory_bytes(mut self, bytes: u64) -> Self {
        self.min_memory_bytes = bytes;
        self
    }

    /// Leaves out sections with more names than this in their path (`depth=3`); a step is at 1.
    pub fn max_depth(mut self, names: u16) -> Self {
        self.max_depth = names;
        self
    }

    /// Keeps the first and then one in this many of the sections of each path (`sample=100`), 1 at least. What is inside of
    /// one that is kept is kept with it, unless fewer of its own path are to be.
    pub fn sample(mut self, one_in: u32) -> Self {
        self.one_in = one_in.max(1);
        self
    }

    /// As [`sample`](Self::sample) for sections of this name (`sample:NAME=100`), whatever is said of others.
    pub fn sample_name(mut self, name: impl Into<String>, one_in: u32) -> Self {
        self.one_in_of.push((name.into(), one_in.max(1)));
        self
    }

    /// Lets no more than so many sections leave in each second of the system's monotonic clock (`rate=5000`), so in one
    /// that lies across two of these twice as many at most: of paths that are called often one in so many, of the others
    /// all. Steps and their like come on top.
    pub fn max_rate(mut self, spans_per_second: u32) -> Self {
        self.max_rate = Some(spans_per_second);
        self
    }

    /// Lets spans take no more than this part of the time of steps (`budget=1%`, here in millionths: 10,000), as
    /// [`max_rate`](Self::max_rate) does. What a span takes is measured: how long its record takes to write, and the
    /// processor's time that stepscope's thread has for encoding and sending it.
    pub fn budget_ppm(mut self, millionths: u32) -> Self {
        self.budget_ppm = Some(millionths);
        self
    }

    /// How many spans a second may leave, and which part of the time of steps they may take, in millionths.
    pub(crate) fn bounds(&self) -> (Option<u32>, Option<u32>) {
        (self.max_rate, self.budget_ppm)
    }

    pub(crate) fn bounds_of_size(&self) -> (Duration, u64) {
        (self.min_duration, self.min_memory_bytes)
    }

    /// What the parts of `text` say that can be understood; the others are handed to `refuse`.
    pub(crate) fn parse(text: &str, mut refuse: impl FnMut(FilterError)) -> Self {
        let mut filter = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            match filter.clone().with(part) {
                Some(more) => filter = more,
                None => refuse(FilterError(part.to_owned())),
            }
        }
        filter
    }

    fn with(self, part: &str) -> Option<Self> {
        let (key, value) = part.split_once('=').map(|(key, value)| (key.trim(), value.trim()))?;
        let one_in = || value.parse().ok().filter(|&number| number > 0);
        Some(match key {
            _ if value.is_empty() => return None,
            "name" => self.without_name(value),
            "target" => self.without_target(value),
            "min" => self.min_duration(duration(value)?),
            "memory" => self.min_memory_bytes(bytes(value)?),
            "depth" => self.max_depth(value.parse().ok()?),
            "sample" => self.sample(one_in()?),
            "rate" => self.max_rate(value.parse().ok()?),
            "budget" => self.budget_ppm(millionths(value)?),
            _ => self.sample_name(key.strip_prefix("sample:").filter(|name| !name.is_empty())?, one_in()?),
        })
    }

    /// Whether any sections are sampled.
    pub(crate) fn samples(&self) -> bool {
        self.one_in > 1 || self.one_in_of.iter().any(|&(_, one_in)| one_in > 1)
    }

    /// One in how many sections of `target`, called `name`, at this depth leaves; 0: none.
    pub(crate) fn one_in(&self, target: &str, name: &str, depth: usize) -> u32 {
        let is_below = |above: &String| {
            target.strip_prefix(above.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        if depth > usize::from(self.max_depth)
            || self.names.iter().any(|left_out| left_out == name)
            || self.targets.iter().any(is_below)
        {
            return 0;
        }
        self.one_in_of.iter().rfind(|(of, _)| of == name).map_or(self.one_in, |&(_, one_in)| one_in)
    }
}

/// A percentage, of 100 at most, with up to four decimals.
fn millionths(text: &str) -> Option<u32> {
    let number = text.strip_suffix('%')?.trim_end();
    let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(decimals) || decimals.len() > 4 {
        return None;
    }
    let parts: u32 = format!("{decimals:0<4}").parse().ok()?;
    let millionths = whole.parse::<u32>().ok()?.checked_mul(10_000)?.checked_add(parts)?;
    (millionths <= 1_000_000).then_some(millionths)
}

/// A number and its unit.
fn measured(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    Some((number.parse().ok()?, unit.trim()))
}

fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = measured(text)?;
    let of_one = match unit {
        "B" => 0,
        "KiB" => 10,
        "MiB" => 20,
        "GiB" => 30,
        _ => return None,
    };
    number.checked_mul(1 << of_one)
}

fn duration(text: &str) -> Option<Duration> {
    let (number, unit) = measured(text)?;
    match unit {
        "ns" => Some(Duration::from_nanos(number)),
        "us" | "µs" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        _ => None,
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        let mut refused = None;
        let filter = Self::parse(text, |error| refused = refused.take().or(Some(error)));
        refused.map_or(Ok(filter), Err)
    }
}

/// A part of a filter's text that is none of those that there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterError(String);

impl std::fmt::Display for FilterError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{:?} is none of name=NAME, target=TARGET, min=20us, memory=64KiB, depth=3, sample=100, sample:NAME=100, rate=5000, \
             budget=1%",
            self.0
        )
    }
}

impl std::error::Error for FilterError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_understood_and_others_are_named() {
        let text = "name=tiny, target=hyper::proto ,min=250us,memory=64 KiB,depth=4,sample=10,sample:hot=1000,rate=99,budget=2.5%";
        let expected = Filter::new()
            .without_name("tiny")
            .without_target("hyper::proto")
            .min_duration(Duration::from_micros(250))
            .min_memory_bytes(65_536)
            .max_depth(4)
            .sample(10)
            .sample_name("hot", 1_000)
            .max_rate(99)
            .budget_ppm(25_000);
        assert_eq!(text.parse(), Ok(expected));
        assert_eq!("".parse(), Ok(Filter::new()));
        for (text, ms) in [("min=2s", 2_000), ("min=3ms", 3), ("min=4000000 ns", 4)] {
            assert_eq!(text.parse(), Ok(Filter::new().min_duration(Duration::from_millis(ms))), "{text}");
        }
        let wrong = [
            "name",
            "name=",
            "size=3",
            "min=20",
            "min=fast",
            "min=-1us",
            "memory=64",
            "memory=1kB",
            "memory=99999999999GiB",
            "depth=deep",
            "depth=-1",
            "sample=0",
            "sample:=3",
            "sample:a=b",
            "rate=1.5",
            "budget=1",
            "budget=%",
            "budget=1.%",
            "budget=1.00001%",
            "budget=-1%",
            "budget=100.0001%",
            "budget=999999%",
        ];
        let mut refused = Vec::new();
        let text = format!("{},depth=2", wrong.join(","));
        let filter = Filter::parse(&text, |error| refused.push(error.0));
        assert_eq!((filter, refused), (Filter::new().max_depth(2), wrong.map(str::to_owned).to_vec()));
        let error = Filter::from_str("depth=2,size=3").unwrap_err().to_string();
        assert!(error.starts_with("\"size=3\" is none of name=NAME"), "{error}");
    }

    #[test]
    fn names_targets_and_depths_decide() {
        const PROTO: &str = "hyper::proto::h1";
        const OTHER: &str = "hyperion";
        let filter: Filter = "target=hyper,name=tiny,depth=3,sample=7,sample:hot=5".parse().unwrap();
        let one_in = |target, name, depth| filter.one_in(target, name, depth);
        assert_eq!((one_in(PROTO, "read", 2), one_in(OTHER, "read", 2)), (0, 7));
        assert_eq!((one_in(OTHER, "tiny", 2), one_in(OTHER, "tinyer", 2)), (0, 7));
        assert_eq!((one_in(OTHER, "hot", 3), one_in(OTHER, "hot", 4)), (5, 0));
    }
}
