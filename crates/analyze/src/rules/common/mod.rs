//! What several rules share. No rule lives here.

pub(super) mod levels;
pub(crate) mod program;
pub(crate) mod steps;
pub(super) mod taken;
pub(crate) mod when;
