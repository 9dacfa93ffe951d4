//! What a program calls: builder, guard, handle, figures, layer and root subscriber, `section!` and its like, loaders. Uses all
//! other rooms; none uses it.

pub(crate) mod builder;
pub(crate) mod current;
pub(crate) mod figures;
#[cfg(feature = "metrics")]
pub(crate) mod gauges;
pub(crate) mod guard;
pub(crate) mod handle;
pub(crate) mod layer;
pub(crate) mod loader;
#[cfg(feature = "rayon")]
pub mod rayon;
pub(crate) mod root;
pub(crate) mod section;
pub(crate) mod submitter;
#[cfg(feature = "fmt")]
pub(crate) mod with_ids;
