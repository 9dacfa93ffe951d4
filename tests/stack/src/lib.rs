//! Means for tests with the real collector and Jaeger: running them ([`stack`]), asking them ([`http`]), running
//! our programs ([`program`], [`recorded`]), reading traces without our readers ([`traces`]). The tests themselves are in `real/`;
//! how the programs are built and started is in `scripts/stack`.

pub mod http;
pub mod program;
pub mod recorded;
pub mod report;
pub mod stack;
pub mod traces;
