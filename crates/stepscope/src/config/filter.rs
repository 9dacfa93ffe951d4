//! Which sections leave no span although the level gives them one: by name, target, depth, duration, memory,
//! sampling and rate. They count in the sums all the same. What the choice does to a section is in `state` and `finish`.

use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use stepscope_core::PathId;

use crate::hot::budget::Budget;
use crate::hot::open::flag;
use crate::hot::places::Place;
use crate::hot::rate::{Rate, is_turn};
use crate::os::clock::now_ns;
use crate::shared::aggregate::MAX_PATHS;
use crate::shared::callsite::Source;

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

    /// What bounds the sections that leave in a second, if anything does.
    fn rate(&self) -> Option<Rate> {
        let is_bounded = self.max_rate.is_some() || self.budget_ppm.is_some();
        is_bounded.then(|| Rate::new(self.max_rate, self.budget_ppm.map(Budget::new)))
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
    fn samples(&self) -> bool {
        self.one_in > 1 || self.one_in_of.iter().any(|&(_, one_in)| one_in > 1)
    }

    /// One in how many sections of `source`, called `name`, at this depth leaves; 0: none.
    fn one_in(&self, source: Source, name: &str, depth: usize) -> u32 {
        let is_below = |target: &String| {
            source
                .target()
                .strip_prefix(target.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
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

/// A filter at work.
#[derive(Debug)]
pub(crate) struct Sieve {
    filter: Filter,
    min_duration_ns: u64,
    /// Sections of each path that were to be sampled; of none where nothing is sampled.
    seen: Box<[AtomicU32]>,
    /// One in how many sections of each path is sampled, of all that are called; 0 where all are, and of none where nothing is.
    one_in: Box<[AtomicU32]>,
    rate: Option<Rate>,
}

impl Sieve {
    /// `None` for a filter that lets everything pass.
    pub(crate) fn new(filter: &Filter) -> Option<Self> {
        let by_path =
            || (0..if filter.samples() { MAX_PATHS } else { 0 }).map(|_| AtomicU32::new(0)).collect();
        (*filter != Filter::default()).then(|| Self {
            filter: filter.clone(),
            min_duration_ns: u64::try_from(filter.min_duration.as_nanos()).unwrap_or(u64::MAX),
            seen: by_path(),
            one_in: by_path(),
            rate: filter.rate(),
        })
    }

    /// One in how many sections of `path` leaves, of those inside of sections of `around` that leave; 0: none. What is
    /// inside of a sampled section is sampled with it: of a path that is called in every one of these, so many leave as a filter
    /// says for all of its calls.
    pub(crate) fn one_in(
        &self,
        path: PathId,
        around: PathId,
        source: Source,
        name: &str,
        depth: usize,
    ) -> u32 {
        let of_all = self.filter.one_in(source, name, depth);
        let one_in = |path: PathId| self.one_in.get(path.0 as usize);
        let Some(slot) = one_in(path).filter(|_| of_all > 0) else { return of_all };
        let around = one_in(around).map_or(1, |around| around.load(Ordering::Relaxed)).max(1);
        // To the nearest whole number: there is no one in one and a half.
        let inside = (of_all.saturating_add(around / 2) / around).max(1);
        slot.store(around.saturating_mul(inside), Ordering::Relaxed);
        inside
    }

    /// Whether a section of `place` leaves as a span, or why not: flags of open sections.
    pub(crate) fn leaving(&self, place: Place) -> u64 {
        match place.one_in {
            0 => return flag::BY_FILTER,
            1 => {}
            one_in => {
                let seen = self.seen.get(place.path.0 as usize);
                if !seen.is_none_or(|seen| is_turn(seen, one_in)) {
                    return flag::BY_SAMPLING;
                }
            }
        }
        if self.min_duration_ns > 0 || self.filter.min_memory_bytes > 0 {
            // What turns out too small needs no room: whether there is some is asked at the end.
            return flag::EXPORTED | flag::MAY_BE_SMALL;
        }
        let is_admitted = self.rate.as_ref().is_none_or(|rate| rate.admits(place.path, 1, now_ns));
        if is_admitted { flag::EXPORTED } else { flag::BY_SAMPLING }
    }

    /// The bound in a second, where there is one.
    pub(crate) fn rate(&self) -> Option<&Rate> {
        self.rate.as_ref()
    }

    /// Whether a section is below all bounds that there are. Memory that is not known is below none.
    pub(crate) fn is_small(&self, duration_ns: u64, alloc_bytes: Option<u64>) -> bool {
        let is_short = self.min_duration_ns == 0 || duration_ns < self.min_duration_ns;
        let min_bytes = self.filter.min_memory_bytes;
        is_short && (min_bytes == 0 || alloc_bytes.is_some_and(|bytes| bytes < min_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::places::Fit;
    use crate::shared::callsite::Callsite;

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
    fn what_is_below_all_bounds_is_small() {
        let is_small = |text: &str, duration_ns, bytes| {
            Sieve::new(&text.parse().unwrap()).unwrap().is_small(duration_ns, bytes)
        };
        assert!(is_small("min=1us", 999, Some(u64::MAX)) && !is_small("min=1us", 1_000, Some(0)));
        assert!(is_small("memory=1KiB", u64::MAX, Some(1_023)) && !is_small("memory=1KiB", 0, Some(1_024)));
        assert!(is_small("min=1us,memory=2B", 999, Some(1)));
        assert!(
            !is_small("min=1us,memory=2B", 999, Some(2)) && !is_small("min=1us,memory=2B", 1_000, Some(1))
        );
        assert!(!is_small("memory=1KiB", 0, None) && !is_small("min=1us,memory=1KiB", 0, None));
    }

    #[test]
    fn names_targets_and_depths_decide() {
        static PROTO: Callsite = Callsite::new("read", None, "hyper::proto::h1", "", 0, &[]);
        static OTHER: Callsite = Callsite::new("read", None, "hyperion", "", 0, &[]);
        let filter: Filter = "target=hyper,name=tiny,depth=3,sample=7,sample:hot=5".parse().unwrap();
        let one_in = |callsite, name, depth| filter.one_in(Source::Section(callsite), name, depth);
        assert_eq!((one_in(&PROTO, "read", 2), one_in(&OTHER, "read", 2)), (0, 7));
        assert_eq!((one_in(&OTHER, "tiny", 2), one_in(&OTHER, "tinyer", 2)), (0, 7));
        assert_eq!((one_in(&OTHER, "hot", 3), one_in(&OTHER, "hot", 4)), (5, 0));
    }

    #[test]
    fn what_is_inside_of_a_sampled_section_is_not_sampled_again() {
        static SOME: Callsite = Callsite::new("some", None, "here", "", 0, &[]);
        let sieve =
            Sieve::new(&"sample=100,sample:hot=1000,sample:odd=140,name=tiny".parse().unwrap()).unwrap();
        let one_in =
            |path, around, name| sieve.one_in(PathId(path), PathId(around), Source::Section(&SOME), name, 3);
        assert_eq!((one_in(2, 1, "layer"), one_in(3, 2, "matmul"), one_in(4, 3, "pack")), (100, 1, 1));
        assert_eq!((one_in(5, 4, "hot"), one_in(6, 5, "matmul"), one_in(7, 5, "tiny")), (10, 1, 0));
        // To the nearest; and of the same path, again and again.
        assert_eq!((one_in(8, 2, "odd"), one_in(9, 1, "odd"), one_in(2, 2, "layer")), (1, 140, 1));
        assert_eq!((one_in(3, 2, "matmul"), one_in(10, 9, "hot")), (1, 7));
    }

    #[test]
    fn the_first_and_every_nth_of_a_path_leave() {
        let sieve = Sieve::new(&Filter::new().sample(4)).unwrap();
        let place = |path| Place { path: PathId(path), callsite: 0, fit: Fit::Plain, one_in: 4 };
        for number in 0..40 {
            let expected = if number % 4 == 0 { flag::EXPORTED } else { flag::BY_SAMPLING };
            assert_eq!(sieve.leaving(place(2)), expected, "{number}");
        }
        assert_eq!(sieve.leaving(place(3)), flag::EXPORTED);
        let counters = |text: &str| Sieve::new(&text.parse().unwrap()).unwrap().seen.len();
        assert_eq!(counters("rate=100,min=1us,sample:hot=1"), 0, "nothing is sampled");
        assert_eq!(counters("sample:hot=2"), MAX_PATHS);
    }
}
