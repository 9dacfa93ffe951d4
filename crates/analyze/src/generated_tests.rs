//! Series of step times for tests, from fixed seeds.

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// In (0, 1].
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((mixed ^ (mixed >> 31)) >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (2.0 * std::f64::consts::PI * self.unit()).cos()
    }
}

/// Times of 10 ms, so many times as long each, and deviations by a share `sigma`, of which neighbours share `correlation`; one
/// in a hundred is an outlier, up to five times as long.
pub(crate) fn series(
    seed: u64,
    count: usize,
    (sigma, correlation): (f64, f64),
    level: impl Fn(usize) -> f64,
) -> Vec<u64> {
    let mut random = Random(seed);
    let mut state = random.normal();
    let fresh = (1.0 - correlation * correlation).sqrt();
    let mut point = |index| {
        state = correlation * state + fresh * random.normal();
        let outlier = if random.unit() < 0.01 { 1.0 + 4.0 * random.unit() } else { 1.0 };
        (1e7 * level(index) * (sigma * state).exp() * outlier) as u64
    };
    (0..count).map(&mut point).collect()
}
