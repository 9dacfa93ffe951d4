//! zstd: streams of several frames, and single messages that are frames of their own. Bounded: neither the
//! window a frame asks for nor the message it holds can take more memory than given.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::layer::{Trailing, read_up_to};
use crate::IssueKind;

/// First bytes of a frame.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Largest window of a stream, that of `zstd --long`.
const MAX_WINDOW: u64 = 128 << 20;

/// Whether `bytes` begin like a frame.
pub(crate) fn is_frame(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// Whether `bytes` begin like a stream of frames, the first of which may be one to skip.
pub(crate) fn is_stream(bytes: &[u8]) -> bool {
    is_frame(bytes) || bytes.first_chunk().is_some_and(|&magic| is_skippable(magic))
}

/// Whether a frame that begins so is to be skipped.
fn is_skippable(magic: [u8; 4]) -> bool {
    u32::from_le_bytes(magic) & 0xffff_fff0 == 0x184d_2a50
}

/// Whether a frame, one to skip included, can begin with these bytes: all that are left, or four of them.
fn begins_frame(seen: &[u8]) -> bool {
    let is_skippable = match seen {
        [low, rest @ ..] => low & 0xf0 == 0x50 && [0x2a, 0x4d, 0x18].starts_with(rest),
        [] => true,
    };
    MAGIC.starts_with(seen) || is_skippable
}

/// Why a message could not be unpacked.
#[derive(Debug)]
pub(crate) struct BadFrame {
    pub(crate) kind: IssueKind,
    pub(crate) reason: String,
}

/// Unpacks single messages.
pub(crate) struct MessageDecoder {
    decoder: FrameDecoder,
    packed_bytes: u64,
    unpacked_bytes: u64,
}

impl Default for MessageDecoder {
    fn default() -> Self {
        Self { decoder: FrameDecoder::new(), packed_bytes: 0, unpacked_bytes: 0 }
    }
}

impl std::fmt::Debug for MessageDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MessageDecoder")
    }
}

impl MessageDecoder {
    /// Unpacks the one frame that `bytes` is into `out`.
    pub(crate) fn decode(
        &mut self,
        bytes: &[u8],
        max_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), BadFrame> {
        out.clear();
        let bad = |reason: String| BadFrame { kind: IssueKind::Corrupt, reason };
        let decoder = &mut self.decoder;
        let mut source = bytes;
        // Many small bombs are one bomb.
        self.packed_bytes = self.packed_bytes.saturating_add(bytes.len() as u64);
        let allowed = super::allowed_bytes(self.packed_bytes).saturating_sub(self.unpacked_bytes);
        let limit = max_bytes.min(usize::try_from(allowed).unwrap_or(usize::MAX));
        // Writers ask for windows of a few MiB even for small messages.
        decoder.set_max_window_size((max_bytes as u64).max(8 << 20));
        decoder.init(&mut source).map_err(|error| bad(error.to_string()))?;
        loop {
            let step = BlockDecodingStrategy::UptoBytes(256 << 10);
            let finished =
                decoder.decode_blocks(&mut source, step).map_err(|error| bad(error.to_string()))?;
            let count = decoder.collect_to_writer(&mut *out).map_err(|error| bad(error.to_string()))?;
            self.unpacked_bytes = self.unpacked_bytes.saturating_add(count as u64);
            if out.len() > limit {
                let reason = format!("a message unpacks to more than {limit} bytes");
                return Err(BadFrame { kind: IssueKind::LimitReached, reason });
            }
            if finished {
                break;
            }
        }
        if !source.is_empty() {
            return Err(bad("bytes follow the end of the frame".into()));
        }
        check(decoder).map_err(|error| bad(error.to_string()))
    }
}

/// Compares the checksum of a finished frame, where it has one.
fn check(decoder: &FrameDecoder) -> io::Result<()> {
    match (decoder.get_checksum_from_data(), decoder.get_calculated_checksum()) {
        (Some(written), Some(found)) if written != found => {
            Err(io::Error::new(io::ErrorKind::InvalidData, "the checksum of a frame does not match"))
        }
        _ => Ok(()),
    }
}

/// Unpacks a stream of frames.
pub(crate) struct StreamDecoder<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
    is_first: bool,
    trailing: Trailing,
    /// What ended the stream; told once everything before it has been read.
    failed: Option<io::Error>,
}

impl<R: BufRead> StreamDecoder<R> {
    pub(super) fn new(source: R, trailing: Trailing) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(MAX_WINDOW);
        Self { source, decoder, in_frame: false, is_first: true, trailing, failed: None }
    }

    /// Starts the next frame; `false` at the end of the stream.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            let (magic, count) = read_up_to::<4>(&mut self.source)?;
            let seen = magic.get(..count).unwrap_or_default();
            if seen.is_empty() {
                return Ok(false);
            }
            let is_first = std::mem::take(&mut self.is_first);
            if !begins_frame(seen) && !is_first {
                self.trailing.drain(super::ZSTD, seen, &mut self.source)?;
                return Ok(false);
            }
            if count < magic.len() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if is_skippable(magic) {
                let mut len = [0; 4];
                self.source.read_exact(&mut len)?;
                let len = u64::from(u32::from_le_bytes(len));
                if io::copy(&mut (&mut self.source).take(len), &mut io::sink())? < len {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                continue;
            }
            self.decoder.init(magic.chain(&mut self.source)).map_err(into_io)?;
            self.in_frame = true;
            return Ok(true);
        }
    }

    fn advance(&mut self) -> io::Result<()> {
        let step = BlockDecodingStrategy::UptoBlocks(1);
        self.decoder.decode_blocks(&mut self.source, step).map(drop).map_err(into_io)
    }
}

/// Keeps apart a stream that ends too early and one that is damaged.
fn into_io(error: ruzstd::decoding::errors::FrameDecoderError) -> io::Error {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(inner) = cause {
        if inner.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::UnexpectedEof) {
            return io::ErrorKind::UnexpectedEof.into();
        }
        cause = inner.source();
    }
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

impl<R: BufRead> Read for StreamDecoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.in_frame {
                if self.decoder.can_collect() > 0 {
                    return self.decoder.read(buffer);
                }
                if self.decoder.is_finished() {
                    self.in_frame = false;
                    // The checksum is taken while content is handed out, so it is known only now.
                    if self.failed.is_none() {
                        self.failed = check(&self.decoder).err();
                    }
                    continue;
                }
                if let Err(error) = self.advance() {
                    self.failed = Some(error);
                    // The decoder holds back a window's worth of what it has unpacked; an empty last
                    // block (and any checksum) makes it give that away.
                    let last_block = [1u8, 0, 0, 0, 0, 0, 0];
                    let flushed = self
                        .decoder
                        .decode_blocks(last_block.as_slice(), BlockDecodingStrategy::UptoBlocks(1));
                    if flushed.is_err() {
                        self.in_frame = false;
                    }
                }
                continue;
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if !self.next_frame()? {
                return Ok(0);
            }
        }
    }
}
