//! The Trace Event Format: what `chrome://tracing`, Perfetto, PyTorch's Kineto and many tracers write. Events come
//! in any order and say neither whose child they are nor which trace they belong to, so a file is read to its end
//! first: events go into a bounded store (`store`), come back lane by lane in time order, nest there (`nest`) and
//! become calls to a visitor (`emit`). Kineto's steps (`steps`) are traces; where there are none, each slice that
//! lies in no other one is. Spans that our converter wrote carry their ids and are told back as they were.
//!
//! The document around the events is walked elsewhere.

mod document;
mod emit;
mod event;
mod fold;
mod hosts;
mod kineto;
mod names;
mod nest;
mod number;
mod steps;
mod store;

use std::cmp::Reverse;
use std::io;
use std::path::PathBuf;

use stepscope_core::identity::hash_parts;

pub(crate) use document::Document;
use event::Event;
pub(crate) use event::is_device_annotation;
pub(crate) use event::is_of_device;
pub(crate) use names::{CATEGORY, OTLP, PROFILER_STEP, is_event};
use nest::Nest;
pub(crate) use nest::{Index, Manner};
use steps::{Steps, is_beyond};
use store::{Body, Key, Store};

/// Begun slices of one thread, among which steps are looked for.
const MAX_OPEN: usize = 1 << 12;

/// Lanes of different kinds have different hashes.
fn lane(kind: &str, parts: [&str; 2]) -> u64 {
    hash_parts(&[kind.as_bytes(), parts[0].as_bytes(), parts[1].as_bytes()])
}

/// What was wrong with events, and what was left out, counted.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Bad {
    /// Events left out.
    pub(crate) events: u64,
    /// Where the first of those begins.
    pub(crate) first: u64,
    /// Bytes of all of those.
    pub(crate) bytes: u64,
    /// Events with text that is not UTF-8.
    pub(crate) mended: u64,
    /// Slices of negative length.
    pub(crate) negative: u64,
    /// Slices that are steps of numbers beyond 64 bits.
    pub(crate) steps: u64,
    /// Slices without a duration, or with one that is none.
    pub(crate) endless: u64,
    /// Sums of a compiler's slices.
    pub(crate) sums: u64,
    /// Sound events of kinds that no span, event or link comes from.
    pub(crate) others: u64,
}

/// Takes the events of one file.
#[derive(Debug)]
pub(crate) struct Gather {
    store: Store,
    pub(crate) document: Document,
    steps: Steps,
    number: u64,
    /// The first and the last time of what has no other times.
    times: Option<(i128, i128)>,
    /// Events with a time before 0.
    before: u64,
    pub(crate) bad: Bad,
    failed: Option<io::Error>,
}

impl Gather {
    /// Takes at most about `memory_bytes` for events, then temporary files in `dir`.
    pub(crate) fn new(memory_bytes: usize, dir: Option<PathBuf>) -> Self {
        Self {
            store: Store::new(memory_bytes / 2, dir),
            document: Document::default(),
            steps: Steps::default(),
            number: 0,
            times: None,
            before: 0,
            bad: Bad::default(),
            failed: None,
        }
    }

    /// Takes the event that `bytes`, an object, are.
    pub(crate) fn event(&mut self, bytes: &[u8], offset: u64) {
        let taken = Event::parse(bytes).and_then(|event| self.take(&event));
        if taken.is_none() {
            self.bad_event(offset, bytes.len() as u64);
        }
    }

    /// Notes something among the events that is none.
    pub(crate) fn bad_event(&mut self, offset: u64, bytes: u64) {
        if self.bad.events == 0 {
            self.bad.first = offset;
        }
        self.bad.bytes += bytes;
        self.bad.events += 1;
    }

    /// `None` where the event lacks what its phase needs.
    fn take(&mut self, event: &Event<'_>) -> Option<()> {
        self.bad.mended += u64::from(event.is_mended);
        self.number += 1;
        let thread = || lane("thread", [&event.pid, &event.tid]);
        // Letters of old writers, and what they stand for.
        let phase = match event.phase {
            b'S' => b'b',
            b'F' => b'e',
            b'T' | b'p' => b'n',
            b'I' | b'R' => b'i',
            phase => phase,
        };
        let mut key = Key { number: self.number, end_ns: Reverse(i128::MAX), ..Key::default() };
        match phase {
            b'M' => {
                self.document.metadata(event);
                return Some(());
            }
            b'X' if kineto::is_recording(&event.category, &event.pid) => return Some(()),
            b'X' if is_sum(event) => {
                self.bad.sums += 1;
                return Some(());
            }
            b'X' => {
                let at_ns = event.at_ns?;
                let duration_ns = event.duration_ns.unwrap_or(0);
                self.bad.negative += u64::from(duration_ns < 0);
                self.bad.endless += u64::from(event.duration_ns.is_none());
                self.bad.steps += u64::from(is_beyond(&event.name));
                key.end_ns = Reverse(at_ns.saturating_add(duration_ns.max(0)));
                (key.lane, key.rank) = (thread(), 1);
                self.steps.note(event, key.lane, at_ns, key.end_ns.0);
            }
            b'B' | b'E' => {
                key.lane = thread();
                if phase == b'B' {
                    self.steps.note_begin(event);
                }
            }
            b'i' | b's' | b't' | b'f' => (key.lane, key.rank) = (thread(), 2),
            b'b' | b'e' => key.lane = lane("async", [&event.id.to_string(), ""]),
            b'n' => (key.lane, key.rank) = (lane("async", [&event.id.to_string(), ""]), 2),
            b'C' => key.lane = lane("counter", [&event.pid, &event.name]),
            // Objects, samples, memory dumps, marks of navigation: nothing that takes time.
            b'A'..=b'Z' | b'a'..=b'z' | b'(' | b')' | b'=' => {
                self.bad.others += 1;
                return Some(());
            }
            _ => return None,
        }
        let at_ns = event.at_ns?;
        self.document.met(at_ns, key.end_ns.0);
        key.at_ns = at_ns;
        if let Some((trace, span)) = &event.owner {
            key.lane = lane("span", [trace, span]);
            // Its own times order nothing here: the span comes first, and its end last.
            key.rank = match phase {
                b'X' | b'b' => 0,
                b'e' => 2,
                _ => 1,
            };
            key.at_ns = 0;
        } else {
            let (first, last) = self.times.unwrap_or((at_ns, at_ns));
            self.times = Some((first.min(at_ns), last.max(at_ns)));
            self.before += u64::from(at_ns < 0);
        }
        let body = Body {
            phase,
            id: event.id,
            at_ns,
            correlation: event.correlation,
            name: &event.name,
            category: &event.category,
            pid: &event.pid,
            tid: &event.tid,
            args: if event.owner.is_some() || phase != b's' { event.args } else { b"" },
        };
        if self.failed.is_none() {
            self.failed = self.store.push(key, &body).err();
        }
        Some(())
    }

    /// No more events: what they are can be told. The index is for [`Gathered::emitter`].
    ///
    /// # Errors
    /// Where temporary files fail.
    pub(crate) fn finish(mut self, manner: Manner) -> io::Result<(Gathered, Index)> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.store.sort()?;
        if self.steps.has_begun {
            self.find_begun()?;
        }
        self.steps.finish(&self.document);
        self.document.name_all(&self.steps);
        // Where events are damaged, one time before 0 is damage as well.
        let is_shifted = self.before > 1 || self.bad.events == 0;
        let times = self.times.filter(|_| is_shifted);
        let shifted_ns = times.and_then(|(first, last)| self.document.shift(first, last));
        let mut index = Index::default();
        let mut nest = Nest::new(&self.document, &self.steps, &mut index, true, manner);
        let mut walk = self.store.walk()?;
        let mut out = nest::Out::default();
        while let Some((key, body)) = walk.next()? {
            nest.event(&key, &body, &mut out);
            out.clear();
        }
        drop(walk);
        let Self { store, document, steps, .. } = self;
        Ok((Gathered { store, document, steps, manner, shifted_ns }, index))
    }

    /// Finds steps whose ends are events of their own, in the order of each thread.
    fn find_begun(&mut self) -> io::Result<()> {
        let mut walk = self.store.walk()?;
        let mut lane = None;
        let mut open: Vec<Option<(i64, i128)>> = Vec::new();
        let end = |steps: &mut Steps, open: &mut Vec<Option<(i64, i128)>>| {
            open.drain(..).flatten().for_each(|(number, _)| steps.note_unfinished(number));
        };
        while let Some((key, body)) = walk.next()? {
            if lane != Some(key.lane) {
                end(&mut self.steps, &mut open);
                lane = Some(key.lane);
            }
            match body.phase {
                b'B' if open.len() < MAX_OPEN => {
                    let number = steps::number(body.name).filter(|_| !is_of_device(body.category));
                    open.push(number.map(|number| (number, body.at_ns)));
                }
                b'E' => {
                    if let Some(Some((number, start_ns))) = open.pop() {
                        self.steps.note_ended(body.pid, number, key.lane, start_ns, body.at_ns);
                    }
                }
                _ => {}
            }
        }
        end(&mut self.steps, &mut open);
        Ok(())
    }
}

/// Whether a slice is none but the sum of all of a name, as clang writes them behind its own (`-ftime-trace`).
fn is_sum(event: &Event<'_>) -> bool {
    let says = |word: &[u8]| event.args.windows(word.len()).any(|window| window == word);
    event.name.starts_with("Total ") && says(b"\"count\"") && says(b"\"avg ms\"")
}

/// All events of one file, in order, and what ties them together.
#[derive(Debug)]
pub(crate) struct Gathered {
    store: Store,
    document: Document,
    steps: Steps,
    manner: Manner,
    /// By how much times were moved.
    pub(crate) shifted_ns: Option<u64>,
}

impl Gathered {
    /// Steps without an end, and the number of the first.
    pub(crate) fn unfinished(&self) -> Option<(u64, i64)> {
        self.steps.unfinished
    }

    /// How many processes have steps, where which ranks they are is only their order in the file.
    pub(crate) fn counted_ranks(&self) -> Option<usize> {
        self.steps.are_ranks_counted.then(|| self.steps.processes())
    }
}
