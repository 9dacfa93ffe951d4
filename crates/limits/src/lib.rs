//! What bounds the memory of a process ([`Limits`]), and what a watch in it has found of leaks ([`leaks`]): a small crate without
//! dependencies, for the layer, for reports in the program and for gauges. Whether memory leaks is not told here.
//!
//! ```
//! let nearest = stepscope_limits::Limits::of_this_process().nearest(None);
//! if let Some(limit) = nearest {
//!     println!("{} of {} bytes used ({})", limit.used_bytes, limit.limit_bytes, limit.kind.name());
//! }
//! ```

pub mod cgroup;
pub mod leaks;
mod limit;

pub use limit::{Limit, LimitKind, Limits};
