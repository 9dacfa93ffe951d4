//! Random sequences of everything that can be done with spans, on eight threads that share them, and a model
//! that knows nothing but what was opened and what was closed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use stepscope::section;
use tracing::{Span, info_span};

use crate::say;

const THREADS: u64 = 8;
const ROUNDS: u64 = 12_500;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

/// Spans on their way from one thread to another.
static SHARED: Mutex<Vec<Span>> = Mutex::new(Vec::new());
static OPENED: AtomicU64 = AtomicU64::new(0);

fn open(random: &mut Random, held: &[Span]) -> Span {
    OPENED.fetch_add(1, Ordering::Relaxed);
    let number = random.next() % 1_000;
    match random.below(8) {
        0 => info_span!(parent: None, "root", number),
        1 => info_span!("step_by_field", stepscope.step = number),
        2 | 3 if !held.is_empty() => {
            let parent = &held[random.below(held.len())];
            info_span!(parent: parent, "chosen", number, later = tracing::field::Empty)
        }
        _ => info_span!("plain", number, later = tracing::field::Empty),
    }
}

/// One thread's game. The stack is of handles that are entered; they leave in any order.
fn play(seed: u64) {
    let mut random = Random(seed);
    let mut held: Vec<Span> = Vec::new();
    let mut entered: Vec<tracing::span::EnteredSpan> = Vec::new();
    let mut sections = Vec::new();
    for _ in 0..ROUNDS {
        let choice = random.below(20);
        let some = (!held.is_empty()).then(|| random.below(held.len()));
        match (choice, some) {
            (0..=3, _) if held.len() < 40 => held.push(open(&mut random, &held)),
            (4..=6, Some(index)) if entered.len() < 10 => entered.push(held[index].clone().entered()),
            (7..=9, _) if !entered.is_empty() => {
                let index = random.below(entered.len());
                drop(entered.swap_remove(index));
            }
            (10 | 11, Some(index)) => drop(held.swap_remove(index)),
            (12, Some(index)) => {
                held[index].record("later", random.next());
            }
            (13, Some(index)) => {
                held[index].follows_from(&held[random.below(held.len())]);
            }
            (14, Some(index)) => {
                let mut shared = SHARED.lock().unwrap();
                if shared.len() < 30 {
                    shared.push(held.swap_remove(index));
                } else {
                    let other = random.below(shared.len());
                    std::mem::swap(&mut shared[other], &mut held[index]);
                }
            }
            (15, _) if sections.len() < 10 => {
                OPENED.fetch_add(1, Ordering::Relaxed);
                sections.push(section!("section", text = "some text"));
            }
            (16, _) if !sections.is_empty() => {
                let index = random.below(sections.len());
                drop(sections.swap_remove(index));
            }
            (17, _) => tracing::error!("an error for whoever is there"),
            (18, Some(index)) => held[index].in_scope(|| tracing::warn!("a warning")),
            _ => {}
        }
        if random.below(16) == 0 {
            std::thread::yield_now();
        }
    }
}

pub(crate) fn run(seed: u64) {
    let run = stepscope::init();
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let name = format!("player-{number}");
            std::thread::Builder::new().name(name).spawn(move || play(seed * THREADS + number)).unwrap()
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    SHARED.lock().unwrap().clear();
    say("spans", OPENED.load(Ordering::Relaxed) + 2);
    drop(run);
}
