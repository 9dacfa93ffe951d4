//! Random changes of an image that leave its digit readable: a shift by a pixel, or an elastic distortion,
//! which costs some hundred times as much.

use super::{PIXELS, SIDE};
use crate::Random;

/// What is done to each image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Augmentation {
    /// A shift by up to one pixel.
    Shift,
    /// A smooth random displacement of every pixel, computed at six times the resolution with a kernel that is
    /// not separated: the straightforward way to write it, and a slow one.
    Elastic,
}

/// Resolution of the displacement fields, a multiple of the image's.
const ZOOM: usize = 6;
/// Side of the displacement fields.
const FIELD: usize = ZOOM * SIDE;
/// Half the width of the smoothing kernel.
const REACH: isize = 2;
/// Largest displacement, in pixels of the image.
const AMPLITUDE: f32 = 1.5;

/// A changed copy of the image.
#[must_use]
pub fn augment(pixels: &[f32; PIXELS], how: Augmentation, random: &mut Random) -> [f32; PIXELS] {
    match how {
        Augmentation::Shift => {
            let (dx, dy) = (random.below(3) as f32 - 1.0, random.below(3) as f32 - 1.0);
            displaced(pixels, |_, _| (dx, dy))
        }
        Augmentation::Elastic => {
            let (dx, dy) = (field(random), field(random));
            displaced(pixels, |x, y| {
                let place = (ZOOM * y + ZOOM / 2) * FIELD + ZOOM * x + ZOOM / 2;
                (AMPLITUDE * dx[place], AMPLITUDE * dy[place])
            })
        }
    }
}

/// Every pixel taken from where `from` says, bilinearly; zero outside of the image.
fn displaced(pixels: &[f32; PIXELS], from: impl Fn(usize, usize) -> (f32, f32)) -> [f32; PIXELS] {
    let at = |x: f32, y: f32| {
        let inside = (0.0..SIDE as f32).contains(&x) && (0.0..SIDE as f32).contains(&y);
        if inside { pixels[y as usize * SIDE + x as usize] } else { 0.0 }
    };
    let mut result = [0.0; PIXELS];
    for (place, pixel) in result.iter_mut().enumerate() {
        let (x, y) = (place % SIDE, place / SIDE);
        let (dx, dy) = from(x, y);
        let (left, top) = ((x as f32 + dx).floor(), (y as f32 + dy).floor());
        let (right_share, below_share) = (x as f32 + dx - left, y as f32 + dy - top);
        let row = |y: f32| at(left, y) * (1.0 - right_share) + at(left + 1.0, y) * right_share;
        *pixel = row(top) * (1.0 - below_share) + row(top + 1.0) * below_share;
    }
    result
}

/// A random field, smoothed.
fn field(random: &mut Random) -> Vec<f32> {
    let rough: Vec<f32> = (0..FIELD * FIELD).map(|_| random.signed()).collect();
    let inside = |place: isize| (0..FIELD as isize).contains(&place);
    let smoothed = |place: usize| {
        let (x, y) = ((place % FIELD) as isize, (place / FIELD) as isize);
        let (mut sum, mut weights) = (0.0, 0.0);
        for (dx, dy) in (-REACH..=REACH).flat_map(|dy| (-REACH..=REACH).map(move |dx| (dx, dy))) {
            if inside(x + dx) && inside(y + dy) {
                let weight = (-((dx * dx + dy * dy) as f32) / 4.0).exp();
                sum += weight * rough[(y + dy) as usize * FIELD + (x + dx) as usize];
                weights += weight;
            }
        }
        sum / weights
    };
    (0..FIELD * FIELD).map(smoothed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shift_moves_the_image_as_a_whole() {
        let mut pixels = [0.0; PIXELS];
        pixels[3 * SIDE + 3] = 1.0;
        let mut random = Random::new(1);
        for _ in 0..50 {
            let shifted = augment(&pixels, Augmentation::Shift, &mut random);
            let lit: Vec<usize> = (0..PIXELS).filter(|&place| shifted[place] == 1.0).collect();
            assert_eq!((lit.len(), shifted.iter().sum::<f32>()), (1, 1.0));
            assert!((2..5).contains(&(lit[0] % SIDE)) && (2..5).contains(&(lit[0] / SIDE)));
        }
    }

    #[test]
    fn a_distortion_keeps_most_of_the_ink_and_follows_its_seed() {
        let mut pixels = [0.0; PIXELS];
        pixels[18..22].fill(1.0);
        pixels[26..30].fill(1.0);
        let distorted = |seed| augment(&pixels, Augmentation::Elastic, &mut Random::new(seed));
        assert_eq!(distorted(1), distorted(1));
        assert_ne!(distorted(1), distorted(2));
        let ink = distorted(1).iter().sum::<f32>();
        assert!((4.0..12.0).contains(&ink), "{ink}");
    }
}
