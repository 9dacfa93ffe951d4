//! What the examples share: the data of those that train, a random generator, the command line, the time of their
//! steps by a clock of their own. Nothing of stepscope, so that it shows where it is used.

pub mod digits;
mod options;
mod random;
mod times;

pub use options::Options;
pub use random::Random;
pub use times::Times;
