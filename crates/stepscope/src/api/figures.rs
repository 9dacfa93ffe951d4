//! The figures of a run as its own program can read them while it goes on: what they are, and how they are put
//! together from the sums of all threads. How they look as text is in `text`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use stepscope_core::path::{join, split};
use stepscope_core::{Distribution, LossReason, Mode, PathId, Phase, SectionKind};

use crate::hot::recorder::Recorder;
use crate::os::clock::now_ns;
use crate::os::memory;
use crate::shared::aggregate::{MemorySums, Sums};
use crate::shared::step_work::{self, StepWork, WorkByMode};
use crate::shared::thread_registry::Tally;

mod text;

/// Fewer calls than this say nothing of how much a section varies; as the report has it.
const MIN_CALLS: u64 = 20;

/// What a run has recorded at a moment: made by [`Handle::figures`](crate::Handle::figures).
///
/// Sums are those of all sections that ended until then, whatever leaves as a span: exact, and those that the report on
/// the same run shows. Its text is a table.
#[derive(Debug, Default)]
pub struct Figures {
    taken_ns: u64,
    elapsed_ns: u64,
    sections: Vec<SectionFigures>,
    steps: WorkByMode,
    memory: MemoryFigures,
    spans: SpanFigures,
    unread: Vec<String>,
}

/// Figures of all sections of one path.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SectionFigures {
    /// Names of the sections around it and its own, separated by `/`.
    pub path: String,
    /// Its own name.
    pub name: String,
    /// What it is.
    pub kind: SectionKind,
    /// Its phase: said, or implied by its name, or that of the section around it.
    pub phase: Option<Phase>,
    /// Sections that ended. Those inside of one of the same path are parts of it.
    pub count: u64,
    /// The sum of their durations, in nanoseconds.
    pub total_ns: u64,
    /// Time in them without what was entered inside on the same thread.
    pub self_busy_ns: u64,
    /// Arithmetic mean of the durations, in nanoseconds.
    pub mean_ns: f64,
    /// Sample standard deviation (divisor n − 1); absent below two. Of steps this, what is made of it, and the percentiles are
    /// without deep ones ([`Builder::deep_steps`](crate::Builder::deep_steps)).
    pub std_ns: Option<f64>,
    /// Coefficient of variation: standard deviation / mean; absent where the mean is 0.
    pub cv: Option<f64>,
    /// Robust coefficient of variation: median absolute deviation / median; absent where the median is 0, and where
    /// durations differ by less than they are known to, about 2 %.
    pub robust_cv: Option<f64>,
    /// The shortest duration; after a reset see [`Figures::since`].
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Median by nearest rank, within 0.55 %, as the other percentiles.
    pub p50_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Allocations; absent without the counting allocator.
    pub memory: Option<SectionMemory>,
    sums: Sums,
    /// Of them those of deep steps.
    deep_steps: Option<Sums>,
}

/// What was allocated and freed inside of the sections of a path, by the threads that were in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SectionMemory {
    /// Sections that these figures are of: fewer than ended where memory was tracked for a part of the run only
    /// ([`Handle::set_track`](crate::Handle::set_track)).
    pub count: u64,
    /// Bytes allocated, those of sections inside included.
    pub alloc_bytes: u64,
    /// Bytes freed.
    pub free_bytes: u64,
    /// Allocations.
    pub alloc_count: u64,
    /// Bytes allocated in the sections themselves.
    pub self_alloc_bytes: u64,
    /// Bytes freed in the sections themselves.
    pub self_free_bytes: u64,
}

/// Memory of the process when the figures were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MemoryFigures {
    /// Resident memory; absent where the system does not say.
    pub rss_bytes: Option<u64>,
    /// The most resident memory that there ever was.
    pub peak_rss_bytes: Option<u64>,
    /// Bytes allocated and not freed; absent without the counting allocator.
    pub live_bytes: Option<u64>,
}

/// What became of the spans of a run since its start. What ended is as of now. What left, and what was lost on the way, is as of
/// the last time that the background thread wrote, twice a second, or answered a flush: spans that it has not seen yet are among
/// those emitted alone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SpanFigures {
    /// Sections that ended and were meant to leave as a span, or were left out on purpose.
    pub emitted: u64,
    /// Of those, how many left for nowhere, and why. What was lost by one of the places where the others go is told there.
    pub dropped: Vec<(LossReason, u64)>,
    /// For each place where they go, its name, how many were written or acknowledged, and how many it lost, for
    /// whatever reason.
    pub sinks: Vec<(&'static str, u64, u64)>,
}

impl SectionFigures {
    fn new(
        path: String,
        kind: SectionKind,
        phase: Option<Phase>,
        sums: Sums,
        deep_steps: Option<Sums>,
    ) -> Self {
        let usual = deep_steps.as_ref().map(|deep_steps| sums.since(deep_steps));
        let usual = usual.filter(|usual| usual.moments.count > 0);
        let (usual, moments) = (usual.as_ref().unwrap_or(&sums), &sums.moments);
        let distribution = Distribution::from_parts(usual.moments, Vec::new(), Some(usual.histogram.clone()));
        let (mean_ns, std_ns) = (moments.mean().unwrap_or(0.0), usual.moments.std());
        let (p50, mad) = (distribution.p50().unwrap_or(0), distribution.mad());
        let name = split(&path).pop().unwrap_or_default();
        Self {
            name,
            kind,
            phase,
            count: moments.count,
            total_ns: narrow(moments.sum),
            self_busy_ns: narrow(sums.self_busy_ns),
            mean_ns,
            std_ns,
            cv: std_ns.filter(|_| mean_ns > 0.0).map(|std| std / mean_ns),
            robust_cv: mad.filter(|_| p50 > 0).map(|mad| mad as f64 / p50 as f64),
            min_ns: moments.min,
            max_ns: moments.max,
            p50_ns: p50,
            p95_ns: distribution.p95().unwrap_or(0),
            p99_ns: distribution.p99().unwrap_or(0),
            memory: sums.memory.map(|memory| SectionMemory::new(sums.memory_count, memory)),
            path,
            sums,
            deep_steps,
        }
    }

    /// Whether it is a part of the work, and not what holds it together: no run, epoch, step or batch.
    #[must_use]
    pub fn is_part(&self) -> bool {
        matches!(self.kind, SectionKind::Section | SectionKind::MicroStep)
    }
}

impl SectionMemory {
    fn new(count: u64, sums: MemorySums) -> Self {
        Self {
            count,
            alloc_bytes: sums.alloc_bytes,
            free_bytes: sums.free_bytes,
            alloc_count: sums.alloc_count,
            self_alloc_bytes: sums.self_alloc_bytes,
            self_free_bytes: sums.self_free_bytes,
        }
    }
}

impl Figures {
    /// Everything that `recorder` knows now.
    pub(crate) fn of(recorder: &Recorder) -> Self {
        let (ended_threads, threads) = recorder.thread_registry.read();
        let (mut sums, mut missed) = (ended_threads.sums.clone(), Vec::new());
        let (mut tally, mut steps) = (ended_threads.tally, ended_threads.work);
        let mut deep_steps = ended_threads.deep_steps.clone();
        recorder.add_losses(&mut tally);
        for thread in &threads {
            tally.add(thread);
            // Before those that they are a part of.
            thread.deep_steps.for_each_patiently(wait, |path, read| {
                read.into_iter().for_each(|read| deep_steps.entry(path).or_default().merge(&read));
            });
            step_work::add(&mut steps, &thread.work.get(wait));
            thread.aggregates.for_each_patiently(wait, |path, read| match read {
                Some(read) => sums.entry(path).or_default().merge(&read),
                None => missed.push(path),
            });
        }
        let mut unread = Vec::new();
        for path in missed {
            // Without one thread's part a sum would pass for that of all.
            sums.remove(&path);
            unread.push(recorder.path_info(PathId(path)).text);
        }
        unread.sort_unstable();
        unread.dedup();
        let taken_ns = now_ns();
        Self {
            taken_ns,
            elapsed_ns: taken_ns.saturating_sub(recorder.run_start_ns),
            sections: sections(recorder, sums, &deep_steps),
            steps,
            memory: MemoryFigures {
                rss_bytes: memory::rss_bytes(),
                peak_rss_bytes: memory::peak_rss_bytes(),
                live_bytes: memory::live_bytes(),
            },
            spans: SpanFigures::of(recorder, &tally),
            unread,
        }
    }

    /// What came on top of `earlier` figures of the same run: sections that ended since then, and steps. Memory is that of
    /// now, and the account of spans that of the whole run.
    ///
    /// The shortest and the longest duration are exact where they are the run's, too, and else within 0.55 %. Sections
    /// of which none has ended since are left out.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let _own = memory::own_call();
        let before: HashMap<&str, &SectionFigures> =
            earlier.sections.iter().map(|section| (section.path.as_str(), section)).collect();
        // Nothing is known of what came on top of an unknown sum.
        let is_known = |path: &str| earlier.unread.iter().all(|unread| unread != path);
        let known = self.sections.iter().filter(|section| is_known(&section.path));
        let sections = known.map(|section| match before.get(section.path.as_str()) {
            Some(before) => {
                let sums = section.sums.since(&before.sums);
                let deep_steps = match (&section.deep_steps, &before.deep_steps) {
                    (Some(now), Some(then)) => Some(now.since(then)),
                    (now, _) => now.clone(),
                };
                SectionFigures::new(section.path.clone(), section.kind, section.phase, sums, deep_steps)
            }
            None => section.clone(),
        });
        let unread: BTreeSet<String> = self.unread.iter().chain(&earlier.unread).cloned().collect();
        let mut steps = self.steps;
        steps.iter_mut().zip(&earlier.steps).for_each(|(now, then)| *now = now.since(then));
        Self {
            taken_ns: self.taken_ns,
            elapsed_ns: self.taken_ns.saturating_sub(earlier.taken_ns),
            sections: sections.filter(|section| section.count > 0).collect(),
            steps,
            memory: self.memory,
            // Those that had ended by then and left later are no more of this time than of that: they would arrive
            // without having been emitted.
            spans: self.spans.clone(),
            unread: unread.into_iter().collect(),
        }
    }

    /// The time that they are of: since the start of the run, or since the earlier figures.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.elapsed_ns)
    }

    /// All sections that have ended at least once, by path.
    #[must_use]
    pub fn sections(&self) -> &[SectionFigures] {
        &self.sections
    }

    /// The section of a path, as `step/forward`.
    #[must_use]
    pub fn section(&self, path: &str) -> Option<&SectionFigures> {
        let found = self.sections.binary_search_by(|section| section.path.as_str().cmp(path));
        found.ok().and_then(|index| self.sections.get(index))
    }

    /// The `most` parts of the work with most time of their own, longest first.
    #[must_use]
    pub fn slowest(&self, most: usize) -> Vec<&SectionFigures> {
        let mut parts: Vec<_> = self.sections.iter().filter(|section| section.is_part()).collect();
        parts.sort_by_key(|section| std::cmp::Reverse(section.self_busy_ns));
        parts.truncate(most);
        parts
    }

    /// The `most` parts of the work whose durations vary most, of those called 20 times or more: by the robust
    /// coefficient of variation, then by the ordinary one.
    #[must_use]
    pub fn most_variable(&self, most: usize) -> Vec<&SectionFigures> {
        let key = |section: &SectionFigures| (section.robust_cv.unwrap_or(0.0), section.cv.unwrap_or(0.0));
        let is_ranked = |section: &&SectionFigures| {
            let (robust, ordinary) = key(section);
            section.is_part() && section.count >= MIN_CALLS && (robust > 0.0 || ordinary > 0.0)
        };
        let mut parts: Vec<_> = self.sections.iter().filter(is_ranked).collect();
        parts.sort_by(|a, b| {
            let ((a, a2), (b, b2)) = (key(a), key(b));
            b.total_cmp(&a).then(b2.total_cmp(&a2))
        });
        parts.truncate(most);
        parts
    }

    /// What the steps of a mode did: all that have ended, whatever became of their spans. Samples and tokens are those that
    /// the steps themselves say.
    #[must_use]
    pub fn steps(&self, mode: Mode) -> StepWork {
        self.steps.get(mode as usize).copied().unwrap_or_default()
    }

    /// Memory of the process.
    #[must_use]
    pub fn memory(&self) -> MemoryFigures {
        self.memory
    }

    /// What became of spans.
    #[must_use]
    pub fn spans(&self) -> &SpanFigures {
        &self.spans
    }

    /// Paths left out, because a thread was ending sections there without a pause for as long as was waited: next
    /// time, then. Usually none.
    #[must_use]
    pub fn unread(&self) -> &[String] {
        &self.unread
    }
}

impl Clone for Figures {
    fn clone(&self) -> Self {
        let _own = memory::own_call();
        Self {
            sections: self.sections.clone(),
            spans: self.spans.clone(),
            unread: self.unread.clone(),
            ..*self
        }
    }
}

impl Drop for Figures {
    /// What the layer allocated, in nobody's figures, is freed in nobody's.
    fn drop(&mut self) {
        let _own = memory::own_call();
        drop(std::mem::take(&mut self.sections));
        drop(std::mem::take(&mut self.spans));
        drop(std::mem::take(&mut self.unread));
    }
}

impl SpanFigures {
    fn of(recorder: &Recorder, tally: &Tally) -> Self {
        let named = LossReason::ALL.iter().copied().zip(tally.lost);
        let sinks = recorder.sinks(tally).into_iter();
        Self {
            emitted: tally.emitted,
            dropped: named.filter(|&(_, count)| count > 0).collect(),
            sinks: sinks.map(|(name, counts)| (name, counts.exported, counts.dropped.iter().sum())).collect(),
        }
    }
}

/// Whether to try once more to read what a thread is writing: soon at first, then after short pauses, a tenth of a
/// second in all.
fn wait(rounds: usize) -> bool {
    match rounds {
        0..64 => std::thread::yield_now(),
        64..164 => std::thread::sleep(Duration::from_millis(1)),
        _ => return false,
    }
    true
}

fn narrow(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

/// Sums with names, by path.
fn sections(
    recorder: &Recorder,
    sums: BTreeMap<u32, Sums>,
    deep_steps: &BTreeMap<u32, Sums>,
) -> Vec<SectionFigures> {
    let mut phases: HashMap<String, Option<Phase>> = HashMap::new();
    let mut sections = Vec::new();
    // A path is known before those below it, so that theirs may come from it.
    for path in 0..recorder.path_count() {
        let info = recorder.path_info(PathId(path));
        let kind = info.kind.unwrap_or(SectionKind::Section);
        let mut names = split(&info.text);
        let name = names.pop().unwrap_or_default();
        let of_kind = || (kind == SectionKind::Batch).then_some(Phase::DataLoading);
        let around = || phases.get(&join(names.iter().map(String::as_str))).copied().flatten();
        let phase = info.phase.or_else(|| Phase::infer(&name)).or_else(of_kind).or_else(around);
        phases.insert(info.text.clone(), phase);
        if let Some(sums) = sums.get(&path).filter(|sums| sums.moments.count > 0) {
            sections.push(SectionFigures::new(
                info.text,
                kind,
                phase,
                sums.clone(),
                deep_steps.get(&path).cloned(),
            ));
        }
    }
    sections.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    sections
}
