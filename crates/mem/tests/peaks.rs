//! Nested peaks against a model that remembers every section's own maximum.
#![expect(clippy::unwrap_used, reason = "the model is test code")]

use std::hint::black_box;
use stepscope_core::identity::mix;
use stepscope_mem::{Alloc, PeakToken, peak_enter, peak_exit, set_aside, thread_counters};

#[global_allocator]
static ALLOC: Alloc = Alloc::system();

struct Open {
    token: PeakToken,
    start: i64,
    peak: i64,
}

/// The model: bytes live, and for each open section the most that it saw.
struct Model {
    live: i64,
    open: Vec<Open>,
}

impl Model {
    fn change(&mut self, by: i64) {
        self.live += by;
        for section in &mut self.open {
            section.peak = section.peak.max(self.live);
        }
    }

    fn close(&mut self) -> bool {
        let Some(section) = self.open.pop() else { return false };
        let expected = u64::try_from(section.peak - section.start).unwrap();
        assert_eq!(peak_exit(section.token), Some(expected));
        true
    }
}

fn random_sections(seed: u64, actions: u64) {
    // Room for everything beforehand, so that only the actions themselves allocate.
    let mut blocks: Vec<Vec<u8>> = Vec::with_capacity(4096);
    let mut others: Vec<Vec<u8>> = Vec::with_capacity(256);
    let mut model = Model { live: 0, open: Vec::with_capacity(64) };
    let start = thread_counters().unwrap();
    for action in 0..actions {
        let random = mix(seed ^ mix(action));
        let size = (random >> 32) as usize % 5000 + 1;
        let chosen = (random >> 8) as usize % blocks.len().max(1);
        match random % 100 {
            0..35 if blocks.len() < blocks.capacity() => {
                blocks.push(black_box(Vec::with_capacity(size)));
                model.change(size as i64);
            }
            35..65 if !blocks.is_empty() => {
                let freed = black_box(blocks.swap_remove(chosen)).capacity();
                model.change(-(freed as i64));
            }
            // Somebody else's work on the same thread, which is in no figure.
            65..70 => {
                let _aside = set_aside();
                if others.len() < others.capacity() {
                    others.push(black_box(Vec::with_capacity(size * 20)));
                } else {
                    others.truncate(chosen);
                }
            }
            70..75 if !blocks.is_empty() => {
                let old = blocks[chosen].capacity();
                blocks[chosen].reserve_exact(old + size);
                model.change(size as i64);
                assert_eq!(blocks[chosen].capacity(), old + size);
            }
            75..88 if model.open.len() < model.open.capacity() => {
                let token = peak_enter();
                model.open.push(Open { token, start: model.live, peak: model.live });
            }
            88.. => {
                model.close();
            }
            _ => (),
        }
        let counted = thread_counters().unwrap().since(&start).net_bytes();
        assert_eq!(counted, model.live, "seed {seed}, action {action}");
    }
    while model.close() {}
    let _aside = set_aside();
    drop(others);
}

#[test]
fn nested_peaks_are_exact() {
    for seed in 0..200 {
        random_sections(seed, 2_000);
    }
}

#[test]
fn a_section_that_only_frees_has_no_peak() {
    let block = black_box(vec![1u8; 1000]);
    let token = peak_enter();
    drop(block);
    assert_eq!(peak_exit(token), Some(0));
}

#[test]
fn an_inner_peak_is_part_of_the_outer_one() {
    let outer = peak_enter();
    let kept = black_box(vec![1u8; 100]);
    let inner = peak_enter();
    drop(black_box(vec![1u8; 10_000]));
    assert_eq!(peak_exit(inner), Some(10_000));
    drop(kept);
    assert_eq!(peak_exit(outer), Some(10_100));
}

#[test]
fn growing_in_place_does_not_count_both_sizes() {
    let mut block = Vec::<u8>::with_capacity(1 << 20);
    let token = peak_enter();
    black_box(&mut block).reserve_exact(3 << 20);
    assert_eq!(peak_exit(token), Some(2 << 20));
}
