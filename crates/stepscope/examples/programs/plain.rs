//! A program as its author wrote it: `#[tracing::instrument]` and nothing of stepscope.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// Fields that say what the layer says, too.
#[instrument(skip_all, fields(stepscope.epoch = 7, thread.id = 1, stepscope.phase = "odd", stepscope.busy_ns = 3))]
fn repeated() {
    let span = tracing::Span::current();
    span.record("stepscope.phase", "forward");
    span.record("stepscope.epoch", 8);
}

static FORMATTED: AtomicU64 = AtomicU64::new(0);

/// A value whose formatting is noticed, and says something by itself.
struct Loud;

impl std::fmt::Debug for Loud {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        FORMATTED.fetch_add(1, Ordering::Relaxed);
        warn!("formatting");
        info_span!("inside_of_formatting").in_scope(|| f.write_str("loud"))
    }
}

#[instrument(skip_all, fields(stepscope.step = number))]
fn validation(number: u64) {
    detail();
}

/// Returns how often a value was formatted.
pub(crate) fn train(steps: u64) -> u64 {
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
    late.in_scope(|| handle.record("outcome", "bad"));
    handle.record("outcome", "good");
    drop(effect);
    repeated();
    let wide =
        info_span!("wide", low = i128::MIN, few = -3_i128, high = u128::MAX, later = tracing::field::Empty);
    wide.in_scope(|| wide.record("later", u128::from(u64::MAX) + 1));
    info_span!("valued", stepscope.value.high = u128::MAX, stepscope.value.few = 3_u128, low = i128::MIN)
        .in_scope(|| ());
    let formatted =
        tracing::info_span!("formatted", named = ?Loud, other = ?Loud, later = tracing::field::Empty);
    formatted.in_scope(|| formatted.record("later", tracing::field::debug(Loud)));
    FORMATTED.load(Ordering::Relaxed)
}

/// What OpenTelemetry has a place of its own for, said in every way.
pub(crate) fn heads() {
    use tracing::field::{Empty, display};

    let late = info_span!("late", otel.name = Empty, otel.status_code = Empty, otel.status_message = Empty);
    late.record("otel.name", "first").record("otel.name", display("renamed"));
    late.record("otel.status_code", display("ERROR")).record("otel.status_message", display("bad"));
    late.in_scope(|| info_span!("inside").in_scope(|| ()));
    // On another thread than its own, too.
    let other = info_span!("other", otel.name = "given");
    let told = other.clone();
    let tell = move || {
        told.record("otel.name", "told elsewhere");
    };
    std::thread::Builder::new().name("teller".into()).spawn(tell).unwrap().join().unwrap();
    other.in_scope(|| ());
    info_span!("shown", otel.name = %"of Display", otel.status_code = %"ERROR", otel.status_message = ?Some(1))
        .in_scope(|| ());
    info_span!("message", otel.status_message = %"only", otel.kind = ?Some(1)).in_scope(|| error!("e"));
    info_span!("well", otel.status_code = "OK").in_scope(|| error!("e"));
    #[instrument(err)]
    fn failing() -> Result<(), String> {
        Err("broken".into())
    }
    black_box(failing()).unwrap_err();
}
