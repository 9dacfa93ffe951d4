//! Messages of one kind that a directory keeps, a reading of something each. They have a share of the bound to themselves, so that
//! neither they nor steps crowd out the other. Where it is full, every other reading goes, part by part; the first and the last stay.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::file::OpenFile;
use super::open_file;
use crate::config::Format;
use crate::export::kept_steps::{Frame, frame, messages};

/// They may have one part in this many of the bound, and no more than so many bytes: some hours at a reading a second.
const SHARE: u64 = 16;
const MOST_BYTES: u64 = 64 << 20;

/// In so many parts they are thinned: a part is read and written at once, on the thread that empties the rings.
const PARTS: u64 = 16;

/// One reading may have one part in this many of the share.
const READING_SHARE: u64 = 4;

/// See the module.
#[derive(Debug)]
pub(super) struct Readings {
    /// What their files are called.
    name: &'static str,
    room_bytes: u64,
    format: Format,
    /// One reading in so many stays.
    stride: u64,
    /// Readings so far; the first one has number 0.
    readings: u64,
    /// Oldest first, but for those that were thinned.
    closed: Vec<Part>,
    current: Option<(OpenFile, Vec<u64>)>,
    bytes: u64,
    next_file: u32,
}

/// A file that is not written to any more, and the numbers of its readings.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    bytes: u64,
    readings: Vec<u64>,
}

impl Readings {
    /// Takes its share of `bound_bytes` away.
    pub(super) fn take_share(name: &'static str, format: Format, bound_bytes: &mut u64) -> Self {
        let room_bytes = (*bound_bytes / SHARE).min(MOST_BYTES);
        *bound_bytes -= room_bytes;
        Self {
            name,
            room_bytes,
            format,
            stride: 1,
            readings: 0,
            closed: Vec::new(),
            current: None,
            bytes: 0,
            next_file: 1,
        }
    }

    /// Name of the file that the last one was written to; empty before the first.
    #[cfg(feature = "mem")]
    pub(super) fn last_file(&self) -> String {
        let name = self.current.as_ref().and_then(|(file, _)| file.path.file_name());
        name.map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    fn part_bytes(&self) -> u64 {
        self.room_bytes / PARTS
    }

    /// Takes the next reading; of those that are not due only the last one. Whether it has.
    pub(super) fn append(&mut self, directory: &Path, framed: &Frame<'_>, is_last: bool) -> io::Result<bool> {
        let number = self.readings;
        self.readings += 1;
        if framed.len() > self.room_bytes / READING_SHARE {
            return Err(io::Error::other("one does not fit into the directory's bound"));
        }
        if self.current.as_ref().is_some_and(|(file, _)| file.file.is_deleted()) {
            let deleted = self.current.take().map_or(0, |(file, _)| file.bytes);
            self.bytes = self.bytes.saturating_sub(deleted);
        }
        let is_due = |stride: u64| is_last || number.is_multiple_of(stride);
        // The part that takes the place of another one has room beside it.
        while is_due(self.stride) && self.bytes + framed.len() + self.part_bytes() > self.room_bytes {
            self.thin(directory)?;
        }
        if !is_due(self.stride) {
            return Ok(false);
        }
        let goes_on = |file: &OpenFile| file.bytes + framed.len() <= self.part_bytes() && file.file.is_ours();
        if self.current.as_ref().is_some_and(|(file, _)| !goes_on(file)) {
            self.close();
        }
        if self.current.is_none() {
            self.current = Some((self.open(directory)?, Vec::new()));
        }
        if let Some((file, readings)) = &mut self.current {
            file.append_framed(framed)?;
            readings.push(number);
            self.bytes += framed.len();
        }
        Ok(true)
    }

    fn open(&mut self, directory: &Path) -> io::Result<OpenFile> {
        let file = open_file(directory, self.format, self.name, self.next_file)?;
        self.next_file += 1;
        Ok(file)
    }

    fn close(&mut self) {
        if let Some((OpenFile { path, bytes, .. }, readings)) = self.current.take() {
            self.closed.push(Part { path, bytes, readings });
        }
    }

    /// Lets readings of one part go that are not due; where no part has any, half of what is due will not be any more.
    fn thin(&mut self, directory: &Path) -> io::Result<()> {
        self.close();
        let stride = self.stride;
        let is_dense = |part: &Part| part.readings.iter().any(|number| !number.is_multiple_of(stride));
        let Some(index) = self.closed.iter().position(is_dense) else {
            if stride > self.readings {
                return Err(io::Error::other("nothing is left to let go"));
            }
            self.stride *= 2;
            return Ok(());
        };
        let Some(part) = self.closed.get(index) else { return Ok(()) };
        let contents = match fs::read(&part.path) {
            // Somebody has deleted it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            contents => contents?,
        };
        let (mut framed, mut readings) = (Vec::new(), Vec::new());
        for (message, &number) in messages(self.format, &contents).zip(&part.readings) {
            if number.is_multiple_of(stride) {
                framed.extend(frame(self.format, message));
                readings.push(number);
            }
        }
        let thinned = if readings.is_empty() {
            None
        } else {
            let mut file = self.open(directory)?;
            file.append(&framed).inspect_err(|_| drop(fs::remove_file(&file.path)))?;
            Some(Part { bytes: file.bytes, path: file.path, readings })
        };
        let old = self.closed.remove(index);
        self.bytes = self.bytes.saturating_sub(old.bytes);
        // Whatever happens before the next line, a reader has every reading that stays; some twice.
        let _ = fs::remove_file(&old.path);
        if let Some(part) = thinned {
            self.bytes += part.bytes;
            self.closed.insert(index, part);
        }
        Ok(())
    }
}

#[cfg(feature = "metrics")]
#[cfg(test)]
mod tests;
