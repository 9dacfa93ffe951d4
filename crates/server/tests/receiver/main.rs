//! A receiver and its clients: honest ones in every protocol, whose messages must be in the files as they were, and
//! hostile ones, who get the right answer and nothing else.

mod client;
mod grpc;
mod hostile;
mod memory;
mod refused;
mod taken;
