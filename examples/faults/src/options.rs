//! The command line: `faults NAME [--healthy] [--steps N] [--seconds S] [--out FOLDER] [--unrecorded]`.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use crate::faults::ALL;

/// What was asked for.
#[derive(Debug)]
pub struct Options {
    pub name: String,
    pub is_healthy: bool,
    pub steps: u64,
    /// No step begins after that.
    pub most: Duration,
    pub out: PathBuf,
    pub is_unrecorded: bool,
    /// The process is a neighbour that takes a processor.
    pub spins: bool,
}

impl Options {
    /// Reads the arguments.
    ///
    /// # Errors
    /// Where one means nothing.
    pub fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut options = Self {
            name: String::new(),
            is_healthy: false,
            steps: 400,
            most: Duration::from_secs(8),
            out: PathBuf::from("profiles"),
            is_unrecorded: false,
            spins: false,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--healthy" => options.is_healthy = true,
                "--unrecorded" => options.is_unrecorded = true,
                "--spin" => options.spins = true,
                "--steps" => options.steps = value()?.parse()?,
                "--seconds" => options.most = Duration::from_secs_f64(value()?.parse()?),
                "--out" => options.out = PathBuf::from(value()?),
                name if ALL.iter().any(|fault| fault.name == name) => options.name = name.to_owned(),
                _ => {
                    let names: Vec<&str> = ALL.iter().map(|fault| fault.name).collect();
                    return Err(format!("{argument} means nothing; faults: {}", names.join(", ")).into());
                }
            }
        }
        Ok(options)
    }
}
