//! The sources, and the sampler that asks each of them in turn. A source writes all of its figures at every pass, absent
//! where they are not known, so nothing stays that is not so any more.

mod allocators;
mod cgroup;
mod cpu;
mod disk;
mod energy;
mod file;
mod memory;
mod network;
mod parse;
mod pressure;
mod process;
mod system;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

pub use self::cgroup::ControlGroup;
use self::file::{Buffer, Input};
use crate::notes::Notes;
use crate::snapshot::Snapshot;

/// Passes from one reading of what costs more to the next.
pub(crate) const SLOW_PASSES: u64 = 10;

/// Where the files are.
#[derive(Debug)]
struct Root {
    path: PathBuf,
    ticks_per_s: f64,
    page_bytes: u64,
    /// Whether these are the files of the machine at hand.
    is_live: bool,
}

impl Root {
    fn input(&self, path: &str) -> Input {
        Input::new(self.path.join(path))
    }
}

/// Reads the files of the machine, of a process and of its container, once for every call of [`Sampler::pass`], and
/// allocates nothing while no device comes or goes. What may block (file systems, GPUs) is not among them.
#[derive(Debug)]
pub struct Sampler {
    buffer: Buffer,
    snapshot: Snapshot,
    host: Host,
    process: process::ProcessFiles,
    group: Option<cgroup::Group>,
    allocators: Option<allocators::Allocators>,
}

/// What is read of the machine.
#[derive(Debug)]
enum Host {
    Files(Box<HostFiles>),
    /// No file: what figures of a process are relative to comes from calls. Another one tells of the machine.
    Calls {
        cpus: Option<u64>,
        is_live: bool,
    },
}

#[derive(Debug)]
struct HostFiles {
    cpu: cpu::Cpu,
    memory: memory::MemoryFiles,
    pressure: pressure::PressureFiles,
    disks: disk::Disks,
    network: network::Network,
    energy: energy::Energy,
}

impl HostFiles {
    fn new(root: &Root, notes: &Notes) -> Self {
        let pressure = ["cpu", "memory", "io"].map(|name| root.input(&format!("proc/pressure/{name}")));
        Self {
            cpu: cpu::Cpu::new(root),
            memory: memory::MemoryFiles::new(root),
            pressure: pressure::PressureFiles::new(pressure),
            disks: disk::Disks::new(root),
            network: network::Network::new(root),
            energy: energy::Energy::new(root, notes),
        }
    }

    fn read(&mut self, buffer: &mut Buffer, snapshot: &mut Snapshot, started: Instant, is_slow: bool) {
        self.cpu.read(buffer, snapshot);
        self.memory.read(buffer, &mut snapshot.host, is_slow);
        snapshot.host.pressure = self.pressure.read(buffer);
        self.disks.read(buffer, &mut snapshot.disks);
        self.network.read(buffer, snapshot, is_slow);
        self.energy.read(buffer, started, &mut snapshot.zones);
    }
}

impl Sampler {
    /// Of the machine at hand and the process `pid`.
    #[must_use]
    pub fn new(pid: u32) -> Self {
        Self::with_notes(Path::new("/"), pid, true, None, &Arc::default())
    }

    /// Of the files below `root`, which may be recorded ones of another machine; ticks and pages are the usual ones there.
    #[must_use]
    pub fn of_files(root: &Path, pid: u32) -> Self {
        Self::with_notes(root, pid, true, None, &Arc::default())
    }

    /// `has_host`: whether the machine is read beside the process and its container; `container`: instead of the one around
    /// the process.
    pub(crate) fn with_notes(
        root: &Path,
        pid: u32,
        has_host: bool,
        container: Option<&ControlGroup>,
        notes: &Arc<Notes>,
    ) -> Self {
        let is_live = root == Path::new("/");
        let root = Root {
            path: root.to_owned(),
            ticks_per_s: if is_live { system::ticks_per_s() } else { 100.0 },
            page_bytes: if is_live { system::page_bytes() } else { 4_096 },
            is_live,
        };
        let host = if has_host {
            Host::Files(Box::new(HostFiles::new(&root, notes)))
        } else {
            Host::Calls { cpus: is_live.then(system::cpus).flatten(), is_live }
        };
        Self {
            buffer: Buffer::default(),
            snapshot: Snapshot::default(),
            host,
            process: process::ProcessFiles::new(&root, pid),
            group: match container {
                Some(container) => cgroup::Group::chosen(&root, container),
                None => cgroup::Group::find(&root, pid),
            },
            allocators: (is_live && pid == std::process::id()).then(|| allocators::Allocators::find(notes)),
        }
    }

    /// Reads everything that is due.
    pub fn pass(&mut self) -> &Snapshot {
        let started = Instant::now();
        let (snapshot, buffer) = (&mut self.snapshot, &mut self.buffer);
        let is_slow = snapshot.passes % SLOW_PASSES == 0;
        snapshot.passes += 1;
        let machine = match &mut self.host {
            Host::Files(files) => {
                files.read(buffer, snapshot, started, is_slow);
                (snapshot.host.uptime_s, snapshot.host.cpus)
            }
            Host::Calls { cpus, is_live } => (is_live.then(system::uptime_s).flatten(), *cpus),
        };
        snapshot.process = self.process.read(buffer, machine, is_slow);
        snapshot.container = self.group.as_mut().and_then(|group| group.read(buffer, machine.0, is_slow));
        if let Some(allocators) = self.allocators.as_mut().filter(|_| is_slow) {
            allocators.read(&mut snapshot.allocators);
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        snapshot.taken_unix_ns = now.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        snapshot.pass_duration_s = Some(started.elapsed().as_secs_f64());
        snapshot
    }

    /// The snapshot, for what other threads have read.
    pub(crate) const fn snapshot_mut(&mut self) -> &mut Snapshot {
        &mut self.snapshot
    }

    /// Whether the process that is followed was there and has ended.
    #[must_use]
    pub const fn process_ended(&self) -> bool {
        self.process.is_gone()
    }

    /// Whether a container was chosen, and has ended.
    #[must_use]
    pub fn container_ended(&self) -> bool {
        self.group.as_ref().is_some_and(cgroup::Group::is_gone)
    }
}

/// Puts the entry at `index`, where entries of former passes may be.
fn put<T>(entries: &mut Vec<T>, index: usize, entry: T) {
    match entries.get_mut(index) {
        Some(slot) => *slot = entry,
        None => entries.push(entry),
    }
}
