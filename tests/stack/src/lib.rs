//! Means for tests with the real collector and Jaeger: running them ([`stack`]), asking them ([`http`]), being in their
//! way ([`proxy`]), running our programs ([`program`], [`recorded`], [`trial`]) or senders ([`senders`]), reading traces without our readers
//! ([`traces`]), and accounts of spans ([`account`]). The tests themselves are in `real/`; how the programs are built and
//! started is in `scripts/stack`.

pub mod account;
pub mod http;
pub mod program;
pub mod proxy;
pub mod recorded;
pub mod report;
pub mod senders;
pub mod stack;
pub mod traces;
pub mod trial;
