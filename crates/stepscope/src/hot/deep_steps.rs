//! Deep steps: which steps are recorded at `comprehensive` by themselves, and the one that is under way. What a program's own
//! thread does for one is here; who looks at threads meanwhile, and what deep steps may take, is in `worker`.
//!
//! Which ones they are follows from the run and the numbers of steps, so that it is the same on all ranks: a rank on which they
//! take too much has some of those that the others have.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::Thread;

use stepscope_core::identity::{hash_parts, mix};

use crate::shared::trace::TraceRef;

/// The first deep steps, counted from where a run begins: what is short has some, too.
const FIRST: [u64; 4] = [4, 8, 16, 32];

/// Then one in so many.
const ONE_IN: u64 = 64;

/// One in so many times two to this is the least.
pub(crate) const MAX_HALVINGS: u32 = 12;

/// A step that has not ended while so many others began is none that ends.
const MAX_MEANWHILE: u32 = 256;

/// In a step shorter than this nobody looks at threads: it would be over, and only be disturbed.
const MIN_LOOKED_AT_NS: u64 = 200_000;

/// What is known of the deep step under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnderWay {
    pub trace: TraceRef,
    pub span_id: u64,
    pub start_ns: u64,
    /// The system's id of the thread that began it.
    pub thread: u64,
}

/// The deep steps of a run.
#[derive(Debug)]
pub(crate) struct DeepSteps {
    /// Whether there are any.
    is_on: bool,
    run: u64,
    /// The number of the last step of training plus 1, 0 before the first; and how often numbers began anew.
    last: AtomicU64,
    laps: AtomicU64,
    /// Where the numbers of the run begin.
    base: AtomicU64,
    /// One in [`ONE_IN`] times two to this is deep.
    halvings: AtomicU32,
    /// 0 while none is under way, else 1 and how many steps have begun since it did.
    meanwhile: AtomicU32,
    /// The one under way; its span's id is 0 without one.
    span_id: AtomicU64,
    trace: AtomicU64,
    start_ns: AtomicU64,
    thread: AtomicU64,
    /// What a step takes as a rule, as the background thread knows it; 0 before it does.
    usual_ns: AtomicU64,
    /// Who looks at the threads.
    looker: OnceLock<Thread>,
    is_over: AtomicBool,
}

impl DeepSteps {
    pub(crate) fn new(is_on: bool, run_id: &str) -> Self {
        Self {
            is_on,
            run: hash_parts(&[b"deep", run_id.as_bytes()]),
            last: AtomicU64::new(0),
            laps: AtomicU64::new(0),
            base: AtomicU64::new(0),
            halvings: AtomicU32::new(0),
            meanwhile: AtomicU32::new(0),
            span_id: AtomicU64::new(0),
            trace: AtomicU64::new(0),
            start_ns: AtomicU64::new(0),
            thread: AtomicU64::new(0),
            usual_ns: AtomicU64::new(0),
            looker: OnceLock::new(),
            is_over: AtomicBool::new(false),
        }
    }

    /// Whether there are any in this run.
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Whether a step has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.last.load(Ordering::Relaxed) != 0
    }

    /// Whether one is under way.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.meanwhile.load(Ordering::Relaxed) != 0
    }

    /// Whether the step of training that begins now, with this number, is one by the plan of the run.
    #[inline]
    pub(crate) fn is_due(&self, number: u64) -> bool {
        if !self.is_on {
            return false;
        }
        let last = self.last.load(Ordering::Relaxed);
        self.last.store(number.wrapping_add(1), Ordering::Relaxed);
        if number.wrapping_add(1) <= last || last == 0 {
            return self.begins_anew(number, last);
        }
        let laps = self.laps.load(Ordering::Relaxed);
        let offset = number.wrapping_sub(self.base.load(Ordering::Relaxed));
        let one_in = ONE_IN << self.halvings.load(Ordering::Relaxed);
        let is_first = laps == 0 && FIRST.contains(&offset);
        is_first || mix(self.run ^ number ^ laps.rotate_right(16)) & (one_in - 1) == 0
    }

    /// The first step of all, one that has the number of the one before it, of another thread or by mistake, or one where numbers
    /// begin anew: none of them is a deep one.
    #[cold]
    fn begins_anew(&self, number: u64, last: u64) -> bool {
        if last == 0 {
            // One that goes on with an earlier one begins where that ended.
            let base = if number < FIRST[0] { 0 } else { number };
            self.base.store(base, Ordering::Relaxed);
        } else if number.wrapping_add(1) < last {
            self.laps.fetch_add(1, Ordering::Relaxed);
        }
        false
    }

    /// A step begins while one is under way. Whether that one is none that ends, and no longer under way.
    #[cold]
    pub(crate) fn is_given_up(&self) -> bool {
        let meanwhile = self.meanwhile.fetch_add(1, Ordering::Relaxed);
        meanwhile > MAX_MEANWHILE && self.release()
    }

    /// Makes room for one; `false` where one is under way.
    pub(crate) fn claim(&self) -> bool {
        self.meanwhile.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The one for which there is room is under way: whoever looks at threads does.
    pub(crate) fn begin(&self, step: UnderWay) {
        self.trace.store(step.trace.to_word(), Ordering::Relaxed);
        self.start_ns.store(step.start_ns, Ordering::Relaxed);
        self.thread.store(step.thread, Ordering::Relaxed);
        self.span_id.store(step.span_id, Ordering::Release);
        if let Some(looker) = self.looker.get().filter(|_| self.are_looked_at()) {
            looker.unpark();
        }
    }

    /// Whether somebody looks at threads during deep steps, as far as is known.
    pub(crate) fn are_looked_at(&self) -> bool {
        let usual_ns = self.usual_ns();
        self.looker.get().is_some() && (usual_ns == 0 || usual_ns >= MIN_LOOKED_AT_NS)
    }

    /// Whether it is the one under way.
    pub(crate) fn is_it(&self, span_id: u64) -> bool {
        self.span_id.load(Ordering::Relaxed) == span_id
    }

    /// None is under way any more. Always `true`.
    pub(crate) fn release(&self) -> bool {
        self.span_id.store(0, Ordering::Release);
        self.meanwhile.store(0, Ordering::Relaxed);
        true
    }

    /// The one under way.
    pub(crate) fn under_way(&self) -> Option<UnderWay> {
        let span_id = self.span_id.load(Ordering::Acquire);
        let step = UnderWay {
            trace: TraceRef::from_word(self.trace.load(Ordering::Acquire))?,
            span_id,
            start_ns: self.start_ns.load(Ordering::Acquire),
            thread: self.thread.load(Ordering::Acquire),
        };
        (span_id != 0 && self.is_it(span_id)).then_some(step)
    }

    /// What a step takes as a rule; 0 where it is not known yet.
    pub(crate) fn usual_ns(&self) -> u64 {
        self.usual_ns.load(Ordering::Relaxed)
    }

    /// What a step takes as a rule, and how often the share of deep steps is to be halved from here on.
    pub(crate) fn adjust(&self, usual_ns: u64, halvings: u32) {
        self.usual_ns.store(usual_ns, Ordering::Relaxed);
        self.halvings.store(halvings.min(MAX_HALVINGS), Ordering::Relaxed);
    }

    /// This thread looks at the others during deep steps.
    pub(crate) fn set_looker(&self, looker: Thread) {
        let _ = self.looker.set(looker);
    }

    /// The run is over, and the thread that looks ends.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(looker) = self.looker.get() {
            looker.unpark();
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

/// One step in so many is a deep one where the share is halved so often.
pub(crate) fn one_in(halvings: u32) -> u64 {
    ONE_IN << halvings.min(MAX_HALVINGS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(steps: &DeepSteps, numbers: impl IntoIterator<Item = u64>) -> Vec<u64> {
        numbers.into_iter().filter(|&number| steps.is_due(number)).collect()
    }

    #[test]
    fn the_first_are_early_and_then_one_in_64_of_those_that_the_run_chooses() {
        let chosen = due(&DeepSteps::new(true, "a"), 0..64_000);
        assert!(FIRST.iter().all(|number| chosen.contains(number)), "{:?}", chosen.get(..8));
        assert!((900..1_110).contains(&chosen.len()), "{}", chosen.len());
        assert_eq!(due(&DeepSteps::new(true, "a"), 0..64_000), chosen, "as on another rank");
        assert_ne!(due(&DeepSteps::new(true, "b"), 0..64_000), chosen);
        assert_eq!(due(&DeepSteps::new(false, "a"), 0..64_000), [0; 0]);
    }

    #[test]
    fn where_they_take_too_much_some_of_those_of_the_others_stay() {
        let all = due(&DeepSteps::new(true, "a"), 33..64_000);
        let fewer = DeepSteps::new(true, "a");
        fewer.adjust(0, 2);
        let fewer = due(&fewer, 33..64_000);
        assert!((180..320).contains(&fewer.len()), "{}", fewer.len());
        assert!(fewer.iter().all(|number| all.contains(number)));
    }

    #[test]
    fn a_run_that_goes_on_begins_anew_with_the_first_ones() {
        let chosen = due(&DeepSteps::new(true, "a"), 5_000..5_040);
        assert!([5_004, 5_008, 5_016, 5_032].iter().all(|number| chosen.contains(number)), "{chosen:?}");
    }

    #[test]
    fn numbers_that_come_again_are_chosen_anew_and_a_number_that_stays_is_not_chosen() {
        let steps = DeepSteps::new(true, "a");
        let laps: Vec<Vec<u64>> = (0..640).map(|_| due(&steps, 0..10)).collect();
        let count: usize = laps.iter().skip(1).map(Vec::len).sum();
        assert!((60..140).contains(&count), "{count}");
        assert_ne!(laps[1..200], laps[200..399]);
        assert_eq!(due(&DeepSteps::new(true, "a"), std::iter::repeat_n(4, 1_000)), [0; 0]);
    }

    #[test]
    fn one_is_under_way_at_a_time_until_it_ends_or_is_given_up() {
        let steps = DeepSteps::new(true, "a");
        assert!(steps.claim() && !steps.claim());
        let step = UnderWay { trace: TraceRef::default(), span_id: 7, start_ns: 1, thread: 2 };
        steps.begin(step);
        assert_eq!(steps.under_way(), Some(step));
        steps.release();
        assert_eq!((steps.under_way(), steps.is_open()), (None, false));
        assert!(steps.claim());
        steps.begin(step);
        let given_up = (0..1_000).position(|_| steps.is_given_up());
        assert_eq!((given_up, steps.is_open()), (Some(MAX_MEANWHILE as usize), false));
    }
}
