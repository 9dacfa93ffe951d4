//! Sizes of blocks, random by a seed, so that a run can be had again.

/// Which blocks a step allocates.
#[derive(Debug, Clone)]
pub struct Sizes {
    random: u64,
    bytes: usize,
    block_bytes: usize,
}

impl Sizes {
    /// Blocks of about `block_bytes` that are about `bytes` a step together.
    pub fn new(seed: u64, bytes: usize, block_bytes: usize) -> Self {
        Self { random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1, bytes, block_bytes }
    }

    /// The sizes of one step: each between three quarters of a block and five quarters.
    pub fn step(&mut self) -> Vec<usize> {
        let blocks = self.bytes.div_ceil(self.block_bytes);
        (0..blocks)
            .map(|_| self.block_bytes * 3 / 4 + self.next() as usize % (self.block_bytes / 2))
            .collect()
    }

    /// The next random number (xorshift).
    pub fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 8
    }
}
