//! A file of `/proc` or `/sys` that stays open and is read from its start every time. What cannot be opened is tried
//! again now and then; what cannot be read is absent, never zero.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// More of a file is not read: the longest, `/proc/stat` of a machine with 4,096 processors, is shorter.
const MAX_BYTES: usize = 4 << 20;

/// A shorter piece is the last one: the kernel hands out lines until the next one does not fit into what is left of a page,
/// and none is as long as this.
const SHORT_BYTES: usize = 2 << 10;

/// Passes between two attempts at a file that could not be opened.
const RETRY_PASSES: u32 = 30;

/// Where the text of one file after the other goes.
#[derive(Debug)]
pub(crate) struct Buffer(Vec<u8>);

impl Default for Buffer {
    fn default() -> Self {
        Self(vec![0; 16 << 10])
    }
}

/// One file.
#[derive(Debug)]
pub(crate) struct Input {
    path: PathBuf,
    file: Option<File>,
    /// Passes until it is opened again.
    pause: u32,
}

impl Input {
    /// Nothing is opened before the first reading.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, file: None, pause: 0 }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The whole text as it is now.
    pub(crate) fn read<'b>(&mut self, buffer: &'b mut Buffer) -> Option<&'b [u8]> {
        if self.file.is_none() {
            if self.pause > 0 {
                self.pause -= 1;
                return None;
            }
            self.file = File::open(&self.path).ok();
        }
        let length = self.file.as_ref().and_then(|file| whole(file, &mut buffer.0).ok());
        if length.is_none() {
            self.file = None;
            self.pause = RETRY_PASSES;
        }
        buffer.0.get(..length?)
    }
}

/// Files of the kernel come in pieces. A short one that did not fill the buffer is the last, which saves the call that says so.
fn whole(file: &File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        if length == buffer.len() {
            if length >= MAX_BYTES {
                return Ok(length);
            }
            buffer.resize(2 * length, 0);
        }
        let free = buffer.get_mut(length..).unwrap_or_default();
        let short = SHORT_BYTES.min(free.len());
        match read_at(file, free, length as u64) {
            Ok(more) if more < short => return Ok(length + more),
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_longer_than_the_buffer_is_read_whole_and_a_missing_one_is_absent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        let text = "0123456789".repeat(5_000);
        std::fs::write(&path, &text).unwrap();
        let mut buffer = Buffer::default();
        let mut input = Input::new(path.clone());
        assert_eq!(input.read(&mut buffer), Some(text.as_bytes()));
        std::fs::write(&path, "short").unwrap();
        assert_eq!(input.read(&mut buffer), Some(&b"short"[..]));
        let mut missing = Input::new(folder.path().join("missing"));
        assert_eq!(missing.read(&mut buffer), None);
        // It is not tried again at once, and found later on.
        std::fs::write(missing.path(), "there").unwrap();
        assert_eq!(missing.read(&mut buffer), None);
        let found = (0..RETRY_PASSES).find_map(|_| missing.read(&mut buffer).map(<[u8]>::len));
        assert_eq!(found, Some(5));
    }
}
