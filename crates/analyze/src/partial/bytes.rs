//! Partials in bytes: a magic word, a version, then the runs in postcard's encoding. Everything in it is
//! sorted, so that equal partials have equal bytes.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Partial;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::run::{RunAcc, RunKey};

/// First bytes of a partial.
const MAGIC: &[u8; 16] = b"stepscopepartial";

/// Version of the encoding that is written.
pub const PARTIAL_VERSION: u32 = 34;

/// Oldest version that is still read.
const OLDEST_VERSION: u32 = 34;

/// Why bytes are no partial.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartialError {
    /// The bytes are something else.
    NotAPartial,
    /// Written by a program that is too old for this one.
    TooOld {
        /// Version found.
        found: u32,
        /// Oldest version that is read.
        oldest: u32,
    },
    /// Written by a newer program.
    TooNew {
        /// Version found.
        found: u32,
        /// Newest version that is read.
        newest: u32,
    },
    /// The header is right, what follows is damaged.
    Damaged(String),
}

impl fmt::Display for PartialError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAPartial => f.write_str("the file is no partial analysis"),
            Self::TooOld { found, oldest } => write!(
                f,
                "the partial has version {found}, the oldest that is read is {oldest}: make it again from its input"
            ),
            Self::TooNew { found, newest } => write!(
                f,
                "the partial has version {found}, the newest that is read is {newest}: use a newer stepscope"
            ),
            Self::Damaged(reason) => {
                write!(f, "the partial is damaged ({reason}): make it again from its input")
            }
        }
    }
}

impl std::error::Error for PartialError {}

#[derive(Serialize, Deserialize)]
struct Wire<R, M> {
    is_cut: bool,
    runs: R,
    metrics: M,
}

impl Partial {
    /// Writes it. Equal sets of traces and points give equal bytes.
    ///
    /// # Errors
    ///
    /// When the encoder fails, which it does not for the types it is given.
    pub fn to_bytes(&self) -> Result<Vec<u8>, PartialError> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&PARTIAL_VERSION.to_le_bytes());
        let wire = Wire { is_cut: self.is_cut, runs: &self.runs, metrics: &self.metrics };
        postcard::to_extend(&wire, bytes).map_err(|error| PartialError::Damaged(error.to_string()))
    }

    /// Reads what [`Self::to_bytes`] wrote.
    ///
    /// # Errors
    ///
    /// When the bytes are no partial, of a version that is not read, or damaged.
    pub fn from_bytes(bytes: &[u8], config: Config) -> Result<Self, PartialError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(PartialError::NotAPartial)?;
        let (version, rest) = rest.split_first_chunk::<4>().ok_or(PartialError::NotAPartial)?;
        let found = u32::from_le_bytes(*version);
        if found < OLDEST_VERSION {
            return Err(PartialError::TooOld { found, oldest: OLDEST_VERSION });
        }
        if found > PARTIAL_VERSION {
            return Err(PartialError::TooNew { found, newest: PARTIAL_VERSION });
        }
        let (wire, rest) = postcard::take_from_bytes::<Wire<BTreeMap<RunKey, RunAcc>, Metrics>>(rest)
            .map_err(|error| PartialError::Damaged(error.to_string()))?;
        if !rest.is_empty() {
            return Err(PartialError::Damaged(format!("{} bytes too many", rest.len())));
        }
        // Merging into an empty partial puts the bounds and the order of everything into force, whatever the
        // bytes say.
        let mut read = Self::new(config);
        read.runs = wire.runs;
        read.metrics = wire.metrics;
        read.is_cut = wire.is_cut;
        let mut partial = Self::new(config);
        partial.merge(&read);
        Ok(partial)
    }
}
