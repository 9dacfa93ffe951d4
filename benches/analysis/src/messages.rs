//! The messages of an input, one after the other, as the peers need them: nothing but framing is done here.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::input::Format;

/// Bytes read at once.
const BUFFER_BYTES: usize = 1 << 20;

/// The files of an input, by name.
pub(crate) fn files(path: &Path) -> Result<Vec<PathBuf>, String> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut inside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    inside.sort();
    let mut all = Vec::new();
    for path in inside {
        all.append(&mut files(&path)?);
    }
    Ok(all)
}

/// How the files of an input are written.
pub(crate) fn format(path: &Path) -> Result<Format, String> {
    let first = files(path)?.into_iter().next().ok_or("the input has no files")?;
    let mut byte = [0];
    File::open(first).and_then(|mut file| file.read_exact(&mut byte)).map_err(|error| error.to_string())?;
    Ok(if byte == *b"{" { Format::Json } else { Format::Proto })
}

/// Hands every message to `take` and adds up what it gives.
pub(crate) fn each(
    path: &Path,
    format: Format,
    mut take: impl FnMut(&[u8]) -> Result<u64, String>,
) -> Result<u64, String> {
    let mut sum = 0;
    let mut message = Vec::new();
    for path in files(path)? {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| format!("{name}: {error}"))?;
        let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
        while next(&mut reader, format, &mut message).map_err(|error| format!("{name}: {error}"))? {
            sum += take(&message)?;
        }
    }
    Ok(sum)
}

/// Reads one message; whether there was one.
fn next(reader: &mut impl BufRead, format: Format, message: &mut Vec<u8>) -> std::io::Result<bool> {
    message.clear();
    if format == Format::Json {
        return reader.read_until(b'\n', message).map(|bytes| bytes > 0);
    }
    if reader.fill_buf()?.is_empty() {
        return Ok(false);
    }
    let mut prefix = [0; 4];
    reader.read_exact(&mut prefix)?;
    let len = u64::from(u32::from_be_bytes(prefix));
    reader.take(len).read_to_end(message)?;
    Ok(true)
}
