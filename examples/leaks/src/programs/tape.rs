//! Tensors by number on a tape, as burn's: a forward without its backward leaves what it has registered.

use std::collections::HashMap;
use std::sync::Arc;

use super::Program;
use crate::sizes::Sizes;
use crate::truth::planted;

/// What backward needs of each operation; backward takes it out.
#[derive(Default)]
struct Tape {
    operations: HashMap<u64, Arc<Operation>>,
    next: u64,
}

struct Operation {
    state: Box<[u8]>,
    parent: Option<u64>,
}

impl Tape {
    fn add(&mut self, operation: Operation) -> u64 {
        self.next += 1;
        self.operations.insert(self.next, Arc::new(operation));
        self.next
    }
}

/// Outputs of a forward that is for validation, and nobody calls backward.
pub fn forward(mut sizes: Sizes) -> Box<dyn Program> {
    let mut tape = Tape::default();
    Box::new(move |_| {
        run_forward(&mut tape, &sizes.step());
    })
}

#[tracing::instrument(name = "forward", skip_all)]
fn run_forward(tape: &mut Tape, sizes: &[usize]) -> Option<u64> {
    sizes.iter().fold(None, |parent, &size| Some(register(tape, parent, size)))
}

#[tracing::instrument(skip_all)]
fn register(tape: &mut Tape, parent: Option<u64>, size: usize) -> u64 {
    let state = planted!(size, vec![1_u8; size].into_boxed_slice());
    tape.add(Operation { state, parent })
}

/// Backward takes the large states out, and small ones stay.
pub fn nodes(mut sizes: Sizes) -> Box<dyn Program> {
    let mut tape = Tape::default();
    Box::new(move |_| {
        let last = run_forward(&mut tape, &sizes.step());
        backward(&mut tape, last);
    })
}

/// Forgets what was registered last, and stops there.
#[tracing::instrument(skip_all)]
fn backward(tape: &mut Tape, last: Option<u64>) {
    let taken = last.and_then(|last| tape.operations.remove(&last));
    std::hint::black_box(taken.and_then(|taken| Some((taken.state.len(), taken.parent?))));
}
