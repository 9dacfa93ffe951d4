//! Optimizers whose backward pass and update are sections.

use candle_core::backprop::GradStore;
use candle_core::{Result, Tensor, Var};
use candle_nn::Optimizer;

use crate::Profiled;

impl<O: Optimizer> Profiled<O> {
    /// Makes `backward_step` of an optimizer two sections, `backward` and `optimizer`, and `step` the second.
    pub fn optimizer(optimizer: O) -> Self {
        Self::with(optimizer, || stepscope::section!("optimizer", phase = Optimizer))
    }
}

impl<O: Optimizer> Optimizer for Profiled<O> {
    type Config = O::Config;

    fn new(vars: Vec<Var>, config: Self::Config) -> Result<Self> {
        Ok(Self::optimizer(O::new(vars, config)?))
    }

    fn step(&mut self, grads: &GradStore) -> Result<()> {
        let _section = self.enter();
        self.inner.step(grads)
    }

    fn learning_rate(&self) -> f64 {
        self.inner.learning_rate()
    }

    fn set_learning_rate(&mut self, lr: f64) {
        self.inner.set_learning_rate(lr);
    }

    /// The gradients of `loss`, then a step. An optimizer's own `backward_step` is not called: candle's do what
    /// the trait does.
    fn backward_step(&mut self, loss: &Tensor) -> Result<()> {
        let grads = {
            let _section = stepscope::section!("backward", phase = Backward);
            loss.backward()?
        };
        self.step(&grads)
    }
}
