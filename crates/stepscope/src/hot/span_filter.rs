//! A filter at work: which sections leave no span although the level gives them one. They count in the sums all the same.
//! What the choice does to a section is in `state` and `finish`, what a filter says in `config::filter`.

use std::sync::atomic::{AtomicU32, Ordering};

use stepscope_core::PathId;

use crate::config::filter::Filter;
use crate::hot::budget::Budget;
use crate::hot::open::flag;
use crate::hot::path_cache::Place;
use crate::hot::rate::{Rate, is_turn};
use crate::os::clock::now_ns;
use crate::shared::aggregate::MAX_PATHS;
use crate::shared::callsite::Source;

/// A filter at work.
#[derive(Debug)]
pub(crate) struct SpanFilter {
    filter: Filter,
    min_duration_ns: u64,
    min_memory_bytes: u64,
    /// Sections of each path that were to be sampled; of none where nothing is sampled.
    seen: Box<[AtomicU32]>,
    /// One in how many sections of each path is sampled, of all that are called; 0 where all are, and of none where nothing is.
    one_in: Box<[AtomicU32]>,
    rate: Option<Rate>,
}

impl SpanFilter {
    /// `None` for a filter that lets everything pass.
    pub(crate) fn new(filter: &Filter) -> Option<Self> {
        let (min_duration, min_memory_bytes) = filter.bounds_of_size();
        let (max_rate, budget_ppm) = filter.bounds();
        let is_bounded = max_rate.is_some() || budget_ppm.is_some();
        let by_path =
            || (0..if filter.samples() { MAX_PATHS } else { 0 }).map(|_| AtomicU32::new(0)).collect();
        (*filter != Filter::default()).then(|| Self {
            filter: filter.clone(),
            min_duration_ns: u64::try_from(min_duration.as_nanos()).unwrap_or(u64::MAX),
            min_memory_bytes,
            seen: by_path(),
            one_in: by_path(),
            rate: is_bounded.then(|| Rate::new(max_rate, budget_ppm.map(Budget::new))),
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
        let of_all = self.filter.one_in(source.target(), name, depth);
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
        if self.min_duration_ns > 0 || self.min_memory_bytes > 0 {
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
        let min_bytes = self.min_memory_bytes;
        is_short && (min_bytes == 0 || alloc_bytes.is_some_and(|bytes| bytes < min_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::path_cache::Fit;
    use crate::shared::callsite::Callsite;

    #[test]
    fn what_is_below_all_bounds_is_small() {
        let is_small = |text: &str, duration_ns, bytes| {
            SpanFilter::new(&text.parse().unwrap()).unwrap().is_small(duration_ns, bytes)
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
    fn what_is_inside_of_a_sampled_section_is_not_sampled_again() {
        static SOME: Callsite = Callsite::new("some", None, "here", "", 0, &[]);
        let span_filter =
            SpanFilter::new(&"sample=100,sample:hot=1000,sample:odd=140,name=tiny".parse().unwrap()).unwrap();
        let one_in = |path, around, name| {
            span_filter.one_in(PathId(path), PathId(around), Source::Section(&SOME), name, 3)
        };
        assert_eq!((one_in(2, 1, "layer"), one_in(3, 2, "matmul"), one_in(4, 3, "pack")), (100, 1, 1));
        assert_eq!((one_in(5, 4, "hot"), one_in(6, 5, "matmul"), one_in(7, 5, "tiny")), (10, 1, 0));
        // To the nearest; and of the same path, again and again.
        assert_eq!((one_in(8, 2, "odd"), one_in(9, 1, "odd"), one_in(2, 2, "layer")), (1, 140, 1));
        assert_eq!((one_in(3, 2, "matmul"), one_in(10, 9, "hot")), (1, 7));
    }

    #[test]
    fn the_first_and_every_nth_of_a_path_leave() {
        let span_filter = SpanFilter::new(&Filter::new().sample(4)).unwrap();
        let place = |path| Place { path: PathId(path), callsite: 0, fit: Fit::Plain, one_in: 4 };
        for number in 0..40 {
            let expected = if number % 4 == 0 { flag::EXPORTED } else { flag::BY_SAMPLING };
            assert_eq!(span_filter.leaving(place(2)), expected, "{number}");
        }
        assert_eq!(span_filter.leaving(place(3)), flag::EXPORTED);
        let counters = |text: &str| SpanFilter::new(&text.parse().unwrap()).unwrap().seen.len();
        assert_eq!(counters("rate=100,min=1us,sample:hot=1"), 0, "nothing is sampled");
        assert_eq!(counters("sample:hot=2"), MAX_PATHS);
    }
}
