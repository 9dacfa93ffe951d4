//! Writes a generated run into a file:
//! `generate-run --steps N --spans-per-step M --seed S --format proto|json --out FILE`.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use stepscope_testkit::{Forest, ForestOptions, Format, Truth, disturb};

const USAGE: &str = "\
generate-run --out FILE [options]
  --format proto|json      protobuf with length prefixes (default), or JSON lines
  --steps N                training steps of each rank (100)
  --spans-per-step M       sections of a training step's trace, the step included (14)
  --seed S                 everything random follows from it (1)
  --ranks N                processes of the run (1)
  --depth N                nesting below the step (4)
  --run ID                 identity of the run (generated)
  --step-ns N              a step takes about so long (3000000)
  --no-batches, --no-memory, --no-phases, --no-metrics
                           leave these out
  --unfinished             the run's own section is missing, as after a kill
  --shuffle                messages in random order
  --duplicate PER_MILLE    repeat so many of a thousand messages
  --cut BYTE               cut the file off there";

/// What the command line says.
struct Arguments {
    options: ForestOptions,
    out: PathBuf,
    format: Format,
    shuffle: bool,
    duplicate: u32,
    cut: Option<u64>,
}

fn main() -> ExitCode {
    match arguments(std::env::args().skip(1)).and_then(|arguments| generate(&arguments)) {
        Ok(truth) => {
            let paths = truth.paths.len();
            eprintln!("{} spans in {} traces on {paths} call paths", truth.spans, truth.traces);
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn arguments(mut given: impl Iterator<Item = String>) -> Result<Arguments, String> {
    let mut options = ForestOptions::default();
    let (mut out, mut format) = (None, Format::Proto);
    let (mut shuffle, mut duplicate, mut cut) = (false, 0, None);
    while let Some(flag) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("{flag} needs a value"));
        match flag.as_str() {
            "--steps" => options.steps = number(&flag, &value()?)?,
            "--spans-per-step" => options.spans_per_step = number(&flag, &value()?)?,
            "--seed" => options.seed = number(&flag, &value()?)?,
            "--ranks" => options.ranks = number(&flag, &value()?)?,
            "--depth" => options.depth = number(&flag, &value()?)?,
            "--step-ns" => options.step_ns = number(&flag, &value()?)?,
            "--run" => options.run_id = value()?,
            "--format" => {
                let text = value()?;
                format = Format::parse(&text).ok_or_else(|| format!("{text} is not a format"))?;
            }
            "--out" => out = Some(PathBuf::from(value()?)),
            "--no-batches" => options.batches = false,
            "--no-memory" => options.memory = false,
            "--no-phases" => options.phases = false,
            "--no-metrics" => options.metrics = false,
            "--unfinished" => options.ended = false,
            "--shuffle" => shuffle = true,
            "--duplicate" => duplicate = number(&flag, &value()?)?,
            "--cut" => cut = Some(number(&flag, &value()?)?),
            _ => return Err(format!("{flag} is not known")),
        }
    }
    let out = out.ok_or("--out is missing")?;
    Ok(Arguments { options, out, format, shuffle, duplicate, cut })
}

fn number<T: std::str::FromStr>(flag: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{flag} takes a number, not {text}"))
}

fn generate(arguments: &Arguments) -> Result<Truth, String> {
    let path: &Path = &arguments.out;
    let seed = arguments.options.seed;
    let forest = Forest::new(arguments.options.clone());
    let written = if arguments.shuffle || arguments.duplicate > 0 {
        let (mut messages, truth) = forest.messages(arguments.format);
        disturb::duplicate(&mut messages, arguments.duplicate, seed);
        if arguments.shuffle {
            disturb::shuffle(&mut messages, seed);
        }
        let bytes = disturb::file(&messages, arguments.format);
        File::create(path).and_then(|mut file| file.write_all(&bytes)).map(|()| truth)
    } else {
        forest.write_file(arguments.format, path)
    };
    let truth = written.map_err(|error| format!("failed to write {}: {error}", path.display()))?;
    if let Some(byte) = arguments.cut {
        disturb::cut(path, byte).map_err(|error| format!("failed to cut {}: {error}", path.display()))?;
    }
    Ok(truth)
}
