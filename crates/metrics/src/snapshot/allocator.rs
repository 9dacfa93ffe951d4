//! What allocators of the process say of themselves.

/// One allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allocator {
    /// Which: `jemalloc`, `mimalloc`, `glibc`.
    pub name: &'static str,
    /// Bytes that it has handed out.
    pub live_bytes: Option<u64>,
    /// Bytes that it has from the system.
    pub reserved_bytes: Option<u64>,
    /// Its arenas.
    pub arenas: Option<u64>,
}

impl Allocator {
    /// Share of what it has from the system that it has not handed out.
    #[must_use]
    pub fn fragmentation(&self) -> Option<f64> {
        let (live, reserved) = self.live_bytes.zip(self.reserved_bytes.filter(|&bytes| bytes > 0))?;
        Some(reserved.saturating_sub(live) as f64 / reserved as f64)
    }
}
