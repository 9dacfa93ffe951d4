//! An analysis while it reads: the reader's traces are folded into a partial as they come.

use std::fs::File;
use std::io::Read;
use std::num::NonZero;
use std::panic::resume_unwind;
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

mod helper;
mod work;

use helper::Helper;
use work::Work;

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
    /// Bytes of the input that were read, by all of its parts.
    read: Arc<AtomicU64>,
    /// What of the list at hand is counted there.
    told: u64,
    /// Who folds beside the thread that reads.
    helper: Option<Helper>,
}

/// A part of a directory that was read by itself.
struct Part {
    /// Place of its first file among all.
    at: usize,
    files: Listing,
    /// Nothing where too much was open at its end.
    result: Option<(Unfinished, Partial)>,
}

/// More threads than this cost more memory than they save time, unless asked for.
const MAX_THREADS: usize = 4;

/// Less than this is read sooner than two parts are put together.
const LEAST_PART_BYTES: u64 = 16 << 20;

/// Most bytes of open traces at the end of a part.
const MAX_OPEN_BYTES: usize = 16 << 20;

impl Fold {
    /// Before a list of files is read, which may be a whole input.
    fn begin(&mut self, is_input: bool) {
        self.told = 0;
        if is_input {
            self.read.store(0, Ordering::Relaxed);
        }
    }

    /// Takes in what was folded by another thread.
    fn put_together(&mut self) {
        if let Some(helper) = self.helper.take() {
            helper.put_into(&mut self.partial);
        }
    }

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

    fn exchange(&mut self, trace: &mut Trace) {
        let Some(helper) = &mut self.helper else { return self.trace(trace) };
        if !helper.takes(trace) {
            self.partial.add(trace);
        }
        if let Some(folded) = helper.handed_over() {
            self.partial.merge(&folded);
        }
    }

    fn metric(&mut self, resource: &Arc<Resource>, start_ns: u64, time_ns: u64, point: &MetricPoint) {
        self.partial.metric(resource, start_ns, time_ns, point);
    }

    fn progress(&mut self, bytes_read: u64, bytes_total: Option<u64>) {
        let news = bytes_read.saturating_sub(self.told);
        self.told = bytes_read;
        let read = self.read.fetch_add(news, Ordering::Relaxed) + news;
        if let Some(progress) = &mut self.progress {
            progress.bytes(read, bytes_total);
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

    fn with(options: ReadOptions, progress: Option<Progress>, read: Arc<AtomicU64>) -> Self {
        let mut options = options;
        options.folds_names = true;
        let threads = options.threads;
        let partial = Partial::new(Config::default());
        let fold = Fold { partial, progress, read, told: 0, helper: None };
        let mut analysis = Self { reader: Reader::new(options), fold, threads };
        analysis.set_threads(threads);
        analysis
    }

    /// From now on decodes and folds with so many threads.
    fn set_threads(&mut self, threads: usize) {
        self.set_helper((threads > 1).then(Helper::default));
        self.reader.set_threads(threads);
    }

    fn set_helper(&mut self, helper: Option<Helper>) {
        self.fold.put_together();
        self.reader.set_errand(helper.as_ref().map(Helper::errand));
        self.fold.helper = helper;
    }

    /// Reads a file, a directory, or standard input.
    pub(crate) fn read(&mut self, path: &Path) -> Result<(), CliError> {
        self.fold.begin(true);
        let read = if path.as_os_str() == STDIN {
            self.reader.read_stream(STDIN, open_stdin(path)?, &mut self.fold)
        } else {
            refuse_partial_file(path)?;
            if self.threads > 1 && path.is_dir() {
                Listing::of(path).map(|listing| {
                    self.read_parts(listing.split(self.threads, LEAST_PART_BYTES), LEAST_PART_BYTES);
                })
            } else {
                self.reader.read_path(path, &mut self.fold)
            }
        };
        read.map_err(|error| CliError::Input(error.to_string()))
    }

    /// Reads parts of a directory at the same time, each by a thread and into a partial of its own, as several processes
    /// could; a thread that is done takes half of what another one has left. A part of which something was read before,
    /// or of which much is open at its end (whole traces are merged, pieces have to be put together), is read again after
    /// those before it. Gives the number of parts that were merged.
    fn read_parts(&mut self, parts: Vec<Listing>, least_bytes: u64) -> usize {
        let threads = parts.len();
        let work = Work::new(parts, least_bytes);
        let read = Arc::clone(&self.fold.read);
        let mut done: Vec<Part> = std::thread::scope(|scope| {
            let (work, read) = (&work, &read);
            let others: Vec<_> =
                (1..threads).map(|number| scope.spawn(move || Self::work(work, number, read))).collect();
            self.set_threads(if threads > 1 { 1 } else { self.threads });
            self.read_own(work);
            self.set_threads(self.threads);
            let own = work.take_half().map(|number| Self::work(work, number, read));
            let others =
                others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            others.chain(own).flatten().collect()
        });
        // What a thread that ended early left.
        done.extend(work.left());
        self.merge_parts(done)
    }

    /// The first part goes into this analysis.
    fn read_own(&mut self, work: &Work) {
        while let Some(file) = work.next(0) {
            self.fold.begin(false);
            self.reader.read_listing(&file, &mut self.fold);
        }
    }

    /// In the order of the files. Gives the number of parts that were merged.
    fn merge_parts(&mut self, mut parts: Vec<Part>) -> usize {
        parts.sort_by_key(|part| part.at);
        let mut merged = 0;
        for part in parts {
            match part.result {
                Some((unfinished, partial)) if !self.reader.overlaps(&unfinished) => {
                    self.fold.partial.merge(&partial);
                    self.reader.absorb(unfinished, &mut self.fold);
                    merged += 1;
                }
                _ => {
                    self.fold.begin(false);
                    self.reader.read_listing(&part.files, &mut self.fold);
                }
            }
        }
        merged
    }

    /// Reads a part, and then halves of others, as long as there are some.
    fn work(work: &Work, number: usize, read: &Arc<AtomicU64>) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut next = Some(number);
        while let Some(number) = next {
            let part = Self::read_part(work, number, read);
            // What is open at the end of this one will be so at the end of others.
            next = part.result.as_ref().and_then(|_| work.take_half());
            parts.push(part);
        }
        parts
    }

    fn read_part(work: &Work, number: usize, read: &Arc<AtomicU64>) -> Part {
        let mut options = ReadOptions::default();
        options.threads = 1;
        options.max_unfinished_bytes = MAX_OPEN_BYTES;
        let mut analysis = Self::with(options, None, Arc::clone(read));
        let mut part = Part { at: work.place(number), files: Listing::default(), result: None };
        while let Some(file) = work.next(number) {
            analysis.fold.begin(false);
            let is_whole = analysis.reader.read_part(&file, &mut analysis.fold);
            part.files.append(file);
            if !is_whole {
                return part;
            }
        }
        part.result = analysis.reader.suspend().ok().map(|unfinished| (unfinished, analysis.fold.partial));
        part
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
    pub(crate) fn into_partial(mut self) -> Result<PartialFile, CliError> {
        self.fold.put_together();
        self.fold.done();
        let unfinished = self.reader.suspend().map_err(|error| CliError::Input(error.to_string()))?;
        unfinished.check().map_err(|error| CliError::Input(error.to_string()))?;
        Ok(PartialFile { unfinished, partial: self.fold.partial })
    }

    /// The end: everything that is open is taken as it is.
    pub(crate) fn finish(mut self) -> (Partial, ReadOutcome) {
        let outcome = self.reader.finish(&mut self.fold);
        self.fold.put_together();
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
