//! The directory sink: OTLP messages in rotated files that are readable whatever happens to the process. Its
//! size is bounded at every moment, also while one file takes the place of another; what is thinned, deleted or left out
//! for that is counted.

mod bound;
mod file;
#[cfg(feature = "metrics")]
mod gauge_files;
#[cfg(feature = "mem")]
mod live_files;
#[cfg(any(feature = "metrics", feature = "mem"))]
mod readings;

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use stepscope_core::{LossReason, SectionKind};

use super::encode::{Context, write_span};
use super::kept_steps::{Frame, Mark, Notable, frame};
use super::largest_sums;
use super::message::{Encoder, Message, with_encoder};
use super::publish::{Publisher, Snapshot, write_metrics};
use super::thinning::{Decision, Thinner, Waiting};
use super::{Sink, warn_once};
use crate::config::Format;
use crate::context::identity::Identity;
use crate::os::clock::now_ns;
use crate::os::guarded_file::{GuardedFile, beyond_standard};
use crate::os::sys;
use crate::shared::record::SectionRecord;
use crate::shared::sink_counts::SinkCounts;
use file::{ClosedFile, OpenFile};

/// Name on the wire.
pub(crate) const NAME: &str = "directory";

/// A message is written when it has grown to this size, or to one part in so many of the bound.
const MESSAGE_BYTES: u64 = 256 << 10;
const MESSAGE_SHARE: u64 = 32;

/// What waits for its trace to be complete is written with it, up to so many times that size: a larger trace is split.
const LARGEST_MESSAGES: usize = 2;

/// The first steps are deleted last as long as their files take one part in this many of the bound.
const PROTECTED_SHARE: u64 = 2;

/// Room that is kept for the end of the run: its span, and a publication of some fifty paths.
const RESERVE_BYTES: usize = 96 << 10;

/// A file that holds metrics is replaced when it has grown to this size, or to a sixteenth of the bound: the
/// latest points say it all.
const METRICS_FILE_BYTES: u64 = 4 << 20;

/// A file that holds metrics may have one part in this many of the bound, and so may the one that takes its place. Sums
/// that do not fit are left out.
const SUMS_SHARE: u64 = 5;

/// How much more than twice the largest publication so far a publication is expected to take at most.
const PUBLICATION_BYTES: u64 = 16 << 10;

/// The steps that outlive their files may have one part in this many of the bound. As much is left free but for the
/// moments in which they are copied.
const KEPT_SHARE: u64 = 8;

/// Of the files that spans are written to, steps that are kept whole because they were captured may have one part in this many
/// of the bound; half of that is for those that have failed, too.
const MARKED_SHARE: u64 = 8;

/// Processes of one run, attempt, host, process id and rank, at most.
const MAX_NAMESAKES: u32 = 1_000;

/// See the module.
#[derive(Debug)]
pub(crate) struct DirectorySink {
    path: PathBuf,
    format: Format,
    bound_bytes: u64,
    file_bytes: u64,
    message_bytes: usize,
    traces: Message,
    /// The message holds something that is deleted last.
    traces_protected: bool,
    /// So much of the message is of traces that are kept whole for their mark.
    traces_marked_bytes: u64,
    /// The same of all files that spans are written to.
    marked_bytes: u64,
    /// Closed files that are deleted last, the youngest first: they hold the start of the run and its first steps.
    protected: Vec<ClosedFile>,
    protected_bytes: u64,
    metrics: Encoder,
    publisher: Publisher,
    /// Where they are kept.
    #[cfg(feature = "metrics")]
    gauges: Option<gauge_files::GaugeFiles>,
    #[cfg(feature = "mem")]
    live_memory: Option<live_files::LiveFiles>,
    largest_publication_bytes: u64,
    current: Option<OpenFile>,
    metrics_file: Option<OpenFile>,
    next_number: u32,
    /// Files of spans that have been written to in turn, those that steps were copied to not counted.
    turns: u32,
    next_metrics_number: u32,
    /// Closed files of spans that may be deleted, oldest first.
    deletable: VecDeque<ClosedFile>,
    /// Steps that outlive their files, and the file that they go to.
    notable: Notable,
    kept: Option<OpenFile>,
    total_bytes: u64,
    thins: bool,
    thinner: Thinner,
    counts: SinkCounts,
    warned: bool,
    warned_left_out: bool,
    /// The last publication is not in the directory.
    lacks_sums: bool,
    /// See [`DirectorySink::hold_reserve`].
    reserve: Option<GuardedFile>,
    /// The span of the run, until the end.
    end: Option<(SectionRecord, Vec<u8>)>,
}

/// `<base>/<run>/<attempt>/<host>-<pid>-r<rank>`, each part fit for a file name.
pub(crate) fn process_directory(base: &Path, identity: &Identity) -> PathBuf {
    let safe = |text: &str| -> String {
        let mut name: String = text
            .chars()
            .map(|letter| if letter.is_alphanumeric() || "-_.".contains(letter) { letter } else { '_' })
            .take(100)
            .collect();
        // A file system counts bytes, 255 of them as a rule, and more comes behind some.
        while name.len() > 200 {
            name.pop();
        }
        // Neither nothing, nor a way out of the directory.
        if name.trim_matches('.').is_empty() { "_".into() } else { name }
    };
    base.join(safe(&identity.run_id)).join(identity.attempt.to_string()).join(format!(
        "{}-{}-r{}",
        safe(&identity.host),
        std::process::id(),
        identity.rank
    ))
}

/// A new file for messages of this signal.
fn open_file(directory: &Path, format: Format, signal: &str, number: u32) -> io::Result<OpenFile> {
    let extension = match format {
        Format::Protobuf => "otlp",
        Format::JsonLines => "jsonl",
    };
    let path = directory.join(format!("{signal}-{number:06}.{extension}"));
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = GuardedFile::new(beyond_standard(options.open(&path)?)?);
    Ok(OpenFile { turn: 0, path, file, bytes: 0, spans: 0, marked_bytes: 0, protected: false })
}

impl DirectorySink {
    /// Makes the directory, private to the user. Where an earlier process of the same name has written (the
    /// same container, started again), a number is added to the name.
    pub(crate) fn create(path: &Path, format: Format, bound_bytes: u64) -> io::Result<Self> {
        let mut created = Self::create_at(path.to_owned(), format, bound_bytes);
        for number in 2..=MAX_NAMESAKES {
            if !created.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists) {
                break;
            }
            let mut name = path.as_os_str().to_owned();
            name.push(format!("-{number}"));
            created = Self::create_at(name.into(), format, bound_bytes);
        }
        created
    }

    /// Where the files are.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn create_at(path: PathBuf, format: Format, bound_bytes: u64) -> io::Result<Self> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        let mut sink = Self {
            path,
            format,
            bound_bytes,
            file_bytes: (bound_bytes / 32).clamp(32 << 10, 32 << 20),
            message_bytes: usize::try_from((bound_bytes / MESSAGE_SHARE).min(MESSAGE_BYTES))
                .unwrap_or(usize::MAX),
            traces: Message::new(Encoder::traces(format)),
            traces_protected: false,
            traces_marked_bytes: 0,
            marked_bytes: 0,
            protected: Vec::new(),
            protected_bytes: 0,
            metrics: Encoder::metrics(format),
            publisher: Publisher::default(),
            #[cfg(feature = "metrics")]
            gauges: None,
            #[cfg(feature = "mem")]
            live_memory: None,
            largest_publication_bytes: 0,
            current: None,
            metrics_file: None,
            next_number: 1,
            turns: 0,
            next_metrics_number: 1,
            deletable: VecDeque::new(),
            notable: Notable::default(),
            kept: None,
            total_bytes: 0,
            thins: false,
            thinner: Thinner::default(),
            counts: SinkCounts::default(),
            warned: false,
            warned_left_out: false,
            lacks_sums: false,
            reserve: None,
            end: None,
        };
        sink.reserve = sink.hold_reserve().ok();
        // A directory that takes no file is better known now than after the first batch.
        sink.current = Some(sink.open_next()?);
        Ok(sink)
    }

    /// Takes room on the disk that is given back at the end, so that a disk that has filled up meanwhile still
    /// takes the end of the run and what was lost. The file has no name: a killed process leaves nothing.
    fn hold_reserve(&self) -> io::Result<GuardedFile> {
        // The only write on a thread of the program's, which a write beyond its limit would end.
        if !sys::may_hold(RESERVE_BYTES as u64) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let path = self.path.join(".reserve");
        let mut options = OpenOptions::new();
        options.create_new(true).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = beyond_standard(options.open(&path)?)?;
        fs::remove_file(&path)?;
        file.write_all(&[0; RESERVE_BYTES])?;
        Ok(GuardedFile::new(file))
    }

    /// The file that spans are written to next.
    fn open_next(&mut self) -> io::Result<OpenFile> {
        let file = self.open_spans()?;
        self.turns += 1;
        Ok(OpenFile { turn: self.turns, ..file })
    }

    fn open_spans(&mut self) -> io::Result<OpenFile> {
        let number = self.next_number;
        let file = self.open("traces", number)?;
        self.next_number += 1;
        Ok(file)
    }

    fn open(&self, signal: &str, number: u32) -> io::Result<OpenFile> {
        open_file(&self.path, self.format, signal, number)
    }

    fn used_bytes(&self) -> u64 {
        self.total_bytes + self.metrics_file.as_ref().map_or(0, |file| file.bytes)
    }

    fn carry_out(&mut self, context: &Context<'_>, decision: Decision) {
        self.counts.drop_spans(LossReason::Thinned, decision.thinned);
        // A trace stays in one message, and so in one file: of a file that goes, no half of a step is left in the next.
        for waiting in decision.write {
            let Waiting { record, entries, is_first, is_marked } = waiting;
            let before = self.traces.len();
            self.encode(context, &record, &entries, is_first);
            if is_marked {
                self.traces_marked_bytes += self.traces.len().saturating_sub(before) as u64;
            }
            self.write_spans_from(LARGEST_MESSAGES * self.message_bytes);
        }
        self.write_spans_from(self.message_bytes);
    }

    fn encode(&mut self, context: &Context<'_>, record: &SectionRecord, entries: &[u8], protected: bool) {
        self.traces_protected |= protected;
        let encoder = self.traces.next(context);
        with_encoder!(encoder, encoder => write_span(encoder.as_mut(), context, record, entries));
    }

    /// Writes the message that is being made where it has grown to `bytes`.
    fn write_spans_from(&mut self, bytes: usize) {
        if self.traces.len() >= bytes {
            self.write_spans();
        }
    }

    fn write_spans(&mut self) {
        if self.traces.items == 0 {
            return;
        }
        let mut traces = std::mem::replace(&mut self.traces, Message::new(Encoder::traces(self.format)));
        let (message, spans) = traces.finish();
        let protected = std::mem::take(&mut self.traces_protected);
        let marked_bytes = std::mem::take(&mut self.traces_marked_bytes);
        let result = self.append_spans(&Frame::new(self.format, message), spans, protected);
        traces.clear();
        self.traces = traces;
        match result {
            Ok(true) => {
                self.counts.exported += spans;
                self.marked_bytes += marked_bytes;
                if let Some(current) = &mut self.current {
                    current.marked_bytes += marked_bytes;
                }
            }
            Ok(false) => self.counts.drop_spans(LossReason::SizeBound, spans),
            Err(error) => {
                self.counts.drop_spans(LossReason::WriteFailed, spans);
                let text = format!(
                    "could not write to {}: {error}; spans are lost until there is room again",
                    self.path.display()
                );
                warn_once(&mut self.warned, &text);
            }
        }
    }

    /// Whether there was room within the bound.
    fn append_spans(&mut self, framed: &Frame<'_>, spans: u64, protected: bool) -> io::Result<bool> {
        self.rotate_if_full()?;
        // What is written to a file that somebody has deleted is nowhere.
        if let Some(deleted) = self.current.take_if(|current| current.file.is_deleted()) {
            self.total_bytes = self.total_bytes.saturating_sub(deleted.bytes);
            self.marked_bytes = self.marked_bytes.saturating_sub(deleted.marked_bytes);
        }
        if !self.make_room(framed.len()) {
            return Ok(false);
        }
        if self.current.is_none() {
            self.current = Some(self.open_next()?);
        }
        let Some(current) = &mut self.current else { return Ok(false) };
        current.append_framed(framed)?;
        current.spans += spans;
        current.protected |= protected;
        self.total_bytes += framed.len();
        Ok(true)
    }

    fn rotate_if_full(&mut self) -> io::Result<()> {
        let goes_on = |current: &OpenFile| current.bytes < self.file_bytes && current.file.is_ours();
        if self.current.as_ref().is_none_or(goes_on) {
            return Ok(());
        }
        let next = self.open_next()?;
        let Some(full) = self.current.replace(next) else { return Ok(()) };
        let OpenFile { turn, path, bytes, spans, marked_bytes, protected, .. } = full;
        let closed = ClosedFile { turn, path, bytes, spans, marked_bytes };
        if protected && self.protected_bytes + bytes <= self.bound_bytes / PROTECTED_SHARE {
            self.protected_bytes += bytes;
            self.protected.push(closed);
        } else {
            self.deletable.push_back(closed);
        }
        Ok(())
    }

    /// Why somebody will ask for the trace of this record, of one that ends a trace.
    fn mark(context: &Context<'_>, record: &SectionRecord) -> Option<Mark> {
        if !record.root.is_some_and(|root| root.announces) {
            None
        } else if context.recorder.captures.covers(record.start_ns) {
            Some(Mark::Captured)
        } else {
            (record.kind == SectionKind::Step && record.is_error).then_some(Mark::Failed)
        }
    }

    /// Whether one more trace may stay whole for this mark.
    fn has_room_for(&self, mark: Mark) -> bool {
        let share = match mark {
            Mark::Captured => self.bound_bytes / MARKED_SHARE,
            Mark::Failed => self.bound_bytes / MARKED_SHARE / 2,
        };
        self.marked_bytes + self.traces_marked_bytes < share
    }

    /// Remembers a step that is written whole, if it is worth keeping.
    fn note(&mut self, step: &SectionRecord, mark: Option<Mark>) {
        let id = step.trace_id;
        let files = (self.thinner.first_file(&id).unwrap_or(self.turns), self.turns);
        if let Some(median_ns) = self.thinner.median_ns() {
            self.notable.note(id, step.end_ns.saturating_sub(step.start_ns), median_ns, files);
        }
        if let Some(mark) = mark {
            self.notable.note_marked(id, mark, step.start_ns, files);
        }
    }

    fn write_metrics(&mut self, context: &Context<'_>, snapshot: &Snapshot) -> io::Result<()> {
        let room = self.bound_bytes / SUMS_SHARE;
        let left_out = largest_sums::left_out(self.format, context, snapshot, room);
        self.tell_left_out(left_out.len(), snapshot.sums.len());
        let most = METRICS_FILE_BYTES.min(self.bound_bytes / 16);
        let said = self.metrics_file.as_ref().filter(|file| file.file.is_ours()).map(|file| file.bytes);
        // Where sums are left out, other ones may be than before, and what was said of these would grow old.
        let goes_on = said.is_some_and(|bytes| bytes < most) && left_out.is_empty();
        let news = if goes_on { self.encode_metrics(context, snapshot, &left_out) } else { Vec::new() };
        let is_new = !goes_on || said.unwrap_or(0) + news.len() as u64 > room;
        let framed = if is_new {
            // It takes the place of all that was said so far.
            self.publisher.forget();
            self.encode_metrics(context, snapshot, &left_out)
        } else {
            news
        };
        let bytes = framed.len() as u64;
        if bytes > room || !self.make_room(bytes) {
            return Err(io::Error::other("they do not fit into the directory's bound"));
        }
        self.largest_publication_bytes = self.largest_publication_bytes.max(bytes);
        if is_new {
            let mut next = self.open("metrics", self.next_metrics_number)?;
            self.next_metrics_number += 1;
            next.append(&framed).inspect_err(|_| drop(fs::remove_file(&next.path)))?;
            // Only now that the new file holds the latest points may the old one go.
            if let Some(old) = self.metrics_file.replace(next) {
                let _ = fs::remove_file(old.path);
            }
            return Ok(());
        }
        self.metrics_file.as_mut().map_or(Ok(()), |file| file.append(&framed))
    }

    /// The messages of a publication, framed.
    fn encode_metrics(
        &mut self,
        context: &Context<'_>,
        snapshot: &Snapshot,
        left_out: &BTreeSet<u32>,
    ) -> Vec<u8> {
        let mut framed = Vec::new();
        for part in self.publisher.plan(context.recorder, snapshot, left_out) {
            let mut message =
                Message::new(std::mem::replace(&mut self.metrics, Encoder::metrics(self.format)));
            let encoder = message.next(context);
            with_encoder!(encoder, encoder => write_metrics(encoder.as_mut(), context, snapshot, &part));
            framed.extend(frame(self.format, message.finish().0));
            message.clear();
            self.metrics = message.encoder;
        }
        framed
    }

    fn tell_left_out(&mut self, left_out: usize, paths: usize) {
        if left_out > 0 {
            let text = format!(
                "the sums of {left_out} of {paths} call paths do not fit into the bound of {}, {} bytes: those that \
                 took least time are left out (more room: STEPSCOPE_DIR_BYTES)",
                self.path.display(),
                self.bound_bytes
            );
            warn_once(&mut self.warned_left_out, &text);
        }
    }
}

impl Sink for DirectorySink {
    fn name(&self) -> &'static str {
        NAME
    }

    fn record(&mut self, context: &Context<'_>, record: &SectionRecord, entries: &[u8]) {
        if record.kind == SectionKind::Run && record.root.is_some() {
            // Written in a message of its own, when the reserve has been given back.
            self.end = Some((*record, entries.to_vec()));
            return;
        }
        if matches!(record.kind, SectionKind::Run | SectionKind::Epoch) {
            self.notable.note_lasting(record.trace_id, self.turns);
        }
        let is_first = self.thinner.observe(record);
        self.thins |= self.used_bytes() >= self.bound_bytes / 2;
        let mark = Self::mark(context, record);
        let is_marked = mark.is_some_and(|mark| self.has_room_for(mark));
        let is_whole = || !self.thins || is_marked || self.thinner.keeps(record);
        if record.kind == SectionKind::Step && is_whole() {
            self.note(record, mark);
        }
        if self.thins {
            let decision = self.thinner.add(record, entries, is_first, is_marked);
            self.carry_out(context, decision);
        } else {
            self.encode(context, record, entries, is_first);
            self.write_spans_from(self.message_bytes);
        }
    }

    fn prepare(&mut self) {
        // What is deleted for a publication must be counted in it.
        let (usual, most) = (self.largest_publication_bytes, self.bound_bytes / SUMS_SHARE);
        let expected = most.min(2 * usual + PUBLICATION_BYTES);
        // The first steps do not go for what may not come.
        while !self.has_room(expected)
            && let Some(oldest) = self.deletable.pop_front()
        {
            self.delete(&oldest);
        }
        self.make_room(most.min(usual + PUBLICATION_BYTES));
    }

    fn publish(&mut self, context: &Context<'_>, snapshot: &Snapshot) {
        #[cfg(feature = "mem")]
        if let Some(live) = &snapshot.live_memory {
            self.write_live_memory(context, snapshot, live);
        }
        if let Err(error) = self.write_metrics(context, snapshot) {
            self.publisher.forget();
            self.lacks_sums = true;
            let text = format!("could not write aggregates to {}: {error}", self.path.display());
            warn_once(&mut self.warned, &text);
        } else {
            self.lacks_sums = false;
        }
    }

    #[cfg(feature = "metrics")]
    fn keep_reading(&mut self, context: &Context<'_>, is_last: bool) {
        self.write_reading(context, is_last);
    }

    fn flush(&mut self, context: &Context<'_>) {
        let decision = self.thinner.tick(now_ns(), self.turns);
        self.carry_out(context, decision);
        self.write_spans();
    }

    fn flush_all(&mut self, context: &Context<'_>) {
        let decision = self.thinner.flush(self.turns);
        self.carry_out(context, decision);
        self.write_spans();
    }

    fn finish(&mut self, context: &Context<'_>) {
        let decision = self.thinner.release();
        self.carry_out(context, decision);
        self.write_spans();
        self.reserve = None;
        if let Some((record, entries)) = self.end.take() {
            self.encode(context, &record, &entries, true);
            self.write_spans();
        }
    }

    fn work(&mut self, _: Instant) -> bool {
        false
    }

    fn counts(&self) -> SinkCounts {
        self.counts
    }

    fn lacks_sums(&self) -> bool {
        self.lacks_sums
    }
}

#[cfg(test)]
mod tests;
