//! Series of step times for tests, from fixed seeds: stated noise, and what noisy machines do.

const BASE_NS: f64 = 10_000_000.0;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// In (0, 1].
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (2.0 * std::f64::consts::PI * self.unit()).cos()
    }

    /// Of shape 4 and mean 1.
    fn gamma(&mut self) -> f64 {
        (0..4).map(|_| -self.unit().ln()).sum::<f64>() / 4.0
    }
}

/// Noise of step times: deviations of a share `sigma`, of which neighbours share `correlation`; some are skewed, one
/// point in a hundred is an outlier.
pub(crate) struct Noise {
    random: Random,
    sigma: f64,
    correlation: f64,
    state: f64,
    is_skewed: bool,
}

impl Noise {
    pub(crate) fn new(seed: u64, sigma: f64, correlation: f64) -> Self {
        let mut random = Random(seed);
        let state = random.normal();
        Self { random, sigma, correlation, state, is_skewed: seed % 2 == 1 }
    }

    /// The time of a point whose usual one is `level` times the base.
    pub(crate) fn point(&mut self, level: f64) -> u64 {
        let fresh = if self.is_skewed { 2.0 * (self.random.gamma() - 1.0) } else { self.random.normal() };
        self.state =
            self.correlation * self.state + (1.0 - self.correlation * self.correlation).sqrt() * fresh;
        let outlier = if self.random.unit() < 0.01 { 1.0 + 4.0 * self.random.unit() } else { 1.0 };
        (BASE_NS * level * (self.sigma * self.state).exp() * outlier) as u64
    }

    pub(crate) fn series(mut self, count: usize, level: impl Fn(usize) -> f64) -> Vec<u64> {
        (0..count).map(|index| self.point(level(index))).collect()
    }
}

/// The lengths of clean runs, of 300 to 5,000 points.
pub(crate) fn length(seed: u64) -> usize {
    300 + usize::try_from(Random(seed ^ 0xabc).bits() % 4_701).unwrap()
}

/// Times on a machine with much else to do: one step in thirty lasts longer by a heavy tail, the level wanders by a few
/// per cent within some thirty steps, and now and then others take the processors for up to fourteen steps.
pub(crate) fn noisy_machine(seed: u64, count: usize, level: impl Fn(usize) -> f64) -> Vec<u64> {
    const STAYS: f64 = 0.97;
    let mut noise = Noise::new(seed, 0.03, 0.3);
    let mut random = Random(seed ^ 0x5eed);
    let mut wandering = random.normal();
    let (mut disturbed, mut factor) = (0u64, 1.0);
    (0..count)
        .map(|index| {
            wandering = STAYS * wandering + (1.0 - STAYS * STAYS).sqrt() * random.normal();
            if disturbed == 0 && random.unit() < 0.01 {
                (disturbed, factor) = (3 + random.bits() % 12, 1.2 + random.unit());
            }
            let others = if disturbed > 0 { factor } else { 1.0 };
            disturbed = disturbed.saturating_sub(1);
            // Pareto's distribution with exponent 2: its variance is without bound.
            let tail = if random.unit() < 0.03 { random.unit().powf(-0.5).min(50.0) } else { 1.0 };
            noise.point(level(index) * (0.02 * wandering).exp() * others * tail)
        })
        .collect()
}
