//! Names of threads by the operating system's id, for spans that end on another thread than they started on.
//! Threads that have ended keep theirs for a while; how long is bounded by their number.

use std::collections::{HashMap, VecDeque};

/// Threads that have ended and are still known.
const MAX_ENDED: usize = 1_024;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct ThreadNames {
    names: HashMap<u64, Name>,
    /// Ended threads, oldest first.
    ended: VecDeque<u64>,
}

#[derive(Debug)]
struct Name {
    text: String,
    /// Threads with this id that have not ended as far as is known; a new one may be seen before the old one's
    /// end is.
    live: u32,
}

impl ThreadNames {
    /// A thread has begun to record. Ids come back: the new thread's name wins.
    pub(crate) fn begin(&mut self, id: u64, name: &str) {
        let before = self.names.get(&id).map(|name| name.live);
        if before == Some(0) {
            self.ended.retain(|&ended| ended != id);
        }
        let name = Name { text: name.to_owned(), live: before.unwrap_or(0) + 1 };
        self.names.insert(id, name);
    }

    /// The thread has ended.
    pub(crate) fn end(&mut self, id: u64) {
        let Some(name) = self.names.get_mut(&id) else { return };
        name.live = name.live.saturating_sub(1);
        if name.live > 0 {
            return;
        }
        self.ended.push_back(id);
        if self.ended.len() > MAX_ENDED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.names.remove(&oldest);
        }
    }

    pub(crate) fn get(&self, id: u64) -> Option<&str> {
        self.names.get(&id).map(|name| name.text.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_threads_to_end_are_known_and_so_are_all_that_live() {
        let mut names = ThreadNames::default();
        names.begin(1, "main");
        for id in 2..10_000 {
            names.begin(id, &format!("thread {id}"));
            names.end(id);
        }
        assert_eq!((names.get(1), names.get(2)), (Some("main"), None));
        assert_eq!(names.get(9_999), Some("thread 9999"));
        assert_eq!(names.names.len(), MAX_ENDED + 1);
    }

    #[test]
    fn a_thread_that_got_the_id_of_an_ended_one_stays_known() {
        let mut names = ThreadNames::default();
        names.begin(1, "first");
        names.end(1);
        names.begin(1, "second");
        names.begin(1, "third");
        // The second one's end, which is seen late.
        names.end(1);
        for id in 2..10_000 {
            names.begin(id, "short");
            names.end(id);
        }
        assert_eq!(names.get(1), Some("third"));
    }
}
