//! What two threads share without locks is made of these. The models in `tests/loom.rs` give the ring and the aggregates
//! others, which try every order in which things can happen.

pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic;

/// A word of a ring. That it is nobody else's while it is written or read is what a model can find out.
pub(crate) type Slot = atomic::AtomicU64;

/// Words of a ring, so many of them or fewer, all 0, and that nobody needs them any more.
pub(crate) use crate::os::sys::{Zeroed as Slots, give_back, zeroed_or_fewer};
