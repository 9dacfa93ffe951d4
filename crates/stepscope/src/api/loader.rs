//! Batches that know where they come from: a [`Loader`] makes each batch a trace of its own in the worker
//! thread, and tells the step that takes it how long it waited, how long the batch took to make and how long
//! it lay in the queue. The other way round, a batch says how long its thread waited for a place in the queue before it.

use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stepscope_core::identity::TraceId;
use stepscope_core::{Mode, Phase, SectionKind, attr};

use crate::api::section::{Start, enter};
use crate::hot::thread;
use crate::os::clock::now_ns;
use crate::os::memory;
use crate::shared::attrs::{Entry, FieldValue};
use crate::shared::callsite::Callsite;

static BATCH: Callsite = Callsite::new(
    "batch",
    Some(Phase::DataLoading),
    module_path!(),
    file!(),
    line!(),
    &[attr::BATCH_ID, attr::BATCH_LOADER],
);
static DATA_WAIT: Callsite =
    Callsite::new("data_wait", Some(Phase::DataWait), module_path!(), file!(), line!(), &[]);

/// What the steps are for that a loop takes batches for: which those were that began since it had waited before.
#[derive(Debug, Clone, Copy, Default)]
struct Taker {
    /// Steps of its thread until the last wait.
    steps: Option<u64>,
    mode: Option<Mode>,
    /// Modes of the steps that began between two waits, one each time, by bits.
    modes: u8,
}

impl Taker {
    /// Before a wait: for steps of which mode it is, as far as is known; and when it begins, where that is in no step.
    fn look(&mut self) -> (Start, Since) {
        let mut since = Since(None);
        if let Some(((steps, mode), around)) = thread::with_beginning(|state| {
            let around = (!state.is_in_step() && !state.batch_waits.is_waiting).then(|| state.around());
            state.batch_waits.is_waiting |= around.is_some();
            (state.steps, around)
        }) {
            self.see(steps, mode);
            // Where a loop has steps of several modes, or had none yet, nobody knows which comes next.
            let only = self.mode.filter(|&mode| self.modes == 1 << mode as u8);
            since.0 = around.map(|around| (now_ns(), only, around));
        }
        (Start { mode: self.mode, ..Start::default() }, since)
    }

    /// So many steps have begun on this thread, the last one of `mode`.
    fn see(&mut self, steps: u64, mode: Mode) {
        let begun = self.steps.map_or(0, |before| steps.wrapping_sub(before));
        match begun {
            0 => {}
            1 => {
                self.mode = Some(mode);
                self.modes |= 1 << mode as u8;
            }
            // Another loop may have been there.
            _ => self.mode = self.mode.or(Some(mode)),
        }
        self.steps = Some(steps);
    }

    /// There are no more: what begins from now on is of other loops.
    fn end(&mut self) {
        (self.steps, self.modes) = (None, 0);
    }
}

/// When a wait in no step began, for steps of which mode alone it is, where that is known, and inside of which section.
#[derive(Debug)]
struct Since(Option<(u64, Option<Mode>, u64)>);

impl Since {
    /// There is a batch of `source`: the next step of this thread is told of the wait. Without one there are no more, and what
    /// was waited for no step is none's.
    fn until_now(mut self, source: u64, is_there: bool) {
        let Some((since_ns, mode, around)) = self.0.take() else { return };
        thread::with_current(|state| {
            state.batch_waits.is_waiting = false;
            match is_there {
                true => state.batch_waits.add(source, mode, around, now_ns().saturating_sub(since_ns)),
                false => state.batch_waits.end(source),
            }
        });
    }
}

impl Drop for Since {
    fn drop(&mut self) {
        // Where the source panicked.
        if self.0.is_some() {
            thread::lightly_with_known(|state| state.batch_waits.is_waiting = false);
        }
    }
}

/// The number of another source of batches, none of which is 0.
fn next_source() -> u64 {
    static SOURCES: AtomicU64 = AtomicU64::new(1);
    SOURCES.fetch_add(1, Ordering::Relaxed)
}

/// The modes of the loops that ended last on a thread, or were left, each in the place of where it is in the program: such a loop begins
/// with a wait, before the first of its steps.
type Ended = [Option<(usize, Mode)>; 16];

thread_local! {
    static ENDED: Cell<Ended> = const { Cell::new([None; 16]) };
}

/// The place of a loop among those that ended.
const fn place(location: usize) -> usize {
    // (Places are eight bytes apart, and of a size that is none of a power of two.)
    (location / 8) % 16
}

/// A source of batches, shared by its worker threads and its consumer.
///
/// ```
/// let loader = stepscope::Loader::new("train");
/// let (sender, receiver) = std::sync::mpsc::sync_channel(4);
/// let worker = {
///     let loader = loader.clone();
///     std::thread::spawn(move || {
///         for number in 0..3 {
///             let batch = loader.produce(|| vec![number; 64]);
///             sender.send(batch).expect("the consumer is there");
///         }
///     })
/// };
/// while let Some(batch) = loader.wait(|| receiver.recv().ok()) {
///     assert_eq!(batch.len(), 64);
/// }
/// worker.join().expect("the worker ends well");
/// ```
#[derive(Debug, Clone)]
pub struct Loader {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    name: String,
    next_id: AtomicU64,
    /// Finished batches that nobody has taken yet.
    waiting: AtomicI64,
    /// Which of all sources this is.
    number: u64,
    /// The batches that were taken last, each in the place of its id.
    taken: [Taken; TAKEN],
    /// Who takes them; of several threads whoever was the last.
    taker: Mutex<Taker>,
}

/// Batches of which it is known when they were taken: far more than are made ahead.
const TAKEN: usize = 256;

/// When a batch was taken.
#[derive(Debug, Default)]
struct Taken {
    /// Its id and one; 0 for none.
    id: AtomicU64,
    at_ns: AtomicU64,
}

/// The batch that a thread made last.
#[derive(Debug, Clone, Copy)]
struct Last {
    loader: u64,
    id: u64,
    ready_ns: u64,
}

thread_local! {
    static LAST: Cell<Option<Last>> = const { Cell::new(None) };
}

impl Shared {
    fn taker(&self) -> MutexGuard<'_, Taker> {
        self.taker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn taken(&self, id: u64) -> Option<&Taken> {
        self.taken.get((id % TAKEN as u64) as usize)
    }

    /// For how long until `now_ns` the batch that this thread made last had not been taken; absent where it made none,
    /// and where nobody knows any more when it was taken.
    fn slot_wait_ns(&self, now_ns: u64) -> Option<u64> {
        let last = LAST.get().filter(|last| last.loader == self.number)?;
        let taken = self.taken(last.id)?;
        let of = taken.id.load(Ordering::Acquire);
        let until_ns = match of.checked_sub(1) {
            Some(id) if id == last.id => taken.at_ns.load(Ordering::Acquire).min(now_ns),
            Some(id) if id > last.id => return None,
            // Of an earlier batch, or of none.
            _ => return Some(now_ns.saturating_sub(last.ready_ns)),
        };
        (taken.id.load(Ordering::Relaxed) == of).then(|| until_ns.saturating_sub(last.ready_ns))
    }
}

/// Where and when a batch was made.
#[derive(Debug)]
struct Origin {
    shared: Arc<Shared>,
    id: u64,
    trace: TraceId,
    span: u64,
    produce_ns: u64,
    ready_ns: u64,
    worker: String,
}

impl Drop for Origin {
    fn drop(&mut self) {
        if let Some(taken) = self.shared.taken(self.id) {
            taken.at_ns.store(now_ns(), Ordering::Release);
            taken.id.store(self.id.saturating_add(1), Ordering::Release);
        }
        self.shared.waiting.fetch_sub(1, Ordering::Relaxed);
        let _own = memory::own_call();
        drop(std::mem::take(&mut self.worker));
    }
}

/// An item on its way from a worker to the consumer, with its origin.
#[derive(Debug)]
pub struct Traced<T> {
    item: T,
    /// Absent when nothing was recorded while the item was made.
    origin: Option<Origin>,
}

impl<T> Traced<T> {
    /// The item, without telling anybody that it was taken.
    pub fn into_inner(self) -> T {
        self.item
    }

    /// The item.
    pub fn get(&self) -> &T {
        &self.item
    }

    /// Another item of the same origin.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Traced<U> {
        Traced { item: f(self.item), origin: self.origin }
    }
}

impl Loader {
    /// A loader; the name tells several apart (`train`, `validation`).
    #[must_use]
    pub fn new(name: &str) -> Self {
        let shared = Shared {
            name: name.to_owned(),
            next_id: AtomicU64::new(0),
            waiting: AtomicI64::new(0),
            number: next_source(),
            taken: std::array::from_fn(|_| Taken::default()),
            taker: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Makes one batch: `make` runs inside a trace of its own, whose sections are the batch's.
    pub fn produce<T>(&self, make: impl FnOnce() -> T) -> Traced<T> {
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed);
        let fields = [FieldValue::Uint(id), FieldValue::Str(&self.shared.name)];
        let start = Start { kind: Some(SectionKind::Batch), ..Start::default() };
        let start_ns = now_ns();
        let slot_wait_ns = self.shared.slot_wait_ns(start_ns);
        let guard = enter(&BATCH, start, &fields);
        let key = guard.key();
        let place = thread::with_current(|state| {
            let (open, owned) = state.open(key)?;
            if let Some(ns) = slot_wait_ns {
                open.push(owned, Entry::Own(attr::BATCH_SLOT_WAIT_NS, FieldValue::Uint(ns)));
            }
            Some((open.trace_id(), open.span_id()))
        });
        let item = make();
        drop(guard);
        let _own = memory::own_call();
        let origin = place.flatten().map(|(trace, span)| {
            let ready_ns = now_ns();
            self.shared.waiting.fetch_add(1, Ordering::Relaxed);
            LAST.set(Some(Last { loader: self.shared.number, id, ready_ns }));
            Origin {
                shared: Arc::clone(&self.shared),
                id,
                trace,
                span,
                produce_ns: ready_ns.saturating_sub(start_ns),
                ready_ns,
                worker: thread::name().unwrap_or_default(),
            }
        });
        Traced { item, origin }
    }

    /// Waits for the next batch: `receive` runs inside a section `data_wait`, which links to the batch's
    /// trace. `None` from `receive` (no more data) is passed on.
    pub fn wait<T>(&self, receive: impl FnOnce() -> Option<Traced<T>>) -> Option<T> {
        let (start, since) = self.shared.taker().look();
        let guard = enter(&DATA_WAIT, start, &[]);
        let received = receive();
        since.until_now(self.shared.number, received.is_some());
        let Some(Traced { item, origin }) = received else {
            self.shared.taker().end();
            return None;
        };
        if let Some(origin) = origin {
            // Made by us and freed by us: moved below the guard, so that it goes first.
            let _own = memory::own_call();
            let origin = origin;
            let queue_ns = now_ns().saturating_sub(origin.ready_ns);
            let depth = self.shared.waiting.load(Ordering::Relaxed).max(1);
            let key = guard.key();
            thread::with_current(|state| {
                if let Some((open, owned)) = state.open(key) {
                    let field = |key, value| open.push(owned, Entry::Own(key, value));
                    field(attr::BATCH_ID, FieldValue::Uint(origin.id));
                    field(attr::BATCH_LOADER, FieldValue::Str(&origin.shared.name));
                    field(attr::BATCH_PRODUCE_NS, FieldValue::Uint(origin.produce_ns));
                    field(attr::BATCH_QUEUE_NS, FieldValue::Uint(queue_ns));
                    field(attr::BATCH_QUEUE_DEPTH, FieldValue::Int(depth));
                    field(attr::BATCH_WORKER, FieldValue::Str(&origin.worker));
                    open.push(owned, Entry::Link(origin.trace, origin.span));
                }
            });
        }
        Some(item)
    }

    /// Finished batches that nobody has taken yet.
    #[must_use]
    pub fn depth(&self) -> u64 {
        u64::try_from(self.shared.waiting.load(Ordering::Relaxed)).unwrap_or(0)
    }
}

/// Makes the wait for each item of `items` (a data loader, an iterator of batches) a section `data_wait`, so
/// that the profile knows what the loop waited for.
///
/// ```
/// for (number, batch) in stepscope::batches([[0u8; 64]; 3]).enumerate() {
///     let _step = stepscope::step!(number, samples = batch.len());
/// }
/// ```
#[track_caller]
pub fn batches<I: IntoIterator>(items: I) -> Batches<I::IntoIter> {
    let location = std::ptr::from_ref(Location::caller()).addr();
    let ended = ENDED.try_with(Cell::get).unwrap_or_default();
    let known = ended.get(place(location)).copied().flatten().filter(|&(of, _)| of == location);
    let taker = Taker { mode: known.map(|(_, mode)| mode), ..Taker::default() };
    Batches { items: items.into_iter(), of: Loop { location, number: next_source(), taker } }
}

/// See [`batches`].
#[derive(Debug, Clone)]
pub struct Batches<I> {
    items: I,
    /// What is dropped with it is in here: who borrows `items` for no longer than a statement still can.
    of: Loop,
}

/// A loop over [`Batches`].
#[derive(Debug)]
struct Loop {
    location: usize,
    /// Which of all sources this is.
    number: u64,
    taker: Taker,
}

impl Clone for Loop {
    fn clone(&self) -> Self {
        Self { number: next_source(), ..*self }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // Who has not waited yet has nothing to leave.
        if self.taker.steps.is_none() {
            return;
        }
        let last = thread::lightly_with_known(|state| {
            state.batch_waits.leave(self.number);
            state.steps
        });
        // It may have been left after its first step, before the next wait.
        if let Some((steps, mode)) = last
            && self.taker.mode.is_none()
        {
            self.taker.see(steps, mode);
        }
        self.remember();
    }
}

impl Loop {
    /// The next loop at this place begins with a wait that is for the same.
    fn remember(&self) {
        let Some(mode) = self.taker.mode else { return };
        let mut ended = ENDED.try_with(Cell::get).unwrap_or_default();
        if let Some(slot) = ended.get_mut(place(self.location)) {
            *slot = Some((self.location, mode));
        }
        // (Where the thread ends nobody asks any more.)
        let _ = ENDED.try_with(|cell| cell.set(ended));
    }
}

impl<I: Iterator> Iterator for Batches<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let (start, since) = self.of.taker.look();
        let _wait = enter(&DATA_WAIT, start, &[]);
        let item = self.items.next();
        since.until_now(self.of.number, item.is_some());
        if item.is_none() {
            self.of.remember();
        }
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}
