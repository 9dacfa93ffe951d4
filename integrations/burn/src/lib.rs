//! stepscope for burn: data loaders whose batches know where they come from ([`loader`]), and steps for burn-train's
//! `Learner`, whose loop is not yours to edit ([`steps`]). No model and no training loop of its own.
//!
//! ```
//! use burn::data::dataloader::{DataLoader, DataLoaderBuilder, batcher::Batcher};
//! use burn::data::dataset::InMemDataset;
//! use burn::tensor::Device;
//!
//! # #[derive(Clone)]
//! struct Sum;
//! impl Batcher<u32, u32> for Sum {
//!     fn batch(&self, items: Vec<u32>, _: &Device) -> u32 {
//!         items.iter().sum()
//!     }
//! }
//!
//! // burn's own threads make the batches; each is a trace of its own, and the wait for it links to it.
//! let batches = stepscope_burn::loader("train", Sum, |batcher| {
//!     DataLoaderBuilder::new(batcher)
//!         .batch_size(2)
//!         .num_workers(1)
//!         .build(InMemDataset::new(vec![1, 2, 3, 4]))
//! });
//! for (number, batch) in batches.iter().enumerate() {
//!     let _step = stepscope::step!(number);
//!     assert_eq!(batch?, [3, 7][number]);
//! }
//!
//! // For the `Learner`: the loader itself says where steps begin and end.
//! let batches = stepscope_burn::steps(batches);
//! # let _ = batches;
//! # Ok::<(), burn::data::dataset::DatasetError>(())
//! ```
//!
//! burn's CPU backends compute before they return, so sections time the work itself. On a device that works
//! asynchronously they time the launches.

mod loading;
mod stepping;

pub use loading::{Made, TracedBatcher, loader};
pub use stepping::{evaluation_steps, steps};
