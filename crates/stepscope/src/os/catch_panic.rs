//! Whose panics end here: code of the program's that we call, and our own where a mistake in it must not end the program.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What `f` gives; `None` where it panics.
pub(crate) fn catch_panic<R>(f: impl FnOnce() -> R) -> Option<R> {
    let panicked = match catch_unwind(AssertUnwindSafe(f)) {
        Ok(given) => return Some(given),
        Err(payload) => catch_unwind(AssertUnwindSafe(|| drop(payload))),
    };
    // A payload may panic when it is dropped, and what it panics with, too: that stays.
    panicked.unwrap_or_else(std::mem::forget);
    None
}

#[cfg(test)]
mod tests {
    use std::panic::panic_any;

    use super::*;

    /// Panics with another one when it is dropped.
    struct Bomb(u32);

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any(Bomb(self.0 + 1));
        }
    }

    #[test]
    fn a_panic_whose_payload_panics_ends_here() {
        assert_eq!(catch_panic(|| 3), Some(3));
        assert_eq!(catch_panic(|| panic!("a text")), None::<()>);
        assert_eq!(catch_panic(|| panic_any(Bomb(0))), None::<()>);
    }
}
