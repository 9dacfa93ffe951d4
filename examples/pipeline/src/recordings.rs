//! The files: what a recording is, and how the example makes some. Reading them is the business of `source`.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use examples_common::Random;

/// Records of one recording.
pub const RECORDS: usize = 512;
/// Values of one record.
pub const VALUES: usize = 128;
/// Recordings there are; they are read again and again.
const FILES: usize = 8;

/// The values of all its records, one record after the other.
pub struct Recording {
    pub values: Vec<f32>,
}

/// Writes the recordings: records of a length (4 bytes, little-endian) and that much text, numbers separated by
/// spaces.
pub fn generate(folder: &Path, seed: u64) -> io::Result<Vec<PathBuf>> {
    let mut random = Random::new(seed);
    let mut files = Vec::new();
    for number in 0..FILES {
        let mut bytes = Vec::new();
        for _ in 0..RECORDS {
            let record = record(&mut random);
            let length = u32::try_from(record.len()).map_err(io::Error::other)?;
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(record.as_bytes());
        }
        let path = folder.join(format!("recording-{number}"));
        std::fs::write(&path, bytes)?;
        files.push(path);
    }
    Ok(files)
}

/// A tone and noise, in thousandths.
fn record(random: &mut Random) -> String {
    let frequency = 0.05 + 0.2 * random.signed().abs();
    let mut text = String::new();
    for value in 0..VALUES {
        let value = 1000.0 * (value as f32 * frequency).sin() + 100.0 * random.signed();
        // Writing to a string cannot fail.
        let _ = write!(text, "{value:.0} ");
    }
    text
}

/// The values of a record's text.
pub fn parse(text: &[u8], values: &mut Vec<f32>) -> io::Result<()> {
    let text = std::str::from_utf8(text).map_err(io::Error::other)?;
    for word in text.split_ascii_whitespace() {
        values.push(word.parse::<f32>().map_err(io::Error::other)? / 1000.0);
    }
    Ok(())
}
