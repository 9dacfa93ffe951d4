//! Memory in the turns of the background thread: samples of what is resident; what is live, when that is due, and at once for
//! whoever asks from outside. What is live is gathered in `worker::live_memory`.

use std::sync::Arc;
#[cfg(feature = "mem")]
use std::time::Instant;

use super::Worker;
use crate::config::memory_request::MemoryAnswer;
use crate::os::clock::now_ns;
use crate::os::memory;

impl Worker {
    /// Samples resident memory, where that is wanted: once before the thread begins, as sections may.
    pub(super) fn read_resident(&mut self) {
        let time_ns = now_ns();
        if self.recorder.tracked().has_memory()
            && self.resident.is_due(time_ns)
            && let Some(bytes) = memory::rss_bytes()
        {
            self.resident.add(time_ns, bytes);
        }
    }

    /// Whether more is live than ever before, and is to be published now: the process may soon be killed for it.
    pub(super) fn live_memory_is_due(&self) -> bool {
        #[cfg(feature = "mem")]
        return self.live_memory.is_due(memory::live_bytes(), Instant::now());
        #[cfg(not(feature = "mem"))]
        false
    }

    /// Does what a file in the directory asks for.
    pub(super) fn answer_file(&mut self) {
        let recorder = Arc::clone(&self.recorder);
        if let Some(asked) = self.capture_requests.answer_file(&recorder) {
            let answer = self.publish_live_memory();
            self.capture_requests.answer_memory(asked, &answer);
        }
    }

    #[cfg(not(feature = "mem"))]
    #[expect(clippy::unused_self, reason = "there is none")]
    fn publish_live_memory(&self) -> MemoryAnswer {
        MemoryAnswer::NoAllocator
    }

    /// Publishes what is live now.
    #[cfg(feature = "mem")]
    fn publish_live_memory(&mut self) -> MemoryAnswer {
        if memory::thread_counters().is_none() {
            return MemoryAnswer::NoAllocator;
        }
        if !self.recorder.tracked().has_memory() || memory::live::period_bytes() == 0 {
            return MemoryAnswer::Off;
        }
        self.live_memory.ask();
        self.publish(false);
        let written =
            self.sinks.directory.as_mut().and_then(|directory| directory.take_live_memory_outcome());
        match written {
            Some(Ok(written)) => MemoryAnswer::Written { live_bytes: written.live_bytes, file: written.file },
            Some(Err(why)) => MemoryAnswer::Failed(why),
            // It is asked by a file in there.
            None => MemoryAnswer::Failed("no directory".into()),
        }
    }
}
