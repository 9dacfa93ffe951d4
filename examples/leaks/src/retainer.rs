//! What keeps memory and is healthy: it fills in the first steps, to as many bytes as the leak has at the end, in blocks of the
//! same sizes, and from then on replaces one block in each step.

use crate::sizes::Sizes;

/// Where the report has it.
pub const SECTION: &str = "step/warm_up";

/// The steps in which it fills: one in so many.
const FILLED_IN: u64 = 20;

/// See the module.
#[derive(Debug)]
pub struct Retainer {
    sizes: Sizes,
    steps: u64,
    done: u64,
    kept: Vec<Vec<u8>>,
}

impl Retainer {
    pub fn new(sizes: Sizes, steps: u64) -> Self {
        Self { sizes, steps, done: 0, kept: Vec::new() }
    }

    /// One step.
    pub fn step(&mut self) {
        if self.done < (self.steps / FILLED_IN).max(1) {
            self.warm_up();
        } else {
            self.refresh();
        }
        self.done += 1;
    }

    /// Takes what the leak takes in as many steps.
    #[tracing::instrument(skip_all)]
    fn warm_up(&mut self) {
        for _ in 0..FILLED_IN {
            let sizes = self.sizes.step();
            self.kept.extend(sizes.iter().map(|&size| vec![1_u8; size]));
        }
    }

    /// Replaces a block, as caches do.
    #[tracing::instrument(skip_all)]
    fn refresh(&mut self) {
        let at = self.sizes.next() as usize;
        let length = self.kept.len().max(1);
        if let Some(place) = self.kept.get_mut(at % length) {
            *place = vec![2_u8; place.len()];
        }
    }

    /// Bytes that it keeps.
    pub fn bytes(&self) -> usize {
        self.kept.iter().map(Vec::len).sum()
    }
}
