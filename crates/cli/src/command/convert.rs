//! `stepscope convert`: traces in, the same traces in another format out.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use stepscope_model::{
    Converter, FileInfo, ReadOptions, ReadOutcome, Reader, Signal, Sink, Target, Trace, Visitor,
    is_compressed,
};

use crate::args::{ConvertArgs, Global};
use crate::error::CliError;
use crate::fold::open_stdin;
use crate::input::STDIN;
use crate::progress::Progress;
use crate::{exit, output};

/// Endings of names that say what to write.
const ENDINGS: &[(&str, Target)] = &[
    (".otlp", Target::OtlpProto),
    (".jsonl", Target::OtlpJson),
    (".jaeger.json", Target::Jaeger),
    (".chrome.json", Target::Chrome),
    (".perfetto.json", Target::Chrome),
];

/// Where the result goes: created when the first byte is written, so that a failure leaves nothing behind.
struct Out<'p> {
    path: &'p Path,
    file: Option<BufWriter<Box<dyn Write>>>,
}

impl Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let file: Box<dyn Write> = if self.path.as_os_str() == STDIN {
                    Box::new(io::stdout().lock())
                } else {
                    Box::new(File::create(self.path)?)
                };
                self.file.insert(BufWriter::with_capacity(64 << 10, file))
            }
        };
        file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), Write::flush)
    }
}

/// Passes everything on to the converter, and shows how far it has come.
struct Shown<'p> {
    converter: Converter<Out<'p>>,
    progress: Progress,
}

impl Sink for Shown<'_> {
    fn trace(&mut self, trace: &Trace) {
        self.converter.trace(trace);
    }

    fn raw(&mut self, signal: Signal) -> Option<&mut dyn Visitor> {
        self.converter.raw(signal)
    }

    fn progress(&mut self, bytes_read: u64, bytes_total: Option<u64>) {
        self.progress.bytes(bytes_read, bytes_total);
    }
}

/// Reads the input, writes it in the other format, and tells what was damaged or could not be held.
pub(crate) fn run(args: &ConvertArgs, global: Global) -> Result<u8, CliError> {
    let target = target(args)?;
    check_paths(&args.input, &args.out)?;
    let options = ReadOptions::default();
    let out = Out { path: &args.out, file: None };
    let mut shown =
        Shown { converter: Converter::new(target, &options, out), progress: Progress::new(global) };
    let mut reader = Reader::new(options);
    let read = if args.input.as_os_str() == STDIN {
        reader.read_stream(STDIN, open_stdin(&args.input)?, &mut shown)
    } else {
        crate::fold::refuse_partial_file(&args.input)?;
        reader.read_path(&args.input, &mut shown)
    };
    let unreadable = |error: stepscope_model::ReadError| CliError::Input(error.to_string());
    read.map_err(unreadable)?;
    let outcome = reader.finish(&mut shown);
    outcome.check().map_err(unreadable)?;
    shown.progress.done();
    let lost = shown.converter.finish().map_err(|error| {
        if args.out.as_os_str() == STDIN {
            CliError::stdout(error)
        } else {
            CliError::output(&args.out, error)
        }
    })?;
    tell(&outcome, global);
    for (what, count) in lost {
        output::note(global, &format!("cannot be held: {what} ({count})"));
    }
    if outcome.metric_points == 0 && outcome.files.iter().all(|file| file.spans == 0) {
        let out = args.out.display();
        return Err(CliError::Input(format!("the input holds nothing to convert; {out} was not written")));
    }
    Ok(exit::FINE)
}

/// Says how much was converted and what was wrong with the input.
fn tell(outcome: &ReadOutcome, global: Global) {
    let spans: u64 = outcome.files.iter().map(|file| file.spans).sum();
    let formats: BTreeSet<&str> = outcome.files.iter().filter_map(|file| file.format.as_deref()).collect();
    let formats: Vec<&str> = formats.into_iter().collect();
    let points = match outcome.metric_points {
        0 => String::new(),
        points => format!(" and {points} points of metrics"),
    };
    output::note(global, &format!("read {spans} spans{points} ({})", formats.join("; ")));
    for issue in &outcome.issues {
        let is_it = |file: &&FileInfo| file.path == issue.file;
        let format = outcome.files.iter().find(is_it).and_then(|file| file.format.as_deref());
        let of = if format.is_some_and(is_compressed) { " of the unpacked content" } else { "" };
        let place = issue.offset.map_or(String::new(), |offset| format!(" at byte {offset}{of}"));
        let lost = issue.lost_bytes.map_or(String::new(), |lost| format!(", {lost} bytes in all"));
        let count = if issue.count > 1 { format!(" ({} times{lost})", issue.count) } else { String::new() };
        output::note(global, &format!("{}{place}: {}{count}", issue.file, issue.reason));
    }
}

fn target(args: &ConvertArgs) -> Result<Target, CliError> {
    if let Some(name) = &args.to {
        let found = Target::ALL.iter().find(|(known, _)| known == name);
        return found
            .map(|&(_, target)| target)
            .ok_or_else(|| CliError::Internal(format!("there is no format called {name}")));
    }
    let name = args.out.to_string_lossy();
    ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|&(_, target)| target).ok_or_else(|| {
        let endings: Vec<&str> = ENDINGS.iter().map(|&(ending, _)| ending).collect();
        CliError::Usage(format!(
            "say what to write with --to, or by a name that ends in {}",
            endings.join(", ")
        ))
    })
}

/// What is written must not be what is read, nor lie in a folder that is read.
fn check_paths(input: &Path, out: &Path) -> Result<(), CliError> {
    if input.as_os_str() == STDIN || out.as_os_str() == STDIN {
        return Ok(());
    }
    let real = |path: &Path| -> Option<PathBuf> { path.canonicalize().ok() };
    // Of a file that is not there yet, the folder that it will lie in.
    let place = || {
        let folder = out.parent().filter(|folder| !folder.as_os_str().is_empty());
        real(folder.unwrap_or(Path::new(".")))
    };
    match (real(input), real(out).or_else(place)) {
        (Some(input), Some(place)) if place.starts_with(&input) => Err(CliError::Usage(format!(
            "{} would be part of the input, {}; write to another place",
            out.display(),
            input.display()
        ))),
        _ => Ok(()),
    }
}
