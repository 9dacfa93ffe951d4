//! Prometheus' names of what is published. The rules are `stepscope-core`'s, which whoever asks for the series has, too.

pub(crate) use stepscope_core::prometheus::{family, sample, sanitized, unit};
