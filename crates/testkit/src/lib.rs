//! What the tests of stepscope share: runs generated with known truth ([`forest`]), their disturbance
//! ([`disturb`]), metrics of planned values ([`measured`]), requests made by hand ([`wire`]), traces that others published
//! ([`published`]), and the means to run the built programs and the second implementation of the figures ([`process`],
//! [`binaries`], [`crosscheck`]). Nothing here is published, and nothing here analyses a run.

pub mod binaries;
pub mod crosscheck;
pub mod disturb;
pub mod folder;
pub mod forest;
pub mod measured;
pub mod message;
pub mod process;
pub mod published;
pub mod random;
pub mod wire;

pub use folder::TempFolder;
pub use forest::{Forest, ForestOptions, Truth};
pub use message::Format;
