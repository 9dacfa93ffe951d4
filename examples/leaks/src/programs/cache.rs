//! Caches that do not forget: a map whose keys never come again, and one that forgets keys and keeps values.

use std::collections::{HashMap, VecDeque};

use super::Program;
use crate::sizes::Sizes;
use crate::truth::planted;

/// A map of results by step, which nobody asks for again.
pub fn map(mut sizes: Sizes) -> Box<dyn Program> {
    let mut cache = CacheMap(HashMap::new());
    Box::new(move |number| lookup(&mut cache, number, &sizes.step()))
}

struct CacheMap(HashMap<(u64, usize), Box<[u8]>>);

impl CacheMap {
    fn insert(&mut self, key: (u64, usize), size: usize) {
        let value = planted!(size, vec![1_u8; size].into_boxed_slice());
        self.0.insert(key, value);
    }
}

#[tracing::instrument(name = "lookup", skip_all)]
fn lookup(cache: &mut CacheMap, number: u64, sizes: &[usize]) {
    for (index, &size) in sizes.iter().enumerate() {
        if !cache.0.contains_key(&(number, index)) {
            cache.insert((number, index), size);
        }
    }
}

/// A cache of at most 64 keys; its order of use holds the values, too, and is never shortened.
pub fn lru(mut sizes: Sizes) -> Box<dyn Program> {
    let mut cache = Lru::default();
    Box::new(move |number| look_up_recent(&mut cache, number, &sizes.step()))
}

#[derive(Default)]
struct Lru {
    places: HashMap<u64, usize>,
    order: VecDeque<(u64, Vec<u8>)>,
}

#[tracing::instrument(name = "lookup", skip_all)]
fn look_up_recent(cache: &mut Lru, number: u64, sizes: &[usize]) {
    for (index, &size) in sizes.iter().enumerate() {
        let key = number * 1_000 + index as u64;
        let value = load(size);
        cache.places.insert(key, cache.order.len());
        cache.order.push_back((key, value));
    }
    if cache.places.len() > 64 {
        cache.places.clear();
    }
}

#[tracing::instrument(skip_all)]
fn load(size: usize) -> Vec<u8> {
    planted!(size, vec![1; size])
}
