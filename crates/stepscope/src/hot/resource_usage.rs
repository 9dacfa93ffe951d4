//! What the operating system counts for a thread between the begin and the end of a section: time in the run queue,
//! context switches, page faults, bytes read and written; and for its network namespace bytes received and sent. CPU time
//! is elsewhere: it is summed over the stays in a section, while these figures are of sections that were entered once, on
//! the thread that began them.
//!
//! A system that does not count something, or does not let it be read, leaves that figure away.

use stepscope_core::attr;

use crate::os::memory;
use crate::os::network::{Network, Traffic};
use crate::os::proc_file::ProcFile;
use crate::os::sys::{self, Usage};
use crate::shared::attrs::{Encode, Entry, FieldValue};

/// What is read of a thread at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    run_queue_ns: Option<u64>,
    usage: Option<Usage>,
    /// Read and written, where they were asked for.
    io_bytes: Option<[u64; 2]>,
    /// Where it was asked for.
    traffic: Option<Traffic>,
}

/// What is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    pub run_queue: bool,
    /// Context switches, page faults.
    pub usage: bool,
    pub io: bool,
    pub traffic: bool,
}

impl Asked {
    pub(crate) const NOTHING: Self = Self { run_queue: false, usage: false, io: false, traffic: false };
}

/// What is counted inside a section, for its span.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counted {
    pub start: Reading,
    pub end: Reading,
}

impl Counted {
    /// Hands over the words of an entry for each figure. `off_cpu_ns` is the section's time without CPU time: systems
    /// count a thread that moves between processors as waiting for longer than that.
    pub(crate) fn encode(&self, off_cpu_ns: u64, mut put: impl FnMut(u64)) {
        let Self { start, end } = self;
        let usage = start.usage.zip(end.usage);
        let of_usage = |of: fn(&Usage) -> u64| usage.map(|(start, end)| (of(&start), of(&end)));
        let io = |at: usize| start.io_bytes.zip(end.io_bytes).map(|(start, end)| (start[at], end[at]));
        let traffic = start.traffic.zip(end.traffic).and_then(|(start, end)| end.since(&start));
        let network = |at: usize| traffic.map(|bytes| (0, bytes[at]));
        let figures = [
            (attr::RUN_QUEUE_NS, start.run_queue_ns.zip(end.run_queue_ns)),
            (attr::SWITCHES_VOLUNTARY, of_usage(|usage| usage.voluntary_switches)),
            (attr::SWITCHES_INVOLUNTARY, of_usage(|usage| usage.involuntary_switches)),
            (attr::FAULTS_MINOR, of_usage(|usage| usage.minor_faults)),
            (attr::FAULTS_MAJOR, of_usage(|usage| usage.major_faults)),
            (attr::IO_READ_BYTES, io(0)),
            (attr::IO_WRITE_BYTES, io(1)),
            (attr::NETWORK_RECEIVE_BYTES, network(0)),
            (attr::NETWORK_TRANSMIT_BYTES, network(1)),
        ];
        for (key, figure) in figures {
            // A count that goes backwards is none.
            if let Some(value) = figure.and_then(|(start, end)| end.checked_sub(start)) {
                let value = if key == attr::RUN_QUEUE_NS { value.min(off_cpu_ns) } else { value };
                Entry::Own(key, FieldValue::Uint(value)).encode(&mut put);
            }
        }
    }
}

/// Reads what is counted for one thread. What it read at the begin of a section stays with that section.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    run_queue: ProcFile,
    /// Time in the run queue, and how often the thread had left its processor by then.
    waited: Option<(u64, Option<u64>)>,
    io: ProcFile,
    network: Network,
}

impl Reader {
    #[cold]
    pub(crate) fn read(&mut self, asked: Asked) -> Reading {
        let mut buffer = [0; 512];
        let usage = if asked.usage || asked.run_queue { sys::thread_usage() } else { None };
        let run_queue_ns = if asked.run_queue { self.run_queue_ns(usage, &mut buffer) } else { None };
        let io_bytes = if asked.io { self.io_bytes(&mut buffer) } else { None };
        let traffic = if asked.traffic { self.network.read() } else { None };
        Reading { run_queue_ns, usage: usage.filter(|_| asked.usage), io_bytes, traffic }
    }

    /// A thread that has not left its processor has not waited for one: only where it has, the system is asked. (What it
    /// is asked for is read after the count of that, so that a wait in between is asked for again.)
    fn run_queue_ns(&mut self, usage: Option<Usage>, buffer: &mut [u8]) -> Option<u64> {
        let switches = usage.map(|usage| usage.voluntary_switches.wrapping_add(usage.involuntary_switches));
        if let Some((since, waited_ns)) = self.waited
            && switches == Some(since)
        {
            return waited_ns;
        }
        let waited_ns = self.run_queue.read("/proc/thread-self/schedstat", buffer).and_then(run_queue_ns);
        self.waited = switches.map(|switches| (switches, waited_ns));
        waited_ns
    }

    /// Bytes read and written, without what is read for such figures: the system counts these bytes from its next answer on.
    fn io_bytes(&mut self, buffer: &mut [u8]) -> Option<[u64; 2]> {
        let own_bytes = memory::own_read_bytes()
            + self.run_queue.read_bytes()
            + self.io.read_bytes()
            + self.network.read_bytes();
        let [read, written] = self.io.read("/proc/thread-self/io", buffer).and_then(io_bytes)?;
        Some([read.saturating_sub(own_bytes), written])
    }

    /// Reads what was read at `start`, on this thread.
    pub(crate) fn read_again(&mut self, start: Reading) -> Reading {
        self.read(Asked {
            run_queue: start.run_queue_ns.is_some(),
            usage: start.usage.is_some(),
            io: start.io_bytes.is_some(),
            traffic: start.traffic.is_some(),
        })
    }
}

/// `/proc/…/schedstat`: nanoseconds on a processor, nanoseconds in the run queue, time slices.
fn run_queue_ns(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// `/proc/…/io`, its first two lines: bytes read and written by system calls, from and to caches, pipes and sockets too.
fn io_bytes(text: &str) -> Option<[u64; 2]> {
    let of = |key: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(key))?;
        value.trim().parse().ok()
    };
    Some([of("rchar:")?, of("wchar:")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_writes_is_read() {
        assert_eq!(run_queue_ns("58112917 4711 162\n"), Some(4711));
        assert_eq!(run_queue_ns(""), None);
        let text = "rchar: 3980\nwchar: 12\nsyscr: 9\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\n";
        assert_eq!(io_bytes(text), Some([3980, 12]));
        assert_eq!(io_bytes("rchar: 3980\n"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn bytes_and_faults_of_the_thread_are_counted() {
        let mut reader = Reader::default();
        let start = reader.read(Asked { run_queue: true, usage: true, io: true, traffic: true });
        // Of the system, and of no allocator, which may have kept pages that other tests have touched.
        let pages = sys::zeroed(1 << 19);
        pages.iter().for_each(|word| word.store(1, std::sync::atomic::Ordering::Relaxed));
        std::hint::black_box(&pages);
        let file = std::env::temp_dir().join(format!("stepscope-os-{}", std::process::id()));
        std::fs::write(&file, vec![1; 100_000]).unwrap();
        let read = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(read.len(), 100_000);
        let end = reader.read_again(start);
        let (before, after) = (start.usage.unwrap(), end.usage.unwrap());
        assert!(after.minor_faults >= before.minor_faults + 1_024, "{before:?} {after:?}");
        // Where the system does not let it be read there is none.
        if let Some((before, after)) = start.io_bytes.zip(end.io_bytes) {
            assert_eq!((after[0] - before[0], after[1] - before[1]), (100_000, 100_000));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_read_for_figures_is_no_figure() {
        let mut reader = Reader::default();
        let start = reader.read(Asked { run_queue: true, usage: true, io: true, traffic: true });
        for _ in 0..10 {
            let _ = (
                reader.read(Asked { run_queue: true, usage: true, io: true, traffic: true }),
                memory::rss_bytes(),
            );
            // As after a wait.
            reader.waited = None;
        }
        let end = reader.read_again(start);
        assert_eq!(start.io_bytes, end.io_bytes);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn time_in_the_run_queue_is_asked_for_again_once_the_thread_has_left_its_processor() {
        let mut reader = Reader::default();
        let usage = |switches| Usage { voluntary_switches: switches, ..Usage::default() };
        let mut read = |usage, known| {
            reader.waited = known;
            reader.run_queue_ns(usage, &mut [0; 512])
        };
        let Some(waited_ns) = read(Some(usage(1)), None) else { return };
        // A figure that the system does not give.
        let other = Some(waited_ns + (1 << 50));
        assert_eq!(read(Some(usage(1)), Some((1, other))), other, "kept");
        assert!(read(Some(usage(2)), Some((1, other))) < other, "asked for again");
        assert!(read(None, Some((2, other))) < other, "as nothing tells whether it waited");
    }
}
