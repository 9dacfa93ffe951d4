//! A program as its author wrote it: `#[tracing::instrument]` and nothing of stepscope.

use std::hint::black_box;

use tracing::{error, info_span, instrument, warn};

#[instrument]
fn load() -> Vec<u64> {
    (0..64).collect()
}

#[instrument(skip_all)]
fn train_step(data: &[u64], step: u64) -> u64 {
    let sum = forward(data);
    if step == 3 {
        warn!("the sum is {sum}");
    }
    backward(sum, step)
}

#[instrument(skip_all, fields(stepscope.phase = "forward", batch = data.len()))]
fn forward(data: &[u64]) -> u64 {
    layer(data, 3)
}

#[instrument(skip(data))]
fn layer(data: &[u64], depth: u32) -> u64 {
    let sum = data.iter().map(|value| black_box(value * u64::from(depth))).sum();
    if depth == 0 { sum } else { layer(data, depth - 1) }
}

#[instrument(skip_all)]
fn backward(sum: u64, step: u64) -> u64 {
    if step == 5 {
        error!("the gradient is not finite");
    }
    info_span!("update", stepscope.phase = "optimizer", otel.name = "sgd").in_scope(|| black_box(sum + step))
}

#[instrument(skip_all, level = "debug")]
fn detail() {}

#[instrument(skip_all, fields(stepscope.step = number))]
fn validation(number: u64) {
    detail();
}

pub(crate) fn train(steps: u64) {
    let data = load();
    for step in 0..steps {
        black_box(train_step(&data, step));
        detail();
    }
    validation(1_000);
    // Two handles of one span, recorded late, and a span that is caused by it.
    let late = tracing::info_span!("late", outcome = tracing::field::Empty);
    let handle = late.clone();
    let effect = tracing::info_span!("effect");
    effect.follows_from(&late);
    late.in_scope(|| handle.record("outcome", "good"));
    drop(effect);
}
