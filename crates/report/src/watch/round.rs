//! The thread of a watch: when it reads, when it has judged, when it tells. Whether memory leaks is the detector's business.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use stepscope_analyze::memory::detector::{Judgment, Verdict};
use stepscope_core::attr;
use stepscope_limits::Limits;
use stepscope_limits::leaks::{self, Leak};
use stepscope_mem::{live_bytes, rss_bytes, set_aside};

use super::series::{Point, Series};
use super::warning::LeakWarning;
use super::{Callback, Shared, WatchBuilder};

/// Pauses between two looks whether a step has ended, of which the first are shorter.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const PAUSE: Duration = Duration::from_millis(100);

/// Points before the first judgment, and as many looks are at the shorter pause.
const FIRST_POINTS: u64 = 16;
const EARLY_POINTS: u64 = 64;

/// A verdict that is asked for again and again is wrong now and then, and a cache that fills is a leak until it is full. So a
/// leak is told when it has taken one in so many parts of the room that is left, if its rate is known well: most of the time
/// is left then, too. …
const ROOM_PARTS: f64 = 8.0;
/// …Or as much as is left, however well it is known.
const HALF: f64 = 1.0;
/// …Or when it was one all the time from some looks to so many times as many, for this time at least.
const LASTS: u64 = 4;
const LASTS_FOR: Duration = Duration::from_secs(300);

/// Looks that make a point of the latest: a second at the longer pause.
const LATEST: u32 = 10;

/// Judged again when there is a quarter more…
const GROWTH: f64 = 1.25;
/// …or after this, …
const AT_LEAST_EVERY: Duration = Duration::from_secs(30);
/// …but never for more than this and one in so many parts of the time.
const AT_ONCE: Duration = Duration::from_millis(20);
const SELDOM: u32 = 2_000;

/// Watches until it has to stop.
pub(super) fn watch(builder: &WatchBuilder, shared: &Shared, callback: Callback) {
    let mut callback = Some(callback);
    let mut watch = aside(|| Watch::new(builder));
    while shared.pause(watch.pause()) {
        let Some(warning) = aside(|| watch.next_warning()) else { continue };
        if shared.lock().stops {
            break;
        }
        let Some(call) = &mut callback else { continue };
        if std::panic::catch_unwind(AssertUnwindSafe(|| call(&warning))).is_err() {
            callback = None;
        }
    }
    aside(|| drop(watch));
}

/// What the watch holds itself is not the program's; what its callback does is.
fn aside<R>(work: impl FnOnce() -> R) -> R {
    let _own = set_aside();
    work()
}

struct Watch<'b> {
    builder: &'b WatchBuilder,
    limits: Limits,
    series: Series,
    latest: Series,
    begun: Instant,
    /// Looks at which a step had ended.
    seen: u64,
    steps: u64,
    next_at: u64,
    /// When it was judged last, and what judging has taken.
    judged: Instant,
    spent: Duration,
    /// Looks and time at the first of the verdicts that were a leak without one that was none.
    since: Option<(u64, Instant)>,
    told: Told,
}

/// What was told of the leak at hand.
#[derive(Debug, Default)]
struct Told {
    leak: bool,
    near: bool,
}

impl<'b> Watch<'b> {
    fn new(builder: &'b WatchBuilder) -> Self {
        let now = Instant::now();
        if let Some(bytes) = builder.limit_bytes {
            builder.handle.set_memory_limit(bytes);
        }
        Self {
            builder,
            limits: Limits::of_this_process(),
            series: Series::whole(),
            latest: Series::latest(LATEST),
            begun: now,
            seen: 0,
            steps: builder.handle.steps(),
            next_at: FIRST_POINTS,
            judged: now,
            spent: Duration::ZERO,
            since: None,
            told: Told::default(),
        }
    }

    /// Reads, judges where that is due, and leaves in the run what is to be told.
    fn next_warning(&mut self) -> Option<LeakWarning> {
        self.look();
        let (judged, seconds_per_step) = self.judged()?;
        let warning = self.warning(&judged, seconds_per_step)?;
        report(&warning);
        Some(warning)
    }

    fn pause(&self) -> Duration {
        if self.seen < EARLY_POINTS { FIRST_PAUSE } else { PAUSE }
    }

    /// Reads memory where a step has ended since the last look.
    fn look(&mut self) {
        let steps = self.builder.handle.steps();
        if steps == std::mem::replace(&mut self.steps, steps) {
            return;
        }
        self.seen += 1;
        let known = |bytes: Option<u64>| bytes.map_or(f64::NAN, |bytes| bytes as f64);
        let point = Point {
            steps,
            seconds: self.begun.elapsed().as_secs_f64(),
            live_bytes: known(live_bytes()),
            rss_bytes: known(rss_bytes()),
        };
        self.series.push(point);
        self.latest.push(point);
    }

    /// The verdict and the pace of steps, where it is time for them.
    fn judged(&mut self) -> Option<(Judgment, Option<f64>)> {
        let now = Instant::now();
        let is_due = self.seen >= self.next_at || now.duration_since(self.judged) >= AT_LEAST_EVERY;
        let most = AT_ONCE.saturating_add(self.begun.elapsed() / SELDOM);
        if !is_due || self.spent > most {
            return None;
        }
        let judged = judged(&self.series, &self.latest);
        self.next_at = (self.seen as f64 * GROWTH).ceil() as u64;
        self.judged = Instant::now();
        self.spent = self.spent.saturating_add(now.elapsed());
        Some(judged)
    }

    /// What is to be told of this judgment, and was not.
    fn warning(&mut self, judged: &Judgment, seconds_per_step: Option<f64>) -> Option<LeakWarning> {
        let limit = self.limits.nearest(self.builder.limit_bytes);
        let warning = LeakWarning::of(judged, self.steps, limit, seconds_per_step, self.builder.before);
        let Some(warning) = warning else {
            if judged.verdict != Verdict::Undecided {
                leaks::tell(Some(Leak::default()));
                (self.since, self.told) = (None, Told::default());
            }
            return None;
        };
        let since = *self.since.get_or_insert((self.seen.max(EARLY_POINTS), Instant::now()));
        let is_clear = warning.is_exact() && (warning.takes(ROOM_PARTS) || self.lasts(since));
        if !(self.told.leak || is_clear || warning.takes(HALF)) {
            return None;
        }
        leaks::tell(Some(Leak {
            bytes_per_step: warning.bytes_per_step,
            time_left_s: warning.time_to_limit.map(|left| left.about.as_secs_f64()),
        }));
        let is_new = !self.told.leak || (warning.is_near && !self.told.near);
        self.told = Told { leak: true, near: self.told.near || warning.is_near };
        is_new.then_some(warning)
    }

    fn lasts(&self, (looks, since): (u64, Instant)) -> bool {
        self.seen >= LASTS.saturating_mul(looks) && since.elapsed() >= LASTS_FOR
    }
}

/// The verdict on the whole; where that is too coarse for a leak that has just begun, on the latest, if memory was never as
/// large. With the pace of steps.
fn judged(whole: &Series, latest: &Series) -> (Judgment, Option<f64>) {
    let judged = whole.judge();
    if !is_leak(&judged) && whole.stride() > latest.stride() && latest.is_beyond(whole) {
        let late = latest.judge();
        if is_leak(&late) {
            return (late, latest.seconds_per_step());
        }
    }
    let pace = whole.seconds_per_step();
    if !is_leak(&judged) {
        return (judged, pace);
    }
    // How fast it grows from here is what it does lately: before, a cache may have filled as well.
    let later = whole.later().judge();
    let ends = !is_leak(&later) && later.verdict != Verdict::Undecided;
    if ends || !whole.is_high() {
        return (Judgment { verdict: Verdict::Undecided, ..judged }, pace);
    }
    let Judgment { bytes_per_step, interval, .. } = if is_leak(&later) { later } else { judged };
    (Judgment { bytes_per_step, interval, ..judged }, pace)
}

const fn is_leak(judged: &Judgment) -> bool {
    matches!(judged.verdict, Verdict::Leak | Verdict::Fragmentation)
}

/// Leaves it in the run, as a section of its own: that is written at once, and a process that runs out of memory is killed.
fn report(warning: &LeakWarning) {
    let left = warning.time_to_limit.map(|left| left.about.as_secs_f64());
    let span = tracing::warn_span!(
        parent: None,
        "memory_leak",
        { attr::LEAK_VERDICT } = warning.verdict.name(),
        { attr::LEAK_BYTES_PER_STEP } = warning.bytes_per_step,
        { attr::LEAK_SINCE_STEP } = warning.since_step,
        { attr::LEAK_TIME_LEFT } = left,
    );
    span.in_scope(|| tracing::warn!("{warning}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOC: stepscope_mem::Alloc = stepscope_mem::Alloc::system();

    #[test]
    fn a_watch_takes_less_than_a_mebibyte_however_long_it_is() {
        let peak = stepscope_mem::peak_enter();
        let (mut whole, mut latest) = (Series::whole(), Series::latest(LATEST));
        for look in 0..100_000 {
            let bytes = 1e9 + look as f64 * 1e4;
            let point =
                Point { steps: look, seconds: look as f64, live_bytes: bytes, rss_bytes: 1.1 * bytes };
            whole.push(point);
            latest.push(point);
        }
        let _ = judged(&whole, &latest);
        let taken = stepscope_mem::peak_exit(peak).unwrap();
        assert!((30_000..1 << 20).contains(&taken), "{taken}");
    }

    /// Ten looks a second with two steps each at memory of `bytes` by seconds: when a leak was first told, judged once a
    /// minute from a second on.
    fn told(from: u64, seconds: u64, bytes: impl Fn(f64) -> f64) -> Option<u64> {
        let (mut whole, mut latest) = (Series::whole(), Series::latest(LATEST));
        (0..seconds * 10).find_map(|look| {
            let seconds = look as f64 / 10.0;
            let noise = (look * 7_919 % 1_000) as f64 * 1_000.0;
            let live_bytes = bytes(seconds) + noise;
            let point = Point { steps: look * 2, seconds, live_bytes, rss_bytes: f64::NAN };
            whole.push(point);
            latest.push(point);
            let is_due = look % 600 == 599 && look / 10 >= from && is_leak(&judged(&whole, &latest).0);
            is_due.then_some(look / 10)
        })
    }

    #[test]
    fn a_leak_that_begins_late_in_a_long_run_is_told_within_minutes() {
        let late = told(0, 12_000, |seconds| 5e8 + 1e7 * (seconds - 8_000.0).max(0.0)).unwrap();
        assert!((8_000..8_300).contains(&late), "{late}");
        // Epochs of twenty minutes that fill up, from the second one on, and a level that is kept.
        assert_eq!(told(1_300, 6_000, |seconds| 5e8 + 1e6 * (seconds % 1_200.0)), None);
        assert_eq!(told(0, 3_000, |_| 5e8), None);
    }
}
