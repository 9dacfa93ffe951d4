//! An analysis while it reads: the reader's traces are folded into a partial as they come.

use std::fs::File;
use std::io::Read;
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stepscope_analyze::{Config, Partial};
use stepscope_model::{
    Listing, MetricPoint, ReadOptions, ReadOutcome, Reader, Resource, Sink, Trace, Unfinished,
};

use crate::args::Global;
use crate::error::CliError;
use crate::input::STDIN;
use crate::partial_file::PartialFile;
use crate::progress::Progress;

/// What was read so far.
pub(crate) struct Analysis {
    reader: Reader,
    fold: Fold,
    threads: usize,
}

/// Where traces are folded.
struct Fold {
    partial: Partial,
    /// How far this one is; a part of an analysis has no line of its own.
    progress: Option<Progress>,
    /// Bytes that were read by parts.
    elsewhere: Arc<AtomicU64>,
    told: u64,
}

/// More threads than this cost more memory than they save time, unless asked for.
const MAX_THREADS: usize = 4;

/// Less than this is read sooner than two parts are put together.
const LEAST_PART_BYTES: u64 = 16 << 20;

/// Most bytes of open traces at the end of a part.
const MAX_OPEN_BYTES: usize = 16 << 20;

impl Fold {
    fn done(&self) {
        if let Some(progress) = &self.progress {
            progress.done();
        }
    }
}

impl Sink for Fold {
    fn trace(&mut self, trace: &Trace) {
        self.partial.add(trace);
    }

    fn metric(&mut self, resource: &Arc<Resource>, start_ns: u64, time_ns: u64, point: &MetricPoint) {
        self.partial.metric(resource, start_ns, time_ns, point);
    }

    fn progress(&mut self, bytes_read: u64, bytes_total: Option<u64>) {
        match &mut self.progress {
            Some(progress) => {
                progress.bytes(bytes_read + self.elsewhere.load(Ordering::Relaxed), bytes_total)
            }
            None => {
                self.elsewhere.fetch_add(bytes_read.saturating_sub(self.told), Ordering::Relaxed);
                self.told = bytes_read;
            }
        }
    }
}

impl Analysis {
    /// Nothing read yet.
    pub(crate) fn new(global: Global) -> Self {
        Self::with_threads(global, None)
    }

    /// Nothing read yet; read by so many threads, or by one for each processor of the machine.
    pub(crate) fn with_threads(global: Global, threads: Option<usize>) -> Self {
        let processors = || std::thread::available_parallelism().map_or(1, NonZero::get);
        let mut options = ReadOptions::default();
        options.threads = threads.unwrap_or_else(|| processors().min(MAX_THREADS));
        Self::with(options, Some(Progress::new(global)), Arc::default())
    }

    fn with(options: ReadOptions, progress: Option<Progress>, elsewhere: Arc<AtomicU64>) -> Self {
        let threads = options.threads;
        let fold = Fold { partial: Partial::new(Config::default()), progress, elsewhere, told: 0 };
        Self { reader: Reader::new(options), fold, threads }
    }

    /// Reads a file, a directory, or standard input.
    pub(crate) fn read(&mut self, path: &Path) -> Result<(), CliError> {
        let read = if path.as_os_str() == STDIN {
            self.reader.read_stream(STDIN, open_stdin(path)?, &mut self.fold)
        } else {
            refuse_partial_file(path)?;
            if self.threads > 1 && path.is_dir() {
                Listing::of(path).map(|listing| {
                    self.read_parts(listing.split(self.threads, LEAST_PART_BYTES));
                })
            } else {
                self.reader.read_path(path, &mut self.fold)
            }
        };
        read.map_err(|error| CliError::Input(error.to_string()))
    }

    /// Reads parts of a directory at the same time, each by a thread and into a partial of its own, as several processes
    /// could. A part of which something was read before, or of which much is open at its end (whole traces are merged,
    /// pieces have to be put together), is read again after those before it. Gives the number of parts that were merged.
    fn read_parts(&mut self, mut parts: Vec<Listing>) -> usize {
        if parts.len() < 2 {
            parts.iter().for_each(|all| self.reader.read_listing(all, &mut self.fold));
            return 0;
        }
        let own = parts.remove(0);
        let mut merged = 0;
        std::thread::scope(|scope| {
            let others: Vec<_> = parts
                .iter()
                .map(|part| {
                    let elsewhere = Arc::clone(&self.fold.elsewhere);
                    scope.spawn(move || Self::read_part(part, elsewhere))
                })
                .collect();
            self.reader.set_threads(1);
            self.reader.read_listing(&own, &mut self.fold);
            self.reader.set_threads(self.threads);
            for (part, other) in parts.iter().zip(others) {
                match other.join() {
                    Ok(Some((unfinished, partial))) if !self.reader.overlaps(&unfinished) => {
                        self.fold.partial.merge(&partial);
                        self.reader.absorb(unfinished, &mut self.fold);
                        merged += 1;
                    }
                    _ => self.reader.read_listing(part, &mut self.fold),
                }
            }
        });
        merged
    }

    fn read_part(part: &Listing, elsewhere: Arc<AtomicU64>) -> Option<(Unfinished, Partial)> {
        let mut options = ReadOptions::default();
        options.threads = 1;
        options.max_unfinished_bytes = MAX_OPEN_BYTES;
        let mut analysis = Self::with(options, None, elsewhere);
        let is_whole = analysis.reader.read_part(part, &mut analysis.fold);
        let unfinished = is_whole.then(|| analysis.reader.suspend().ok()).flatten()?;
        Some((unfinished, analysis.fold.partial))
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
        self.fold.done();
        let unfinished = self.reader.suspend().map_err(|error| CliError::Input(error.to_string()))?;
        unfinished.check().map_err(|error| CliError::Input(error.to_string()))?;
        Ok(PartialFile { unfinished, partial: self.fold.partial })
    }

    /// The end: everything that is open is taken as it is.
    pub(crate) fn finish(mut self) -> (Partial, ReadOutcome) {
        let outcome = self.reader.finish(&mut self.fold);
        self.fold.done();
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

#[cfg(test)]
mod tests;
