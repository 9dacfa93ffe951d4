//! How a run ends with its process: exit, panic, signal, fork. The guard that a program holds is in `api`.

pub(crate) mod exit;
