//! How a loader thread gets at the pixels of a batch: from memory, or, where a defect is planted, by unpacking
//! the whole archive again.

use crate::augment::Image;
use crate::data::{ARCHIVE, Digits};
use crate::error::DemoError;
use crate::options::{Options, Slow};

/// Images of a batch taken from the archive each time [`Slow::Loader`] opens it.
const IMAGES_PER_OPEN: usize = 4;

/// While more batches than this are queued, a busy loader reads the archive once more.
const ENOUGH_QUEUED: usize = 1;

/// Where images come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decoder {
    /// The parsed digits in memory.
    Memory,
    /// The archive, opened for every few images.
    Archive,
    /// The archive, read again and again while enough batches are queued.
    ArchiveWhileQueued,
}

/// Images and labels of a batch, before augmentation.
#[derive(Debug, PartialEq)]
pub(crate) struct Decoded {
    pub(crate) samples: Vec<(Image, u8)>,
    /// Lines of the archive parsed for them.
    pub(crate) archive_lines: u64,
}

impl Decoder {
    pub(crate) fn for_options(options: &Options) -> Self {
        match (options.slow, options.busy_loaders) {
            (Some(Slow::Loader), _) => Self::Archive,
            (_, true) => Self::ArchiveWhileQueued,
            (_, false) => Self::Memory,
        }
    }

    /// Decodes the images `indices`. `queued` tells how many finished batches wait for the trainer.
    pub(crate) fn decode(
        self,
        digits: &Digits,
        indices: &[usize],
        queued: impl Fn() -> usize,
    ) -> Result<Decoded, DemoError> {
        let mut decoded = Decoded { samples: Vec::with_capacity(indices.len()), archive_lines: 0 };
        match self {
            Self::Memory => decoded.take(digits, indices)?,
            Self::Archive => {
                for few in indices.chunks(IMAGES_PER_OPEN) {
                    let archive = decoded.open()?;
                    decoded.take(&archive, few)?;
                }
            }
            Self::ArchiveWhileQueued => {
                let mut archive = decoded.open()?;
                while queued() > ENOUGH_QUEUED {
                    archive = decoded.open()?;
                }
                decoded.take(&archive, indices)?;
            }
        }
        Ok(decoded)
    }
}

impl Decoded {
    fn open(&mut self) -> Result<Digits, DemoError> {
        let archive = Digits::unpack(ARCHIVE)?;
        self.archive_lines += archive.len() as u64;
        Ok(archive)
    }

    fn take(&mut self, digits: &Digits, indices: &[usize]) -> Result<(), DemoError> {
        for &index in indices {
            let (pixels, label) =
                digits.get(index).ok_or_else(|| DemoError::data(format!("there is no image {index}")))?;
            self.samples.push((pixels.map(f32::from), label));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn every_source_gives_the_same_images_at_its_own_price() {
        let digits = Digits::unpack(ARCHIVE).unwrap();
        let indices: Vec<usize> = (0..64).map(|position| position * 28).collect();
        let memory = Decoder::Memory.decode(&digits, &indices, || 0).unwrap();
        let slow = Decoder::Archive.decode(&digits, &indices, || 0).unwrap();
        assert_eq!(memory.samples, slow.samples);
        assert_eq!((memory.archive_lines, slow.archive_lines), (0, 16 * 1797));
    }

    #[test]
    fn a_busy_loader_reads_on_until_the_queue_runs_low() {
        let digits = Digits::unpack(ARCHIVE).unwrap();
        let queued = Cell::new(4);
        let read = Decoder::ArchiveWhileQueued.decode(&digits, &[7], || {
            queued.set(queued.get() - 1);
            queued.get() + 1
        });
        // Once to begin with, then once each at 4, 3 and 2 queued batches.
        assert_eq!(read.unwrap().archive_lines, 4 * 1797);
        let starved = Decoder::ArchiveWhileQueued.decode(&digits, &[7], || 0).unwrap();
        assert_eq!(starved.archive_lines, 1797);
    }

    #[test]
    fn options_choose_the_source() {
        let mut options = Options::new("unused");
        assert_eq!(Decoder::for_options(&options), Decoder::Memory);
        options.busy_loaders = true;
        assert_eq!(Decoder::for_options(&options), Decoder::ArchiveWhileQueued);
        options.slow = Some(Slow::Loader);
        assert_eq!(Decoder::for_options(&options), Decoder::Archive);
    }

    #[test]
    fn an_image_that_is_not_there_is_an_error() {
        let digits = Digits::unpack(ARCHIVE).unwrap();
        assert!(Decoder::Memory.decode(&digits, &[1797], || 0).is_err());
    }
}
