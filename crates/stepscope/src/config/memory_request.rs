//! What a program is asked from outside about its live memory, and what it answers into the same file. Who answers is in `worker`.

use std::fmt;

/// The text of a file [`Capture::REQUEST_FILE`](crate::Capture::REQUEST_FILE) that asks for live memory. It stays until it holds
/// the answer.
pub const MEMORY_REQUEST: &str = "memory";

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryAnswer {
    /// So many bytes are live by sample; the file in the process' directory that says where.
    Written {
        /// Live bytes by sample.
        live_bytes: u64,
        /// The file's name.
        file: String,
    },
    /// The program does not have our allocator.
    NoAllocator,
    /// Memory is not tracked, or no samples of it are taken.
    Off,
    /// It could not be written.
    Failed(String),
}

impl fmt::Display for MemoryAnswer {
    /// The text that it is parsed from.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Written { live_bytes, file } => write!(f, "written {live_bytes} {file}"),
            Self::NoAllocator => f.write_str("no-allocator"),
            Self::Off => f.write_str("off"),
            Self::Failed(why) => write!(f, "failed {why}"),
        }
    }
}

impl MemoryAnswer {
    /// The answer that this text is; `None` where it is none, as of a program with an older layer.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (what, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        match what {
            "written" => {
                let (live_bytes, file) = rest.split_once(' ')?;
                Some(Self::Written { live_bytes: live_bytes.parse().ok()?, file: file.into() })
            }
            "no-allocator" => Some(Self::NoAllocator),
            "off" => Some(Self::Off),
            "failed" => Some(Self::Failed(rest.into())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_comes_back() {
        let written = MemoryAnswer::Written { live_bytes: 7, file: "memory-000001.otlp".into() };
        for answer in
            [written, MemoryAnswer::NoAllocator, MemoryAnswer::Off, MemoryAnswer::Failed("no room".into())]
        {
            assert_eq!(MemoryAnswer::parse(&answer.to_string()), Some(answer));
        }
        assert_eq!(MemoryAnswer::parse(MEMORY_REQUEST), None);
    }
}
