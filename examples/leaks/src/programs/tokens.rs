//! Texts that are known for ever: interned ones behind `Arc`, and a vocabulary of all that was ever seen.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::Program;
use crate::sizes::Sizes;
use crate::truth::planted;

/// Each text once, and every text is new.
pub fn interned(mut sizes: Sizes) -> Box<dyn Program> {
    let mut known: HashSet<Arc<str>> = HashSet::new();
    Box::new(move |number| tokenize(&mut known, number, &sizes.step()))
}

#[tracing::instrument(skip_all)]
fn tokenize(known: &mut HashSet<Arc<str>>, number: u64, sizes: &[usize]) {
    let texts = texts(number, sizes);
    intern(known, &texts);
}

#[tracing::instrument(skip_all)]
fn intern(known: &mut HashSet<Arc<str>>, texts: &[String]) {
    for text in texts {
        if !known.contains(text.as_str()) {
            let text: Arc<str> = planted!(text.len() + 16, Arc::from(text.as_str()));
            known.insert(text);
        }
    }
}

/// Where each text was seen.
pub fn vocabulary(mut sizes: Sizes) -> Box<dyn Program> {
    let mut vocabulary: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    Box::new(move |number| tokenize_all(&mut vocabulary, number, &sizes.step()))
}

#[tracing::instrument(name = "tokenize", skip_all)]
fn tokenize_all(vocabulary: &mut BTreeMap<String, Vec<u32>>, number: u64, sizes: &[usize]) {
    for text in &texts(number, sizes) {
        let key = planted!(text.len(), text.clone());
        vocabulary.entry(key).or_default().push(number as u32);
    }
}

/// Texts of these lengths, each another one.
fn texts(number: u64, sizes: &[usize]) -> Vec<String> {
    let text = |(index, &size): (usize, &usize)| {
        format!("{number:08}-{index:06}-{:.>1$}", "", size.saturating_sub(16))
    };
    sizes.iter().enumerate().map(text).collect()
}
