//! Random numbers of a seed, and the noise that memory has. Shapes are elsewhere.

/// Numbers by SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// In [0, 1).
    pub(crate) fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Even between two numbers.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.share()
    }

    /// Even between the logarithms of two numbers.
    pub(crate) fn scale(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// A whole number from `low` to `high`.
    pub(crate) fn whole(&mut self, low: usize, high: usize) -> usize {
        low + (self.share() * (high + 1 - low) as f64) as usize
    }

    /// Whether something of this probability happens.
    pub(crate) fn is(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// Of a normal distribution, by Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        let length = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        length * (std::f64::consts::TAU * self.share()).cos()
    }
}

/// Noise of about unit size over so many steps, of a kind that chance chooses among those for tuning or for judging.
pub(crate) fn noise(random: &mut Random, count: usize, is_judging: bool) -> Vec<f64> {
    let kind = random.whole(0, 4);
    let (mut state, mut values) = (0.0, Vec::with_capacity(count));
    let follows = random.between(0.6, 0.95);
    let pull = 1.0 / random.between(10.0, 60.0).min(count as f64 / 8.0).max(4.0);
    for _ in 0..count {
        let new = random.normal();
        let value = match (is_judging, kind) {
            (_, 0) => new,
            // Next to nothing: counted bytes at the same place of each step.
            (_, 1) => 0.05 * new,
            (false, 2) => {
                state = follows * state + (1.0 - follows * follows).sqrt() * new;
                state
            }
            (false, 3) => new + if random.is(0.03) { random.scale(3.0, 30.0) } else { 0.0 },
            // An allocator's caches: a walk that is drawn back.
            (false, _) => {
                state += 0.3 * new - pull * state;
                state
            }
            // Heavy tails on both sides.
            (true, 2) => new / random.share().max(0.02).sqrt() * 0.6,
            // Two levels, between which it changes now and then.
            (true, 3) => {
                if random.is(0.08) {
                    state = 2.0 - state;
                }
                state + 0.3 * new
            }
            // Moving average of nine, with size that changes.
            (true, _) => {
                state = 0.8 * state + 0.6 * new;
                state * (1.0 + 0.5 * (values.len() as f64 / 37.0).sin())
            }
        };
        values.push(value);
    }
    values
}
