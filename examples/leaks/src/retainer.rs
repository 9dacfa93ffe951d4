//! What keeps memory and is healthy: it fills in the first steps, to as many bytes as the leak has at the end, in blocks of the
//! same sizes, and from then on replaces some in each step, one byte where the leak takes sixteen.

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
    /// Bytes that are to be replaced.
    due: usize,
}

impl Retainer {
    pub fn new(sizes: Sizes, steps: u64) -> Self {
        Self { sizes, steps, done: 0, kept: Vec::new(), due: 0 }
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

    /// Replaces some blocks, as caches do.
    #[tracing::instrument(skip_all)]
    fn refresh(&mut self) {
        self.due += self.sizes.step().iter().sum::<usize>() / 16;
        let length = self.kept.len().max(1);
        while let Some(place) = self.kept.get_mut(self.sizes.next() as usize % length) {
            if self.due < place.len() {
                return;
            }
            self.due -= place.len();
            *place = vec![2_u8; place.len()];
        }
    }

    /// Bytes that it keeps.
    pub fn bytes(&self) -> usize {
        self.kept.iter().map(Vec::len).sum()
    }
}
