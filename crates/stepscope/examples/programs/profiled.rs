//! `#[profile]` on functions, `impl` blocks and traits. Bodies count their own calls, and the futures are timed from
//! inside and outside, as those of `futures` are.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stepscope::profile;

use crate::futures::{Shared, Work, drive, nanos};
use crate::say;

static CALLS: [(&str, AtomicU64); 7] = [
    ("Model::new", AtomicU64::new(0)),
    ("Model::forward", AtomicU64::new(0)),
    ("Model::descend", AtomicU64::new(0)),
    ("Model::zero_grad", AtomicU64::new(0)),
    ("Model::parameters", AtomicU64::new(0)),
    ("Optimizer::name", AtomicU64::new(0)),
    ("sum", AtomicU64::new(0)),
];

fn count(name: &str) {
    let counter = CALLS.iter().find(|(known, _)| *known == name);
    counter.unwrap().1.fetch_add(1, Ordering::Relaxed);
}

struct Model<T> {
    weights: Vec<T>,
}

#[profile(phase = Optimizer)]
trait Optimizer {
    fn zero_grad(&mut self);

    fn name(&self) -> &'static str {
        count("Optimizer::name");
        "plain"
    }
}

#[profile]
impl<T: Copy + Into<f64> + Default> Model<T>
where
    T: From<u8>,
{
    fn new(width: usize) -> Self {
        count("Model::new");
        Self { weights: vec![T::from(1); width] }
    }

    #[profile(phase = Forward, fields(samples = batch.len(), scale, title = format!("{scale}").as_str()))]
    fn forward(&mut self, batch: &[T], scale: f64) -> f64 {
        count("Model::forward");
        let total = sum(batch) * scale;
        if batch.len() % 2 == 1 {
            return total;
        }
        total + self.parameters().map(Into::into).sum::<f64>() + self.quiet() + self.descend(2)
    }

    #[profile(name = "descend")]
    fn descend(&self, depth: u32) -> f64 {
        count("Model::descend");
        if depth == 0 { sum(&self.weights) } else { self.descend(depth - 1) }
    }

    fn parameters(&self) -> impl Iterator<Item = T> {
        count("Model::parameters");
        self.weights.iter().copied()
    }

    #[profile(skip)]
    fn quiet(&self) -> f64 {
        black_box(0.5)
    }
}

#[profile(name = "Plain", phase = Gradient)]
impl<T: Default + Copy> Optimizer for Model<T> {
    fn zero_grad(&mut self) {
        count("Model::zero_grad");
        self.weights.fill(T::default());
    }
}

#[profile]
fn sum<T: Copy + Into<f64>>(values: &[T]) -> f64 {
    count("sum");
    values.iter().map(|&value| value.into()).sum()
}

#[profile(name = "step work", fields(step))]
fn step_work(step: u64) -> f64 {
    let mut model = Model::<f32>::new(4);
    let total = model.forward(&[1.0, 2.0], 2.0) + Model::<u8>::new(1).forward(&[3], 1.0);
    model.zero_grad();
    assert_eq!(model.name(), "plain");
    total
}

#[profile(phase = Io)]
fn explode(depth: u32) {
    assert!(depth > 0, "planned");
    explode(depth - 1);
}

#[profile(phase = DataWait, fields(polls, kind = "outer"))]
async fn load(polls: u32, measured: Shared, inner: Shared) -> Result<f64, std::num::ParseFloatError> {
    Work::new(polls, measured).await;
    let loaded = Source { polls: 3 }.read(inner).await;
    // A section of the guard's kind inside a poll.
    Ok(sum(&[loaded]) + "0.5".parse::<f64>()?)
}

struct Source {
    polls: u32,
}

#[profile]
impl Source {
    async fn read(&self, measured: Shared) -> f64 {
        Work::new(self.polls, measured).await;
        1.0
    }
}

#[profile]
async fn fails(measured: Shared) {
    Work::new(1, measured).await;
    panic!("planned");
}

pub(crate) fn run(steps: u64) {
    let _run = crate::start();
    for step in 0..steps {
        let _step = stepscope::step!(step);
        black_box(step_work(step));
    }
    {
        let _step = stepscope::step!(steps);
        assert!(catch_unwind(|| explode(2)).is_err());
        black_box(sum(&[1.0]));
        let failing = drive_to_panic();
        assert!(failing);
        black_box(sum(&[1.0]));
    }
    let (measured, inner) = (Shared::default(), Shared::default());
    let future = load(4, Arc::clone(&measured), Arc::clone(&inner));
    drive("load", async { assert!((future.await.unwrap() - 1.5).abs() < f64::EPSILON) }, &measured);
    say("read.inside", nanos(inner.lock().unwrap().inside));
    for (name, counter) in &CALLS {
        say(name, counter.load(Ordering::Relaxed));
    }
}

fn drive_to_panic() -> bool {
    let mut future = Box::pin(fails(Shared::default()));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    catch_unwind(AssertUnwindSafe(|| {
        let _ = future.as_mut().poll(&mut context);
    }))
    .is_err()
}
