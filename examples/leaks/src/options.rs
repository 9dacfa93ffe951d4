//! The command line: `leaks NAME [--steps N] [--seed S] [--bytes B] [--epoch N] [--step-us T] [--out FOLDER] [--unrecorded]`.

use std::error::Error;
use std::path::PathBuf;

use crate::programs::ALL;

/// What was asked for.
#[derive(Debug)]
pub struct Options {
    pub name: String,
    pub steps: u64,
    pub seed: u64,
    /// To leak in each step.
    pub bytes: usize,
    /// Steps of an epoch; 0 for one epoch.
    pub steps_of_epoch: u64,
    /// What the work of a step takes that keeps nothing: what is published at the end of an epoch is gathered by another thread.
    pub step_us: u64,
    pub out: PathBuf,
    pub is_unrecorded: bool,
}

impl Options {
    /// Reads the arguments.
    ///
    /// # Errors
    /// Where one means nothing.
    pub fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut options = Self {
            name: String::new(),
            steps: 200,
            seed: 1,
            bytes: 64 << 10,
            steps_of_epoch: 0,
            step_us: 2_000,
            out: PathBuf::from("profiles"),
            is_unrecorded: false,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--steps" => options.steps = value()?.parse()?,
                "--seed" => options.seed = value()?.parse()?,
                "--bytes" => options.bytes = value()?.parse()?,
                "--epoch" => options.steps_of_epoch = value()?.parse()?,
                "--step-us" => options.step_us = value()?.parse()?,
                "--out" => options.out = PathBuf::from(value()?),
                "--unrecorded" => options.is_unrecorded = true,
                name if ALL.iter().any(|leak| leak.name == name) => options.name = name.to_owned(),
                _ => {
                    let names: Vec<&str> = ALL.iter().map(|leak| leak.name).collect();
                    return Err(format!("{argument} means nothing; leaks: {}", names.join(", ")).into());
                }
            }
        }
        Ok(options)
    }
}
