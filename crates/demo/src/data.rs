//! The handwritten digits: the embedded archive, its parser, and the split into training and held-out images.
//! `data/README.md` says where they come from.

use std::io::Read;

use crate::error::DemoError;
use crate::random::{Random, Stream};

/// Pixels along a side of an image.
pub(crate) const SIDE: usize = 8;
/// Pixels of an image.
pub(crate) const PIXELS: usize = SIDE * SIDE;
/// Digits to tell apart.
pub(crate) const CLASSES: usize = 10;
/// Brightest value of a pixel in the archive.
pub(crate) const BRIGHTEST: u8 = 16;

/// Optical Recognition of Handwritten Digits, E. Alpaydin and C. Kaynak, CC BY 4.0.
pub(crate) const ARCHIVE: &[u8] = include_bytes!("../data/digits.csv.gz");

/// One image out of this many is held out.
const HELD_OUT_EVERY: usize = 5;

/// All images with their labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digits {
    pixels: Vec<[u8; PIXELS]>,
    labels: Vec<u8>,
}

impl Digits {
    /// Unpacks and parses an archive: gzip over lines of 64 pixels and a label.
    pub(crate) fn unpack(archive: &[u8]) -> Result<Self, DemoError> {
        let mut csv = String::new();
        flate2::read::GzDecoder::new(archive)
            .read_to_string(&mut csv)
            .map_err(|error| DemoError::data(error.to_string()))?;
        Self::parse(&csv)
    }

    fn parse(csv: &str) -> Result<Self, DemoError> {
        let mut digits = Self { pixels: Vec::new(), labels: Vec::new() };
        for (index, line) in csv.lines().enumerate() {
            let (pixels, label) = parse_line(line)
                .ok_or_else(|| DemoError::data(format!("line {} is not a digit", index + 1)))?;
            digits.pixels.push(pixels);
            digits.labels.push(label);
        }
        Ok(digits)
    }

    pub(crate) fn len(&self) -> usize {
        self.labels.len()
    }

    /// Pixels (0 to 16, row by row) and label of an image.
    pub(crate) fn get(&self, index: usize) -> Option<(&[u8; PIXELS], u8)> {
        self.pixels.get(index).zip(self.labels.get(index).copied())
    }
}

fn parse_line(line: &str) -> Option<([u8; PIXELS], u8)> {
    let mut numbers = line.trim_end().split(',').map(str::parse::<u8>);
    let mut pixels = [0; PIXELS];
    for pixel in &mut pixels {
        *pixel = numbers.next()?.ok().filter(|&value| value <= BRIGHTEST)?;
    }
    let label = numbers.next()?.ok().filter(|&label| usize::from(label) < CLASSES)?;
    numbers.next().is_none().then_some((pixels, label))
}

/// Indices of the images to learn from and of those kept apart, disjoint and together all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) train: Vec<usize>,
    pub(crate) held_out: Vec<usize>,
}

impl Split {
    /// Shuffles `len` images by `seed` and holds out every fifth.
    pub(crate) fn new(len: usize, seed: u64) -> Self {
        let mut order: Vec<usize> = (0..len).collect();
        Random::new(seed, Stream::Split, 0).shuffle(&mut order);
        let mut split = Self { train: Vec::new(), held_out: Vec::new() };
        for (position, image) in order.into_iter().enumerate() {
            let side = if position % HELD_OUT_EVERY == 0 { &mut split.held_out } else { &mut split.train };
            side.push(image);
        }
        split
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_archive_holds_the_published_test_set() {
        let digits = Digits::unpack(ARCHIVE).unwrap();
        assert_eq!(digits.len(), 1797);
        let mut per_class = [0; CLASSES];
        for index in 0..digits.len() {
            per_class[usize::from(digits.get(index).unwrap().1)] += 1;
        }
        // The class distribution that the data set's own description (optdigits.names) gives.
        assert_eq!(per_class, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
        let (pixels, label) = digits.get(0).unwrap();
        assert_eq!((label, &pixels[..SIDE]), (0, &[0, 0, 5, 13, 9, 1, 0, 0][..]));
    }

    #[test]
    fn damaged_archives_are_errors() {
        assert!(Digits::unpack(&ARCHIVE[..ARCHIVE.len() / 2]).is_err());
        assert!(Digits::unpack(b"not gzip").is_err());
        let line = |pixels: usize, pixel: &str, label: &str| {
            format!("{}{label}\n", format!("{pixel},").repeat(pixels))
        };
        assert!(Digits::parse(&line(64, "16", "9")).is_ok());
        for damaged in [
            line(63, "0", "1"),
            line(65, "0", "1"),
            line(64, "17", "1"),
            line(64, "x", "1"),
            line(64, "0", "10"),
        ] {
            let csv = line(64, "0", "1") + &damaged;
            let error = Digits::parse(&csv).expect_err(&damaged).to_string();
            assert!(error.contains("line 2"), "{error}");
        }
    }

    #[test]
    fn the_split_depends_on_the_seed_and_loses_nothing() {
        let split = Split::new(1797, 5);
        assert_eq!((split.train.len(), split.held_out.len()), (1437, 360));
        assert_eq!(split, Split::new(1797, 5));
        assert_ne!(split, Split::new(1797, 6));
        let mut all = [split.train, split.held_out].concat();
        all.sort_unstable();
        assert_eq!(all, (0..1797).collect::<Vec<_>>());
    }
}
