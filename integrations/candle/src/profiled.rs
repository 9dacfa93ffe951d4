//! A wrapper that puts a section around what it holds, here for modules. For optimizers see `optimizer.rs`.

use candle_core::{Result, Tensor};
use candle_nn::{Module, ModuleT};
use stepscope::SectionGuard;

/// A module with a section of its own, made by [`profiled!`](crate::profiled), or an optimizer whose backward pass
/// and update are sections, made by [`Profiled::optimizer`].
#[derive(Debug, Clone)]
pub struct Profiled<T> {
    pub(crate) inner: T,
    enter: fn() -> SectionGuard,
}

/// Puts a section of this name around every `forward` of a module. The name is a literal; a phase and fields may
/// follow, as in `stepscope::section!`. Inside of a section with a phase none is needed.
///
/// ```
/// use candle_core::{Device, Tensor};
/// use candle_nn::{Activation, Module};
///
/// let relu = stepscope_candle::profiled!("relu", Activation::Relu);
/// let x = Tensor::new(&[-1f32, 2.], &Device::Cpu)?;
/// assert_eq!(relu.forward(&x)?.to_vec1::<f32>()?, [0., 2.]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[macro_export]
macro_rules! profiled {
    ($name:literal, $module:expr $(, $key:ident = $value:expr)* $(,)?) => {
        $crate::Profiled::with($module, || $crate::stepscope::section!($name $(, $key = $value)*))
    };
}

impl<T> Profiled<T> {
    /// Wraps `inner`; `enter` starts the section. For [`profiled!`](crate::profiled).
    pub fn with(inner: T, enter: fn() -> SectionGuard) -> Self {
        Self { inner, enter }
    }

    /// What is wrapped.
    pub fn into_inner(self) -> T {
        self.inner
    }

    /// What is wrapped.
    pub fn get(&self) -> &T {
        &self.inner
    }

    pub(crate) fn enter(&self) -> SectionGuard {
        (self.enter)()
    }
}

impl<M: Module> Module for Profiled<M> {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let _section = self.enter();
        self.inner.forward(xs)
    }
}

/// Modules that differ between training and evaluation and are none otherwise (`BatchNorm`).
impl<M: ModuleT> Profiled<M> {
    /// The module's `forward_t` inside its section.
    ///
    /// # Errors
    /// Those of the module.
    pub fn forward_t(&self, xs: &Tensor, train: bool) -> Result<Tensor> {
        let _section = self.enter();
        self.inner.forward_t(xs, train)
    }
}
