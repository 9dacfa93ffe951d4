//! Does what a plan says, on threads of their own: each in its turn, so that there is one order, or all at once, as far as
//! spans must be there before something can be done with them.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, OnceLock};
use std::thread::Thread;

use stepscope::{section, step};
use tracing::field::Empty;
use tracing::span::EnteredSpan;
use tracing::{Id, Span, info_span};
use tracing_subscriber::Registry;
use tracing_subscriber::registry::LookupSpan;

use crate::plan::{Deed, Kind, Operation, Plan, THREADS};
use crate::way::Way;

/// Who waits for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Everybody for the operation before.
    InTurn,
    /// For what the operation needs.
    Racing,
}

/// What all threads know of a span.
#[derive(Default)]
struct Place {
    handles: Mutex<Vec<Span>>,
    /// Known for longer than the span is there.
    id: AtomicU64,
    done: AtomicU32,
}

struct Game<'a> {
    plan: &'a Plan,
    order: Order,
    /// Number of the plan's first span.
    first: u64,
    places: Vec<Place>,
    position: AtomicUsize,
    threads: [OnceLock<Thread>; THREADS],
}

/// What is entered on a thread: dropped, it is left.
enum Stay {
    Span(#[expect(dead_code, reason = "held")] EnteredSpan),
    Section(#[expect(dead_code, reason = "held")] stepscope::SectionGuard),
}

/// Ends the process where a player panics: the others would wait for it.
struct OrNobody;

impl Drop for OrNobody {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

/// Plays the plan, whose spans have the numbers from `first` on, on new threads. Returns those spans, by their place in the
/// plan, that a registry still has although all handles are given up: it has not ended them, and never will.
pub(crate) fn play(plan: &Plan, order: Order, first: u64) -> BTreeSet<usize> {
    let places = plan.spans.iter().map(|_| Place::default()).collect();
    let threads = std::array::from_fn(|_| OnceLock::new());
    let game = &Game { plan, order, first, places, position: AtomicUsize::new(0), threads };
    let all_are_there = &Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let player = move || {
                let _or_nobody = OrNobody;
                game.threads[number].get_or_init(std::thread::current);
                all_are_there.wait();
                game.play(number);
            };
            std::thread::Builder::new().name(format!("player-{number}")).spawn_scoped(scope, player).unwrap();
        }
    });
    // (What has some of the spans alone says nothing of itself.)
    if matches!(Way::of_environment(), Way::RootEven | Way::RootOdd) {
        return BTreeSet::new();
    }
    let ids = game.places.iter().map(|place| place.id.load(Ordering::Acquire));
    tracing::dispatcher::get_default(|dispatch| {
        let Some(registry) = dispatch.downcast_ref::<Registry>() else { return BTreeSet::new() };
        let is_there = |id| id != 0 && registry.span_data(&Id::from_u64(id)).is_some();
        ids.clone().enumerate().filter(|&(_, id)| is_there(id)).map(|(index, _)| index).collect()
    })
}

impl Game<'_> {
    fn play(&self, thread: usize) {
        let mut stays = Vec::new();
        for (index, operation) in self.plan.operations.iter().enumerate() {
            if operation.thread == thread {
                self.wait(index, operation);
                self.act(operation.deed, &mut stays);
                self.finish(index, operation);
            }
        }
    }

    fn wait(&self, index: usize, operation: &Operation) {
        match self.order {
            Order::InTurn => {
                while self.position.load(Ordering::Acquire) != index {
                    std::thread::park();
                }
            }
            Order::Racing => {
                for (span, done) in operation.needs.into_iter().flatten() {
                    while self.places[span].done.load(Ordering::Acquire) < done {
                        std::thread::yield_now();
                    }
                }
            }
        }
    }

    fn finish(&self, index: usize, operation: &Operation) {
        match self.order {
            Order::InTurn => {
                self.position.store(index + 1, Ordering::Release);
                let next = self.plan.operations.get(index + 1).filter(|next| next.thread != operation.thread);
                if let Some(thread) = next.and_then(|next| self.threads[next.thread].get()) {
                    thread.unpark();
                }
            }
            Order::Racing => {
                for (span, _) in operation.needs.into_iter().flatten() {
                    self.places[span].done.fetch_add(1, Ordering::AcqRel);
                }
            }
        }
    }

    fn handle(&self, span: usize) -> Span {
        self.places[span].handles.lock().unwrap()[0].clone()
    }

    fn act(&self, deed: Deed, stays: &mut Vec<(usize, Stay)>) {
        match deed {
            Deed::Open(index) => {
                let span = self.open(index);
                let id = span.id().map_or(0, |id| id.into_u64());
                self.places[index].id.store(id, Ordering::Release);
                self.places[index].handles.lock().unwrap().push(span);
            }
            Deed::Begin(index) => {
                let number = self.first + index as u64;
                let guard = match self.plan.spans[index].kind {
                    Kind::Step => step!(number, number = number),
                    _ => section!("part", number = number, text = "some text"),
                };
                stays.push((index, Stay::Section(guard)));
            }
            Deed::Enter(index) => stays.push((index, Stay::Span(self.handle(index).entered()))),
            Deed::Leave(index) => {
                let last = stays.iter().rposition(|&(stay, _)| stay == index).unwrap();
                drop(stays.remove(last));
            }
            Deed::Clone(index) => {
                let handle = self.handle(index);
                self.places[index].handles.lock().unwrap().push(handle);
            }
            Deed::Drop(index) => {
                let handle = self.places[index].handles.lock().unwrap().pop();
                drop(handle.unwrap());
            }
            Deed::Record(index, value) => {
                self.handle(index).record("later", value);
            }
            Deed::Follow(index, cause) => {
                let id = self.places[cause].id.load(Ordering::Acquire);
                self.handle(index).follows_from(Id::from_u64(id));
            }
            Deed::Warn => tracing::warn!("a warning"),
            Deed::Fail => tracing::error!("an error"),
        }
    }

    fn open(&self, index: usize) -> Span {
        let number = self.first + index as u64;
        let modelled = &self.plan.spans[index];
        match modelled.kind {
            Kind::Chosen => {
                let parent = self.handle(modelled.parent.unwrap());
                info_span!(parent: &parent, "chosen", number, later = Empty)
            }
            Kind::Root => info_span!(parent: None, "root", number, later = Empty),
            Kind::Field => info_span!("by_field", stepscope.step = number, number),
            _ => info_span!("plain", number, later = Empty),
        }
    }
}
