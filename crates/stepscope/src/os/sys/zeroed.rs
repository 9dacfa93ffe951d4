//! Memory of zeros that takes no room before it is used, and none once it is given back: that of rings, and of the keys of open
//! spans.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// Less than this comes from the allocator.
const MAPPED_BYTES: usize = 64 << 10;

/// Words, all 0 at first.
#[derive(Debug)]
pub(crate) struct Zeroed {
    words: NonNull<[AtomicU64]>,
    /// Bytes that were mapped; 0 where they are a box's.
    mapped_bytes: usize,
}

// SAFETY: it owns its words, as a box does, and these are atomic.
unsafe impl Send for Zeroed {}
// SAFETY: likewise.
unsafe impl Sync for Zeroed {}

/// So many words of 0. Many are mapped, and not the allocator's, which would touch them all once it has some to use again: the
/// system gives them pages when they are first used.
pub(crate) fn zeroed(words: usize) -> Zeroed {
    map(words).unwrap_or_else(|| boxed(words))
}

/// So many words of 0, or a half, a quarter, … of them where the system has no more (`ulimit -v`).
pub(crate) fn zeroed_or_fewer(words: usize) -> Zeroed {
    let mut words = words;
    while words >= MAPPED_BYTES / size_of::<AtomicU64>() {
        if let Some(mapped) = map(words) {
            return mapped;
        }
        words /= 2;
    }
    boxed(words)
}

fn boxed(words: usize) -> Zeroed {
    let words: Box<[AtomicU64]> = (0..words).map(|_| AtomicU64::new(0)).collect();
    Zeroed { words: NonNull::from(Box::leak(words)), mapped_bytes: 0 }
}

/// `None` for a few, and where the system has none.
fn map(words: usize) -> Option<Zeroed> {
    let bytes = words.checked_mul(size_of::<AtomicU64>()).filter(|&bytes| bytes >= MAPPED_BYTES)?;
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: a new mapping, which overlaps none.
    let first = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
    let first = NonNull::new(first).filter(|first| first.as_ptr() != libc::MAP_FAILED)?;
    // What is not used would be part of a large page. Where this fails it is.
    #[cfg(target_os = "linux")]
    // SAFETY: all of the mapping above.
    unsafe {
        libc::madvise(first.as_ptr(), bytes, libc::MADV_NOHUGEPAGE);
    }
    let words = NonNull::slice_from_raw_parts(first.cast::<AtomicU64>(), words);
    Some(Zeroed { words, mapped_bytes: bytes })
}

/// Gives back the memory of words that nobody needs any more, where they were mapped: they are 0 again, and whoever still
/// writes one has it take room again.
pub(crate) fn give_back(words: &Zeroed) {
    #[cfg(target_os = "linux")]
    if words.mapped_bytes > 0 {
        // SAFETY: all of a mapping that is private and of no file, which stays, and reads as 0 from here on; its words
        // are atomic, so that to others this is as if each had been stored. Where it fails they are as they were.
        unsafe {
            libc::madvise(words.words.as_ptr().cast(), words.mapped_bytes, libc::MADV_DONTNEED);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = words;
}

impl Deref for Zeroed {
    type Target = [AtomicU64];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU64] {
        // SAFETY: as many words as were mapped, at a page's begin, or those of a box; all bytes 0 are the atomic 0.
        unsafe { self.words.as_ref() }
    }
}

impl Drop for Zeroed {
    fn drop(&mut self) {
        if self.mapped_bytes > 0 {
            // SAFETY: mapped so, and nobody has a part of it any more.
            unsafe { libc::munmap(self.words.as_ptr().cast(), self.mapped_bytes) };
        } else {
            // SAFETY: leaked from a box.
            drop(unsafe { Box::from_raw(self.words.as_ptr()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn where_there_are_not_so_many_there_are_fewer() {
        // More than there are addresses.
        let some = zeroed_or_fewer(1 << 45);
        assert!(
            some.len().is_power_of_two() && some.len() < 1 << 45 && some.mapped_bytes > 0,
            "{}",
            some.len()
        );
        for words in [0, 512, MAPPED_BYTES / 8, 1 << 20] {
            assert_eq!(zeroed_or_fewer(words).len(), words);
        }
    }

    #[test]
    fn words_are_zero_and_keep_what_is_written() {
        for words in [0, 1, 512, (MAPPED_BYTES / 8) - 1, MAPPED_BYTES / 8, 1 << 20] {
            let some = zeroed(words);
            assert_eq!((some.len(), some.mapped_bytes > 0), (words, words >= MAPPED_BYTES / 8));
            assert!(some.iter().all(|word| word.load(Ordering::Relaxed) == 0));
            for _ in 0..2 {
                some.iter().zip(0..).for_each(|(word, number)| word.store(number, Ordering::Relaxed));
                assert!(some.iter().zip(0..).all(|(word, number)| word.load(Ordering::Relaxed) == number));
                give_back(&some);
                let is_given = cfg!(target_os = "linux") && some.mapped_bytes > 0;
                assert!(!is_given || some.iter().all(|word| word.load(Ordering::Relaxed) == 0));
            }
        }
    }
}
