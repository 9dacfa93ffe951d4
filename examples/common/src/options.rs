//! The command line, the same for all examples.

use std::fmt;
use std::path::PathBuf;

/// What the user chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Training steps.
    pub steps: usize,
    /// Decides all randomness.
    pub seed: u64,
    /// The fault to plant, by name.
    pub plant: Option<String>,
    /// Where the profile goes.
    pub out: PathBuf,
    /// Whether stepscope records.
    pub recorded: bool,
}

/// A wrong command line; shows what is right.
#[derive(Debug)]
pub struct UsageError {
    problem: String,
    plants: Vec<String>,
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plants = self.plants.join("|");
        write!(
            f,
            "{}; options: --steps N, --seed N, --plant {plants}, --out FOLDER, --unrecorded",
            self.problem
        )
    }
}

impl std::error::Error for UsageError {}

impl Options {
    /// Reads the program's arguments; `plants` are the faults it knows.
    ///
    /// # Errors
    /// When there is an argument that means nothing.
    pub fn from_arguments(plants: &[&str]) -> Result<Self, UsageError> {
        Self::parse(std::env::args().skip(1), plants)
    }

    fn parse(mut arguments: impl Iterator<Item = String>, plants: &[&str]) -> Result<Self, UsageError> {
        let wrong = |problem: String| UsageError {
            problem,
            plants: plants.iter().map(|&plant| plant.to_owned()).collect(),
        };
        let mut options =
            Self { steps: 400, seed: 1, plant: None, out: PathBuf::from("profiles"), recorded: true };
        while let Some(name) = arguments.next() {
            if name == "--unrecorded" {
                options.recorded = false;
                continue;
            }
            let value =
                arguments.next().ok_or_else(|| wrong(format!("{name} needs a value or is unknown")))?;
            let number = || value.parse::<u64>().map_err(|_| wrong(format!("{value} is no number")));
            match name.as_str() {
                "--steps" => options.steps = usize::try_from(number()?).unwrap_or(usize::MAX),
                "--seed" => options.seed = number()?,
                "--out" => options.out = PathBuf::from(&value),
                "--plant" if plants.contains(&value.as_str()) => options.plant = Some(value),
                "--plant" => return Err(wrong(format!("no fault is called {value}"))),
                _ => return Err(wrong(format!("{name} is unknown"))),
            }
        }
        Ok(options)
    }

    /// Whether this fault is to be planted.
    #[must_use]
    pub fn plants(&self, name: &str) -> bool {
        self.plant.as_deref() == Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, UsageError> {
        Options::parse(line.split_whitespace().map(str::to_owned), &["leak", "slow"])
    }

    #[test]
    fn options_are_read() {
        let options = parse("--steps 7 --seed 3 --plant leak --out a/b --unrecorded").unwrap();
        assert_eq!((options.steps, options.seed, options.recorded), (7, 3, false));
        assert!(options.plants("leak") && !options.plants("slow"));
        assert_eq!(options.out, PathBuf::from("a/b"));
    }

    #[test]
    fn what_means_nothing_is_said_with_what_would() {
        for line in ["--plant hole", "--steps x", "--what 1", "--seed"] {
            assert!(parse(line).unwrap_err().to_string().contains("--plant leak|slow"), "{line}");
        }
    }
}
