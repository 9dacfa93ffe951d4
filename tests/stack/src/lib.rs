//! Means for tests with the real collector and Jaeger: running them ([`stack`]), asking them ([`http`], [`prometheus`]), what
//! Grafana asks ([`boards`]), being in their way ([`proxy`]), running our programs ([`program`], [`recorded`], [`trial`],
//! [`demo`], within [`limits`]) or senders ([`senders`]), reading traces without our readers ([`traces`]), and accounts of
//! spans ([`account`]). The tests are in `real/`; how the programs are built and started is in `scripts/stack`.

pub mod account;
pub mod boards;
pub mod demo;
pub mod http;
pub mod limits;
pub mod program;
pub mod prometheus;
pub mod proxy;
pub mod recorded;
pub mod report;
pub mod senders;
pub mod stack;
pub mod traces;
pub mod trial;
