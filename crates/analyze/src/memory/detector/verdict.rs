//! The verdict on one course: which shape describes it, whether its rise is more than chance, and whether it goes on.

use super::judgment::{Judgment, Verdict, steps_of};
use super::levels::{Levels, clipped, levels};
use super::shapes::{Fit, Kind, fits};
use super::slope::{Slope, apart, dependence, reach_of_blocks, slope};

/// The criterion of the best of the fits that are meant.
type Best<'a> = dyn Fn(&dyn Fn(&Fit) -> bool) -> Option<f64> + 'a;

/// Points below which nothing is told.
const LEAST_POINTS: usize = 6;

/// Points by which a fast leak is told.
const USUAL_POINTS: usize = 10;

/// Probability by chance of a slope that counts.
const CHANCE: f64 = 0.01;

/// By how much the criterion of what rises must be better than that of what ends.
const MARGIN: f64 = -1.5;

/// By how much the criterion of what ends may be better where nothing is told of either.
const CLOSE: f64 = 2.5;

/// By how much the criterion of a bend must be better than that of what slows all along.
const BENT: f64 = 10.0;

/// Share of the run after a bend that is no part of the line which follows, and the least share that this has to be.
const AFTER_BEND: f64 = 0.02;
const LEAST_END: f64 = 0.25;

/// Times of the largest level beyond which the growth that would have been seen says nothing.
const BLIND: f64 = 4.0;

/// Part of a rise that has ended by which memory rises again.
const AGAIN: f64 = 0.05;

/// How much faster than on the whole what speeds up grows at its end.
const FASTER: f64 = 1.5;

/// By how much worse by the criterion a shape is that may be the right one all the same: one to twenty (A. E. Raftery,
/// Sociological Methodology 25 (1995), 111–163).
const RIVAL: f64 = 6.0;

/// Levels that such a shape rises over, at least.
const FEWEST: usize = 12;

/// Share of the run after which no such shape may begin to rise.
const LATEST_RIVAL: f64 = 0.75;

/// Part of its range below which differences between levels mean nothing.
const FINE: f64 = 0.004;

/// Rise, in times of what levels scatter, that a walk without direction comes to once in a hundred.
const WALK: f64 = 14.0;

/// Rise, in times of what levels scatter.
const RISE: f64 = 6.0;

/// Pieces in which memory grows, at least.
const LEAST_PIECES: f64 = 5.0;

/// The verdict on points of one process in the order of their steps. `may_bend` is whether the end of a series that slows at a place may be judged by itself.
pub(super) fn course_of(points: &[(u64, f64)], floor_bytes: f64, may_bend: bool) -> Judgment {
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
    let case = Case { points, levels: &levels, times, length: end - begin, begin, floor_bytes, may_bend };
    let risen_bytes = levels.bytes.last().unwrap_or(&0.0) - levels.bytes.first().unwrap_or(&0.0);
    case.judge(Judgment { risen_bytes, ..known })
}

/// Levels of an attempt over times from 0 to 1.
struct Case<'a> {
    points: &'a [(u64, f64)],
    levels: &'a Levels,
    times: Vec<f64>,
    length: f64,
    begin: f64,
    floor_bytes: f64,
    may_bend: bool,
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
        let bytes = clipped(&first.at, &first.rest(raw), floor.sqrt());
        let all = fits(&self.times, &bytes);
        let count = bytes.len() as f64;
        let Some(nearest) = near(&all) else { return known };
        let dependent = dependence(&nearest.rest(&bytes));
        let apart = apart(count, dependent).max(4.0);
        let best = |does: &dyn Fn(&Fit) -> bool| {
            all.iter()
                .filter(|fit| does(fit))
                .map(|fit| (fit.criterion(apart, floor), fit))
                .min_by(|a, b| a.0.total_cmp(&b.0))
        };
        let rising = best(&|fit| fit.kind == Kind::Rises);
        let Some((ends_at, ends)) = best(&|fit| fit.kind != Kind::Rises) else { return known };
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
            let known = Judgment { verdict: Verdict::Leak, ..known };
            if let Some((late, since)) = self.faster(&rise, rises, &bytes, floor) {
                return self.rated(known, &late, since);
            }
            let told = self.rated(known, &rise, rises.since);
            let rivals: Vec<&Fit> = all
                .iter()
                .filter(|fit| fit.kind == Kind::Rises && fit.criterion(apart, floor) <= rises_at + RIVAL)
                .collect();
            let interval = self.between(&rise, rises, &rivals, &bytes);
            return Judgment { interval, ..told };
        }
        if let Some(end) = self.after_bend(ends, &|kind| best(kind).map(|found| found.0), ends_at) {
            return end;
        }
        let is_near = |by: f64| rises_at < ends_at + by;
        if is_clear && (is_near(MARGIN) || is_near(CLOSE) && self.goes_on(&rise, rises, &bytes)) {
            // As many as the end of it that does not go on: twice that tells a line from what has stopped.
            let more = (self.length * (1.0 - rises.since) / 3.0).ceil() as u64;
            return Judgment { more_steps: Some(more.max(1)), ..self.rated(known, &rise, rises.since) };
        }
        self.ended(known, ends, &whole)
    }

    fn ended(&self, known: Judgment, ends: &Fit, whole: &Slope) -> Judgment {
        let rise = ends.at.last().unwrap_or(&0.0) - ends.at.first().unwrap_or(&0.0);
        // Who would not have seen memory grow by several times what there is knows nothing.
        let most = self.levels.bytes.iter().copied().fold(0.0, f64::max);
        let is_blind = known.least_seen * self.length > BLIND * most;
        let verdict = match ends.kind {
            _ if rise < self.floor_bytes => {
                if is_blind {
                    Verdict::Undecided
                } else {
                    Verdict::None
                }
            }
            Kind::Slows => Verdict::Decelerating,
            Kind::Stops if self.rises_after(ends, rise) => Verdict::Undecided,
            Kind::Stops if ends.at.iter().take(4).any(|at| (at - ends.at[0]).abs() > 1.0) => {
                Verdict::CacheFilling
            }
            Kind::Stops => Verdict::Stopped,
            Kind::Steps if whole.chance() <= CHANCE || ends.climbs() => Verdict::Undecided,
            _ if is_blind => Verdict::Undecided,
            _ => Verdict::None,
        };
        // Two more of its steps, if they are stairs.
        let stairs = 2.0 * self.length / (ends.changes() + 1.0);
        let more_steps = (verdict == Verdict::Undecided).then_some(stairs.ceil() as u64);
        Judgment { verdict, plateau_bytes: ends.plateau, more_steps, ..known }
    }

    /// Whether memory rises again after the end of a rise.
    fn rises_after(&self, ends: &Fit, rise: f64) -> bool {
        let after = self.slope(ends.since, None, &self.levels.bytes, 0.0);
        let again = after.rate * (1.0 - ends.since);
        again >= self.floor_bytes.max(AGAIN * rise) && after.chance() <= CHANCE
    }

    /// The 95 % interval of a rate, bytes a step: of what its shape leaves, whether that follows from level to level or hangs
    /// together over stretches, and of shapes that describe memory about as well.
    fn between(&self, rise: &Slope, fit: &Fit, rivals: &[&Fit], bytes: &[f64]) -> (f64, f64) {
        let (times, values) = self.risen(fit.since, Some(fit), bytes);
        let reach = rise.reach().max(reach_of_blocks(&times, &values));
        let ends = |rival: &&Fit| {
            let slope = self.slope(rival.since, Some(rival), bytes, 0.0);
            (slope.rate - slope.reach(), slope.rate + slope.reach())
        };
        // Of few levels, and at the very end, there is too little to tell another rate by.
        let levels = |since: f64| self.times.iter().filter(|time| **time >= since).count();
        let rivals =
            rivals.iter().filter(|rival| rival.since <= LATEST_RIVAL && levels(rival.since) >= FEWEST);
        let (low, high) = rivals
            .map(ends)
            .fold((rise.rate - reach, rise.rate + reach), |(low, high), (a, b)| (low.min(a), high.max(b)));
        (low / self.length, high / self.length)
    }

    /// The verdict on what follows a bend, where memory that grew fast goes on as a line: a cache that is full, and a leak.
    fn after_bend(&self, ends: &Fit, best: &Best<'_>, ends_at: f64) -> Option<Judgment> {
        let is_bend = |fit: &Fit| fit.kind == Kind::Slows && fit.since > 0.0;
        let others = best(&|fit| fit.kind != Kind::Rises && !is_bend(fit))?;
        if !self.may_bend || !is_bend(ends) || ends_at + BENT > others {
            return None;
        }
        let from = self.begin + (ends.since + AFTER_BEND) * self.length;
        let end = self.points.get(self.points.partition_point(|point| (point.0 as f64) < from)..)?;
        let judged = course_of(end, self.floor_bytes, false);
        (judged.is_leak() && end.len() as f64 >= LEAST_END * self.points.len() as f64).then_some(judged)
    }

    /// The slope at the end and where that begins, of what rises ever faster.
    fn faster(&self, rise: &Slope, fit: &Fit, bytes: &[f64], floor: f64) -> Option<(Slope, f64)> {
        let since = fit.since + (1.0 - fit.since) * 0.75;
        let late = self.slope(since, Some(fit), bytes, floor);
        (late.rate > FASTER * rise.rate && late.rate - late.reach() > rise.rate).then_some((late, since))
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
