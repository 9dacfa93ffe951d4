//! Hashing of trace ids: a multiplication per lookup, keyed by chance so that ids chosen to collide do not.

use std::hash::{BuildHasher, Hasher, RandomState};

use stepscope_core::identity::{TraceId, mix};

/// Builds the hasher of one table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IdState(u64);

impl Default for IdState {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0u8) | 1)
    }
}

impl BuildHasher for IdState {
    type Hasher = IdHasher;

    fn build_hasher(&self) -> IdHasher {
        IdHasher { state: self.0 }
    }
}

/// See [`IdState`].
#[derive(Debug)]
pub(crate) struct IdHasher {
    state: u64,
}

impl Hasher for IdHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for word in bytes.as_chunks::<8>().0 {
            let product = u128::from(self.state ^ u64::from_le_bytes(*word)) * 0x9e37_79b9_7f4a_7c15;
            self.state = (product as u64) ^ ((product >> 64) as u64);
        }
    }

    fn write_usize(&mut self, _: usize) {}

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}

/// The same for every run and machine: by it open traces are split among temporary files.
pub(crate) fn stable(id: &TraceId) -> u64 {
    let bits = u128::from_le_bytes(*id);
    mix(bits as u64 ^ mix((bits >> 64) as u64))
}
