//! The counting allocator as a source: bytes live according to the program's own calls.

use super::{Reading, Source};

/// The source.
pub const SOURCE: Source = Source {
    name: "allocator",
    metric: stepscope_core::metric::MEM_LIVE,
    doc: "Bytes allocated and not freed through the global allocator, all threads. Exact; knows nothing of \
          memory mapped otherwise, of C libraries, of the allocator's own overhead. Absent unless \
          `stepscope_mem::Alloc` is the global allocator.",
    read,
};

fn read() -> Reading {
    Reading { now_bytes: crate::live_bytes(), peak_bytes: None }
}
