//! What the user should be told once: a source that may not be read, a device that is gone. Bounded; whoever runs the
//! exporter takes them and prints them.

use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Later ones are dropped.
const MAX_NOTES: usize = 64;

/// All notes, and how many of them were taken.
#[derive(Default)]
pub(crate) struct Notes {
    state: Mutex<State>,
    /// Is told each at once.
    listener: OnceLock<Listener>,
}

/// Takes a note, on the thread that has it.
pub(crate) type Listener = std::sync::Arc<dyn Fn(&str) + Send + Sync>;

impl fmt::Debug for Notes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Notes").field(&self.state).finish()
    }
}

#[derive(Debug, Default)]
struct State {
    told: Vec<(String, String)>,
    taken: usize,
}

impl Notes {
    pub(crate) fn listened_to_by(listener: Option<Listener>) -> Self {
        let notes = Self::default();
        if let Some(listener) = listener {
            let _ = notes.listener.set(listener);
        }
        notes
    }

    /// Says it, unless something was said of `subject` before.
    pub(crate) fn tell(&self, subject: &str, text: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.told.len() >= MAX_NOTES || state.told.iter().any(|(told, _)| told == subject) {
            return;
        }
        state.told.push((subject.to_owned(), text.to_owned()));
        drop(state);
        if let Some(listener) = self.listener.get() {
            listener(text);
        }
    }

    /// What was said since this was asked last.
    pub(crate) fn take(&self) -> Vec<String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
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
