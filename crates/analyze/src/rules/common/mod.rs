//! What several rules share. No rule lives here.

pub(super) mod apart;
pub(crate) mod coarse;
pub(super) mod late;
pub(super) mod levels;
pub(super) mod longer;
pub(super) mod once;
pub(super) mod others;
pub(crate) mod program;
pub(super) mod range;
pub(super) mod steps;
pub(super) mod tail;
pub(super) mod taken;
pub(super) mod taking;
pub(super) mod waits;
pub(super) mod when;
pub(super) mod within;
