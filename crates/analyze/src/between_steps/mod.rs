//! What threads do between steps: outermost sections that are no steps, and the time that nothing explains.

pub(crate) mod accumulator;
pub(crate) mod finish;
