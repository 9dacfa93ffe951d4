//! Memory figures for stepscope: a counting global allocator ([`Alloc`]), what is [`live`] by sample, and the
//! sources that a profile can read ([`SOURCES`]). Knows no spans and no clock: whoever measures a section reads the counters at its
//! start and at its end and takes the difference.
//!
//! ```
//! #[global_allocator]
//! static ALLOC: stepscope_mem::Alloc = stepscope_mem::Alloc::system();
//!
//! let before = stepscope_mem::thread_counters().ok_or("the allocator is not installed")?;
//! let peak = stepscope_mem::peak_enter();
//! drop(std::hint::black_box(vec![0u8; 1000]));
//! let inside = stepscope_mem::thread_counters().ok_or("the allocator is not installed")?.since(&before);
//! assert_eq!((inside.allocated_bytes, inside.freed_bytes), (1000, 1000));
//! assert_eq!(stepscope_mem::peak_exit(peak), Some(1000));
//! # Ok::<(), &str>(())
//! ```

mod alloc;
mod block;
mod counters;
mod hot;
pub mod live;
pub mod source;
mod sys;

/// What threads share without locks is made of these; `tests/loom.rs` gives the bucket others, which try every order.
mod sync {
    pub(crate) use std::sync::atomic;
}

pub use alloc::Alloc;
pub use counters::{
    Counters, PeakToken, SetAside, is_installed, live_bytes, peak_enter, peak_exit, process_counters,
    process_counters_aside, set_aside, thread_blocks, thread_counters,
};
pub use source::rss::{own_read_bytes, peak_rss_bytes, rss_bytes};
pub use source::{Reading, SOURCES, Source};
