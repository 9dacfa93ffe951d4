//! The generic machinery of accumulators: how they merge, in any order and grouping, and stay bounded. What is accumulated
//! is the subjects' business.

pub(crate) mod by_name;
pub(crate) mod distribution;
pub(crate) mod gauge;
pub(crate) mod median;
pub(crate) mod merge;
pub(crate) mod path_sums;
pub(crate) mod postcard_values;
pub(crate) mod residue_classes;
pub(crate) mod rules;
pub(crate) mod saturate;
pub(crate) mod smallest;
pub(crate) mod stats;
pub(crate) mod step_series;
pub(crate) mod time_buckets;

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
