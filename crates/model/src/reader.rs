//! The reader: files, directories and streams in, traces out. What happens to bytes in between is spread over
//! `input`, `formats`, `intake` and `assembly`.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use crate::assembly::Piece;
use crate::foreign;
use crate::formats::Format;
use crate::fragments::{Fragment, Fragments, Joined, Place};
use crate::framing::PREFIX;
use crate::input::Input;
use crate::intake::Intake;
use crate::issues::{FileId, Issues};
use crate::reading::{Progress, Reading, bytes, is_beginning, unknown_format, went_on_at_span};
use crate::record::records;
use crate::structure::trim;
use crate::unfinished::UnfinishedTrace;
use crate::walk::{Found, Listing};
use crate::{Errand, FileInfo, IssueKind, ReadError, ReadOptions, ReadOutcome, Resource, Sink, Unfinished};

/// Reads any number of inputs as one run. Damage never stops it; see [`ReadOutcome::issues`].
#[derive(Debug)]
pub struct Reader {
    options: ReadOptions,
    intake: Intake,
    fragments: Fragments,
    files: Vec<FileInfo>,
    buffer: Vec<u8>,
    /// Spans and traces that other readers delivered before they were absorbed.
    spans_before: u64,
    traces_before: u64,
}

impl Default for Reader {
    fn default() -> Self {
        Self::new(ReadOptions::default())
    }
}

impl Reader {
    /// A reader that has read nothing.
    #[must_use]
    pub fn new(options: ReadOptions) -> Self {
        Self {
            intake: Intake::new(&options),
            options,
            fragments: Fragments::default(),
            files: Vec::new(),
            buffer: Vec::new(),
            spans_before: 0,
            traces_before: 0,
        }
    }

    /// From now on decodes with so many threads; see [`ReadOptions::threads`].
    pub fn set_threads(&mut self, threads: usize) {
        self.options.threads = threads;
        self.intake.set_threads(threads);
    }

    /// From now on the second thread, where there is one, does this while it has nothing to decode, or nothing.
    pub fn set_errand(&mut self, errand: Option<Arc<dyn Errand>>) {
        self.intake.set_errand(errand);
    }

    /// Reads a file, or every file of a directory at any depth, sorted by path; links inside of it are not
    /// followed.
    ///
    /// # Errors
    /// If the path does not exist, cannot be read, or is a directory without files. Files of a directory
    /// that cannot be read are issues.
    pub fn read_path(&mut self, path: &Path, sink: &mut impl Sink) -> Result<(), ReadError> {
        let meta = fs::metadata(path).map_err(|error| ReadError::io(path, error))?;
        if !meta.is_dir() {
            let file = File::open(path).map_err(|error| ReadError::io(path, error))?;
            let total = meta.is_file().then_some(meta.len());
            let mut progress = Progress::of(total);
            self.read_one(&path.to_string_lossy(), file, &mut progress, sink);
            return Ok(());
        }
        self.read_listing(&Listing::of(path)?, sink);
        Ok(())
    }

    /// Reads the files of a directory, or of a part of one. Files that cannot be read are issues.
    pub fn read_listing(&mut self, listing: &Listing, sink: &mut impl Sink) {
        let mut progress = Progress::of(Some(listing.total_bytes));
        for found in &listing.found {
            self.read_found(found, &mut progress, sink);
        }
    }

    /// As [`Self::read_listing`], as long as what is open fits into what [`Self::suspend`] takes; whether it did to the
    /// end. Where it did not, somebody else has to read all of it.
    #[must_use]
    pub fn read_part(&mut self, listing: &Listing, sink: &mut impl Sink) -> bool {
        let mut progress = Progress::of(Some(listing.total_bytes));
        listing.found.iter().all(|found| {
            self.read_found(found, &mut progress, sink);
            self.intake.state.assembler.holds_at_most(self.options.max_unfinished_bytes)
        })
    }

    fn read_found(&mut self, found: &Found, progress: &mut Progress, sink: &mut dyn Sink) {
        let (path, opened) = match found {
            Found::File(path, _) => (path, File::open(path).map_err(|error| error.to_string())),
            Found::Failed(path, error) => (path, Err(error.to_string())),
        };
        match opened {
            Ok(file) => self.read_one(&path.to_string_lossy(), file, progress, sink),
            Err(error) => {
                let issues = &mut self.intake.state.issues;
                let file = issues.file(&path.to_string_lossy());
                issues.add(file, IssueKind::Unreadable, None, 1, || {
                    format!("cannot be opened ({error}); check its permissions")
                });
            }
        }
    }

    /// Reads a stream to its end; `name` stands for it in issues.
    ///
    /// # Errors
    /// If not one byte of it could be read because it failed.
    pub fn read_stream(
        &mut self,
        name: &str,
        mut reader: impl Read,
        sink: &mut impl Sink,
    ) -> Result<(), ReadError> {
        let mut first = [0u8];
        let count = loop {
            match reader.read(&mut first) {
                Ok(count) => break count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ReadError::io(name.as_ref(), error)),
            }
        };
        let first = first.get(..count).unwrap_or_default();
        self.read_one(name, first.chain(reader), &mut Progress::default(), sink);
        Ok(())
    }

    fn read_one(&mut self, name: &str, stream: impl Read, progress: &mut Progress, sink: &mut dyn Sink) {
        let mut input = Input::new(stream, std::mem::take(&mut self.buffer));
        let spans_before = self.intake.state.spans_read;
        let file = self.intake.state.issues.file(name);
        let format = if input.fill(1) == 0 {
            let empty = u64::from(input.damage().is_none());
            self.intake.state.issues.add(file, IssueKind::Empty, None, empty, || "the file is empty".into());
            None
        } else {
            self.read_input(&mut input, name, (0, true), progress, sink)
        };
        if let Some(damage) = input.damage() {
            let offset = Some(input.offset() + input.data().len() as u64);
            let reason = damage.reason.clone();
            self.intake.state.issues.add(file, damage.kind, offset, 1, || reason);
        }
        let ((of, trailing), compression) = (input.trailing(), input.compression());
        if trailing > 0 {
            let (bytes, them) = if trailing == 1 { ("byte", "it") } else { ("bytes", "them") };
            let are = if trailing == 1 { "is" } else { "are" };
            self.intake.state.issues.add(file, IssueKind::LeftOut, None, 1, || {
                format!("{trailing} {bytes} behind the end of the {of} stream {are} no {of}; everything before {them} was read")
            });
        }
        progress.before += input.stored_bytes();
        let bytes = input.stored_bytes();
        let (fingerprint, mut buffer) = input.finish();
        if buffer.len() > 4 << 20 {
            buffer = Vec::new();
        }
        self.buffer = buffer;
        self.files.push(FileInfo {
            path: name.to_owned(),
            format: format.map(|format| {
                let around = if compression.is_empty() { String::new() } else { format!(", {compression}") };
                format!("{}{around}", format.name)
            }),
            bytes,
            spans: self.intake.state.spans_read - spans_before,
            fingerprint,
        });
    }

    fn read_input(
        &mut self,
        input: &mut Input<'_>,
        name: &str,
        (base_offset, whole): (u64, bool),
        progress: &mut Progress,
        sink: &mut dyn Sink,
    ) -> Option<&'static Format> {
        self.intake.state.assembler.forget_last();
        if let Some(ahead) = &mut self.intake.ahead {
            ahead.reset();
        }
        let file = self.intake.state.issues.file(name);
        let spans_before = self.intake.state.spans_read;
        let mut reading = Reading {
            spans_before,
            intake: &mut self.intake,
            sink,
            file,
            base_offset,
            max_message_bytes: self.options.max_message_bytes,
            progress,
            stored_bytes: input.stored_counter(),
            fragments: Vec::new(),
            begin: 0,
            name,
            broken: false,
            head: Vec::new(),
            lines: whole.then_some(0),
        };
        let format = reading.read(input);
        for fragment in std::mem::take(&mut reading.fragments) {
            self.keep(fragment, sink);
        }
        format
    }

    fn keep(&mut self, fragment: Fragment, sink: &mut dyn Sink) {
        // A head and a tail of the largest size fit.
        let max_bytes = self.options.max_message_bytes.saturating_mul(2);
        for fragment in self.fragments.push(fragment, max_bytes) {
            self.give_up(&fragment, sink);
        }
    }

    /// Takes what is whole in a piece of a record whose other half was not found, and says so.
    fn give_up(&mut self, fragment: &Fragment, sink: &mut dyn Sink) {
        let file = self.intake.state.issues.file(&fragment.file);
        let spans_before = self.intake.state.spans_read;
        let offset = Some(fragment.offset);
        if fragment.place == Place::Length {
            return;
        }
        if fragment.place == Place::Head {
            let lost = fragment.bytes.len().max(1) as u64;
            return self.intake.state.issues.add_lost(file, IssueKind::Corrupt, offset, (1, lost), || {
                let size = bytes(lost);
                format!(
                    "begins in the middle of a record whose beginning was not found ({size}); give the file before it, too, if \
                     there is one"
                )
            });
        }
        let prefixed = fragment.bytes.get(PREFIX..).unwrap_or_default();
        // A bare message begins with what is a blank in text.
        let torn = [prefixed, trim(&fragment.bytes), fragment.bytes.as_slice()]
            .into_iter()
            .find(|message| stepscope_otlp::detect(message).is_some_and(|found| found.signal.is_some()));
        self.intake.state.assembler.forget_last();
        let taken = torn.map(|message| self.intake.message(message, file, fragment.offset, sink));
        let behind = torn.zip(taken.as_ref()).and_then(|(message, taken)| {
            let bad = taken.as_ref().err()?;
            let before = (fragment.bytes.len() - message.len()) as u64;
            let (begin, lost) = self.intake.behind(message, bad, file, fragment.offset + before, sink)?;
            Some((before + begin as u64, lost, bad.reason.clone()))
        });
        if let Some(info) = self.files.iter_mut().find(|info| info.path == fragment.file) {
            info.spans += self.intake.state.spans_read - spans_before;
            if torn.is_some() && info.format.is_none() {
                info.format = Some("OTLP, one torn record".to_owned());
            }
        }
        let is_whole = fragment.place == Place::Whole;
        let is_beginning = is_beginning(&fragment.bytes, self.options.max_message_bytes);
        if fragment.broken && (!is_whole || torn.is_some() || is_beginning) {
            // What broke the stream is an issue already.
            return;
        }
        let issues = &mut self.intake.state.issues;
        if let Some((begin, lost, reason)) = behind {
            let offset = Some(fragment.offset + begin);
            issues.add_lost(file, IssueKind::Corrupt, offset, (1, lost), || went_on_at_span(lost, &reason));
        } else if trim(&fragment.bytes).is_empty() && is_whole {
            issues.add(file, IssueKind::Empty, offset, 1, || "the file is blank".into());
        } else if torn.is_none() && is_whole && is_beginning {
            issues.add(file, IssueKind::Truncated, offset, 1, || {
                "the file is cut off inside its first record; nothing of it could be read".into()
            });
        } else if torn.is_none() && is_whole {
            let lost = fragment.bytes.len() as u64;
            issues.add_lost(file, IssueKind::UnknownFormat, offset, (1, lost), || {
                unknown_format(fragment.bytes.get(..4 << 10).unwrap_or(&fragment.bytes))
            });
        } else {
            let read = match &taken {
                Some(Ok(())) => fragment.bytes.len(),
                Some(Err(bad)) => bad.read_bytes,
                None => 0,
            };
            let lost = fragment.bytes.len().saturating_sub(read) as u64;
            let taken = if lost == 0 { "it" } else { "what is whole in it" };
            issues.add_lost(file, IssueKind::Truncated, offset, (1, lost), || {
                let size = if lost == 0 { String::new() } else { format!(" ({} were not read)", bytes(lost)) };
                format!(
                    "the last record is cut off{size}; {taken} was read, and everything before it; a writer that was stopped \
                     leaves this, and a copy that was made too early"
                )
            });
        }
    }

    /// Puts halves of records together, and takes what is left of the others.
    fn settle_fragments(&mut self, sink: &mut dyn Sink) {
        loop {
            let joined = self.fragments.join(&mut self.intake);
            if joined.is_empty() {
                break;
            }
            for joined in joined {
                self.read_joined(&joined, sink);
            }
        }
        for fragment in self.fragments.take() {
            self.give_up(&fragment, sink);
        }
    }

    fn read_joined(&mut self, joined: &Joined, sink: &mut dyn Sink) {
        let spans_before = self.intake.state.spans_read;
        let mut input = Input::new(joined.bytes.as_slice(), Vec::new());
        let mut progress = Progress::default();
        let format = self.read_input(&mut input, &joined.file, (joined.offset, false), &mut progress, sink);
        let spans = self.intake.state.spans_read - spans_before;
        for info in &mut self.files {
            if info.path == joined.file {
                info.spans += spans;
            }
            if info.format.is_none() && (info.path == joined.file || info.path == joined.second) {
                info.format = format.map(|format| format.name.to_owned());
            }
        }
    }

    /// Delivers what is still open, incomplete traces too, and tells what was read.
    #[must_use]
    pub fn finish(mut self, sink: &mut impl Sink) -> ReadOutcome {
        self.settle_fragments(sink);
        let state = &mut self.intake.state;
        state.assembler.finish(&mut state.issues, sink);
        let counts = state.assembler.counts;
        self.files.sort();
        let mut issues = state.issues.to_vec();
        if counts.spans + self.spans_before > 0 {
            // Other signals stand beside traces; they need no word where those are.
            issues.retain(|issue| issue.kind != IssueKind::Empty || !foreign::is_signal(&issue.reason));
        }
        ReadOutcome {
            files: self.files,
            issues,
            spans: counts.spans + self.spans_before,
            traces: counts.traces + self.traces_before,
            incomplete_traces: counts.incomplete,
            duplicate_spans: counts.duplicates,
            metric_points: state.points_read,
        }
    }

    /// Stops without delivering what is open, so that another reader can go on with it.
    ///
    /// # Errors
    /// If more is open than fits (see [`ReadOptions::max_unfinished_bytes`]), as with foreign traces, whose
    /// end is only known at the end of all inputs; or if temporary files cannot be read back.
    pub fn suspend(mut self) -> Result<Unfinished, ReadError> {
        let state = &mut self.intake.state;
        let pieces = state
            .assembler
            .take_open(self.options.max_unfinished_bytes, &mut state.issues)
            .map_err(ReadError::too_many_open)?;
        self.files.sort();
        let mut unfinished = Unfinished {
            closed: state.assembler.closed.to_ranges(),
            fragments: self.fragments.take(),
            issues: state.issues.to_vec(),
            files: self.files,
            spans: state.assembler.counts.spans + self.spans_before,
            traces_delivered: state.assembler.counts.traces + self.traces_before,
            duplicates: state.assembler.counts.duplicates,
            points: state.points_read,
            ..Unfinished::default()
        };
        let mut resources = std::collections::BTreeMap::new();
        let mut names = std::collections::BTreeMap::new();
        let processes: std::collections::BTreeSet<u32> =
            pieces.iter().flat_map(|piece| records(&piece.records)).map(|record| record.process()).collect();
        let whose = |process| Some((process, (**state.assembler.services.resource(process)?).clone()));
        let processes: Vec<(u32, Resource)> = processes.into_iter().filter_map(whose).collect();
        for (_, resource) in &processes {
            resources.insert(resource.clone(), 0u32);
        }
        for piece in &pieces {
            resources.insert((*piece.resource).clone(), 0u32);
            names.insert(state.issues.name(piece.file).to_owned(), 0u32);
        }
        for file in state.assembler.clocks.files().chain(state.assembler.skews.files()) {
            names.insert(state.issues.name(file).to_owned(), 0u32);
        }
        resources.values_mut().zip(0..).for_each(|(index, number)| *index = number);
        let place = |resource| resources.get(resource).copied().unwrap_or(0);
        unfinished.processes =
            processes.iter().map(|(process, resource)| (*process, place(resource))).collect();
        names.values_mut().zip(0..).for_each(|(index, number)| *index = number);
        let index = |file| names.get(state.issues.name(file)).copied().unwrap_or(0);
        unfinished.clocks = state.assembler.clocks.to_states(index);
        unfinished.skews = state.assembler.skews.to_states(index);
        unfinished.traces = pieces
            .into_iter()
            .map(|piece| UnfinishedTrace {
                id: piece.id,
                file: index(piece.file),
                resource: resources.get(&*piece.resource).copied().unwrap_or(0),
                records: piece.records,
            })
            .collect();
        unfinished.resources = resources.into_keys().collect();
        unfinished.names = names.into_keys().collect();
        Ok(unfinished)
    }

    /// Goes on with what another reader left unfinished; traces that become whole are delivered. What that
    /// reader delivered is counted, and not delivered again.
    pub fn absorb(&mut self, unfinished: Unfinished, sink: &mut impl Sink) {
        let state = &mut self.intake.state;
        state.issues.absorb(unfinished.issues);
        let (overlap, complete) = state.assembler.closed.absorb(&unfinished.closed);
        state.issues.add(FileId::NONE, IssueKind::Overlap, None, overlap, || {
            "traces that are in two partials count twice; make partials from different files".into()
        });
        state.issues.add(FileId::NONE, IssueKind::LimitReached, None, u64::from(!complete), || {
            "too many gaps between trace numbers to recognise traces that come again later".into()
        });
        state.assembler.counts.duplicates += unfinished.duplicates;
        state.points_read += unfinished.points;
        self.spans_before += unfinished.spans;
        self.traces_before += unfinished.traces_delivered;
        self.files.extend(unfinished.files);
        state.assembler.drop_closed(&mut state.issues);
        let resources: Vec<_> =
            unfinished.resources.into_iter().map(|resource| self.intake.share(resource)).collect();
        let state = &mut self.intake.state;
        let named = |index: u32, issues: &mut Issues| {
            issues.file(unfinished.names.get(index as usize).map_or("", String::as_str))
        };
        state.assembler.clocks.absorb(unfinished.clocks, &mut state.issues, named);
        for (name, early) in unfinished.skews {
            let file = named(name, &mut state.issues);
            state.assembler.skews.add(file, early);
        }
        for (process, resource) in unfinished.processes {
            if let Some(resource) = resources.get(resource as usize) {
                state.assembler.services.note(process, resource);
            }
        }
        for trace in unfinished.traces {
            let piece = Piece {
                id: trace.id,
                file: named(trace.file, &mut state.issues),
                resource: resources.get(trace.resource as usize).cloned().unwrap_or_default(),
                records: trace.records,
            };
            state.assembler.absorb(&piece, &mut state.issues, sink);
        }
        state.assembler.forget_last();
        for fragment in unfinished.fragments {
            self.keep(fragment, sink);
        }
    }

    /// Whether something of what `unfinished` was read from may have been read by this reader too: a file with the same
    /// content, or spans of a trace that either of them has delivered.
    #[must_use]
    pub fn overlaps(&self, unfinished: &Unfinished) -> bool {
        let is_read = |file: &FileInfo| self.files.iter().any(|own| own.fingerprint == file.fingerprint);
        let assembler = &self.intake.state.assembler;
        unfinished.files.iter().any(is_read)
            || unfinished.traces.iter().any(|trace| assembler.closed.contains(&trace.id))
            || assembler.closed.meets(&unfinished.closed)
            || assembler.has_open_of(&unfinished.closed)
    }

    /// Whether everything that `unfinished` was read from has been read by this reader too, so that it must
    /// be left out.
    #[must_use]
    pub fn has_read(&self, unfinished: &Unfinished) -> bool {
        !unfinished.files.is_empty()
            && unfinished
                .files
                .iter()
                .all(|file| self.files.iter().any(|own| own.fingerprint == file.fingerprint))
    }
}
