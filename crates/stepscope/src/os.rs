//! What the operating system counts for a thread between the begin and the end of a section: time in the run queue,
//! context switches, page faults, bytes read and written; and for its network namespace bytes received and sent. CPU time
//! is elsewhere: it is summed over the stays in a section, while these figures are of sections that were entered once, on
//! the thread that began them. Resident memory of the process is read with them.
//!
//! A section that begins right behind the end or the begin of another one on the same thread takes what was read there: reading
//! costs microseconds, and next to nothing can have happened in between ([`NEAR_NS`]). What ends is always read anew.
//!
//! A system that does not count something, or does not let it be read, leaves that figure away.

use std::fs::File;
use std::os::unix::fs::FileExt;

use stepscope_core::attr;

use crate::attrs::{Encode, Entry, FieldValue};
use crate::clock::now_ns;
use crate::memory;
use crate::network::{Network, Traffic};
use crate::sys;

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

/// What is wanted at the begin of a section, and again at its end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Resident memory of the process.
    pub rss: bool,
    /// What the system counts for the thread, and costs little.
    pub thread: bool,
    /// With it, the bytes that it reads and writes.
    pub io: bool,
    /// With it, those that pass the network.
    pub traffic: bool,
}

impl Asked {
    /// At the end of a section: what was read of the thread at its begin, if anything was.
    pub(crate) fn as_at(rss: bool, begin: Option<Reading>) -> Self {
        let has = |figure: fn(&Reading) -> bool| begin.as_ref().is_some_and(figure);
        Self {
            rss,
            thread: begin.is_some(),
            io: has(|begin| begin.io_bytes.is_some()),
            traffic: has(|begin| begin.traffic.is_some()),
        }
    }

    /// Whether all that `other` wants is wanted.
    fn includes(self, other: Self) -> bool {
        (self.rss || !other.rss)
            && (self.thread || !other.thread)
            && (self.io || !other.io)
            && (self.traffic || !other.traffic)
    }
}

/// What was read at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    pub rss_bytes: Option<u64>,
    /// Where it was asked for.
    pub thread: Option<Reading>,
}

impl Figures {
    /// Those of them that are asked for.
    fn only(self, asked: Asked) -> Self {
        let thread = self.thread.filter(|_| asked.thread).map(|reading| Reading {
            io_bytes: reading.io_bytes.filter(|_| asked.io),
            traffic: reading.traffic.filter(|_| asked.traffic),
            ..reading
        });
        Self { rss_bytes: self.rss_bytes.filter(|_| asked.rss), thread }
    }
}

/// How long after something was read a section may begin that takes it for its own.
const NEAR_NS: u64 = 2_000;

/// Counts of one thread since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

/// What is counted inside a section, for its span.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counted {
    start: Reading,
    end: Reading,
}

impl Counted {
    /// What has been counted between two readings of one thread.
    pub(crate) fn between(start: Reading, end: Reading) -> Self {
        Self { start, end }
    }

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
                Entry::Field(key, FieldValue::Uint(value)).encode(&mut put);
            }
        }
    }
}

/// Of the smallest page that there is.
const HALF_A_PAGE: usize = 2_048;

/// A file of the calling thread under `/proc`, kept open: reading it again is one call.
#[derive(Debug, Default)]
pub(crate) enum Source {
    #[default]
    Unopened,
    Open(File),
    Refused,
}

impl Source {
    fn file(&mut self, name: &str) -> Option<&File> {
        if let Self::Unopened = self {
            *self = File::open(name).map_or(Self::Refused, Self::Open);
        }
        if let Self::Open(file) = self { Some(file) } else { None }
    }

    /// What one call gives.
    fn read<'a>(&mut self, name: &str, buffer: &'a mut [u8]) -> Option<&'a str> {
        let read = self.file(name)?.read_at(buffer, 0).ok()?;
        std::str::from_utf8(buffer.get(..read)?).ok()
    }

    /// All of a file that gives its lines by the page, each of less than half a page; `None` if there is no room for it.
    pub(crate) fn read_whole<'a>(&mut self, name: &str, buffer: &'a mut [u8]) -> Option<&'a str> {
        let (file, mut len) = (self.file(name)?, 0);
        loop {
            let room = buffer.get_mut(len..).filter(|room| !room.is_empty())?;
            match file.read_at(room, len as u64).ok()? {
                // Another line would have had room: not asked once more, which would have the system write all of them again.
                read @ ..HALF_A_PAGE => {
                    len += read;
                    return std::str::from_utf8(buffer.get(..len)?).ok();
                }
                read => len += read,
            }
        }
    }
}

/// What was read last, and for how much longer it is good.
#[derive(Debug, Clone, Copy, Default)]
struct Recent {
    asked: Asked,
    figures: Figures,
    /// Up to here the thread has done nothing since but what the layer does.
    until_ns: u64,
}

/// Reads what is counted for one thread. What it read at the begin of a section stays with that section.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    run_queue: Source,
    /// Time in the run queue, and how often the thread had left its processor by then.
    waited: Option<(u64, Option<u64>)>,
    io: Source,
    network: Network,
    recent: Recent,
}

impl Reader {
    /// For a section that begins now.
    #[cold]
    pub(crate) fn at_begin(&mut self, asked: Asked) -> Figures {
        let Recent { asked: known, figures, until_ns } = self.recent;
        if known.includes(asked) && now_ns().saturating_sub(until_ns) <= NEAR_NS {
            return figures.only(asked);
        }
        self.read(asked)
    }

    /// For a section that has just ended. [`done`](Self::done) is to be called when all is told of it.
    #[cold]
    pub(crate) fn at_end(&mut self, asked: Asked) -> Figures {
        self.read(asked)
    }

    /// From here on the thread does what is no longer ours.
    pub(crate) fn done(&mut self) {
        self.recent.until_ns = now_ns();
    }

    fn read(&mut self, asked: Asked) -> Figures {
        let thread = asked.thread.then(|| self.read_thread(asked));
        let rss_bytes = if asked.rss { memory::rss_bytes() } else { None };
        let figures = Figures { rss_bytes, thread };
        self.recent = Recent { asked, figures, until_ns: now_ns() };
        figures
    }

    fn read_thread(&mut self, asked: Asked) -> Reading {
        let mut buffer = [0; 512];
        let usage = sys::thread_usage();
        let run_queue_ns = self.run_queue_ns(usage, &mut buffer);
        let io_bytes = if asked.io {
            self.io.read("/proc/thread-self/io", &mut buffer).and_then(io_bytes)
        } else {
            None
        };
        let traffic = if asked.traffic { self.network.read() } else { None };
        Reading { run_queue_ns, usage, io_bytes, traffic }
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
        let asked = Asked { rss: true, thread: true, io: true, traffic: true };
        let start = reader.at_begin(asked).thread.unwrap();
        // Larger than what an allocator keeps for the next one.
        let pages = std::hint::black_box(vec![1u8; 40 << 20]);
        let file = std::env::temp_dir().join(format!("stepscope-os-{}", std::process::id()));
        std::fs::write(&file, pages.get(..100_000).unwrap()).unwrap();
        let read = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(read.len(), 100_000);
        let end = reader.at_end(asked).thread.unwrap();
        let (before, after) = (start.usage.unwrap(), end.usage.unwrap());
        assert!(after.minor_faults > before.minor_faults, "{before:?} {after:?}");
        // Where the system does not let it be read there is none.
        if let Some((before, after)) = start.io_bytes.zip(end.io_bytes) {
            assert!(after[0] - before[0] >= 100_000 && after[1] - before[1] >= 100_000);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_begins_right_behind_an_end_takes_what_was_read_there() {
        let mut reader = Reader::default();
        let all = Asked { rss: true, thread: true, io: true, traffic: true };
        let end = reader.at_end(all);
        // (Now is never later than this.)
        reader.recent.until_ns = u64::MAX;
        let asked = Asked { thread: true, ..Asked::default() };
        // A system call that counts: it would show.
        let _ = std::fs::read("/proc/self/comm").unwrap();
        let near = reader.at_begin(asked);
        let expected = end.thread.map(|reading| Reading { io_bytes: None, traffic: None, ..reading });
        assert_eq!((near.rss_bytes, near.thread), (None, expected), "what is asked for, and no more");
        assert_eq!(reader.at_begin(all).thread, end.thread);

        reader.recent.until_ns = 0;
        let far = reader.at_begin(all);
        if let Some((end, far)) = end.thread.and_then(|end| end.io_bytes).zip(far.thread.unwrap().io_bytes) {
            assert!(far[0] > end[0], "read anew: {end:?} {far:?}");
        }
        // What was read for less does not serve for more.
        reader.at_end(asked);
        reader.recent.until_ns = u64::MAX;
        let more = reader.at_begin(all);
        assert_eq!(more.thread.unwrap().traffic.is_some(), end.thread.unwrap().traffic.is_some());
        assert_eq!(more.rss_bytes.is_some(), end.rss_bytes.is_some());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn time_in_the_run_queue_is_asked_for_again_once_the_thread_has_left_its_processor() {
        let mut reader = Reader::default();
        let usage = |switches| Usage { voluntary_switches: switches, ..Usage::default() };
        let mut read = |switches, known| {
            if let Some(known) = known {
                reader.waited = Some(known);
            }
            reader.run_queue_ns(switches, &mut [0; 512])
        };
        let Some(waited_ns) = read(Some(usage(1)), None) else { return };
        // A figure that the system does not give.
        let other = Some(waited_ns + (1 << 50));
        assert_eq!(read(Some(usage(1)), Some((1, other))), other, "kept");
        assert!(read(Some(usage(2)), None).is_some_and(|ns| Some(ns) < other), "asked for again");
        assert!(
            read(None, Some((2, other))).is_some_and(|ns| Some(ns) < other),
            "as nothing tells whether it waited"
        );
    }
}
