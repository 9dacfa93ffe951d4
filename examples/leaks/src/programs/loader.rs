//! Batches that nobody takes: a queue without bound, and samples that know each other in a circle.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use super::Program;
use crate::sizes::Sizes;
use crate::truth::planted;

/// Two batches are read ahead for each that is used.
pub fn queue(mut sizes: Sizes) -> Box<dyn Program> {
    let mut ahead = VecDeque::new();
    Box::new(move |_| {
        prefetch(&mut ahead, &sizes.step());
        // What is used is a copy; the batch goes back to the end of the queue.
        if let Some(batch) = ahead.pop_front() {
            train(&batch);
            ahead.push_back(batch);
        }
    })
}

#[tracing::instrument(skip_all)]
fn prefetch(ahead: &mut VecDeque<Vec<u8>>, sizes: &[usize]) {
    for &size in sizes {
        ahead.push_back(planted!(size, vec![1; size]));
    }
}

#[tracing::instrument(skip_all)]
fn train(batch: &[u8]) {
    std::hint::black_box(batch.to_vec());
}

/// Samples that point at each other and are counted by reference.
pub fn cycle(mut sizes: Sizes) -> Box<dyn Program> {
    Box::new(move |_| prefetch_cycle(&sizes.step()))
}

struct Sample {
    pixels: Vec<u8>,
    partner: RefCell<Option<Rc<Sample>>>,
}

#[tracing::instrument(name = "prefetch", skip_all)]
fn prefetch_cycle(sizes: &[usize]) {
    for pair in sizes.chunks(2) {
        let samples: Vec<Rc<Sample>> = pair.iter().map(|&size| Rc::new(augment(size))).collect();
        for (sample, partner) in samples.iter().zip(samples.iter().rev()) {
            *sample.partner.borrow_mut() = Some(Rc::clone(partner));
        }
        std::hint::black_box(samples.iter().map(|sample| sample.pixels.len()).sum::<usize>());
    }
}

#[tracing::instrument(skip_all)]
fn augment(size: usize) -> Sample {
    let pixels = planted!(size, vec![1; size]);
    Sample { pixels, partner: RefCell::new(None) }
}
