//! The registry: each program is a file, each of its leaks a line here.

mod cache;
mod graph;
mod history;
mod hooks;
mod loader;
mod optimizer;
mod pool;
mod tape;
mod tasks;
mod tokens;

use crate::sizes::Sizes;

/// A program with a leak.
pub struct Leak {
    pub name: &'static str,
    /// The section in which the leaked blocks are allocated.
    pub section: &'static str,
    /// About the size of a leaked block.
    pub block_bytes: usize,
    pub start: fn(Sizes) -> Box<dyn Program>,
}

/// What is done in each step.
pub trait Program {
    /// One step.
    fn step(&mut self, number: u64);
}

impl<F: FnMut(u64)> Program for F {
    fn step(&mut self, number: u64) {
        self(number);
    }
}

macro_rules! leaks {
    ($($name:literal, $section:literal, $block:expr => $start:path;)+) => {
        pub const ALL: &[Leak] =
            &[$(Leak { name: $name, section: $section, block_bytes: $block, start: $start }),+];
    };
}

leaks! {
    "cache-map", "step/lookup", 1_024 => cache::map;
    "cache-lru", "step/lookup/load", 4_096 => cache::lru;
    "history-lines", "step/report", 192 => history::lines;
    "history-series", "step/report", 65_536 => history::series;
    "tokens-interned", "step/tokenize/intern", 256 => tokens::interned;
    "tokens-vocabulary", "step/tokenize", 512 => tokens::vocabulary;
    "pool-results", "step/scatter", 2_048 => pool::results;
    "pool-scratch", "step/submit", 4_096 => pool::scratch;
    "tasks-stuck", "step/serve/decode", 1_024 => tasks::stuck;
    "tasks-channel", "step/serve/produce", 3_072 => tasks::channel;
    "graph-loss", "step/forward/matmul", 16_384 => graph::loss;
    "graph-sum", "step/forward/matmul", 4_096 => graph::sum;
    "tape-forward", "step/forward/register", 32_768 => tape::forward;
    "tape-nodes", "step/forward/register", 320 => tape::nodes;
    "loader-queue", "step/prefetch", 65_536 => loader::queue;
    "loader-cycle", "step/prefetch/augment", 1_024 => loader::cycle;
    "optimizer-state", "step/optimize/moments", 8_192 => optimizer::state;
    "optimizer-average", "step/optimize", 32_768 => optimizer::average;
    "hooks-closures", "step/attach", 384 => hooks::closures;
    "hooks-errors", "step/validate", 640 => hooks::errors;
}
