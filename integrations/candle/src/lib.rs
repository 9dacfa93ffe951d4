//! stepscope for candle: what candle's own traits let a profile see without a change to the model. Three wrappers:
//! [`Prefetch`] (loader threads whose batches know where they come from), [`Profiled`] around a module or an
//! optimizer (sections of layers, of the backward pass and of the update). No model, no training loop.
//!
//! candle's CPU backend computes before it returns, so sections time the work itself. On a device that works
//! asynchronously they time the launches.

mod optimizer;
mod prefetch;
mod profiled;

pub use prefetch::Prefetch;
pub use profiled::Profiled;

#[doc(hidden)]
pub use stepscope;
