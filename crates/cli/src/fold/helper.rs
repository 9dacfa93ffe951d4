//! What the reader's second thread does while it has nothing to decode: it folds traces into a partial of its own. For a
//! single file, whose parts nobody could read at the same time. What is read, and in which order, is the business of the
//! thread that reads; when both partials are put together, that of the analysis.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stepscope_analyze::{Config, Partial};
use stepscope_model::{Errand, Trace};

/// A smaller input is folded sooner than two partials are put together.
const FREE_SPANS: usize = 20_000;

/// As long as traces that hold so much wait, whoever reads folds by itself. As much is kept for reuse.
const WAITING_BYTES: usize = 2 << 20;

/// A trace that holds more is not exchanged: its room would go round with traces that do not need it.
const MAX_BYTES: usize = 1 << 20;

/// One of more spans is not kept waiting.
const MAX_SPANS: usize = 2_048;

/// So many traces are folded into a partial before it is handed over: one is about as large as that of a whole run, and two
/// of that size are more memory than a run should take.
const HANDED_OVER: u64 = 8_192;

/// Traces that wait.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Trace>,
    /// What they hold.
    bytes: usize,
    /// For reuse.
    spare: Vec<Trace>,
    spare_bytes: usize,
    /// Traces that the second thread has folded.
    folded: u64,
    /// What it has folded and handed over.
    handed_over: Option<Partial>,
}

impl Queue {
    fn put(&mut self, trace: Trace) {
        self.bytes += trace.held_bytes();
        self.waiting.push_back(trace);
    }

    fn next(&mut self) -> Option<Trace> {
        let trace = self.waiting.pop_front()?;
        self.bytes -= trace.held_bytes();
        Some(trace)
    }

    fn keep(&mut self, trace: Trace) {
        if self.spare_bytes + trace.held_bytes() <= WAITING_BYTES {
            self.spare_bytes += trace.held_bytes();
            self.spare.push(trace);
        }
    }

    fn spare(&mut self) -> Trace {
        let Some(spare) = self.spare.pop() else { return Trace::new([0; 16], Arc::default()) };
        self.spare_bytes -= spare.held_bytes();
        spare
    }
}

/// What both threads see.
#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Held by the second thread while it folds.
    folding: Mutex<Folding>,
}

/// What the second thread folds into.
#[derive(Debug, Default)]
struct Folding {
    /// Absent before the first trace, and when it was handed over.
    partial: Option<Partial>,
    /// Traces in it.
    traces: u64,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nobody panics while it is held.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Errand for Shared {
    fn run(&self) -> bool {
        // After a panic nothing is taken any more: whoever reads does all of it, and says so in the end.
        let Ok(mut folding) = self.folding.lock() else { return false };
        let Some(trace) = self.queue().next() else { return false };
        folding.partial.get_or_insert_with(|| Partial::new(Config::default())).add(&trace);
        folding.traces += 1;
        let mut queue = self.queue();
        queue.folded += 1;
        queue.keep(trace);
        // The last one may still be there: whoever reads is busy.
        if folding.traces >= HANDED_OVER && queue.handed_over.is_none() {
            queue.handed_over = folding.partial.take();
            folding.traces = 0;
        }
        true
    }
}

/// The side of the thread that reads.
#[derive(Debug)]
pub(super) struct Helper {
    shared: Arc<Shared>,
    /// Spans to come before it helps.
    free_spans: usize,
    /// What was handed over and is not merged.
    handed_over: Option<Partial>,
}

impl Default for Helper {
    fn default() -> Self {
        Self::after(FREE_SPANS)
    }
}

impl Helper {
    /// One that helps after so many spans.
    pub(super) fn after(free_spans: usize) -> Self {
        Self { shared: Arc::default(), free_spans, handed_over: None }
    }

    /// What the second thread is to do.
    pub(super) fn errand(&self) -> Arc<dyn Errand> {
        Arc::clone(&self.shared) as Arc<dyn Errand>
    }

    /// What the second thread has folded and handed over, to be merged; seen when a trace was given to it.
    pub(super) fn handed_over(&mut self) -> Option<Partial> {
        self.handed_over.take()
    }

    /// Takes the trace and leaves another one in its place, unless the caller has to fold it.
    pub(super) fn takes(&mut self, trace: &mut Trace) -> bool {
        let spans = trace.spans.len();
        let is_free = self.free_spans > 0;
        self.free_spans = self.free_spans.saturating_sub(spans);
        if is_free || spans > MAX_SPANS {
            return false;
        }
        let mut queue = self.shared.queue();
        if self.handed_over.is_none() {
            self.handed_over = queue.handed_over.take();
        }
        if queue.bytes > WAITING_BYTES {
            return false;
        }
        // A copy takes no more than it needs.
        let is_roomy = trace.held_bytes() > MAX_BYTES;
        let taken = if is_roomy { trace.clone() } else { std::mem::replace(trace, queue.spare()) };
        queue.put(taken);
        true
    }

    /// Traces that the second thread has folded.
    #[cfg(test)]
    pub(super) fn folded(&self) -> u64 {
        self.shared.queue().folded
    }

    /// Folds what still waits, and takes in what was folded.
    ///
    /// # Panics
    /// If the second thread has while it folded: what it had folded is lost.
    pub(super) fn put_into(self, partial: &mut Partial) {
        let next = || self.shared.queue().next();
        while let Some(trace) = next() {
            partial.add(&trace);
        }
        match self.shared.folding.lock() {
            Ok(mut folding) => {
                let last = [self.handed_over, self.shared.queue().handed_over.take(), folding.partial.take()];
                last.iter().flatten().for_each(|folded| partial.merge(folded));
            }
            Err(_) => std::panic::resume_unwind(Box::new("the second thread panicked while it folded")),
        }
    }
}

#[cfg(test)]
mod tests {
    use stepscope_model::{Resource, Span};

    use super::*;

    /// A trace of so many spans, by its number.
    fn trace(number: u8, spans: usize) -> Trace {
        let resource = Resource { run_id: "run".into(), ..Resource::default() };
        let mut trace = Trace::new([number; 16], Arc::new(resource));
        let name = trace.push_text("section");
        for id in 0..spans as u64 {
            let mut span = Span::default();
            (span.id, span.name, span.end_ns) = (id + 1, name, 1_000 * u64::from(number));
            trace.spans.push(span);
        }
        trace
    }

    fn folded(traces: &[Trace]) -> Vec<u8> {
        let mut partial = Partial::new(Config::default());
        traces.iter().for_each(|trace| partial.add(trace));
        partial.to_bytes().expect("bytes")
    }

    /// What comes of traces of which the second thread folds so many.
    fn helped(traces: &[Trace], by_errand: usize) -> Vec<u8> {
        let (mut helper, mut partial) = (Helper::after(0), Partial::new(Config::default()));
        let errand = helper.errand();
        for trace in traces {
            assert!(helper.takes(&mut trace.clone()));
        }
        assert!((0..by_errand).all(|_| errand.run()));
        helper.put_into(&mut partial);
        assert!(!errand.run(), "nothing is left");
        partial.to_bytes().expect("bytes")
    }

    #[test]
    fn every_trace_is_folded_once_whoever_does_it() {
        let traces: Vec<Trace> = (1..=6).map(|number| trace(number, 3)).collect();
        let expected = folded(&traces);
        for by_errand in 0..=traces.len() {
            assert_eq!(helped(&traces, by_errand), expected, "{by_errand}");
        }
    }

    #[test]
    fn what_was_folded_is_handed_over_now_and_then() {
        let traces: Vec<Trace> = (1..=3).map(|number| trace(number, 3)).collect();
        let (mut helper, mut partial) = (Helper::after(0), Partial::new(Config::default()));
        let errand = helper.errand();
        let (mut expected, mut merged) = (Partial::new(Config::default()), 0);
        for at in 0..3 * HANDED_OVER as usize + 7 {
            let trace = &traces[at % traces.len()];
            expected.add(trace);
            assert!(helper.takes(&mut trace.clone()) && errand.run());
            // Not always at once.
            if let Some(folded) = (at % 3_000 == 0).then(|| helper.handed_over()).flatten() {
                partial.merge(&folded);
                merged += 1;
            }
        }
        assert_eq!(merged, 2);
        helper.put_into(&mut partial);
        assert_eq!(partial.to_bytes().expect("bytes"), expected.to_bytes().expect("bytes"));
    }

    #[test]
    fn what_does_not_fit_is_left_to_the_caller() {
        let mut helper = Helper::after(5);
        assert!(!helper.takes(&mut trace(1, 4)), "a small input");
        assert!(!helper.takes(&mut trace(2, 4)), "the one that makes it large");
        let mut taken = trace(3, 4);
        assert!(helper.takes(&mut taken));
        assert!(taken.spans.is_empty(), "another one is in its place");
        assert!(!helper.takes(&mut trace(4, MAX_SPANS + 1)));
        let mut waiting = 1;
        while helper.takes(&mut trace(5, 50)) {
            waiting += 1;
        }
        let held = helper.shared.queue().bytes;
        assert!((WAITING_BYTES..WAITING_BYTES + MAX_BYTES).contains(&held), "{waiting} hold {held}");
        while helper.errand().run() {}
        assert_eq!((helper.folded(), helper.shared.queue().bytes), (waiting, 0));
        assert!(helper.shared.queue().spare_bytes <= WAITING_BYTES);
        let mut reused = trace(6, 2);
        assert!(helper.takes(&mut reused), "there is room again");
        assert!(!reused.spans.is_empty(), "what was folded is used again");
    }

    #[test]
    fn the_room_of_a_large_trace_stays_with_the_reader() {
        let (mut helper, mut read) = (Helper::after(0), trace(1, 100_000));
        let room = read.held_bytes();
        assert!(!helper.takes(&mut read) && room > 8 * MAX_BYTES);
        // The reader writes the next ones over it.
        read.spans.truncate(1);
        for _ in 0..100 {
            assert!(helper.takes(&mut read));
            assert_eq!(read.held_bytes(), room);
        }
        assert!(helper.shared.queue().bytes < MAX_BYTES, "{}", helper.shared.queue().bytes);
    }

    #[test]
    fn a_thread_that_panics_while_it_folds_is_told_of() {
        let mut helper = Helper::after(0);
        assert!(helper.takes(&mut trace(1, 3)));
        let shared = Arc::clone(&helper.shared);
        let dies = move || {
            let _folding = shared.folding.lock();
            std::panic::resume_unwind(Box::new("a fold that panics"));
        };
        let thread = std::thread::Builder::new().name("fold-test".into()).spawn(dies).expect("a thread");
        assert!(thread.join().is_err());
        assert!(!helper.errand().run(), "nothing is taken any more");
        let put = || helper.put_into(&mut Partial::new(Config::default()));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(put)).is_err());
    }
}
