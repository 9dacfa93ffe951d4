//! What memory falls back to: at most 64 levels of a series, each of a window that holds whole periods. Whether they rise is
//! told elsewhere.

/// Levels of a series, at most.
const MOST: usize = 64;

/// Windows of a series that comes back to itself: overlap where there are fewer periods.
const LEAST: usize = 16;

/// Cells in which a period is looked for.
const CELLS: usize = 384;

/// A correlation from which a series repeats.
const REPEATS: f64 = 0.45;

/// The same of fewer than eight periods.
const SELDOM: f64 = 0.65;

/// Ranges of what comes later, below or above which memory has not found its level.
const UNSETTLED: f64 = 1.5;

/// How much deeper than usual moves a saw-tooth falls.
const DEEP: f64 = 5.0;

/// Part of its swing that a series lies below its top on average, if it comes back to itself.
const COMES_BACK: f64 = 0.5;

/// Deviations from the nearest shape beyond which levels count as that.
const STRAY: f64 = 4.0;

/// Part of a window's values below its level.
const FLOOR: f64 = 0.2;

/// Levels: where (steps) and how much (bytes).
#[derive(Debug, Clone, Default)]
pub(super) struct Levels {
    pub(super) steps: Vec<f64>,
    pub(super) bytes: Vec<f64>,
    /// The smallest piece by which values change, bytes.
    pub(super) quantum: f64,
}

/// The levels of points in the order of their steps.
pub(super) fn levels(points: &[(u64, f64)]) -> Levels {
    let count = points.len();
    let own = count.div_ceil(MOST).max(1);
    let period = period(points).unwrap_or(0);
    let width = own.max(period.min(count / 4)).max(1);
    let windows = if width > own { (count / width * 4).clamp(LEAST, MOST) } else { count.div_ceil(own) };
    let mut levels = Levels { quantum: quantum(points), ..Levels::default() };
    for index in 0..windows {
        let from = match windows {
            0 | 1 => 0,
            _ => (count - width) * index / (windows - 1),
        };
        let Some(window) = points.get(from..from + width) else { continue };
        let mut values: Vec<f64> = window.iter().map(|point| point.1).collect();
        values.sort_unstable_by(f64::total_cmp);
        let level = quantile(&values, if width < 4 { 0.5 } else { FLOOR });
        levels.steps.push(window.iter().map(|point| point.0 as f64).sum::<f64>() / width as f64);
        levels.bytes.push(level);
    }
    without_strays(&mut levels.bytes);
    levels
}

/// The smallest piece by which neighbours differ: pages of the kernel, or all of a leak.
fn quantum(points: &[(u64, f64)]) -> f64 {
    let pieces = points.windows(2).map(|pair| (pair[1].1 - pair[0].1).abs()).filter(|piece| *piece > 0.0);
    pieces.min_by(f64::total_cmp).unwrap_or(0.0)
}

impl Levels {
    /// Without what memory does first, where that lies far outside of all that comes later.
    pub(super) fn settled(mut self) -> Self {
        let count = self.bytes.len();
        let later = self.bytes.get(count * 2 / 5..).unwrap_or_default();
        let (low, high) =
            later.iter().fold((f64::MAX, f64::MIN), |(low, high), value| (low.min(*value), high.max(*value)));
        let reach = UNSETTLED * (high - low);
        let is_first = |value: &&f64| **value < low - reach || **value > high + reach;
        let first = self.bytes.iter().take(count * 3 / 10).take_while(is_first).count();
        self.bytes.drain(..first);
        self.steps.drain(..first);
        self
    }
}

/// Replaces levels that stand alone by what is around them.
fn without_strays(bytes: &mut [f64]) {
    let of = bytes.to_vec();
    let around = |index: usize| {
        let mut near: Vec<f64> =
            of.get(index.saturating_sub(2)..(index + 3).min(of.len())).unwrap_or_default().to_vec();
        near.sort_unstable_by(f64::total_cmp);
        quantile(&near, 0.5)
    };
    let mut off: Vec<f64> =
        of.iter().enumerate().map(|(index, value)| (value - around(index)).abs()).collect();
    off.sort_unstable_by(f64::total_cmp);
    let usual = 1.5 * quantile(&off, 0.75);
    let last = of.len().saturating_sub(2);
    for (index, value) in bytes.iter_mut().enumerate().skip(2).take_while(|(index, _)| *index < last) {
        let middle = around(index);
        if (*value - middle).abs() > 4.0 * usual {
            *value = middle;
        }
    }
}

/// Values around a shape, none farther from it than most are by far.
pub(super) fn clipped(shape: &[f64], rest: &[f64], floor: f64) -> Vec<f64> {
    let mut sizes: Vec<f64> = rest.iter().map(|value| value.abs()).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    let most = STRAY * (1.5 * quantile(&sizes, 0.5)).max(floor);
    shape.iter().zip(rest).map(|(at, rest)| at + rest.clamp(-most, most)).collect()
}

/// A value at this part of sorted values; 0 of nothing.
pub(super) fn quantile(sorted: &[f64], part: f64) -> f64 {
    let at = (sorted.len().saturating_sub(1)) as f64 * part;
    let value = |index: usize| sorted.get(index).copied().unwrap_or(0.0);
    let (low, high) = (value(at.floor() as usize), value(at.ceil() as usize));
    low + (high - low) * at.fract()
}

/// Points after which a series repeats, by its correlation with itself; where it falls like a saw without beat, the
/// longest usual wait between its falls.
fn period(points: &[(u64, f64)]) -> Option<usize> {
    let count = points.len();
    if count < 16 {
        return None;
    }
    let size = count.div_ceil(CELLS).max(1);
    let cells: Vec<f64> = points
        .chunks(size)
        .map(|cell| cell.iter().map(|point| point.1).sum::<f64>() / cell.len() as f64)
        .collect();
    if !comes_back(&cells) {
        return None;
    }
    beat(&cells).or_else(|| teeth(&cells)).map(|cells| (cells * size).max(2))
}

/// Whether values lie below what they had reached, by much of what they go up and down: stairs never do.
fn comes_back(cells: &[f64]) -> bool {
    let count = cells.len() as f64;
    let swing = (detrended(cells).iter().map(|value| value * value).sum::<f64>() / count).sqrt();
    let mut top = f64::MIN;
    let below = cells.iter().map(|&value| {
        top = top.max(value);
        top - value
    });
    below.sum::<f64>() >= COMES_BACK * swing * count
}

/// The lag of the first high peak of the autocorrelation of what a running mean leaves.
fn beat(cells: &[f64]) -> Option<usize> {
    let count = cells.len();
    let reach = count / 4;
    // Of a trend, increments keep least.
    let rough: Vec<f64> = detrended(cells);
    let square: f64 = rough.iter().map(|value| value * value).sum();
    if square <= 0.0 {
        return None;
    }
    let at = |lag: usize| {
        let products: f64 = rough.iter().zip(rough.iter().skip(lag)).map(|(a, b)| a * b).sum();
        products / square * count as f64 / (count - lag) as f64
    };
    let correlations: Vec<f64> = (0..=2 * reach).map(at).collect();
    let low = correlations.iter().position(|&value| value < 0.1)?;
    let heights = || correlations.iter().copied().enumerate().take(reach + 1).skip(low);
    let highest = heights().map(|(_, value)| value).max_by(f64::total_cmp)?;
    // Multiples of a period repeat as well.
    let (lag, best) = heights().find(|(_, value)| *value >= 0.9 * highest)?;
    let again = correlations.get(2 * lag).is_none_or(|&value| value > REPEATS / 2.0);
    let enough = if lag * 8 > count { SELDOM } else { REPEATS };
    (best >= enough && lag >= 2 && again).then_some(lag)
}

/// What is left of values when a running median of a third is taken away.
fn detrended(cells: &[f64]) -> Vec<f64> {
    let half = (cells.len() / 6).max(1);
    (0..cells.len())
        .map(|index| {
            let from = index.saturating_sub(half);
            let to = (index + half + 1).min(cells.len());
            let mut near = cells.get(from..to).unwrap_or_default().to_vec();
            near.sort_unstable_by(f64::total_cmp);
            cells.get(index).copied().unwrap_or(0.0) - quantile(&near, 0.5)
        })
        .collect()
}

/// The longest usual wait between deep falls.
fn teeth(cells: &[f64]) -> Option<usize> {
    let rough = detrended(cells);
    let mut sorted = rough.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let reach = quantile(&sorted, 0.95) - quantile(&sorted, 0.05);
    let mut moves: Vec<f64> = cells.windows(3).map(|near| (near[0] - near[2]).abs()).collect();
    moves.sort_unstable_by(f64::total_cmp);
    let deep = (0.5 * reach).max(DEEP * quantile(&moves, 0.5));
    let mut falls: Vec<usize> = Vec::new();
    for (index, near) in cells.windows(3).enumerate() {
        if near[0] - near[2] > deep && falls.last().is_none_or(|&last| index > last + 2) {
            falls.push(index);
        }
    }
    if falls.len() < 4 {
        return None;
    }
    let mut waits: Vec<f64> = falls.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    waits.sort_unstable_by(f64::total_cmp);
    let wait = quantile(&waits, 0.9);
    (wait >= 4.0).then_some(wait.ceil() as usize)
}
