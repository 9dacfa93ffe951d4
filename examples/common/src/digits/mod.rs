//! What the examples of all frameworks train on: 1,797 handwritten digits of 8 x 8 pixels, a split, batches in a
//! shuffled order, augmentation. No framework, no threads.

mod augment;

use std::io::{self, Read as _};

pub use augment::{Augmentation, augment};

use crate::Random;

/// Pixels of one side of an image.
pub const SIDE: usize = 8;
/// Pixels of an image.
pub const PIXELS: usize = SIDE * SIDE;
/// Digits there are.
pub const CLASSES: usize = 10;
/// Held out for evaluation, from the end of the archive.
const HELD_OUT: usize = 360;

/// The test part of the *Optical Recognition of Handwritten Digits* data set (Alpaydin and Kaynak, UCI Machine
/// Learning Repository, CC BY 4.0).
const ARCHIVE: &[u8] = include_bytes!("../../../../crates/demo/data/digits.csv.gz");

/// One image with its label.
#[derive(Debug, Clone, PartialEq)]
pub struct Digit {
    /// Row by row, 0 to 1.
    pub pixels: [f32; PIXELS],
    /// 0 to 9.
    pub label: u8,
}

/// All images in the order of the archive.
#[derive(Debug, Clone)]
pub struct Digits {
    /// To train on.
    pub train: Vec<Digit>,
    /// To evaluate on.
    pub held_out: Vec<Digit>,
}

impl Digits {
    /// Unpacks the archive that is part of the program.
    ///
    /// # Errors
    /// When the archive is not what it should be.
    pub fn unpack() -> io::Result<Self> {
        let mut text = String::new();
        flate2::read::GzDecoder::new(ARCHIVE).read_to_string(&mut text)?;
        let mut train =
            text.lines().map(parse).collect::<Option<Vec<_>>>().ok_or(io::ErrorKind::InvalidData)?;
        let held_out = train.split_off(train.len().saturating_sub(HELD_OUT));
        Ok(Self { train, held_out })
    }
}

/// 64 pixels of 0 to 16, then the label.
fn parse(line: &str) -> Option<Digit> {
    let numbers = line.split(',').map(|word| word.parse::<u8>().ok()).collect::<Option<Vec<_>>>()?;
    let (&label, raw) = numbers.split_last()?;
    if raw.len() != PIXELS || usize::from(label) >= CLASSES {
        return None;
    }
    let mut pixels = [0.0; PIXELS];
    for (pixel, &raw) in pixels.iter_mut().zip(raw) {
        *pixel = f32::from(raw) / 16.0;
    }
    Some(Digit { pixels, label })
}

/// Which of `count` images make up the batch of this step: every epoch in an order of its own, without the
/// incomplete batch at its end.
///
/// # Panics
/// When there are fewer images than one batch takes.
#[must_use]
pub fn indices(count: usize, batch_size: usize, seed: u64, step: usize) -> Vec<usize> {
    let per_epoch = count / batch_size;
    assert!(per_epoch > 0, "{count} images for batches of {batch_size}");
    let mut order: Vec<usize> = (0..count).collect();
    Random::new(seed ^ (step / per_epoch) as u64).shuffle(&mut order);
    let first = step % per_epoch * batch_size;
    order[first..first + batch_size].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_has_its_published_size() {
        let digits = Digits::unpack().unwrap();
        assert_eq!(digits.train.len() + digits.held_out.len(), 1797);
        // The first line of the file is a zero.
        assert_eq!(digits.train[0].label, 0);
        assert_eq!(digits.train[0].pixels[2], 5.0 / 16.0);
        assert!(parse("1,2,3").is_none());
    }

    #[test]
    fn an_epoch_shows_no_image_twice_and_the_next_has_another_order() {
        let epoch = |epoch: usize| -> Vec<usize> {
            (0..22).flat_map(|step| indices(1437, 64, 7, epoch * 22 + step)).collect()
        };
        let mut seen = epoch(0);
        assert_ne!(seen, epoch(1));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 22 * 64);
    }
}
