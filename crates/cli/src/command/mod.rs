//! The commands, a file each. Every one gives the exit code of its success, or why it stopped.

pub(crate) mod analyze;
pub(crate) mod capture;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod leak_check;
pub(crate) mod merge;
pub(crate) mod monitor;
pub(crate) mod push;
pub(crate) mod record;
