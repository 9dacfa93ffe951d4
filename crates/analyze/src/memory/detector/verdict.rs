//! The verdict on one gauge: which shape describes it, whether its rise is more than chance, and whether it goes on.

use super::clean::attempts;
use super::falls::{Fall, falls};
use super::levels::{Levels, levels};
use super::shapes::{Fit, Kind, fits};
use super::slope::{Slope, apart, dependence, reach_of_blocks, slope};

/// What memory does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verdict {
    /// Grows, and goes on.
    Leak,
    /// Grows ever more slowly.
    Decelerating,
    /// Grew from the begin to a size that it keeps.
    CacheFilling,
    /// Grew for a while, and no more.
    Stopped,
    /// The heap keeps its size, what the process holds of the system grows.
    Fragmentation,
    /// Keeps its size, as far as can be seen.
    None,
    /// Several of these describe it as well.
    #[default]
    Undecided,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Leak,
        Self::Decelerating,
        Self::CacheFilling,
        Self::Stopped,
        Self::Fragmentation,
        Self::None,
        Self::Undecided,
    ];

    /// Its name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leak => "leak",
            Self::Decelerating => "decelerating",
            Self::CacheFilling => "cache_filling",
            Self::Stopped => "stopped",
            Self::Fragmentation => "fragmentation",
            Self::None => "none",
            Self::Undecided => "undecided",
        }
    }

    /// The smaller, the more there is to tell.
    pub(super) const fn rank(self) -> u8 {
        self as u8
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A verdict and what it rests on; rates in bytes a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Judgment {
    /// What memory does.
    pub verdict: Verdict,
    /// Whether it rests on resident memory alone.
    pub is_suspected: bool,
    /// The rate of growth since `since_step`.
    pub bytes_per_step: f64,
    /// Its 95 % interval.
    pub interval: (f64, f64),
    /// Probability of such a slope by chance.
    pub chance: f64,
    /// Step from which on it grows, at that rate.
    pub since_step: Option<u64>,
    /// Where growth comes to that ends, bytes.
    pub plateau_bytes: Option<f64>,
    /// The smallest rate that would have been seen.
    pub least_seen: f64,
    /// About how many more steps decide.
    pub more_steps: Option<u64>,
    /// Points that it rests on.
    pub points: usize,
    /// First and last step of these.
    pub steps: (u64, u64),
    /// Where it jumps back after it had grown, and what it was before.
    pub fell: Option<Fall>,
}

impl Judgment {
    /// Whether it leaks.
    #[must_use]
    pub fn is_leak(&self) -> bool {
        self.verdict == Verdict::Leak
    }
}

/// Points below which nothing is told.
const LEAST_POINTS: usize = 6;

/// Points by which a fast leak is told.
const USUAL_POINTS: usize = 10;

/// Probability by chance of a slope that counts.
const CHANCE: f64 = 0.01;

/// By how much the criterion of what rises must be better than that of what ends.
const MARGIN: f64 = -1.5;

/// By how much worse by the criterion a shape is that may be the right one all the same: one to twenty (A. E. Raftery,
/// Sociological Methodology 25 (1995), 111–163).
const RIVAL: f64 = 6.0;

/// Part of its range below which differences between levels mean nothing.
const FINE: f64 = 0.004;

/// Rise, in times of what levels scatter, that a walk without direction comes to once in a hundred.
const WALK: f64 = 14.0;

/// Rise, in times of what levels scatter.
const RISE: f64 = 6.0;

/// Pieces in which memory grows, at least.
const LEAST_PIECES: f64 = 5.0;

/// Deviations from the nearest shape beyond which levels count as that.
const STRAY: f64 = 4.0;

/// The verdict on one gauge, of the attempt that tells most.
pub(super) fn of(gauge: &[(u64, f64)], floor_bytes: f64) -> Judgment {
    let mut attempts = attempts(gauge);
    attempts.sort_by_key(|attempt| std::cmp::Reverse(attempt.len()));
    let mut judged = attempts.iter().take(8).map(|attempt| attempt_of(attempt, floor_bytes));
    let longest = judged.next().unwrap_or_default();
    if longest.is_leak() {
        return longest;
    }
    judged.find(|judgment| judgment.is_leak() && judgment.points * 4 >= longest.points).unwrap_or(longest)
}

fn attempt_of(points: &[(u64, f64)], floor_bytes: f64) -> Judgment {
    let whole = course_of(points, floor_bytes);
    let falls = if whole.is_leak() { Vec::new() } else { falls(points, floor_bytes) };
    let Some(&(at, fall)) = falls.last() else { return whole };
    let before = falls.iter().rev().nth(1).map_or(0, |(at, _)| *at);
    let grew = course_of(points.get(before..at).unwrap_or_default(), floor_bytes);
    if !grew.is_leak() {
        return whole;
    }
    let told = Judgment { fell: Some(fall), ..whole };
    let since = course_of(points.get(at..).unwrap_or_default(), floor_bytes);
    if !since.is_leak() {
        return told;
    }
    // Twice the same growth leaks over a restart, and is healthy where each stage of a program clears what it kept.
    let again = (at - before).saturating_sub(points.len() - at).max(1);
    let more_steps = Some(steps_of(again, points.len(), told.steps));
    Judgment { verdict: Verdict::Undecided, more_steps, ..told }
}

/// Steps in which so many points come, where `points` came in `steps`.
fn steps_of(more: usize, points: usize, steps: (u64, u64)) -> u64 {
    let each = steps.1.saturating_sub(steps.0) as f64 / points.saturating_sub(1).max(1) as f64;
    (more as f64 * each.max(1.0)).ceil() as u64
}

fn course_of(points: &[(u64, f64)], floor_bytes: f64) -> Judgment {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Judgment::default() };
    let known =
        Judgment { points: points.len(), steps: (first.0, last.0), chance: 1.0, ..Judgment::default() };
    let levels = levels(points);
    let count = levels.bytes.len();
    let (Some(&begin), Some(&end)) = (levels.steps.first(), levels.steps.last()) else { return known };
    if points.len() < LEAST_POINTS || count < LEAST_POINTS || end <= begin {
        let more = steps_of(USUAL_POINTS - points.len().min(LEAST_POINTS), points.len(), known.steps);
        return Judgment { more_steps: Some(more), ..known };
    }
    let levels = levels.settled();
    let (Some(&begin), Some(&end)) = (levels.steps.first(), levels.steps.last()) else { return known };
    let times: Vec<f64> = levels.steps.iter().map(|step| (step - begin) / (end - begin)).collect();
    Case { levels: &levels, times, length: end - begin, begin, floor_bytes }.judge(known)
}

/// Levels of an attempt over times from 0 to 1.
struct Case<'a> {
    levels: &'a Levels,
    times: Vec<f64>,
    length: f64,
    begin: f64,
    floor_bytes: f64,
}

impl Case<'_> {
    fn judge(&self, known: Judgment) -> Judgment {
        let raw = &self.levels.bytes;
        let range =
            raw.iter().copied().fold(f64::MIN, f64::max) - raw.iter().copied().fold(f64::MAX, f64::min);
        let quantum = self.levels.quantum;
        let floor = (FINE * range).powi(2).max((self.floor_bytes / 64.0).powi(2)) + quantum * quantum / 12.0;
        let near = |fits: &[Fit]| {
            fits.iter()
                .min_by(|a, b| {
                    a.criterion(raw.len() as f64, floor).total_cmp(&b.criterion(raw.len() as f64, floor))
                })
                .cloned()
        };
        let Some(first) = near(&fits(&self.times, raw)) else { return known };
        let bytes = clipped(raw, &first, floor.sqrt());
        let all = fits(&self.times, &bytes);
        let count = bytes.len() as f64;
        let Some(nearest) = near(&all) else { return known };
        let dependent = dependence(&nearest.rest(&bytes));
        let apart = apart(count, dependent).max(4.0);
        let best = |does: &dyn Fn(Kind) -> bool| {
            all.iter()
                .filter(|fit| does(fit.kind))
                .map(|fit| (fit.criterion(apart, floor), fit))
                .min_by(|a, b| a.0.total_cmp(&b.0))
        };
        let rising = best(&|kind| kind == Kind::Rises);
        let Some((ends_at, ends)) = best(&|kind| kind != Kind::Rises) else { return known };
        let whole = self.slope(0.0, None, &bytes, floor);
        let chance = super::student::quantile(CHANCE, whole.freedom) * whole.error;
        let rough = (nearest.left / count + floor).sqrt();
        let least_seen = chance.max(RISE * rough).max(self.floor_bytes) / self.length;
        let known = self.rated(Judgment { least_seen, ..known }, &whole, 0.0);
        let Some((rises_at, rises)) = rising else { return self.ended(known, ends, &whole) };
        let rise = self.slope(rises.since, Some(rises), &bytes, floor);
        let scatter = (rises.left / count).sqrt();
        let growth = rise.rate * (1.0 - rises.since);
        let is_clear = rise.rate > 0.0
            && (rise.chance() <= CHANCE || growth >= WALK * scatter)
            && growth >= self.floor_bytes.max(LEAST_PIECES * self.levels.quantum)
            && growth >= RISE * scatter;
        if is_clear && rises_at + MARGIN <= ends_at && self.goes_on(&rise, rises, &bytes) {
            let told = self.rated(Judgment { verdict: Verdict::Leak, ..known }, &rise, rises.since);
            let rivals: Vec<&Fit> = all
                .iter()
                .filter(|fit| fit.kind == Kind::Rises && fit.criterion(apart, floor) <= rises_at + if v() & 2 > 0 { 10.0 } else if v() & 128 > 0 { 3.0 } else { RIVAL })
                .collect();
            let interval = self.between(&rise, rises, &rivals, &bytes, floor);
            return Judgment { interval, ..told };
        }
        if is_clear && rises_at < ends_at + MARGIN {
            // As many as the end of it that does not go on: twice that tells a line from what has stopped.
            let more = (self.length * (1.0 - rises.since) / 3.0).ceil() as u64;
            return Judgment { more_steps: Some(more.max(1)), ..self.rated(known, &rise, rises.since) };
        }
        self.ended(known, ends, &whole)
    }

    fn ended(&self, known: Judgment, ends: &Fit, whole: &Slope) -> Judgment {
        let rise = ends.at.last().unwrap_or(&0.0) - ends.at.first().unwrap_or(&0.0);
        if rise < self.floor_bytes {
            return Judgment { verdict: Verdict::None, ..known };
        }
        let verdict = match ends.kind {
            Kind::Slows => Verdict::Decelerating,
            Kind::Stops if ends.at.iter().take(4).any(|at| (at - ends.at[0]).abs() > 1.0) => {
                Verdict::CacheFilling
            }
            Kind::Stops => Verdict::Stopped,
            Kind::Steps if whole.chance() <= CHANCE => Verdict::Undecided,
            _ => Verdict::None,
        };
        // Two more of its steps, if they are stairs.
        let stairs = 2.0 * self.length / (ends.changes() + 1.0);
        let more_steps = (verdict == Verdict::Undecided).then_some(stairs.ceil() as u64);
        Judgment { verdict, plateau_bytes: ends.plateau, more_steps, ..known }
    }

    /// The 95 % interval of a rate, bytes a step: of what its shape leaves, whether that follows from level to level or hangs
    /// together over stretches, and of shapes that describe memory about as well.
    fn between(&self, rise: &Slope, fit: &Fit, rivals: &[&Fit], bytes: &[f64], floor: f64) -> (f64, f64) {
        let (times, values) = self.risen(fit.since, Some(fit), bytes);
        let reach = rise.reach().max(reach_of_blocks(&times, &values));
        let rates = || rivals.iter().map(|rival| self.slope(rival.since, Some(rival), bytes, floor).rate);
        let mut reach = reach;
        if v() & 16 > 0 { reach *= 1.3; }
        let mut low = rates().fold(rise.rate - reach, f64::min);
        let mut high = rates().fold(rise.rate + reach, f64::max);
        if v() & 1 > 0 {
            for rival in rivals {
                let one = self.slope(rival.since, Some(rival), bytes, floor);
                low = low.min(one.rate - one.reach());
                high = high.max(one.rate + one.reach());
            }
        }
        if v() & 8 > 0 {
            for part in [0.5, 2.0 / 3.0] {
                let from = fit.since + (1.0 - fit.since) * part;
                let tail = self.slope(from, Some(fit), bytes, floor).rate;
                low = low.min(tail);
                high = high.max(tail);
            }
        }
        if v() & (32 | 64) > 0 {
            let lag = if v() & 32 > 0 { 4 } else { 2 };
            let mut local: Vec<f64> = (lag..times.len()).map(|at| (values[at] - values[at - lag]) / (times[at] - times[at - lag])).collect();
            local.sort_unstable_by(f64::total_cmp);
            if local.len() > 6 {
                let q = |p| super::levels::quantile(&local, p);
                let rate = q(0.5);
                let error = (q(0.75) - q(0.25)) / 1.35 * 1.25 / (local.len() as f64 / lag as f64).sqrt();
                if (rate - rise.rate).abs() > 2.0 * error {
                    low = low.min(rate - 2.0 * error);
                    high = high.max(rate + 2.0 * error);
                }
            }
        }
        (low / self.length, high / self.length)
    }

    /// Whether the last third rises as well, as far as can be seen.
    fn goes_on(&self, rise: &Slope, fit: &Fit, bytes: &[f64]) -> bool {
        let from = fit.since + (1.0 - fit.since) * 2.0 / 3.0;
        let tail = self.slope(from, Some(fit), bytes, 0.0);
        tail.rate + 0.5 * tail.error.min(rise.rate) >= 0.5 * rise.rate
    }

    fn slope(&self, since: f64, fit: Option<&Fit>, bytes: &[f64], floor: f64) -> Slope {
        let (times, values) = self.risen(since, fit, bytes);
        let plain = slope(&times, &values, floor);
        // A jump that is fitted beside a slope takes of what tells it: their correlation is that of a line and a step.
        let place = fit
            .map_or(0.0, |fit| ((fit.jump.0 - since) / (1.0 - since).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0));
        Slope { error: plain.error / (1.0 - 3.0 * place * (1.0 - place)).sqrt(), ..plain }
    }

    /// Times from a time on, and bytes then without what is no part of the rise.
    fn risen(&self, since: f64, fit: Option<&Fit>, bytes: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let after = self.times.iter().zip(bytes).filter(|(time, _)| **time >= since);
        after.map(|(&time, &value)| (time, fit.map_or(value, |fit| fit.rise_of(time, value)))).unzip()
    }

    fn rated(&self, known: Judgment, slope: &Slope, since: f64) -> Judgment {
        let (rate, reach) = (slope.rate / self.length, slope.reach() / self.length);
        Judgment {
            bytes_per_step: rate,
            interval: (rate - reach, rate + reach),
            chance: slope.chance(),
            since_step: Some((self.begin + since * self.length).round().max(0.0) as u64),
            ..known
        }
    }
}

/// Levels, none farther from a shape than most are by far.
fn clipped(bytes: &[f64], shape: &Fit, floor: f64) -> Vec<f64> {
    let rest = shape.rest(bytes);
    let mut sizes: Vec<f64> = rest.iter().map(|value| value.abs()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let most = STRAY * (1.5 * super::levels::quantile(&sizes, 0.5)).max(floor);
    shape.at.iter().zip(&rest).map(|(at, rest)| at + rest.clamp(-most, most)).collect()
}

fn v() -> u32 { std::env::var("V").ok().and_then(|v| v.parse().ok()).unwrap_or(0) }
