//! Stochastic gradient descent with momentum and weight decay.

use ndarray::{Array2, Zip};

use crate::net::{PARAMETERS, Parameter};

const MOMENTUM: f32 = 0.9;
const WEIGHT_DECAY: f32 = 1e-4;
const FIRST_LEARNING_RATE: f32 = 0.04;
/// The learning rate shrinks by this factor an epoch.
const DECAY_BY_EPOCH: f32 = 0.93;

/// Velocities of the parameters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sgd {
    pub(crate) velocities: [Array2<f32>; PARAMETERS],
}

impl Sgd {
    pub(crate) fn new(parameters: &[&Parameter; PARAMETERS]) -> Self {
        Self { velocities: parameters.map(|parameter| Array2::zeros(parameter.value.dim())) }
    }

    /// Moves every parameter against its gradient.
    pub(crate) fn step(&mut self, parameters: [&mut Parameter; PARAMETERS], learning_rate: f32) {
        for (parameter, velocity) in parameters.into_iter().zip(&mut self.velocities) {
            Zip::from(&mut parameter.value).and(velocity).and(&parameter.gradient).for_each(
                |value, velocity, &gradient| {
                    *velocity = MOMENTUM * *velocity + gradient + WEIGHT_DECAY * *value;
                    *value -= learning_rate * *velocity;
                },
            );
        }
    }
}

/// Learning rate of an epoch.
pub(crate) fn learning_rate(epoch: u64) -> f32 {
    // Beyond this epoch the rate no longer changes anything; the bound keeps the power exact and quick.
    FIRST_LEARNING_RATE * DECAY_BY_EPOCH.powi(epoch.min(200) as i32)
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;

    use super::*;

    #[test]
    fn two_steps_follow_the_formula() {
        let mut parameters: [Parameter; PARAMETERS] = std::array::from_fn(|_| Parameter::zeros((1, 1)));
        for parameter in &mut parameters {
            parameter.value = arr2(&[[2.0]]);
            parameter.gradient = arr2(&[[0.5]]);
        }
        let mut sgd = Sgd::new(&parameters.each_ref());
        sgd.step(parameters.each_mut(), 0.1);
        // v = 0.5 + 1e-4 * 2 = 0.5002; w = 2 - 0.05002 = 1.94998
        assert!((parameters[3].value[[0, 0]] - 1.949_98).abs() < 1e-6);
        sgd.step(parameters.each_mut(), 0.1);
        // v = 0.9 * 0.5002 + 0.5 + 1e-4 * 1.94998 = 0.950375; w = 1.94998 - 0.0950375
        assert!((parameters[3].value[[0, 0]] - 1.854_942_5).abs() < 1e-6);
    }

    #[test]
    fn the_rate_falls_by_epoch_and_stays_positive() {
        assert!((learning_rate(0) - 0.04).abs() < 1e-9);
        assert!((learning_rate(2) - 0.04 * 0.93 * 0.93).abs() < 1e-6);
        assert!(learning_rate(u64::MAX) > 0.0);
    }
}
