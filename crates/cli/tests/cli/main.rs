//! The program as scripts and people meet it: exit codes, help, inputs, partial analyses, pipes.

#![expect(clippy::expect_used, reason = "a test whose surroundings fail cannot go on")]

mod capture;
mod config;
mod convert;
mod demo;
mod deployed;
mod doctor;
mod explain;
mod formats;
mod gauges;
mod help;
mod inputs;
mod monitor;
mod partial;
mod pipes;
mod program;
mod push;
mod record;
