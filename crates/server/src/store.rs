//! The files: messages as they came, protobuf behind its length, JSON on a line of its own. Written through to the
//! operating system message by message, so that a receiver that is killed loses nothing that it acknowledged.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use stepscope_otlp::{Encoding, Signal};

use crate::check;

/// Why a message was not stored.
#[derive(Debug)]
pub(crate) enum StoreError {
    /// The files have grown to their bound.
    Full(u64),
    Io(io::Error),
}

#[derive(Debug)]
struct OpenFile {
    signal: Signal,
    encoding: Encoding,
    /// Files of this kind are numbered from 1.
    number: u32,
    file: File,
    bytes: u64,
}

/// The folder and what is open in it.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    open: Vec<OpenFile>,
    bytes: u64,
    most_bytes: u64,
    file_bytes: u64,
}

impl Store {
    /// Makes the folder, for its owner alone, and everything above it that is missing.
    pub(crate) fn create(folder: &Path, most_bytes: u64, file_bytes: u64) -> io::Result<Self> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
        let folder = folder.to_path_buf();
        Ok(Self { folder, open: Vec::new(), bytes: 0, most_bytes, file_bytes })
    }

    /// Appends a message, all of it or nothing. Line breaks in JSON become spaces: between tokens they mean the
    /// same, and inside of strings there are none.
    pub(crate) fn append(
        &mut self,
        signal: Signal,
        encoding: Encoding,
        mut message: Vec<u8>,
    ) -> Result<(), StoreError> {
        let len = u32::try_from(message.len()).map_err(|_| StoreError::Full(u64::from(u32::MAX)))?;
        let framed_bytes = u64::from(len) + if encoding == Encoding::Proto { 4 } else { 1 };
        if self.bytes.saturating_add(framed_bytes) > self.most_bytes {
            return Err(StoreError::Full(self.most_bytes));
        }
        let file = self.file(signal, encoding).map_err(StoreError::Io)?;
        match encoding {
            Encoding::Proto => file.append(&len.to_be_bytes(), &message),
            Encoding::Json => {
                message.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
                file.append(&message, b"\n")
            }
        }
        .map_err(StoreError::Io)?;
        self.bytes += framed_bytes;
        Ok(())
    }

    fn file(&mut self, signal: Signal, encoding: Encoding) -> io::Result<&mut OpenFile> {
        let is_it = |open: &OpenFile| open.signal == signal && open.encoding == encoding;
        let index = match self.open.iter().position(is_it) {
            Some(index) if self.open[index].bytes < self.file_bytes => index,
            Some(full) => {
                self.open[full] =
                    OpenFile::create(&self.folder, signal, encoding, self.open[full].number + 1)?;
                full
            }
            None => {
                self.open.push(OpenFile::create(&self.folder, signal, encoding, 1)?);
                self.open.len() - 1
            }
        };
        Ok(&mut self.open[index])
    }
}

impl OpenFile {
    fn create(folder: &Path, signal: Signal, encoding: Encoding, number: u32) -> io::Result<Self> {
        let ending = match encoding {
            Encoding::Proto => "otlp",
            Encoding::Json => "jsonl",
        };
        let mut options = OpenOptions::new();
        options.create_new(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(folder.join(format!("{}-{number:06}.{ending}", check::name(signal))))?;
        Ok(Self { signal, encoding, number, file, bytes: 0 })
    }

    fn append(&mut self, first: &[u8], second: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(first).and_then(|()| self.file.write_all(second)) {
            // A torn record would hide everything behind it.
            let _ = self.file.set_len(self.bytes);
            let _ = self.file.seek(SeekFrom::Start(self.bytes));
            return Err(error);
        }
        self.bytes += (first.len() + second.len()) as u64;
        Ok(())
    }
}
