//! What a thread does at one moment, as the layer samples it in deep steps. How it is sampled is in the layer, what follows
//! from it in the analysis.

use crate::kind::named_enum;

named_enum! {
    /// State of a thread, in [`crate::attr::THREAD_SAMPLES`] as its number (`ThreadState::Futex as u8`).
    ThreadState {
        /// On a processor, or waiting for one: only the time in the run queue tells these apart.
        Running = "running",
        /// In a futex: a lock, a channel, a condition variable, the end of a thread.
        Futex = "futex",
        /// Reading, writing or syncing a file.
        File = "file",
        /// Reading or writing a pipe.
        Pipe = "pipe",
        /// Sending or receiving on a socket.
        Network = "network",
        /// Waiting for any of several descriptors.
        Poll = "poll",
        /// Sleeping for a time.
        Sleep = "sleep",
        /// Blocked in the kernel outside of a system call: a page fault.
        Fault = "fault",
        /// In another system call.
        Other = "other",
    }
}
