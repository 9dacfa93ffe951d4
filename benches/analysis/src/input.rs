//! The inputs: runs that the real layer recorded, in many files and in one, and one grown at random. They are kept in the target directory,
//! so that only the first bench makes them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::programs::Programs;
use crate::{cases, messages};

/// How an input is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Protobuf messages with length prefixes.
    Proto,
    /// JSON lines.
    Json,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Proto => "proto",
            Self::Json => "json",
        }
    }
}

/// Who writes an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The layer, in a loop of the same fifty sections a step.
    Recorded,
    /// The same in one file, as a collector may write it.
    Joined,
    /// The generator of the tests: every step another tree, over a thousand call paths, overlaps, threads.
    Random,
}

/// One input.
pub(crate) struct Input {
    kind: Kind,
    pub(crate) format: Format,
    steps: u64,
    /// Whether the peers read it too.
    pub(crate) is_compared: bool,
    /// Whether its times have to reach the aims.
    pub(crate) is_held: bool,
}

/// An input that is there.
pub(crate) struct Made {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) spans: u64,
}

impl Input {
    /// All of them, the largest with about `spans` spans.
    pub(crate) fn all(spans: u64) -> Vec<Self> {
        let steps = spans / 50;
        let of = |kind, format, steps, is_compared| Self { kind, format, steps, is_compared, is_held: false };
        let both = [Format::Proto, Format::Json];
        let held = |&format| Self { is_held: true, ..of(Kind::Recorded, format, steps, true) };
        let mut all: Vec<Self> = both.iter().map(held).collect();
        all.extend(both.iter().map(|&format| of(Kind::Joined, format, steps, false)));
        all.extend(both.iter().map(|&format| of(Kind::Recorded, format, steps / 5, false)));
        // As long as a run gets, for its memory.
        all.push(of(Kind::Random, Format::Proto, steps, true));
        all.push(of(Kind::Random, Format::Json, steps / 5, true));
        all
    }

    /// What it is, in words.
    pub(crate) fn about(&self) -> String {
        let kind = match self.kind {
            Kind::Recorded => "recorded by the layer",
            Kind::Joined => "recorded by the layer, one file",
            Kind::Random => "random trees",
        };
        format!("{} steps, {kind}, {}", self.steps, self.format.name())
    }

    /// Makes the input, unless it is there.
    pub(crate) fn make(&self, programs: &Programs) -> Result<Made, String> {
        let kind = match self.kind {
            Kind::Recorded => "recorded",
            Kind::Joined => "joined",
            Kind::Random => "random",
        };
        let name = format!("{kind}-{}-{}", self.steps, self.format.name());
        let path = programs.target.join("analysis-inputs").join(name);
        if !path.exists() {
            eprintln!("making the input {}", path.display());
            // Under another name until it is whole.
            let draft = path.with_extension("draft");
            let _ = fs::remove_dir_all(&draft);
            fs::create_dir_all(&draft).map_err(|error| format!("{}: {error}", draft.display()))?;
            let (steps, format) = (self.steps.to_string(), self.format.name());
            let directory = draft.to_string_lossy().into_owned();
            match self.kind {
                Kind::Recorded => programs.run(&programs.record_run, &[&steps, format, &directory])?,
                Kind::Joined => {
                    let parts = Self { kind: Kind::Recorded, is_compared: false, ..*self }.make(programs)?;
                    join(&messages::files(&parts.path)?, &draft.join(format!("run.{format}")))?;
                }
                Kind::Random => {
                    let out = format!("{directory}/run.{format}");
                    let arguments =
                        ["--steps", &steps, "--spans-per-step", "50", "--format", format, "--out", &out];
                    programs.run(&programs.generate_run, &arguments)?;
                }
            }
            fs::rename(&draft, &path).map_err(|error| format!("{}: {error}", draft.display()))?;
        }
        let files = messages::files(&path)?;
        let sizes = files.iter().map(|file| fs::metadata(file).map_or(0, |meta| meta.len()));
        // This also brings it into the page cache.
        Ok(Made { bytes: sizes.sum(), spans: cases::run("decode", &path)?, path })
    }
}

/// Writes the files behind each other.
fn join(files: &[PathBuf], to: &Path) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", to.display());
    let mut joined = File::create(to).map_err(failed)?;
    for file in files {
        let mut part = File::open(file).map_err(failed)?;
        io::copy(&mut part, &mut joined).map_err(failed)?;
    }
    Ok(())
}
