//! Tensors that know what they were made from, as candle's: who keeps a loss keeps all activations behind it.

use std::sync::Arc;

use super::Program;
use crate::sizes::Sizes;
use crate::truth::planted;

/// A tensor, and the ones that it was made from.
#[derive(Clone)]
struct Tensor(Arc<Node>);

struct Node {
    values: Vec<u8>,
    from: Vec<Tensor>,
}

impl Tensor {
    fn new(values: Vec<u8>, from: &[&Self]) -> Self {
        Self(Arc::new(Node { values, from: from.iter().map(|&tensor| tensor.clone()).collect() }))
    }

    fn sum(&self) -> u64 {
        let own: u64 = self.0.values.iter().map(|&value| u64::from(value)).sum();
        own + self.0.from.iter().map(|tensor| tensor.0.values.len() as u64).sum::<u64>()
    }
}

impl Drop for Node {
    /// One after the other: chains are as long as the run.
    fn drop(&mut self) {
        let mut rest = std::mem::take(&mut self.from);
        while let Some(Tensor(tensor)) = rest.pop() {
            if let Ok(mut node) = Arc::try_unwrap(tensor) {
                rest.append(&mut node.from);
            }
        }
    }
}

/// Losses are kept for a plot, and with each its graph.
pub fn loss(mut sizes: Sizes) -> Box<dyn Program> {
    let mut losses = Vec::new();
    Box::new(move |_| losses.push(forward(&sizes.step())))
}

#[tracing::instrument(skip_all)]
fn forward(sizes: &[usize]) -> Tensor {
    let input = Tensor::new(vec![0; 64], &[]);
    let output = sizes.iter().fold(input, |tensor, &size| matmul(&tensor, size));
    Tensor::new(output.sum().to_ne_bytes().to_vec(), &[&output])
}

#[tracing::instrument(skip_all)]
fn matmul(tensor: &Tensor, size: usize) -> Tensor {
    let values = planted!(size, vec![1_u8; size]);
    Tensor::new(values, &[tensor])
}

/// A running sum of losses, which is made from all of them.
pub fn sum(mut sizes: Sizes) -> Box<dyn Program> {
    let mut total = Tensor::new(vec![0; 8], &[]);
    Box::new(move |_| {
        let loss = forward(&sizes.step());
        total = add(&total, &loss);
    })
}

#[tracing::instrument(skip_all)]
fn add(total: &Tensor, loss: &Tensor) -> Tensor {
    Tensor::new((total.sum() + loss.sum()).to_ne_bytes().to_vec(), &[total, loss])
}
