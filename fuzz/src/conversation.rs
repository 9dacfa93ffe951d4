//! Conversations with the receiver in memory, and what must hold after each, whatever was said.

use stepscope_server::{Counts, InMemory, Limits};

/// A receiver that goes from one conversation to the next.
pub struct Conversations {
    receiver: InMemory,
    before: Counts,
}

impl Conversations {
    /// Bounds are so small that inputs of a few hundred bytes reach them. What is taken lies in `folder` beside the
    /// program, until the next start; after a megabyte the receiver refuses to store more.
    ///
    /// # Panics
    /// Where the folder cannot be made.
    #[must_use]
    pub fn new(folder: &str) -> Self {
        let limits = Limits {
            message_bytes: 3 << 10,
            in_flight_bytes: 8 << 10,
            stored_bytes: 1 << 20,
            file_bytes: 64 << 10,
            ..Limits::default()
        };
        let beside = std::env::current_exe().unwrap_or_default();
        let folder = beside.with_file_name(folder);
        let _ = std::fs::remove_dir_all(&folder);
        let receiver = InMemory::new(&folder, limits).expect("a receiver");
        Self { receiver, before: Counts::default() }
    }

    /// Sends `bytes` in pieces of `piece` bytes, then the end. Gives what was answered, and how many requests were
    /// taken and refused.
    ///
    /// # Panics
    /// When something is held afterwards, or a count ran backwards.
    pub fn hold(&mut self, bytes: &[u8], piece: usize) -> (Vec<u8>, u64, u64) {
        let pieces: Vec<&[u8]> = bytes.chunks(piece.max(1)).collect();
        let answer = self.receiver.converse(&pieces);
        assert_eq!(self.receiver.in_flight(), 0, "every request has ended");
        assert_eq!(self.receiver.held_bytes(), 0, "nothing is held");
        let counts = self.receiver.counts();
        let taken = counts.taken().checked_sub(self.before.taken()).expect("counts only grow");
        let refused = counts.refused.checked_sub(self.before.refused).expect("counts only grow");
        self.before = counts;
        (answer, taken, refused)
    }
}
