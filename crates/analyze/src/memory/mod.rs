//! Memory of the processes over the steps: what sections retain, how it grows, what leaks.

pub(crate) mod finish;
pub(crate) mod retained;
pub(crate) mod summary;
pub(crate) mod trend;
