//! The rectifier max(0, x).

use ndarray::{Array2, Zip};

/// Remembers which elements passed.
#[derive(Debug, Default)]
pub(crate) struct Relu {
    passed: Array2<bool>,
}

impl Relu {
    pub(crate) fn forward(&mut self, mut maps: Array2<f32>) -> Array2<f32> {
        if self.passed.dim() != maps.dim() {
            self.passed = Array2::default(maps.dim());
        }
        Zip::from(&mut maps).and(&mut self.passed).for_each(|value, passed| {
            *passed = *value > 0.0;
            *value = value.max(0.0);
        });
        maps
    }

    /// `gradient` has the shape of the last forward pass.
    pub(crate) fn backward(&self, mut gradient: Array2<f32>) -> Array2<f32> {
        Zip::from(&mut gradient)
            .and(&self.passed)
            .for_each(|value, &passed| *value = if passed { *value } else { 0.0 });
        gradient
    }
}
