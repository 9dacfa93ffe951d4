//! The end of the pipeline: spectra as bytes in one file.

use std::io;
use std::path::Path;

use stepscope::section;
use tokio::fs::File;
use tokio::io::AsyncWriteExt as _;
use tokio::runtime::Handle;

use crate::spectrum::FREQUENCIES;

/// The file of all spectra.
pub struct Writer<'a> {
    runtime: &'a Handle,
    file: File,
    /// The planted fault: every number is written and flushed by itself.
    flushes_each: bool,
}

impl<'a> Writer<'a> {
    /// Creates the file in `folder`.
    pub fn create(runtime: &'a Handle, folder: &Path, flushes_each: bool) -> io::Result<Self> {
        let file = runtime.block_on(File::create(folder.join("spectra")))?;
        Ok(Self { runtime, file, flushes_each })
    }

    /// Appends the strongest frequency of each record, in thousandths of the record's power.
    pub fn write(&mut self, spectra: &[f32]) -> io::Result<()> {
        let _section = section!("write", phase = Io);
        let numbers = spectra.chunks(FREQUENCIES).flat_map(|spectrum| strongest(spectrum).to_le_bytes());
        let bytes: Vec<u8> = numbers.collect();
        self.runtime.block_on(async {
            if !self.flushes_each {
                // Handed to tokio's threads, which write it while the next step goes on.
                return self.file.write_all(&bytes).await;
            }
            for number in bytes.chunks(2) {
                self.file.write_all(number).await?;
                self.file.flush().await?;
            }
            Ok(())
        })
    }

    /// Waits until everything is written.
    pub fn finish(mut self) -> io::Result<()> {
        self.runtime.block_on(self.file.flush())
    }
}

fn strongest(spectrum: &[f32]) -> u16 {
    let largest = spectrum.iter().copied().fold(0.0, f32::max);
    let total: f32 = spectrum.iter().sum();
    (1000.0 * largest / total.max(f32::MIN_POSITIVE)) as u16
}
