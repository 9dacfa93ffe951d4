//! 2x2 maximum pool: 8 x 8 maps become 4 x 4.

use ndarray::Array2;

use crate::data::{PIXELS, SIDE};

/// Pixels of a pooled map.
pub(crate) const POOLED_PIXELS: usize = PIXELS / 4;
const POOLED_SIDE: usize = SIDE / 2;

/// Remembers where each maximum stood.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// For every pooled pixel, the place of its maximum within its map, below 64.
    winners: Vec<u8>,
}

impl Pool {
    /// `channels x (images * 64)` to `channels x (images * 16)`. Of equal pixels the first one wins.
    pub(crate) fn forward(&mut self, maps: &Array2<f32>) -> Array2<f32> {
        let mut pooled = Array2::zeros((maps.nrows(), maps.ncols() / PIXELS * POOLED_PIXELS));
        self.winners.resize(pooled.len(), 0);
        let (Some(maps), Some(values)) = (maps.as_slice(), pooled.as_slice_mut()) else { return pooled };
        let outputs =
            values.chunks_exact_mut(POOLED_PIXELS).zip(self.winners.chunks_exact_mut(POOLED_PIXELS));
        for (map, (values, winners)) in maps.chunks_exact(PIXELS).zip(outputs) {
            for (index, (value, winner)) in values.iter_mut().zip(winners).enumerate() {
                let corner = index / POOLED_SIDE * 2 * SIDE + index % POOLED_SIDE * 2;
                let mut best = corner;
                for place in [corner + 1, corner + SIDE, corner + SIDE + 1] {
                    if map[place] > map[best] {
                        best = place;
                    }
                }
                *value = map[best];
                *winner = best as u8;
            }
        }
        pooled
    }

    /// Sends each pooled pixel's gradient to where its maximum stood.
    pub(crate) fn backward(&self, gradient: &Array2<f32>) -> Array2<f32> {
        let mut spread = Array2::zeros((gradient.nrows(), gradient.ncols() / POOLED_PIXELS * PIXELS));
        let (Some(gradient), Some(maps)) = (gradient.as_slice(), spread.as_slice_mut()) else {
            return spread;
        };
        let inputs = gradient.chunks_exact(POOLED_PIXELS).zip(self.winners.chunks_exact(POOLED_PIXELS));
        for (map, (gradient, winners)) in maps.chunks_exact_mut(PIXELS).zip(inputs) {
            for (value, &winner) in gradient.iter().zip(winners) {
                map[usize::from(winner)] += value;
            }
        }
        spread
    }
}
