//! Memory of the processes and its trend over steps.

use serde::Serialize;
use stepscope_core::Mode;
use stepscope_model::Resource;

pub use super::detector::Verdict as CourseVerdict;

#[cfg(feature = "schema")]
impl crate::schema::Words for CourseVerdict {
    fn all() -> Vec<&'static str> {
        Self::ALL.map(Self::name).into()
    }
}

/// Memory over the steps of the primary mode.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct MemorySummary {
    /// Live bytes by the counting allocator at the ends of steps; absent where steps carry none.
    pub live: Option<TrendPair>,
    /// Resident bytes at the ends of steps.
    pub rss: Option<TrendPair>,
    /// What memory does over the steps; absent where steps carry none, and where numbers do not tell which step comes
    /// after which.
    pub course: Option<MemoryCourse>,
    /// What processes say between steps, by (rank, resource).
    pub processes: Vec<ProcessMemory>,
    /// What sections hold over the steps; absent where no step with a number says what it allocated, where numbers do
    /// not tell which step comes after which, and where call paths were cut.
    pub by_section: Option<RetainedSeries>,
}

/// Bytes that sections hold over step numbers: allocated by them and not freed by them, since the run began. A section
/// that frees what others allocated holds less than nothing; all of them together hold what was allocated and not freed
/// inside of sections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetainedSeries {
    /// Mode of the steps. What happened in no numbered step of this mode (loaders, sections between steps, steps of other
    /// modes) is at the step in which it ended, as exactly as points tell steps apart.
    #[serde(serialize_with = "crate::accumulate::by_name::name")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Word<Mode>"))]
    pub mode: Mode,
    /// As in [`StepSeries`](crate::summary::StepSeries).
    pub shift: u32,
    /// Sections that hold most, largest peak first; no section is in two of them.
    pub sections: Vec<RetainedSection>,
    /// All others together.
    pub other: RetainedFigures,
    /// All sections together.
    pub total: RetainedFigures,
    /// Sections that are in none of these figures: steps or batches may be inside them, and what they left themselves is
    /// not known.
    pub excluded: Vec<String>,
    /// Points by step.
    pub points: Vec<RetainedPoint>,
}

/// What a section holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetainedSection {
    /// Its path.
    pub path: String,
    /// Whether sections inside it are counted with it: they make up for each other, as where one allocates what the one
    /// around it frees.
    pub includes_nested: bool,
    /// Its figures.
    #[serde(flatten)]
    pub figures: RetainedFigures,
}

/// Ends and extreme of bytes held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetainedFigures {
    /// After the first point.
    pub first_bytes: i64,
    /// After the last point.
    pub last_bytes: i64,
    /// Farthest from zero.
    pub peak_bytes: i64,
    /// Step of the first point at which it was that.
    pub peak_step: u64,
}

/// One point. The bytes of `sections` and `other_bytes` add up to `retained_bytes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RetainedPoint {
    /// Smallest step number that it can hold.
    pub step: u64,
    /// Left allocated in the steps of this point, by all sections: the change of `retained_bytes`.
    pub net_bytes: i64,
    /// Held after them, by all sections.
    pub retained_bytes: i64,
    /// Of that, by each of the sections listed, in their order.
    pub sections: Vec<i64>,
    /// Of that, by all others.
    pub other_bytes: i64,
}

/// Ends of a gauge over the steps, and how it grows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TrendPair {
    /// First value (of the first point).
    pub first_bytes: u64,
    /// Last value.
    pub last_bytes: u64,
    /// Largest value.
    pub max_bytes: u64,
    /// Its growth, after what memory does first; absent where points are too few.
    pub whole: Option<Trend>,
}

/// A robust linear trend of bytes over step numbers, by [`crate::memory::detector`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trend {
    /// Points that were looked at.
    pub n: u64,
    /// Step from which on it grows like that.
    pub from_step: u64,
    /// Step of the last point.
    pub to_step: u64,
    /// Slope, bytes per step.
    pub slope_per_step: f64,
    /// 95 % confidence interval of the slope.
    #[cfg_attr(feature = "schema", schemars(with = "(Option<f64>, Option<f64>)"))]
    pub confidence_interval: (f64, f64),
    /// Two-sided probability of such a trend where there is none.
    pub p_value: f64,
}

impl Trend {
    /// What it rises from its first step to its last, bytes.
    #[must_use]
    pub fn growth_bytes(&self) -> u64 {
        (self.slope_per_step * self.to_step.saturating_sub(self.from_step) as f64).round().max(0.0) as u64
    }
}

/// What memory does over the steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryCourse {
    /// In a word.
    #[serde(serialize_with = "crate::accumulate::by_name::name")]
    #[cfg_attr(feature = "schema", schemars(with = "crate::schema::Word<CourseVerdict>"))]
    pub verdict: CourseVerdict,
    /// Whether resident memory alone says so.
    pub is_suspected: bool,
    /// The growth that the verdict is about; absent where points are too few.
    pub trend: Option<Trend>,
    /// Where growth comes to that ends, bytes.
    pub plateau_bytes: Option<u64>,
    /// The smallest growth that would have been seen, bytes a step.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    pub least_seen_bytes_per_step: f64,
    /// About how many more steps decide, where it is undecided.
    pub more_steps: Option<u64>,
    /// Where it jumps back after it had grown, as memory of a process does that begins anew.
    pub fell: Option<MemoryFall>,
}

/// A jump back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryFall {
    /// The first step after it.
    pub step: u64,
    /// Bytes before it.
    pub from_bytes: u64,
    /// Bytes after it.
    pub to_bytes: u64,
}

/// Memory of one process.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessMemory {
    /// Rank.
    pub rank: Option<i64>,
    /// Host.
    pub host: String,
    /// Its id there.
    pub pid: Option<i64>,
    /// Latest resident bytes.
    pub rss_last_bytes: Option<u64>,
    /// Largest resident bytes seen, at the ends of steps too where numbers tell them apart.
    pub rss_max_bytes: Option<u64>,
    /// Latest live bytes.
    pub live_last_bytes: Option<u64>,
    /// Largest live bytes seen, at the ends of steps too where numbers tell them apart.
    pub live_max_bytes: Option<u64>,
    /// What its memory does over its steps; null where they say nothing of it, where numbers do not tell them apart, and
    /// where more processes are judged before it.
    pub course: Option<MemoryCourse>,
    /// Values at steps that no memory has, left out: a counter that went below zero.
    pub impossible_values: u64,
    /// Whether its steps say anything of it.
    #[serde(skip)]
    pub is_told: bool,
    /// Ends of the gauge that the course is about.
    #[serde(skip)]
    pub gauge: Option<TrendPair>,
}

impl ProcessMemory {
    /// Whether it is this one.
    pub(crate) fn is(&self, resource: &Resource) -> bool {
        (self.rank, self.pid) == (resource.rank, resource.pid) && self.host == resource.host_name
    }

    /// The more there is to tell of its memory, the larger.
    fn weight(&self) -> Option<(u8, f64)> {
        let course = self.course?;
        let weight = match course.verdict {
            CourseVerdict::Leak => 7 - u8::from(course.is_suspected),
            CourseVerdict::Fragmentation => 5,
            CourseVerdict::Undecided => 4,
            CourseVerdict::Decelerating => 3,
            CourseVerdict::CacheFilling => 2,
            CourseVerdict::Stopped => 1,
            CourseVerdict::None => 0,
        };
        Some((weight, course.trend.map_or(0.0, |trend| trend.slope_per_step)))
    }
}

impl MemorySummary {
    /// Processes whose memory was judged.
    pub(crate) fn judged(&self) -> impl Iterator<Item = &ProcessMemory> {
        self.processes.iter().filter(|process| process.course.is_some())
    }

    /// Those whose memory does what is told of the run, the one that grows fastest first.
    pub(crate) fn alike(&self) -> Vec<&ProcessMemory> {
        let most = self.judged().filter_map(ProcessMemory::weight).map(|(weight, _)| weight).max();
        let mut all: Vec<(f64, &ProcessMemory)> = self
            .judged()
            .filter_map(|process| Some((process.weight()?, process)))
            .filter(|((weight, _), _)| Some(*weight) == most)
            .map(|((_, rate), process)| (rate, process))
            .collect();
        // Stable: equal ones stay in the order of their ranks.
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all.into_iter().map(|(_, process)| process).collect()
    }

    /// Of several processes the one that leaks fastest.
    pub(crate) fn fastest(&self) -> Option<&ProcessMemory> {
        self.judged().nth(1)?;
        self.alike()
            .first()
            .copied()
            .filter(|one| one.course.is_some_and(|course| course.verdict == CourseVerdict::Leak))
    }

    /// What several processes' memory does, in a word: what there is most to tell of. Absent where fewer were judged.
    pub(crate) fn together(&self) -> Option<MemoryCourse> {
        let course = self.alike().first()?.course.filter(|_| self.judged().nth(1).is_some())?;
        let seen =
            self.judged().filter_map(|process| process.course).map(|one| one.least_seen_bytes_per_step);
        Some(MemoryCourse { least_seen_bytes_per_step: seen.fold(0.0, f64::max), ..course })
    }
}
