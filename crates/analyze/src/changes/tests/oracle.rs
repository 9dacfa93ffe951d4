//! What can be known of the place of a change on a noisy machine: the likeliest place for one who knows the levels on both
//! sides, the noise, and how the machine's disturbances come and go (a hidden Markov model, forwards with the level
//! before and backwards with that after). No estimator from the times alone can do much better.

/// Points on both sides of the true place that are weighed.
const AROUND: usize = 60;

/// Factors of disturbances that are told apart, and their lengths: up to 14 points, from 3.
const FACTORS: usize = 20;
const LONGEST: usize = 14;
const SHORTEST: usize = 3;

/// The chance that one begins at a point.
const BEGINS: f64 = 0.01;

/// Undisturbed, or disturbed by one of the factors for so many more points.
#[derive(Clone)]
struct States {
    quiet: f64,
    disturbed: Vec<[f64; LONGEST]>,
}

impl States {
    fn of(value: f64) -> Self {
        Self { quiet: value, disturbed: vec![[value; LONGEST]; FACTORS] }
    }

    /// Each multiplied by how likely the value is in it.
    fn seeing(mut self, value: u64, level: f64) -> Self {
        self.quiet *= density(value, level);
        for (index, states) in self.disturbed.iter_mut().enumerate() {
            let factor = 1.2 + (index as f64 + 0.5) / FACTORS as f64;
            let seen = density(value, level * factor);
            states.iter_mut().for_each(|state| *state *= seen);
        }
        self
    }

    /// Scaled, with the logarithm of what by.
    fn scaled(mut self) -> (Self, f64) {
        let sum = self.quiet + self.disturbed.iter().flatten().sum::<f64>();
        self.quiet /= sum;
        self.disturbed.iter_mut().flatten().for_each(|state| *state /= sum);
        (self, sum.ln())
    }

    /// One point later.
    fn later(&self) -> Self {
        let begun = self.quiet * BEGINS / (FACTORS * (LONGEST - SHORTEST + 1)) as f64;
        let disturbed = self.disturbed.iter().map(|states| {
            let mut later = [0.0; LONGEST];
            for (left, state) in later.iter_mut().enumerate() {
                *state =
                    states.get(left + 1).unwrap_or(&0.0) + if left + 1 >= SHORTEST { begun } else { 0.0 };
            }
            later
        });
        let ended: f64 = self.disturbed.iter().map(|states| states[0]).sum();
        Self { quiet: self.quiet * (1.0 - BEGINS) + ended, disturbed: disturbed.collect() }
    }

    /// The likelihood one point earlier.
    fn earlier(&self) -> Self {
        let begun: f64 = self.disturbed.iter().flat_map(|states| &states[SHORTEST - 1..]).sum();
        let begun = begun * BEGINS / (FACTORS * (LONGEST - SHORTEST + 1)) as f64;
        let disturbed = self.disturbed.iter().map(|states| {
            let mut earlier = [self.quiet; LONGEST];
            earlier[1..].copy_from_slice(&states[..LONGEST - 1]);
            earlier
        });
        Self { quiet: self.quiet * (1.0 - BEGINS) + begun, disturbed: disturbed.collect() }
    }
}

/// Of a value where `level` is usual: mostly near it, of slow steps by Pareto's distribution, of outliers evenly.
fn density(value: u64, level: f64) -> f64 {
    const SIGMA: f64 = 0.036;
    let off = (value as f64 / 1e7 / level).ln();
    let near = (-off * off / (2.0 * SIGMA * SIGMA)).exp() / (SIGMA * (2.0 * std::f64::consts::PI).sqrt());
    let slow = if off > 0.0 { 0.06 * (-2.0 * off).exp() } else { 0.0 };
    let outlier = if off > 0.0 && off < 5.0_f64.ln() { 0.01 * off.exp() / 4.0 } else { 0.0 };
    0.96 * near + slow + outlier + 1e-9
}

/// The likeliest place of the change from `before` to `after`, levels by index, that is at `place`.
pub(super) fn likeliest(
    values: &[u64],
    place: usize,
    before: impl Fn(usize) -> f64,
    after: impl Fn(usize) -> f64,
) -> usize {
    let (from, to) = (place - AROUND, place + AROUND);
    let mut states = States { quiet: 1.0, ..States::of(0.0) };
    let mut weight = 0.0;
    let mut forwards = vec![(states.clone(), weight)];
    for (at, &value) in (from..to).zip(&values[from..to]) {
        let (next, scale) = states.later().seeing(value, before(at)).scaled();
        (states, weight) = (next, weight + scale);
        forwards.push((states.clone(), weight));
    }
    let (mut states, mut weight) = (States::of(1.0), 0.0);
    let mut likelihoods = Vec::new();
    for at in (from..=to).rev() {
        let (earlier, so_far) = &forwards[at - from];
        let common = earlier.quiet * states.quiet
            + earlier
                .disturbed
                .iter()
                .flatten()
                .zip(states.disturbed.iter().flatten())
                .map(|(a, b)| a * b)
                .sum::<f64>();
        likelihoods.push((common.ln() + so_far + weight, at));
        if at > from {
            let (next, scale) = states.seeing(values[at - 1], after(at - 1)).earlier().scaled();
            (states, weight) = (next, weight + scale);
        }
    }
    likelihoods.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).map_or(place, |(_, at)| at)
}
