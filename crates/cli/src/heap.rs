//! What glibc's allocator keeps of what was freed. Nothing of what is allocated, and nothing elsewhere.
//!
//! By its defaults it learns from each large buffer that is freed to keep such buffers: the memory of an analysis with two
//! threads would be a twentieth more.
#![expect(unsafe_code, reason = "a call of libc")]

/// Larger buffers go back to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: libc::c_int = 128 * 1024;

/// Has the allocator keep less, from now on.
pub(crate) fn keep_less() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: a setting of the allocator that may be made at any time.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, KEPT_BYTES);
    }
}

/// Gives back to the system what was freed in between of what is still there.
pub(crate) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it has no preconditions.
    unsafe {
        libc::malloc_trim(0);
    }
}
