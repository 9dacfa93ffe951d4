//! What the user should be told once: a source that may not be read, a device that is gone. Bounded; whoever runs the
//! exporter takes them and prints them.

use std::sync::{Mutex, PoisonError};

/// Later ones are dropped.
const MAX_NOTES: usize = 64;

/// All notes, and how many of them were taken.
#[derive(Debug, Default)]
pub(crate) struct Notes(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    told: Vec<(String, String)>,
    taken: usize,
}

impl Notes {
    /// Says it, unless something was said of `subject` before.
    pub(crate) fn tell(&self, subject: &str, text: &str) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.told.len() < MAX_NOTES && !state.told.iter().any(|(told, _)| told == subject) {
            state.told.push((subject.to_owned(), text.to_owned()));
        }
    }

    /// What was said since this was asked last.
    pub(crate) fn take(&self) -> Vec<String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let new = state.told.iter().skip(state.taken).map(|(_, text)| text.clone()).collect();
        state.taken = state.told.len();
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_told_once_and_their_number_is_bounded() {
        let notes = Notes::default();
        notes.tell("a", "first");
        notes.tell("a", "second");
        assert_eq!(notes.take(), ["first"]);
        assert!(notes.take().is_empty());
        for number in 0..1_000 {
            notes.tell(&number.to_string(), "more");
        }
        assert_eq!(notes.take().len(), MAX_NOTES - 1);
    }
}
