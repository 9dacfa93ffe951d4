//! Augmentation of single images: a shift by up to a pixel each way, and noise. Normalisation lives in
//! `preprocess`.

use crate::data::{PIXELS, SIDE};
use crate::random::Random;

/// An image as floats in the archive's scale (0 to 16), row by row.
pub(crate) type Image = [f32; PIXELS];

/// Largest noise added to a pixel.
const NOISE: f32 = 0.8;

/// Shifts the image by -1, 0 or 1 pixels each way and adds uniform noise.
pub(crate) fn augment(image: &mut Image, random: &mut Random) {
    let down = random.below(3) as isize - 1;
    let right = random.below(3) as isize - 1;
    *image = shifted(image, down, right);
    for pixel in image {
        *pixel += random.symmetric(NOISE);
    }
}

/// The image moved down and right; what comes in from outside is empty.
fn shifted(image: &Image, down: isize, right: isize) -> Image {
    let mut moved = [0.0; PIXELS];
    for (index, pixel) in moved.iter_mut().enumerate() {
        let from = |to: usize, by: isize| to.checked_add_signed(-by).filter(|&from| from < SIDE);
        if let (Some(row), Some(column)) = (from(index / SIDE, down), from(index % SIDE, right)) {
            *pixel = image[row * SIDE + column];
        }
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn numbered() -> Image {
        std::array::from_fn(|index| index as f32 + 1.0)
    }

    #[test]
    fn a_shift_moves_rows_and_columns_and_fills_with_nothing() {
        let moved = shifted(&numbered(), 1, -1);
        assert!(moved[..SIDE].iter().all(|&pixel| pixel == 0.0));
        assert_eq!(&moved[SIDE..2 * SIDE], &[2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.0]);
        assert_eq!(shifted(&numbered(), 0, 0), numbered());
    }

    #[test]
    fn noise_stays_small() {
        let mut random = Random::new(1, Stream::Augmentation, 0);
        let mut image = [0.0; PIXELS];
        augment(&mut image, &mut random);
        assert!(image.iter().all(|pixel| pixel.abs() <= NOISE));
        assert!(image.iter().any(|&pixel| pixel != 0.0));
    }
}
