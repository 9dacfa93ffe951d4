//! Gzip: members one after the other, and what follows the last one. Where a member follows and where anything else does
//! is told by its first bytes; what is no member is counted and left. Where a member is damaged, all that was unpacked
//! before the damage is handed out first.

use std::io::{self, BufRead, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::layer::{Trailing, read_up_to};

/// How members begin.
pub(super) const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

/// Bits of a header that say what else it holds, and those that nobody has given a meaning.
const CHECKED: u8 = 2;
const EXTRA: u8 = 4;
const NAME: u8 = 8;
const COMMENT: u8 = 16;
const RESERVED: u8 = 0xe0;

/// Bytes of the decompressor's window, in which it unpacks before it hands out.
const WINDOW: usize = 32 << 10;

/// Decompresses a stream of members. Has to be asked for at least [`WINDOW`] bytes at once: see [`Self::unpack`].
pub(super) struct Members<R> {
    source: R,
    trailing: Trailing,
    state: State,
    inflate: Decompress,
    checksum: Crc,
    /// What ended the stream; told once everything before it has been handed out.
    failed: Option<io::Error>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// In front of a member, the first or another one.
    Before {
        is_first: bool,
    },
    Within,
    Over,
}

fn damaged(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl<R: BufRead> Members<R> {
    pub(super) fn new(source: R, trailing: Trailing) -> Self {
        Self {
            source,
            trailing,
            state: State::Before { is_first: true },
            inflate: Decompress::new(false),
            checksum: Crc::new(),
            failed: None,
        }
    }

    /// Begins with the next member, if there is one.
    fn begin(&mut self, is_first: bool) -> io::Result<State> {
        let (head, count) = read_up_to::<3>(&mut self.source)?;
        let seen = head.get(..count).unwrap_or_default();
        if !is_first && (seen.is_empty() || !MAGIC.starts_with(seen)) {
            self.trailing.drain(super::GZIP, seen, &mut self.source)?;
            return Ok(State::Over);
        }
        if count < head.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.skip_header()?;
        self.inflate.reset(false);
        self.checksum.reset();
        Ok(State::Within)
    }

    /// Steps over the rest of a header.
    fn skip_header(&mut self) -> io::Result<()> {
        // Flags, then a time, how hard it was compressed, and where.
        let [flags, ..] = self.take::<7>()?;
        if flags & RESERVED != 0 {
            return Err(damaged("the header of a member is none"));
        }
        if flags & EXTRA != 0 {
            let len = u64::from(u16::from_le_bytes(self.take()?));
            if io::copy(&mut (&mut self.source).take(len), &mut io::sink())? < len {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        for text in [NAME, COMMENT] {
            while flags & text != 0 && self.take::<1>()? != [0] {}
        }
        if flags & CHECKED != 0 {
            self.take::<2>()?;
        }
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Unpacks some of the member at hand; what was unpacked counts whatever comes of it. What the decompressor has no room
    /// for stays in its window and is lost where damage follows, so that it is asked for no more than up to the window's end.
    fn unpack(&mut self, buffer: &mut [u8]) -> (usize, io::Result<()>) {
        let packed = match self.source.fill_buf() {
            Ok(packed) => packed,
            Err(error) => return (0, Err(error)),
        };
        let is_end = packed.is_empty();
        let (read, written) = (self.inflate.total_in(), self.inflate.total_out());
        let room = WINDOW - usize::try_from(written % WINDOW as u64).unwrap_or(0);
        let len = room.min(buffer.len());
        let buffer = buffer.get_mut(..len).unwrap_or_default();
        let status = self.inflate.decompress(packed, buffer, FlushDecompress::None);
        let count = |now: u64, before: u64| usize::try_from(now.saturating_sub(before)).unwrap_or(usize::MAX);
        let (read, written) =
            (count(self.inflate.total_in(), read), count(self.inflate.total_out(), written));
        self.source.consume(read);
        self.checksum.update(buffer.get(..written).unwrap_or_default());
        let result = match status {
            Err(_) => Err(damaged("what is packed is not valid")),
            Ok(Status::StreamEnd) => self.end(),
            Ok(_) if is_end && written == 0 => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(()),
        };
        (written, result)
    }

    /// Compares what a member was said to hold with what it held.
    fn end(&mut self) -> io::Result<()> {
        self.state = State::Before { is_first: false };
        let checksum = u32::from_le_bytes(self.take()?);
        let len = u32::from_le_bytes(self.take()?);
        if checksum != self.checksum.sum() || len != self.checksum.amount() {
            return Err(damaged("a checksum does not match"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if let Some(error) = self.failed.take() {
                self.state = State::Over;
                return Err(error);
            }
            match self.state {
                State::Over => return Ok(0),
                State::Before { is_first } => match self.begin(is_first) {
                    Ok(state) => self.state = state,
                    Err(error) => self.failed = Some(error),
                },
                State::Within => {
                    let (count, result) = self.unpack(buffer);
                    self.failed = result.err();
                    if count > 0 {
                        return Ok(count);
                    }
                }
            }
        }
    }
}
