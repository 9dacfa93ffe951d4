//! Normalisation, done on the training thread in every step. With [`Slow::Preprocessing`] planted it is as slow
//! as code that forgets to keep what it computed.

use std::hint::black_box;

use ndarray::Array2;

use crate::data::{Digits, PIXELS};
use crate::options::Slow;

/// Brings images to mean 0 and deviation 1 over the training set.
pub(crate) struct Normalizer<'a> {
    digits: &'a Digits,
    train: &'a [usize],
    statistics: Statistics,
    slow: bool,
    statistics_pixels: u64,
}

impl<'a> Normalizer<'a> {
    pub(crate) fn new(digits: &'a Digits, train: &'a [usize], slow: Option<Slow>) -> Self {
        Self {
            digits,
            train,
            statistics: Statistics::of(digits, train),
            slow: slow == Some(Slow::Preprocessing),
            statistics_pixels: 0,
        }
    }

    /// Normalises a step's images, `1 x (images * 64)`.
    pub(crate) fn preprocess(&mut self, images: &mut Array2<f32>) {
        let _section = stepscope::section!("preprocessing", phase = Preprocessing);
        if self.slow {
            self.normalize_from_scratch(images);
        } else {
            self.normalize(images);
        }
    }

    /// Normalises images with what is known of the training set.
    pub(crate) fn normalize(&self, images: &mut Array2<f32>) {
        let statistics = self.statistics;
        images.mapv_inplace(|pixel| statistics.normalized(pixel));
    }

    /// Pixels of the training set whose mean and deviation were computed in steps so far.
    pub(crate) fn statistics_pixels(&self) -> u64 {
        self.statistics_pixels
    }

    /// The planted defect: the same result, with the statistics computed anew for every single image.
    fn normalize_from_scratch(&mut self, images: &mut Array2<f32>) {
        for image in images.as_slice_mut().unwrap_or_default().chunks_exact_mut(PIXELS) {
            let statistics = {
                let _section = stepscope::section!("dataset_statistics");
                // The optimizer would see that every image gets the same statistics, and compute them once.
                Statistics::of(black_box(self.digits), black_box(self.train))
            };
            self.statistics_pixels += (self.train.len() * PIXELS) as u64;
            for pixel in image {
                *pixel = statistics.normalized(*pixel);
            }
        }
    }
}

/// Mean and reciprocal deviation of all pixels of the training set.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Statistics {
    mean: f32,
    scale: f32,
}

impl Statistics {
    /// In two passes: the squares of what the pixels differ from their mean by, which loses no digits.
    fn of(digits: &Digits, train: &[usize]) -> Self {
        let pixels = || train.iter().filter_map(|&image| digits.get(image)).flat_map(|(pixels, _)| pixels);
        let count = (train.len() * PIXELS).max(1) as f64;
        let mean = pixels().map(|&pixel| f64::from(pixel)).sum::<f64>() / count;
        let variance = pixels().map(|&pixel| (f64::from(pixel) - mean).powi(2)).sum::<f64>() / count;
        let deviation = variance.sqrt();
        Self { mean: mean as f32, scale: if deviation > 0.0 { (1.0 / deviation) as f32 } else { 1.0 } }
    }

    fn normalized(self, pixel: f32) -> f32 {
        (pixel - self.mean) * self.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::ARCHIVE;

    fn as_floats(digits: &Digits, images: &[usize]) -> Array2<f32> {
        let pixels = images.iter().flat_map(|&image| digits.get(image).unwrap().0.map(f32::from)).collect();
        Array2::from_shape_vec((1, images.len() * PIXELS), pixels).unwrap()
    }

    #[test]
    fn the_training_set_comes_out_with_mean_0_and_deviation_1() {
        let digits = Digits::unpack(ARCHIVE).unwrap();
        let train: Vec<usize> = (0..digits.len()).step_by(3).collect();
        let mut images = as_floats(&digits, &train);
        Normalizer::new(&digits, &train, None).normalize(&mut images);
        let mean = images.iter().map(|&pixel| f64::from(pixel)).sum::<f64>() / images.len() as f64;
        let variance =
            images.iter().map(|&pixel| (f64::from(pixel) - mean).powi(2)).sum::<f64>() / images.len() as f64;
        assert!(mean.abs() < 1e-5, "{mean}");
        assert!((variance - 1.0).abs() < 1e-5, "{variance}");
    }

    #[test]
    fn the_planted_slow_stage_reads_the_training_set_once_an_image_and_changes_nothing() {
        let digits = Digits::unpack(ARCHIVE).unwrap();
        let train: Vec<usize> = (0..100).collect();
        let mut plain = as_floats(&digits, &[200, 300, 400]);
        let mut slowed = plain.clone();

        let mut normalizer = Normalizer::new(&digits, &train, None);
        normalizer.preprocess(&mut plain);
        assert_eq!(normalizer.statistics_pixels(), 0);

        let mut slow = Normalizer::new(&digits, &train, Some(Slow::Preprocessing));
        slow.preprocess(&mut slowed);
        assert_eq!(slow.statistics_pixels(), 3 * 100 * 64);
        assert_eq!(plain, slowed);
    }

    #[test]
    fn a_blank_training_set_does_not_divide_by_zero() {
        let digits = Digits::unpack(ARCHIVE).unwrap();
        assert_eq!(Statistics::of(&digits, &[]), Statistics { mean: 0.0, scale: 1.0 });
    }
}
