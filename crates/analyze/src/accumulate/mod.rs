//! The generic machinery of accumulators: how they merge, in any order and grouping, and stay bounded. What is accumulated
//! is the subjects' business.

mod merge;
mod rules;

pub(crate) use merge::{Latest, Merge, earliest, keep_smallest, smallest};
pub(crate) use rules::*;

/// Says for each field of an accumulator how two of them become one, by a rule of this module ([`sum`], [`max`],
/// [`min`], [`least`], [`any`], [`bits`], [`merge()`]). A field without a rule does not compile.
macro_rules! accumulate {
    ($type:ty { $($rule:ident: $($field:ident),+ $(,)?;)+ }) => {
        impl $crate::accumulate::Merge for $type {
            fn absorb(&mut self, other: &Self) {
                let Self { $($($field: _),+),+ } = other;
                $($($crate::accumulate::$rule(&mut self.$field, &other.$field);)+)+
            }
        }
    };
}
pub(crate) use accumulate;
