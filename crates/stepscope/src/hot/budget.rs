//! How many spans a second may leave, if all of them together are to take no more than a part of the time of steps: what a
//! span takes on this machine and how much of the time steps are under way, both measured while the program runs. Who
//! shares the number out is `rate`.

use std::sync::atomic::Ordering;

use crate::config::ring::Overflow;
use crate::os::clock::now_ns;
use crate::shared::ring::{Rank, Ring};

/// What a span is taken for until it was measured: about what it takes in `benches/spans` with its sending.
const ASSUMED_NS: u64 = 1_000;

/// Of fewer spans between two looks it is not known what they took: the thread that takes them in does other things, too.
const MIN_SPANS: u64 = 250;

/// So many may leave in a second until it is known what they take, so that it comes to be known.
const TO_MEASURE: u32 = 1_000;

/// Where so many times in a row too few came to measure them, twice as many as that may leave until the next time: what was
/// measured first may have been far too much, and would keep itself true. Looks come four times a second.
const LOOKS_WITHOUT: u32 = 240;

/// The measures are those of so many spans and of so much time, and half as much of what was before.
const SPANS: u64 = 20_000;
const STEPS_NS: u64 = 8_000_000_000;

/// A pause between steps counts for no longer than this: it is no part of how steps follow each other.
const MAX_PAUSE_NS: u64 = 1_000_000_000;

/// Millionths of a second.
const NS_PER_MILLIONTH: u128 = 1_000;

/// What has been so far.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measured {
    pub now_ns: u64,
    /// Time of all steps that have ended.
    pub step_ns: u64,
    /// Processor time of the thread that takes spans in, encodes and sends them; absent where the system does not say.
    pub cpu_ns: Option<u64>,
    /// Spans that it has taken in.
    pub taken: u64,
}

/// A part of a whole, of late.
#[derive(Debug, Default)]
struct Ratio {
    part: u64,
    whole: u64,
}

impl Ratio {
    fn add(&mut self, part: u64, whole: u64, limit: u64) {
        if self.whole >= limit {
            (self.part, self.whole) = (self.part / 2, self.whole / 2);
        }
        self.part = self.part.saturating_add(part);
        self.whole = self.whole.saturating_add(whole);
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Budget {
    millionths: u32,
    /// What it takes a thread to write the record of a span.
    write_ns: Option<u64>,
    last: Option<Measured>,
    /// Processor time and spans since these were last put together.
    since: (Option<u64>, u64),
    /// Processor time of our thread, of spans.
    sending: Ratio,
    /// Time of steps, of all time.
    steps: Ratio,
    /// Since a step has ended.
    waited_ns: u64,
    /// Times in a row that there were too few spans to measure.
    looks_without: u32,
}

impl Budget {
    pub(crate) fn new(millionths: u32) -> Self {
        let (sending, steps) = (Ratio::default(), Ratio::default());
        Self {
            millionths,
            write_ns: None,
            last: None,
            since: (None, 0),
            sending,
            steps,
            waited_ns: 0,
            looks_without: 0,
        }
    }

    /// As [`new`](Self::new), for a machine on which it takes so long to write a record.
    #[cfg(test)]
    pub(crate) fn with_write_ns(millionths: u32, write_ns: u64) -> Self {
        Self { write_ns: Some(write_ns), ..Self::new(millionths) }
    }

    /// What a span takes.
    fn span_ns(&self) -> u64 {
        match (self.write_ns, &self.sending) {
            (Some(write_ns), &Ratio { part, whole }) if whole > 0 => (write_ns + part / whole).max(1),
            _ => ASSUMED_NS,
        }
    }

    /// How many may leave in a second from now on.
    pub(crate) fn per_second(&self) -> u32 {
        let of_time = u128::from(self.millionths) * NS_PER_MILLIONTH;
        // Steps on several threads at once share what one at a time would have.
        let (part, whole) = (u128::from(self.steps.part), u128::from(self.steps.whole));
        let in_steps = (of_time * part.min(whole)).checked_div(whole).unwrap_or(of_time);
        let at_least = match self.looks_without {
            LOOKS_WITHOUT.. => 2 * TO_MEASURE,
            _ if self.sending.whole == 0 => TO_MEASURE,
            _ => 0,
        };
        match self.millionths {
            0 => 0,
            _ => u32::try_from(in_steps / u128::from(self.span_ns())).unwrap_or(u32::MAX).max(at_least),
        }
    }

    /// Takes in what has been since the last time. Of the thread that takes spans in.
    pub(crate) fn measure(&mut self, now: Measured) {
        self.write_ns.get_or_insert_with(write_ns);
        let Some(last) = self.last.replace(now) else {
            self.since = (now.cpu_ns, now.taken);
            return;
        };
        let (before, taken) = self.since;
        let spans = now.taken.saturating_sub(taken);
        let is_enough = spans >= MIN_SPANS;
        if is_enough && self.looks_without >= LOOKS_WITHOUT {
            // What was measured of few says nothing beside what is measured of many.
            self.sending = Ratio::default();
        }
        if is_enough && let (Some(before), Some(after)) = (before, now.cpu_ns) {
            self.sending.add(after.saturating_sub(before), spans, SPANS);
        }
        self.looks_without = match self.looks_without {
            _ if is_enough => 0,
            LOOKS_WITHOUT.. => 1,
            looks => looks + 1,
        };
        // The first time few ones are put together, however long it takes: it is better than a guess.
        if is_enough || self.sending.whole > 0 {
            self.since = (now.cpu_ns, now.taken);
        }
        self.waited_ns = self.waited_ns.saturating_add(now.now_ns.saturating_sub(last.now_ns));
        let step_ns = now.step_ns.saturating_sub(last.step_ns);
        if step_ns > 0 {
            // What was before the first step is nobody's pause.
            if last.step_ns > 0 {
                let most_ns = step_ns.saturating_add(MAX_PAUSE_NS);
                self.steps.add(step_ns, self.waited_ns.min(most_ns).max(1), STEPS_NS);
            }
            self.waited_ns = 0;
        }
    }
}

/// What it takes to write a record of usual size into a ring, the fastest of some rounds: others wanted the processor in the
/// slower ones.
fn write_ns() -> u64 {
    const RECORDS: u64 = 256;
    const WORDS: usize = 16;
    let ring = Ring::new(usize::try_from(RECORDS).unwrap_or(0) * 4 * 8 * (WORDS + 1), Overflow::DropNewest);
    let mut record = Vec::new();
    let round = |_| {
        let begun = now_ns();
        for number in 0..RECORDS {
            if let Some((slots, reserved)) = ring.reserve(WORDS, Rank::Plain) {
                slots.iter().for_each(|slot| slot.store(number, Ordering::Relaxed));
                ring.publish(reserved);
            }
        }
        let took = now_ns().saturating_sub(begun);
        while ring.pop(&mut record).is_some() {}
        took
    };
    // Both looks at the clock that a section takes are taken with its sums, whether it leaves or not.
    (0..8).map(round).min().unwrap_or(0).div_ceil(RECORDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hot::rate::Rate;
    use stepscope_core::PathId;

    const QUARTER_NS: u64 = 250_000_000;

    #[test]
    fn a_first_measure_that_was_far_too_much_does_not_last() {
        let mut budget = Budget::with_write_ns(10_000, 100);
        let mut now = Measured { cpu_ns: Some(0), step_ns: 1, ..Measured::default() };
        let mut look = |budget: &mut Budget, spans: u64, span_ns: u64| {
            now.now_ns += QUARTER_NS;
            now.step_ns += QUARTER_NS;
            now.taken += spans;
            now.cpu_ns = now.cpu_ns.map(|cpu_ns| cpu_ns + 250_000 + spans * span_ns);
            budget.measure(now);
        };
        // Ten spans a second, and a thread that takes a millisecond a second for itself.
        (0..120).for_each(|_| look(&mut budget, 3, 1_000));
        let at_first = budget.per_second();
        assert!((90..130).contains(&at_first), "{at_first}");
        // Then as many as there may be: the bound finds its place within two minutes.
        for _ in 0..480 {
            let spans = u64::from(budget.per_second()) / 4;
            look(&mut budget, spans, 1_000);
        }
        let later = budget.per_second();
        assert!((7_000..9_500).contains(&later), "{later}");
    }

    #[test]
    fn until_anything_is_known_a_span_takes_a_microsecond() {
        for (millionths, per_second) in
            [(10_000, 10_000), (2_500, 2_500), (1, TO_MEASURE), (0, 0), (u32::MAX, 4_294_967_295)]
        {
            let mut budget = Budget::new(millionths);
            budget.measure(Measured::default());
            assert_eq!(budget.per_second(), per_second);
        }
    }

    /// A program whose steps take so many of a hundred parts of the time, with a rare section and a hot one, on a machine
    /// where writing and sending of a span take so long: the part of step time that spans take in the last four of eight
    /// seconds, in millionths, and how many of the rare ones left.
    fn share(millionths: u32, percent: u64, write_ns: u64, send_ns: u64) -> (u64, u64) {
        let rate = Rate::new(None, Some(Budget::with_write_ns(millionths, write_ns)));
        let (mut now, mut left, mut rare) = (Measured { cpu_ns: Some(0), ..Measured::default() }, 0, 0);
        for quarter in 0..32 {
            for tick in 0..1_000 {
                let calls = std::iter::once(PathId(0)).filter(|_| tick % 250 == 0).chain([PathId(1); 200]);
                for path in calls {
                    if rate.admits(path, 1, || now.now_ns) {
                        now.taken += 1;
                        let is_late = quarter >= 16;
                        left += u64::from(is_late);
                        rare += u64::from(is_late && path.0 == 0);
                    }
                }
                now.now_ns += QUARTER_NS / 1_000;
                now.step_ns += QUARTER_NS / 1_000 * percent / 100;
            }
            // With something that it does besides.
            now.cpu_ns = Some(now.taken * send_ns + now.now_ns / 100_000);
            rate.measure(|| now);
            rate.share(std::time::Duration::from_nanos(QUARTER_NS));
        }
        let step_ns = 4_000_000_000 * percent / 100;
        (left * (write_ns + send_ns) * 1_000_000 / step_ns, rare)
    }

    #[test]
    fn spans_take_their_part_of_the_time_of_steps_and_no_more_and_rare_ones_leave_whole() {
        for (percent, write_ns, send_ns) in
            [(100, 30, 700), (60, 30, 700), (100, 200, 4_000), (25, 30, 300), (5, 20, 200)]
        {
            for millionths in [10_000, 2_000] {
                let (share, rare) = share(millionths, percent, write_ns, send_ns);
                let at_most = u64::from(millionths);
                // An eighth is kept for paths that are suddenly called more; a thirtieth more, for a second of the clock begins
                // with what was known before it.
                let range = at_most * 3 / 4..=at_most * 31 / 30;
                assert!(
                    range.contains(&share),
                    "{share} of {millionths}: {percent} % {write_ns} + {send_ns} ns"
                );
                assert_eq!(rare, 64, "{millionths}: {percent} % {write_ns} + {send_ns} ns");
            }
        }
    }

    #[test]
    fn steps_count_as_they_follow_each_other() {
        let budget = |steps: &[(u64, u64)]| {
            let mut budget = Budget::with_write_ns(10_000, 0);
            let mut now = Measured { step_ns: 1, cpu_ns: Some(0), ..Measured::default() };
            budget.measure(now);
            for &(wall_ms, step_ms) in steps {
                now.now_ns += wall_ms * 1_000_000;
                now.step_ns += step_ms * 1_000_000;
                // As many spans as tell that one takes a microsecond.
                now.taken += MIN_SPANS;
                now.cpu_ns = now.cpu_ns.map(|cpu_ns| cpu_ns + MIN_SPANS * 1_000);
                budget.measure(now);
            }
            budget.per_second()
        };
        assert_eq!(budget(&[(250, 0); 9]), 10_000, "none has ended");
        assert_eq!(budget(&[(250, 125); 9]), 5_000);
        // Of 3 s each, without a pause.
        let long = [(250, 0); 11].into_iter().chain([(250, 3_000)]).collect::<Vec<_>>();
        assert_eq!(budget(&long.repeat(3)), 10_000);
        // On four threads.
        assert_eq!(budget(&[(250, 1_000); 9]), 10_000);
        // A pause of a minute is one of a second.
        assert_eq!(budget(&[(60_250, 250)]), 2_000);
    }

    #[test]
    fn what_a_span_takes_is_what_it_took_of_late() {
        let mut budget = Budget::with_write_ns(10_000, 50);
        let mut now = Measured { cpu_ns: Some(0), ..Measured::default() };
        let mut spans = |budget: &mut Budget, spans: u64, ns: u64| {
            now.taken += spans;
            now.cpu_ns = now.cpu_ns.map(|cpu_ns| cpu_ns + spans * ns);
            budget.measure(now);
            budget.span_ns()
        };
        spans(&mut budget, 0, 0);
        assert_eq!(spans(&mut budget, MIN_SPANS - 1, 900), ASSUMED_NS, "too few");
        assert_eq!(spans(&mut budget, 1, 900), 950, "enough by now");
        assert_eq!(spans(&mut budget, MIN_SPANS - 1, 90_000), 950, "too few again");
        for _ in 0..10 {
            spans(&mut budget, 20_000, 450);
        }
        assert_eq!(spans(&mut budget, 20_000, 450), 500);
        assert!((1..100_000).contains(&write_ns()));
        // Where the system does not say it.
        let mut budget = Budget::new(10_000);
        for taken in [0, 100_000] {
            budget.measure(Measured { taken, ..Measured::default() });
        }
        assert_eq!(budget.span_ns(), ASSUMED_NS);
    }
}
