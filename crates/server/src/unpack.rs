//! Where the bytes of a body go: into a message of bounded size, through gzip where they are compressed. A bomb
//! ends as soon as it has grown too large, not when it has been unpacked.

use std::io::{self, Write};
use std::sync::Arc;

use flate2::write::MultiGzDecoder;

use crate::budget::{Budget, Held};
use crate::refusal::{Kind, Refusal};

/// The smallest room that a message gets.
const FIRST_BYTES: usize = 16 << 10;

/// A message and its share of the budget.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) bytes: Vec<u8>,
    held: Held,
    most: usize,
    refusal: Option<Refusal>,
}

impl Message {
    pub(crate) fn new(budget: &Arc<Budget>, most: usize) -> Self {
        Self { bytes: Vec::new(), held: Held::nothing(budget), most, refusal: None }
    }

    fn refuse(&mut self, kind: Kind, reason: String) -> io::Error {
        self.refusal = Some(Refusal::new(kind, reason));
        io::ErrorKind::OutOfMemory.into()
    }

    /// Room for `more` bytes, paid for.
    fn reserve(&mut self, more: usize) -> io::Result<()> {
        let len = self.bytes.len().saturating_add(more);
        if len > self.most {
            let reason = format!("the message has more than {} bytes", self.most);
            return Err(self.refuse(Kind::TooLarge, reason));
        }
        let have = self.bytes.capacity();
        if len <= have {
            return Ok(());
        }
        let want = len.max(have.saturating_mul(2)).clamp(FIRST_BYTES.min(self.most), self.most);
        if !self.held.grow(want.saturating_sub(have)) {
            return Err(self.refuse(Kind::Busy, "too many messages at once; try again".into()));
        }
        self.bytes.reserve_exact(want.saturating_sub(self.bytes.len()));
        Ok(())
    }
}

impl Write for Message {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.reserve(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A body on its way into a message.
pub(crate) enum Unpacker {
    Plain(Message),
    Gzip(Box<MultiGzDecoder<Message>>),
}

impl Unpacker {
    pub(crate) fn new(message: Message, is_gzip: bool) -> Self {
        if is_gzip { Self::Gzip(Box::new(MultiGzDecoder::new(message))) } else { Self::Plain(message) }
    }

    /// Takes the next bytes of the body.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        let written = match self {
            Self::Plain(message) => message.write_all(bytes),
            Self::Gzip(decoder) => decoder.write_all(bytes),
        };
        written.map_err(|error| self.refusal(&error))
    }

    /// The message, when the body has ended.
    pub(crate) fn finish(self) -> Result<Message, Refusal> {
        match self {
            Self::Plain(message) => Ok(message),
            Self::Gzip(mut decoder) => {
                let finished = decoder.try_finish();
                let is_cut = decoder.get_ref().bytes.is_empty() && finished.is_ok();
                match finished.and_then(|()| decoder.finish()) {
                    // Nothing at all is no gzip member either.
                    Ok(_) if is_cut => Err(Refusal::new(Kind::Invalid, "not gzip: nothing in it")),
                    Ok(message) => Ok(message),
                    Err(error) => Err(not_gzip(&error)),
                }
            }
        }
    }

    fn refusal(&mut self, error: &io::Error) -> Refusal {
        let message = match self {
            Self::Plain(message) => message,
            Self::Gzip(decoder) => decoder.get_mut(),
        };
        message.refusal.take().unwrap_or_else(|| not_gzip(error))
    }
}

fn not_gzip(error: &io::Error) -> Refusal {
    Refusal::new(Kind::Invalid, format!("not gzip: {error}"))
}
