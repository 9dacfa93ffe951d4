//! Generated runs with known truth: a training run's traces and aggregates as OTLP, random in every detail
//! and a function of its options alone. Written as a stream: nothing is held but the step in work.

mod grow;
mod instance;
mod metrics;
mod options;
mod plan;
mod template;
mod truth;
mod write;

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub use options::ForestOptions;
pub use truth::{PathTruth, Truth};

use crate::message::Format;

/// A generated run.
#[derive(Debug, Clone)]
pub struct Forest {
    options: ForestOptions,
}

impl Forest {
    /// The run that `options` describe.
    #[must_use]
    pub fn new(options: ForestOptions) -> Self {
        Self { options }
    }

    /// Hands every message over, unframed, one rank after the other.
    ///
    /// # Errors
    /// Those of `emit`.
    pub fn write(&self, format: Format, emit: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<Truth> {
        let mut truth = Truth::default();
        for rank in 0..self.options.ranks.max(1) {
            truth.merge(&instance::write(&self.options, rank, format, emit)?);
        }
        Ok(truth)
    }

    /// All messages, unframed.
    #[must_use]
    pub fn messages(&self, format: Format) -> (Vec<Vec<u8>>, Truth) {
        let mut messages = Vec::new();
        let truth = self.write(format, &mut |message| {
            messages.push(message.to_vec());
            Ok(())
        });
        // Collecting cannot fail.
        (messages, truth.unwrap_or_default())
    }

    /// Writes the run into one file.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write_file(&self, format: Format, path: &Path) -> io::Result<Truth> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let mut framed = Vec::new();
        let truth = self.write(format, &mut |message| {
            framed.clear();
            format.frame(message, &mut framed);
            file.write_all(&framed)
        })?;
        file.flush()?;
        Ok(truth)
    }
}
