//! Shapes that memory takes over a run, fitted by least squares to its levels, and the criterion that compares them. Which
//! verdict follows from them is told elsewhere.

/// What a shape says about the end of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Keeps its level.
    Flat,
    /// Changes its level at some steps.
    Steps,
    /// Rises from the begin or from a step on, beside at most one jump.
    Rises,
    /// Rises ever more slowly.
    Slows,
    /// Rises as a line, then no more.
    Stops,
}

/// A shape with the numbers that fit best; time from 0 to 1, bytes as they are.
#[derive(Debug, Clone)]
pub(super) struct Fit {
    pub(super) kind: Kind,
    /// Numbers that were chosen for it.
    free: f64,
    /// Sum of squares that it leaves.
    pub(super) left: f64,
    pub(super) at: Vec<f64>,
    /// Where its last part begins.
    pub(super) since: f64,
    /// A jump that is no part of its rise, and where.
    pub(super) jump: (f64, f64),
    /// What is there for a while: from, to and how much.
    pub(super) bump: (f64, f64, f64),
    /// Where it comes to, if it ends.
    pub(super) plateau: Option<f64>,
}

/// Jumps up from which on levels climb.
const CLIMBS: usize = 3;

/// Jumps of a series that only changes its level.
const MOST_STEPS: usize = 5;

/// A rate at the end, as a part of that before, below which a rise ends.
const SLOWER: f64 = 0.4;

/// Share of the run after which no end of a rise is told.
const LATEST: f64 = 0.93;

/// Numbers as which it counts that a rise which is steeper first may be one that slows.
const DOUBT: f64 = 1.0;

/// Part of a rise that is given back at once, from which it is no rise.
const GIVEN_BACK: f64 = 0.5;

/// Share of the run for which more can be there for a while.
const BUMP: f64 = 0.25;

/// Share of the run in which memory may find its level first.
const WARM: f64 = 0.2;

/// All shapes fitted to bytes at times that ascend from 0 to 1.
pub(super) fn fits(times: &[f64], bytes: &[f64]) -> Vec<Fit> {
    let of = |kind, free: f64, since, parts: &[&dyn Fn(f64) -> f64]| -> (Fit, Vec<f64>) {
        let columns: Vec<Vec<f64>> =
            parts.iter().map(|part| times.iter().map(|&time| part(time)).collect()).collect();
        let weights = least_squares(&columns, bytes);
        let at: Vec<f64> = (0..times.len())
            .map(|index| columns.iter().zip(&weights).map(|(column, weight)| column[index] * weight).sum())
            .collect();
        let left = at.iter().zip(bytes).map(|(a, b)| (a - b) * (a - b)).sum();
        (Fit { kind, free, left, at, since, jump: (0.0, 0.0), bump: (0.0, 0.0, 0.0), plateau: None }, weights)
    };
    let one = |_: f64| 1.0;
    let line = |time: f64| time;
    let mut all = vec![of(Kind::Flat, 1.0, 0.0, &[&one]).0];
    let (straight, weights) = of(Kind::Rises, 2.0, 0.0, &[&one, &line]);
    if weights[1] > 0.0 {
        all.push(straight);
    }
    let mut best = Best::default();
    let (fit, weights) = of(Kind::Rises, 3.0, 0.0, &[&one, &line, &|time| time * time]);
    best.offer(10, fit, weights[2] > 0.0 && weights[1] >= 0.0);
    let ends_before = times[times.len().saturating_sub(4)].min(LATEST);
    // Places between levels, two on either side.
    let last = times.len().saturating_sub(2);
    let places = || times.windows(2).take(last).skip(1).map(|pair| f64::midpoint(pair[0], pair[1]));
    for place in places() {
        let (mut fit, weights) =
            of(Kind::Rises, 4.0, 0.0, &[&one, &line, &|time| f64::from(u8::from(time > place))]);
        fit.jump = (place, weights[2]);
        fit.free += if weights[2] > 0.0 && place < 0.5 { DOUBT } else { 0.0 };
        // What gives back half of what it grew has not kept it.
        best.offer(0, fit, weights[1] > 0.0 && -weights[2] < GIVEN_BACK * weights[1]);
        let (fit, weights) = of(
            Kind::Rises,
            4.0,
            place,
            &[&one, &|time| f64::from(u8::from(time > place)), &|time| (time - place).max(0.0)],
        );
        best.offer(11, fit, weights[2] > 0.0 && place < LATEST - 0.1);
        let (fit, weights) = of(Kind::Rises, 3.0, place, &[&one, &|time| (time - place).max(0.0)]);
        best.offer(1, fit, weights[1] > 0.0);
        let (mut fit, weights) = of(Kind::Stops, 3.0, 0.0, &[&one, &|time| time.min(place)]);
        fit.plateau = fit.at.last().copied();
        fit.since = place;
        best.offer(2, fit, weights[1] > 0.0 && place < ends_before);
        let (mut fit, weights) = of(Kind::Rises, 4.0, 0.0, &[&one, &line, &|time| (time - place).max(0.0)]);
        let (before, after) = (weights[1], weights[1] + weights[2]);
        if after > SLOWER * before {
            fit.since = if after > 2.0 * before.max(0.0) { place } else { 0.0 };
            best.offer(3, fit, after > 0.0);
        } else if after > 0.0 && place <= WARM {
            fit.free += DOUBT;
            fit.since = place;
            best.offer(4, fit, true);
        } else {
            fit.kind = Kind::Slows;
            fit.since = place;
            best.offer(5, fit, before > 0.0);
        }
        for end in times.iter().copied().filter(|&end| end > place && end < (place + BUMP).min(LATEST)) {
            let inside = |time: f64| f64::from(u8::from(time > place && time <= end));
            let (mut fit, weights) = of(Kind::Rises, 5.0, 0.0, &[&one, &line, &inside]);
            fit.bump = (place, end, weights[2]);
            best.offer(12, fit, weights[1] > 0.0);
        }
        for end in times.iter().copied().filter(|&end| end > place + 0.1 && end < ends_before).step_by(2) {
            let (mut fit, weights) = of(Kind::Stops, 4.0, end, &[&one, &|time| time.clamp(place, end)]);
            fit.plateau = fit.at.last().copied();
            best.offer(6, fit, weights[1] > 0.0);
        }
    }
    for power in -10..=1 {
        // From a fiftieth of the run to three runs.
        let scale = 1.5_f64.powi(power);
        let bent = |time: f64| 1.0 - (-time / scale).exp();
        let (mut fit, weights) = of(Kind::Slows, 3.0, 0.0, &[&one, &bent]);
        fit.plateau = Some(weights[0] + weights[1]);
        best.offer(7, fit, weights[1] > 0.0);
        let log = |time: f64| (1.0 + 3.0 * time / scale).ln();
        let (fit, weights) = of(Kind::Slows, 3.0, 0.0, &[&one, &log]);
        best.offer(8, fit, weights[1] > 0.0);
        for late in [0.0, 0.03, 0.1] {
            let power = 0.2 + 0.05 * f64::from(power + 10);
            let (fit, weights) = of(Kind::Slows, 3.0, 0.0, &[&one, &|time| (time + late).powf(power)]);
            best.offer(13, fit, weights[1] > 0.0);
        }
        if scale < WARM {
            let (mut fit, weights) = of(Kind::Rises, 4.0 + DOUBT, 0.0, &[&one, &line, &bent]);
            fit.since = (3.0 * scale).min(2.0 * WARM);
            best.offer(9, fit, weights[1] > 0.0);
        }
    }
    all.extend(best.0.into_iter().flatten());
    all.extend(steps(bytes));
    all
}

/// The best fit of each form.
#[derive(Default)]
struct Best([Option<Fit>; 14]);

impl Best {
    fn offer(&mut self, form: usize, fit: Fit, is_sound: bool) {
        let slot = &mut self.0[form];
        if is_sound && slot.as_ref().is_none_or(|best| fit.left < best.left) {
            *slot = Some(fit);
        }
    }
}

/// Levels that change at one to [`MOST_STEPS`] places, by dynamic programming over where the last part begins.
fn steps(bytes: &[f64]) -> Vec<Fit> {
    let count = bytes.len();
    let mut sums = vec![(0.0, 0.0)];
    for &value in bytes {
        let (sum, squares) = sums[sums.len() - 1];
        sums.push((sum + value, squares + value * value));
    }
    let cost = |from: usize, to: usize| {
        let (sum, squares) = (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1);
        (squares - sum * sum / (to - from) as f64).max(0.0)
    };
    // Least cost of the first so many values in parts, and where the last part begins.
    let mut rows: Vec<Vec<(f64, usize)>> =
        vec![(0..=count).map(|to| if to == 0 { (0.0, 0) } else { (cost(0, to), 0) }).collect()];
    let mut found = Vec::new();
    for parts in 1..=MOST_STEPS.min(count / 6) {
        let before = &rows[parts - 1];
        let row: Vec<(f64, usize)> = (0..=count)
            .map(|to| {
                (parts..to)
                    .map(|from| (before[from].0 + cost(from, to), from))
                    .min_by(|a, b| a.0.total_cmp(&b.0))
                    .unwrap_or((f64::INFINITY, 0))
            })
            .collect();
        rows.push(row);
        let mut at = vec![0.0; count];
        let mut to = count;
        for part in (0..=parts).rev() {
            let from = rows[part][to].1;
            let mean = (sums[to].0 - sums[from].0) / (to - from) as f64;
            at[from..to].fill(mean);
            to = from;
        }
        let left = rows[parts][count].0;
        let free = 1.0 + 2.0 * parts as f64;
        found.push(Fit {
            kind: Kind::Steps,
            free,
            left,
            at,
            since: 0.0,
            jump: (0.0, 0.0),
            bump: (0.0, 0.0, 0.0),
            plateau: None,
        });
    }
    found
}

impl Fit {
    /// Schwarz's criterion (Annals of Statistics 6 (1978), 461–464) with `apart` values that do not depend on each other,
    /// of which `floor` is the smallest variance that means anything.
    pub(super) fn criterion(&self, apart: f64, floor: f64) -> f64 {
        let variance = self.left / self.at.len() as f64 + floor;
        apart * variance.ln() + self.free * apart.ln()
    }

    /// How often it changes its level.
    pub(super) fn changes(&self) -> f64 {
        (self.free - 1.0) / 2.0
    }

    /// Whether it climbs time and again, of late as well: stairs of something that doubles its room, or of stages.
    pub(super) fn climbs(&self) -> bool {
        let up = |near: &[f64]| near[1] > near[0] + f64::EPSILON * near[0].abs();
        let ups = self.at.windows(2).filter(|near| up(near)).count();
        let late = self.at.get(self.at.len() / 2..).unwrap_or_default();
        let last = self.at.last().copied().unwrap_or(0.0);
        ups >= CLIMBS && late.windows(2).any(up) && self.at.iter().all(|at| *at <= last)
    }

    /// Bytes at a time without what is no part of the rise.
    pub(super) fn rise_of(&self, time: f64, bytes: f64) -> f64 {
        let (place, jump) = self.jump;
        let (from, to, bump) = self.bump;
        bytes - if time > place { jump } else { 0.0 } - if time > from && time <= to { bump } else { 0.0 }
    }

    /// What it leaves of bytes.
    pub(super) fn rest(&self, bytes: &[f64]) -> Vec<f64> {
        bytes.iter().zip(&self.at).map(|(value, at)| value - at).collect()
    }
}

/// Weights of columns whose sum is nearest to values, by the normal equations.
fn least_squares(columns: &[Vec<f64>], values: &[f64]) -> Vec<f64> {
    let size = columns.len();
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut rows: Vec<Vec<f64>> = columns
        .iter()
        .map(|column| {
            let mut row: Vec<f64> = columns.iter().map(|other| product(column, other)).collect();
            row.push(product(column, values));
            row
        })
        .collect();
    for pivot in 0..size {
        let Some(largest) =
            (pivot..size).max_by(|&a, &b| rows[a][pivot].abs().total_cmp(&rows[b][pivot].abs()))
        else {
            break;
        };
        rows.swap(pivot, largest);
        let own = rows[pivot].clone();
        if own[pivot].abs() < 1e-12 {
            continue;
        }
        for (_, row) in rows.iter_mut().enumerate().filter(|(index, _)| *index != pivot) {
            let factor = row[pivot] / own[pivot];
            row.iter_mut().zip(&own).for_each(|(value, own)| *value -= factor * own);
        }
    }
    (0..size)
        .map(
            |index| {
                if rows[index][index].abs() < 1e-12 { 0.0 } else { rows[index][size] / rows[index][index] }
            },
        )
        .collect()
}
