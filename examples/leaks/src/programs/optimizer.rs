//! An optimizer whose parameters change their numbers, and one that keeps every average of weights.

use std::collections::HashMap;

use super::Program;
use crate::sizes::Sizes;
use crate::truth::planted;

/// Moments by parameter; the parameters have other numbers in each step.
pub fn state(mut sizes: Sizes) -> Box<dyn Program> {
    let mut optimizer = Optimizer::default();
    Box::new(move |number| optimizer.optimize(number, &sizes.step()))
}

#[derive(Default)]
struct Optimizer(HashMap<u64, Vec<f32>>);

impl Optimizer {
    #[tracing::instrument(skip_all)]
    fn optimize(&mut self, number: u64, sizes: &[usize]) {
        for (index, &size) in sizes.iter().enumerate() {
            let parameter = number << 20 | index as u64;
            let moments = self.moments(parameter, size / size_of::<f32>());
            moments.iter_mut().for_each(|moment| *moment *= 0.9);
        }
    }

    #[tracing::instrument(skip_all)]
    fn moments(&mut self, parameter: u64, length: usize) -> &mut Vec<f32> {
        self.0.entry(parameter).or_insert_with(|| planted!(length * 4, vec![0.1; length]))
    }
}

/// An average of the weights, and all earlier ones.
pub fn average(mut sizes: Sizes) -> Box<dyn Program> {
    let mut averages: Vec<Vec<u8>> = Vec::new();
    Box::new(move |_| optimize(&mut averages, &sizes.step()))
}

#[tracing::instrument(skip_all)]
fn optimize(averages: &mut Vec<Vec<u8>>, sizes: &[usize]) {
    for &size in sizes {
        let mut average = planted!(size, vec![0; size]);
        if let Some(last) = averages.last() {
            average.iter_mut().zip(last).for_each(|(to, &from)| *to = from.wrapping_add(1));
        }
        averages.push(average);
    }
}
