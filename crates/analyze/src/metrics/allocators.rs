//! What is told of the allocators of a process: what the program has of them, what they have of the system, and what of that
//! nobody uses.

use std::collections::BTreeSet;

use stepscope_core::attr;
use stepscope_core::metric::program;

use crate::metrics::figures::{Figure, over};
use crate::metrics::readings::Readings;
use crate::summary::{FigureRow, Stretch};

/// Figures of an allocator, in the order in which they are told.
const FIGURES: &[Figure] = &[
    Figure {
        name: "allocator_live_bytes",
        metrics: &[program::ALLOCATOR_LIVE],
        mean: |at, when| at.one(program::ALLOCATOR_LIVE, when),
        most: Some(|at, when| at.most(program::ALLOCATOR_LIVE, when, |_| true)),
    },
    Figure {
        name: "allocator_reserved_bytes",
        metrics: &[program::ALLOCATOR_RESERVED],
        mean: |at, when| at.one(program::ALLOCATOR_RESERVED, when),
        most: Some(|at, when| at.most(program::ALLOCATOR_RESERVED, when, |_| true)),
    },
    Figure {
        name: "allocator_fragmentation_share",
        metrics: &[program::ALLOCATOR_FRAGMENTATION],
        mean: |at, when| at.one(program::ALLOCATOR_FRAGMENTATION, when),
        most: Some(|at, when| at.most(program::ALLOCATOR_FRAGMENTATION, when, |_| true)),
    },
    Figure {
        name: "allocator_arenas",
        metrics: &[program::ALLOCATOR_ARENAS],
        mean: |at, when| at.one(program::ALLOCATOR_ARENAS, when),
        most: Some(|at, when| at.most(program::ALLOCATOR_ARENAS, when, |_| true)),
    },
];

/// Those of a process, by the name of the allocator.
pub(crate) fn allocators(own: &Readings<'_, '_>, stretches: &[Stretch]) -> Vec<FigureRow> {
    let names: BTreeSet<&str> = own.0.iter().filter_map(|one| one.label(attr::ALLOCATOR)).collect();
    let of = |name: &str| {
        let readings = Readings(own.0.iter().copied().filter(|one| one.is(attr::ALLOCATOR, name)).collect());
        let rows = FIGURES.iter().filter_map(|figure| over(figure, &readings, stretches));
        rows.map(|row| FigureRow { about: Some(name.to_owned()), ..row }).collect::<Vec<_>>()
    };
    names.into_iter().flat_map(of).collect()
}
