//! The file of a partial analysis: the figures folded so far, and what the reader left open. One container:
//! magic, version, length and hash of the rest, then both parts, so that a foreign, newer or torn file is
//! told apart from a whole one.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use stepscope_analyze::{Config, Partial};
use stepscope_core::identity::hash_parts;
use stepscope_model::Unfinished;

use crate::error::CliError;
use crate::input::STDIN;

const MAGIC: &[u8; 16] = b"stepscope-part\r\n";
const VERSION: u32 = 3;

/// A partial analysis.
pub(crate) struct PartialFile {
    /// What the reader left open.
    pub(crate) unfinished: Unfinished,
    /// The figures so far.
    pub(crate) partial: Partial,
}

impl PartialFile {
    /// Whether a file that begins so is a partial.
    pub(crate) fn is_partial(begin: &[u8]) -> bool {
        begin.starts_with(MAGIC)
    }

    /// Bytes that [`Self::is_partial`] looks at.
    pub(crate) const MAGIC_BYTES: u64 = MAGIC.len() as u64;

    /// Whether anything was read that stands for itself.
    pub(crate) fn has_record(&self) -> bool {
        self.unfinished.files().iter().any(|file| file.format.is_some())
    }

    /// Writes it to a file, or to standard output for `-`.
    pub(crate) fn write(&self, path: &Path) -> Result<(), CliError> {
        let bytes = self.to_bytes()?;
        if path.as_os_str() == STDIN {
            return crate::output::stdout(&bytes);
        }
        std::fs::write(path, bytes).map_err(|error| CliError::output(path, error))
    }

    /// Reads it from a file, or from standard input for `-`.
    pub(crate) fn read(path: &Path) -> Result<Self, CliError> {
        if path.is_dir() {
            let path = path.display();
            return Err(CliError::Input(format!(
                "{path} is a directory, and a partial is a file; for the traces in it use `stepscope analyze \
                 {path}`"
            )));
        }
        let mut bytes = Vec::new();
        let read = if path.as_os_str() == STDIN {
            std::io::stdin().lock().read_to_end(&mut bytes)
        } else {
            File::open(path).and_then(|mut file| file.read_to_end(&mut bytes))
        };
        read.map_err(|error| CliError::Input(format!("failed to read {}: {error}", path.display())))?;
        Self::from_bytes(&bytes).map_err(|reason| CliError::Input(format!("{}: {reason}", path.display())))
    }

    fn to_bytes(&self) -> Result<Vec<u8>, CliError> {
        let wrong = |reason: String| CliError::Internal(format!("failed to write the partial: {reason}"));
        let partial = self.partial.to_bytes().map_err(|error| wrong(error.to_string()))?;
        let body =
            postcard::to_stdvec(&(&self.unfinished, &partial)).map_err(|error| wrong(error.to_string()))?;
        let mut bytes = Vec::with_capacity(body.len() + 36);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&hash_parts(&[&body]).to_le_bytes());
        bytes.extend_from_slice(&body);
        Ok(bytes)
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        const FOREIGN: &str = "no partial analysis; read traces with `stepscope analyze`, or make a partial of \
                               them with `stepscope analyze --partial`";
        const TORN: &str = "the partial is cut off or damaged; make it again";
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            // A file cut off inside the magic is a torn one.
            let is_torn = !bytes.is_empty() && MAGIC.starts_with(bytes);
            return Err(if is_torn { TORN } else { FOREIGN }.into());
        };
        let (version, rest) = rest.split_first_chunk::<4>().ok_or(TORN)?;
        let version = u32::from_le_bytes(*version);
        if version != VERSION {
            return Err(format!(
                "a partial of version {version}, where this program reads {VERSION}; make it again with the same \
                 version of stepscope"
            ));
        }
        let (len, rest) = rest.split_first_chunk::<8>().ok_or(TORN)?;
        let (hash, body) = rest.split_first_chunk::<8>().ok_or(TORN)?;
        let is_whole =
            u64::from_le_bytes(*len) == body.len() as u64 && u64::from_le_bytes(*hash) == hash_parts(&[body]);
        if !is_whole {
            return Err(TORN.into());
        }
        let (unfinished, partial): (Unfinished, Vec<u8>) = postcard::from_bytes(body).map_err(|_| TORN)?;
        let partial = Partial::from_bytes(&partial, Config::default()).map_err(|error| error.to_string())?;
        Ok(Self { unfinished, partial })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> PartialFile {
        PartialFile { unfinished: Unfinished::default(), partial: Partial::new(Config::default()) }
    }

    fn reason(bytes: &[u8]) -> String {
        PartialFile::from_bytes(bytes).err().unwrap()
    }

    #[test]
    fn what_was_written_is_read() {
        let bytes = empty().to_bytes().unwrap();
        let back = PartialFile::from_bytes(&bytes).unwrap();
        assert_eq!(back.to_bytes().unwrap(), bytes);
    }

    #[test]
    fn files_cut_anywhere_are_torn() {
        let bytes = empty().to_bytes().unwrap();
        for len in 1..bytes.len() {
            assert!(reason(&bytes[..len]).contains("cut off"), "{len}");
        }
        assert!(reason(&[bytes.as_slice(), b"x"].concat()).contains("cut off"));
    }

    #[test]
    fn a_changed_byte_is_noticed() {
        let bytes = empty().to_bytes().unwrap();
        for position in MAGIC.len() + 4..bytes.len() {
            let mut changed = bytes.clone();
            changed[position] ^= 1;
            assert!(reason(&changed).contains("damaged"), "{position}");
        }
    }

    #[test]
    fn foreign_and_newer_files_are_told_apart() {
        assert!(reason(b"").contains("no partial"));
        assert!(reason(b"{\"resourceSpans\":[]}").contains("no partial"));
        let mut newer = empty().to_bytes().unwrap();
        newer[MAGIC.len()] = 4;
        assert!(reason(&newer).contains("version 4"));
    }
}
