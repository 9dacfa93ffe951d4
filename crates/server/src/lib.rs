//! Takes OTLP over HTTP and gRPC on loopback and stores every message in files, as it came. One port serves
//! both: what a connection speaks is told from its first bytes, what a request is from its headers, so a program
//! that is given one endpoint is understood whichever protocol its SDK prefers.
//!
//! What is in the messages is looked at only to answer truthfully: damaged ones are refused with the reason, items
//! that no reader will take are counted as rejected. Reading and analysing the files lives in `stepscope-model`
//! and `stepscope-analyze`; when to start and stop, and what runs meanwhile, is the caller's.
//!
//! Nothing a client does makes it use memory without bound or wait for ever: [`Limits`] holds every bound.

mod answer;
mod body;
mod budget;
mod check;
mod connection;
mod counts;
mod grpc;
mod http;
mod limits;
mod memory;
mod receiver;
mod refusal;
mod shared;
mod store;
mod unpack;

pub use counts::{Counts, Way};
pub use limits::Limits;
pub use memory::InMemory;
pub use receiver::Receiver;
