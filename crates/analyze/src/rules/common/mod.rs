//! What several rules share. No rule lives here.

pub(super) mod apart;
pub(super) mod coarse;
pub(super) mod late;
pub(super) mod levels;
pub(super) mod longer;
pub(crate) mod program;
pub(crate) mod steps;
pub(super) mod tail;
pub(super) mod taken;
pub(super) mod waits;
pub(super) mod when;
pub(super) mod within;
