//! Random sequences of everything that can be done with spans, on eight threads that share them, and a simple model
//! of it: what was opened inside of what, and what it was told. The model goes to the file `model`, a line a span.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use stepscope::section;
use tracing::{Span, info_span};

use crate::say;

const THREADS: u64 = 8;

/// Nesting, at most: there are fewer call paths than the layer tells apart.
const MAX_DEPTH: usize = 6;

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// What the program did with one span.
#[derive(Debug)]
struct Modelled {
    number: u64,
    name: &'static str,
    parent: Option<u64>,
    depth: usize,
    told: Mutex<Told>,
}

#[derive(Debug, Default)]
struct Told {
    later: Option<u64>,
    follows: Vec<u64>,
    failed: bool,
}

/// A handle of a span. Several may be of one span.
#[derive(Clone)]
struct Handle {
    span: Span,
    model: Arc<Modelled>,
}

/// Handles on their way from one thread to another.
static SHARED: Mutex<Vec<Handle>> = Mutex::new(Vec::new());
static OPENED: AtomicU64 = AtomicU64::new(0);

/// One thread's game.
struct Player {
    random: Random,
    held: Vec<Handle>,
    /// What is entered, in the order in which it was; it leaves in any.
    entered: Vec<(Arc<Modelled>, Guard)>,
    opened: Vec<Arc<Modelled>>,
}

enum Guard {
    Span(#[expect(dead_code, reason = "held")] tracing::span::EnteredSpan),
    Section(#[expect(dead_code, reason = "held")] stepscope::SectionGuard),
}

impl Player {
    fn model(&mut self, name: &'static str, parent: Option<&Modelled>) -> Arc<Modelled> {
        let number = OPENED.fetch_add(1, Ordering::Relaxed);
        let depth = parent.map_or(1, |parent| parent.depth + 1);
        let parent = parent.map(|parent| parent.number);
        let model = Arc::new(Modelled { number, name, parent, depth, told: Mutex::default() });
        self.opened.push(Arc::clone(&model));
        model
    }

    fn current(&self) -> Option<Arc<Modelled>> {
        self.entered.last().map(|(model, _)| Arc::clone(model))
    }

    /// Whether what is opened now would be nested too deeply.
    fn is_deep(&self) -> bool {
        self.entered.last().is_some_and(|(model, _)| model.depth >= MAX_DEPTH)
    }

    fn open(&mut self) {
        let (kind, step) = (self.random.below(8), self.random.next() % 1_000);
        let chosen = (!self.held.is_empty()).then(|| self.random.below(self.held.len()));
        let chosen = chosen.filter(|&index| self.held[index].model.depth < MAX_DEPTH);
        let handle = match (kind, chosen) {
            (1, _) => {
                let model = self.model("step_by_field", None);
                let span = info_span!("step_by_field", stepscope.step = step, number = model.number);
                Handle { span, model }
            }
            (2 | 3, Some(index)) => {
                let parent = self.held[index].clone();
                let model = self.model("chosen", Some(&parent.model));
                let number = model.number;
                let span = info_span!(parent: &parent.span, "chosen", number, later = tracing::field::Empty);
                Handle { span, model }
            }
            (kind, _) if kind == 0 || self.is_deep() => {
                let model = self.model("root", None);
                Handle { span: info_span!(parent: None, "root", number = model.number), model }
            }
            _ => {
                let current = self.current();
                let model = self.model("plain", current.as_deref());
                let span = info_span!("plain", number = model.number, later = tracing::field::Empty);
                Handle { span, model }
            }
        };
        self.held.push(handle);
    }

    fn enter_section(&mut self) {
        let current = self.current();
        let model = self.model("section", current.as_deref());
        let guard = section!("section", number = model.number, text = "some text");
        self.entered.push((model, Guard::Section(guard)));
    }

    /// Leaves any of what is entered. Of several stays in one span it is the last one: a subscriber cannot tell them
    /// apart.
    fn leave(&mut self) {
        let index = self.random.below(self.entered.len());
        let number = self.entered[index].0.number;
        let last = self.entered.iter().rposition(|(model, _)| model.number == number).unwrap();
        drop(self.entered.remove(last));
    }

    /// Tells one handle's span something; whoever else has one waits, so that the model knows the order.
    fn tell(&mut self, index: usize) {
        let value = self.random.next() >> 1;
        let handle = &self.held[index];
        let mut told = handle.model.told.lock().unwrap();
        handle.span.record("later", value);
        if matches!(handle.model.name, "plain" | "chosen") {
            told.later = Some(value);
        }
    }

    fn follow(&mut self, index: usize) {
        let cause = self.held[self.random.below(self.held.len())].clone();
        let handle = &self.held[index];
        let mut told = handle.model.told.lock().unwrap();
        if told.follows.len() < 10 {
            handle.span.follows_from(&cause.span);
            told.follows.push(cause.model.number);
        }
    }

    fn fail(&self) {
        tracing::error!("an error for whoever is there");
        if let Some((model, _)) = self.entered.last() {
            model.told.lock().unwrap().failed = true;
        }
    }

    fn give(&mut self, index: usize) {
        let mut shared = SHARED.lock().unwrap();
        if shared.len() < 30 {
            shared.push(self.held.swap_remove(index));
        } else {
            let other = self.random.below(shared.len());
            std::mem::swap(&mut shared[other], &mut self.held[index]);
        }
    }

    fn turn(&mut self) {
        let choice = self.random.below(22);
        let some = (!self.held.is_empty()).then(|| self.random.below(self.held.len()));
        match (choice, some) {
            (0..=3, _) if self.held.len() < 40 => self.open(),
            (4..=6, Some(index)) if self.entered.len() < 20 => {
                let Handle { span, model } = self.held[index].clone();
                self.entered.push((model, Guard::Span(span.entered())));
            }
            (7..=9, _) if !self.entered.is_empty() => {
                self.leave();
            }
            (10 | 11, Some(index)) => drop(self.held.swap_remove(index)),
            (12, Some(index)) => self.tell(index),
            (13, Some(index)) => self.follow(index),
            (14, Some(index)) => self.give(index),
            (15, _) if self.entered.len() < 20 && !self.is_deep() => self.enter_section(),
            (16, _) => self.fail(),
            (17, Some(index)) => self.held[index].span.in_scope(|| tracing::warn!("a warning")),
            (18, Some(index)) if self.held.len() < 40 => self.held.push(self.held[index].clone()),
            _ => {}
        }
        if self.random.below(16) == 0 {
            std::thread::yield_now();
        }
    }
}

/// Plays `turns` turns and says what it has opened.
fn play(seed: u64, turns: u64) -> Vec<Arc<Modelled>> {
    let mut player = Player { random: Random(seed), held: vec![], entered: vec![], opened: vec![] };
    (0..turns).for_each(|_| player.turn());
    // What is entered leaves in any order here, too.
    while !player.entered.is_empty() {
        player.leave();
    }
    player.opened
}

pub(crate) fn run(seed: u64, operations: u64) {
    let run = crate::start();
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let work = move || play(seed * THREADS + number, operations / THREADS);
            std::thread::Builder::new().name(format!("player-{number}")).spawn(work).unwrap()
        })
        .collect();
    let opened: Vec<_> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    SHARED.lock().unwrap().clear();
    let mut lines = String::new();
    for span in &opened {
        let told = span.told.lock().unwrap();
        let or_dash = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
        write!(lines, "{} {} {} ", span.number, span.name, or_dash(span.parent)).unwrap();
        writeln!(lines, "{} {} {:?}", or_dash(told.later), told.failed, told.follows).unwrap();
    }
    std::fs::write("model", lines).unwrap();
    say("spans", OPENED.load(Ordering::Relaxed) + 2);
    drop(run);
}
