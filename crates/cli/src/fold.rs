//! An analysis while it reads: the reader's traces are folded into a partial as they come.

use std::fs::File;
use std::io::Read;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;

use stepscope_analyze::{Config, Partial};
use stepscope_model::{MetricPoint, ReadOptions, ReadOutcome, Reader, Resource, Sink, Trace};

use crate::args::Global;
use crate::error::CliError;
use crate::input::STDIN;
use crate::partial_file::PartialFile;
use crate::progress::Progress;

/// What was read so far.
pub(crate) struct Analysis {
    reader: Reader,
    fold: Fold,
}

struct Fold {
    partial: Partial,
    progress: Progress,
}

impl Sink for Fold {
    fn trace(&mut self, trace: &Trace) {
        self.partial.add(trace);
    }

    fn metric(&mut self, resource: &Arc<Resource>, start_ns: u64, time_ns: u64, point: &MetricPoint) {
        self.partial.metric(resource, start_ns, time_ns, point);
    }

    fn progress(&mut self, bytes_read: u64, bytes_total: Option<u64>) {
        self.progress.bytes(bytes_read, bytes_total);
    }
}

impl Analysis {
    /// Nothing read yet.
    pub(crate) fn new(global: Global) -> Self {
        Self::with_threads(global, None)
    }

    /// Nothing read yet; read by so many threads, or as many as the machine has processors for.
    pub(crate) fn with_threads(global: Global, threads: Option<usize>) -> Self {
        let mut options = ReadOptions::default();
        options.threads =
            threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, NonZero::get));
        Self {
            reader: Reader::new(options),
            fold: Fold { partial: Partial::new(Config::default()), progress: Progress::new(global) },
        }
    }

    /// Reads a file, a directory, or standard input.
    pub(crate) fn read(&mut self, path: &Path) -> Result<(), CliError> {
        let read = if path.as_os_str() == STDIN {
            self.reader.read_stream(STDIN, open_stdin(path)?, &mut self.fold)
        } else {
            refuse_partial_file(path)?;
            self.reader.read_path(path, &mut self.fold)
        };
        read.map_err(|error| CliError::Input(error.to_string()))
    }

    /// Takes in another analysis, unless all of it was taken in before.
    pub(crate) fn absorb(&mut self, part: PartialFile) {
        if self.reader.has_read(&part.unfinished) {
            return;
        }
        self.fold.partial.merge(&part.partial);
        self.reader.absorb(part.unfinished, &mut self.fold);
    }

    /// Stops where another analysis can go on.
    pub(crate) fn into_partial(self) -> Result<PartialFile, CliError> {
        self.fold.progress.done();
        let unfinished = self.reader.suspend().map_err(|error| CliError::Input(error.to_string()))?;
        unfinished.check().map_err(|error| CliError::Input(error.to_string()))?;
        Ok(PartialFile { unfinished, partial: self.fold.partial })
    }

    /// The end: everything that is open is taken as it is.
    pub(crate) fn finish(mut self) -> (Partial, ReadOutcome) {
        let outcome = self.reader.finish(&mut self.fold);
        self.fold.progress.done();
        (self.fold.partial, outcome)
    }
}

/// Standard input, unless it is a partial.
pub(crate) fn open_stdin(path: &Path) -> Result<impl Read, CliError> {
    let mut begin = Vec::new();
    let mut stdin = std::io::stdin().lock();
    // An error comes again when the rest is read.
    let _ = stdin.by_ref().take(PartialFile::MAGIC_BYTES).read_to_end(&mut begin);
    refuse_partial(path, &begin)?;
    Ok(std::io::Cursor::new(begin).chain(stdin))
}

/// An error where a file is a partial; what is wrong with it otherwise is the reader's to tell.
pub(crate) fn refuse_partial_file(path: &Path) -> Result<(), CliError> {
    let mut begin = Vec::new();
    if path.is_file()
        && let Ok(file) = File::open(path)
    {
        let _ = file.take(PartialFile::MAGIC_BYTES).read_to_end(&mut begin);
    }
    refuse_partial(path, &begin)
}

/// A partial holds no traces to read.
fn refuse_partial(path: &Path, begin: &[u8]) -> Result<(), CliError> {
    if !PartialFile::is_partial(begin) {
        return Ok(());
    }
    let path = path.display();
    Err(CliError::Input(format!("{path}: a partial analysis; see its report with `stepscope merge {path}`")))
}
