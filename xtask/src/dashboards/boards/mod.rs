//! The boards: a file each, and their list. A new board is a file and a line here.

mod comparison;
mod findings;
mod gpu;
mod host;
mod memory;
mod ranks;
mod training;

use super::findings::Rules;
use super::model::Dashboard;
use crate::Outcome;

/// The name of the file, and what makes it.
pub(super) type Entry = (&'static str, fn(&Rules) -> Outcome<Dashboard>);

pub(super) const ALL: &[Entry] = &[
    ("training", training::board),
    ("memory", memory::board),
    ("gpu", gpu::board),
    ("host", host::board),
    ("ranks", ranks::board),
    ("comparison", comparison::board),
    ("findings", findings::board),
];
