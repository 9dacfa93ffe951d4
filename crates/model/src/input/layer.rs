//! One layer of compression: how far what is packed was read, what stopped it, and what follows its end.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

/// Reads as many bytes as there are, up to `N`, and says how many.
pub(super) fn read_up_to<const N: usize>(source: &mut impl Read) -> io::Result<([u8; N], usize)> {
    let (mut bytes, mut count) = ([0; N], 0);
    while let Some(space) = bytes.get_mut(count..).filter(|space| !space.is_empty()) {
        match source.read(space) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok((bytes, count))
}

/// Bytes behind the end of a compressed stream, and what it is called.
#[derive(Debug, Clone, Default)]
pub(super) struct Trailing(Rc<Cell<(&'static str, u64)>>);

impl Trailing {
    pub(super) fn get(&self) -> (&'static str, u64) {
        self.0.get()
    }

    /// Reads to the end and counts, those included that were seen. Zeros alone, with which tools fill blocks up, do not
    /// count.
    pub(super) fn drain(&self, of: &'static str, seen: &[u8], rest: &mut impl BufRead) -> io::Result<()> {
        let mut count = seen.len() as u64;
        let mut is_padding = seen.iter().all(|&byte| byte == 0);
        loop {
            let more = rest.fill_buf()?;
            if more.is_empty() {
                break;
            }
            is_padding &= more.iter().all(|&byte| byte == 0);
            count = count.saturating_add(more.len() as u64);
            let more = more.len();
            rest.consume(more);
        }
        if !is_padding {
            self.0.set((of, count));
        }
        Ok(())
    }
}

/// What a decompressor reads from: counts, and keeps the error as it was, which decompressors put into their own words.
pub(super) struct Packed<R> {
    inner: R,
    position: Rc<Cell<u64>>,
    failed: Rc<Cell<Option<io::Error>>>,
}

impl<R> Packed<R> {
    fn keep(&self, error: io::Error) -> io::Error {
        let kind = error.kind();
        if kind != io::ErrorKind::Interrupted {
            self.failed.set(Some(error));
        }
        kind.into()
    }
}

impl<R: BufRead> Read for Packed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer).map_err(|error| self.keep(error))?;
        self.position.set(self.position.get() + count as u64);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Packed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        // Twice, as a borrow that may be given back cannot be let go where it is not.
        if let Err(error) = self.inner.fill_buf() {
            return Err(self.keep(error));
        }
        self.inner.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.inner.consume(count);
        self.position.set(self.position.get() + count as u64);
    }
}

/// Why a layer ended before its end.
#[derive(Debug)]
pub(super) struct Stopped {
    /// `gzip` or `zstd`.
    pub(super) compression: &'static str,
    /// The layer around it, if any.
    pub(super) around: Option<&'static str>,
    /// How far what is packed had been read.
    pub(super) position: u64,
    pub(super) cause: io::Error,
}

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.cause.fmt(f)
    }
}

impl std::error::Error for Stopped {}

/// A decompressor whose errors say where they were met.
pub(super) struct Layer<'r> {
    unpacked: Box<dyn Read + 'r>,
    compression: &'static str,
    around: Option<&'static str>,
    position: Rc<Cell<u64>>,
    failed: Rc<Cell<Option<io::Error>>>,
}

impl<'r> Layer<'r> {
    pub(super) fn new<R: BufRead + 'r, D: Read + 'r>(
        compression: &'static str,
        around: Option<&'static str>,
        source: R,
        decompress: impl FnOnce(Packed<R>) -> D,
    ) -> Self {
        let (position, failed) = (Rc::default(), Rc::default());
        let packed = Packed { inner: source, position: Rc::clone(&position), failed: Rc::clone(&failed) };
        Self { unpacked: Box::new(decompress(packed)), compression, around, position, failed }
    }
}

impl Read for Layer<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.unpacked.read(buffer).map_err(|error| {
            if error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            // What failed below failed first.
            self.failed.take().unwrap_or_else(|| {
                let Self { compression, around, ref position, .. } = *self;
                let position = position.get();
                io::Error::new(error.kind(), Stopped { compression, around, position, cause: error })
            })
        })
    }
}
