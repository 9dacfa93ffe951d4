//! Cross-entropy of softmax scores.

use ndarray::Array2;

/// Loss of a batch and what follows from it.
#[derive(Debug)]
pub(crate) struct Loss {
    /// Mean over the images, in nats.
    pub(crate) mean: f64,
    /// Images whose highest score is the right one (the first of equal scores counts as highest).
    pub(crate) correct: usize,
    /// Of `mean`, by score; `images x classes`.
    pub(crate) gradient: Array2<f32>,
}

/// Loss of `scores`, `images x classes`; a label without a score counts as wrong, at no loss.
pub(crate) fn cross_entropy(scores: &Array2<f32>, labels: &[u8]) -> Loss {
    let mut gradient = scores.clone();
    let images = labels.len().max(1);
    let (mut total, mut correct) = (0.0_f64, 0);
    for (mut row, &label) in gradient.rows_mut().into_iter().zip(labels) {
        let label = usize::from(label);
        let mut best = 0;
        for (class, &score) in row.iter().enumerate() {
            if score > row[best] {
                best = class;
            }
        }
        correct += usize::from(best == label);
        // Scores relative to the highest, so that the exponential cannot overflow.
        let highest = row[best];
        row.mapv_inplace(|score| (score - highest).exp());
        let sum = row.sum();
        row /= sum;
        if let Some(probability) = row.get_mut(label) {
            total -= f64::from(probability.max(f32::MIN_POSITIVE).ln());
            *probability -= 1.0;
        }
        row /= images as f32;
    }
    Loss { mean: total / images as f64, correct, gradient }
}
