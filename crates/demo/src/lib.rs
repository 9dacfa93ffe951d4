//! A small real trainer: a convolutional network learns handwritten digits.
//!
//! What lives here: the data set, the network, the training loop, the loader threads, and defects that can be
//! planted on purpose (a slow stage, a slow loader, a leak). It is instrumented the way any user would do it,
//! through the public API of `stepscope` and plain `#[tracing::instrument]`.
//!
//! What does not: nothing here installs a recorder or prints. A program calls `stepscope::init()` first if it
//! wants a profile; without one the same code trains unrecorded.
//!
//! ```no_run
//! let mut options = stepscope_demo::Options::new("digits-run");
//! options.epochs = 5;
//! let outcome = stepscope_demo::run(&options)?;
//! assert!(outcome.accuracy > 0.9);
//! # Ok::<(), stepscope_demo::DemoError>(())
//! ```

mod augment;
mod checkpoint;
mod data;
mod decode;
mod error;
mod history;
mod loader;
mod net;
mod optimizer;
mod options;
mod outcome;
mod plan;
mod preprocess;
mod random;
mod train;

pub use error::DemoError;
pub use options::{BATCH_SIZE, Options, Slow};
pub use outcome::{EpochOutcome, Outcome, StepMs, Work};
pub use train::{run, run_with_progress};
