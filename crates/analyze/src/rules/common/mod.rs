//! What several rules share. No rule lives here.

pub(super) mod waits;
