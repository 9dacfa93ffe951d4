//! What is known at one moment, typed: filled by the sources, read by the views. A figure that is not known is absent.
//! Counters count from where the system does. Taking a copy into an older one allocates nothing while no device comes.

mod allocator;
mod gpu;
mod user;

use std::sync::Arc;

pub use self::allocator::Allocator;
pub use self::gpu::Gpu;
pub use self::user::{AlertState, MAX_USER_LABELS, Program, Run, Steps, UserLabels, UserPoint};

/// The modes of a processor's time, as `cpu.mode` has them.
pub const CPU_MODES: [&str; 8] =
    ["user", "nice", "system", "idle", "iowait", "interrupt", "softirq", "steal"];

/// The windows of [`Host::load`].
pub const LOAD_WINDOWS: [&str; 3] = ["1m", "5m", "15m"];

/// What [`Pressure`] is known of.
pub const PRESSURE_RESOURCES: [&str; 3] = ["cpu", "memory", "io"];

/// Everything.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// When it was taken, by the system's clock.
    pub taken_unix_ns: u64,
    /// Passes over the sources so far, this one included.
    pub passes: u64,
    /// How long this pass took.
    pub pass_duration_s: Option<f64>,
    /// Pushes to a collector that failed; where there are any pushes.
    pub pushes_failed: Option<u64>,
    /// The machine.
    pub host: Host,
    /// Share of its time that each logical processor was at work since the last pass.
    pub cores: Vec<Option<f64>>,
    /// Disks, partitions aside.
    pub disks: Vec<Disk>,
    /// Interfaces of the network namespace.
    pub interfaces: Vec<Interface>,
    /// File systems on disks.
    pub filesystems: Vec<Filesystem>,
    /// Sensors of temperature.
    pub sensors: Vec<Sensor>,
    /// Energy counters of processors.
    pub zones: Vec<EnergyZone>,
    /// The process that is followed.
    pub process: Option<Process>,
    /// The container around that process.
    pub container: Option<Container>,
    /// GPUs, in the order of their indices.
    pub gpus: Vec<Gpu>,
    /// The allocators of this process.
    pub allocators: Vec<Allocator>,
    /// Bytes that the program allocated a second since the last pass, where it counts them.
    pub allocation_rate: Option<f64>,
    /// What the program tells of itself, where it does.
    pub program: Program,
    /// Alerts, where any are watched.
    pub alerts: Vec<AlertState>,
    /// What the program has recorded by the facade `metrics`; points of one metric are together.
    pub user: Vec<UserPoint>,
    /// What of that was not taken, where anything is taken.
    pub user_dropped: Option<u64>,
}

impl Clone for Snapshot {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, source: &Self) {
        let Self { taken_unix_ns, passes, pass_duration_s, pushes_failed, host, process, container, .. } =
            source;
        self.taken_unix_ns = *taken_unix_ns;
        self.passes = *passes;
        self.pass_duration_s = *pass_duration_s;
        self.pushes_failed = *pushes_failed;
        self.host = *host;
        self.process = *process;
        self.container = *container;
        self.program.clone_from(&source.program);
        self.allocation_rate = source.allocation_rate;
        self.user_dropped = source.user_dropped;
        self.alerts.clone_from(&source.alerts);
        self.user.clone_from(&source.user);
        self.cores.clone_from(&source.cores);
        self.disks.clone_from(&source.disks);
        self.interfaces.clone_from(&source.interfaces);
        self.filesystems.clone_from(&source.filesystems);
        self.sensors.clone_from(&source.sensors);
        self.zones.clone_from(&source.zones);
        self.gpus.clone_from(&source.gpus);
        self.allocators.clone_from(&source.allocators);
    }
}

/// The machine.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Host {
    /// Time since the start.
    pub uptime_s: Option<f64>,
    /// Logical processors.
    pub cpus: Option<u64>,
    /// Time of all processors by mode.
    pub cpu_time_s: [Option<f64>; 8],
    /// Share of that since the last pass.
    pub cpu_utilization: [Option<f64>; 8],
    /// Average numbers of tasks.
    pub load: [Option<f64>; 3],
    /// Processes that were created.
    pub processes_created: Option<u64>,
    /// Switches between tasks.
    pub context_switches: Option<u64>,
    /// Memory.
    pub memory: Option<Memory>,
    /// Counters of paging.
    pub paging: Paging,
    /// Time that tasks lost for want of something.
    pub pressure: [Pressure; 3],
    /// TCP connections that are established.
    pub tcp_established: Option<u64>,
    /// TCP connections that wait for late packets.
    pub tcp_time_wait: Option<u64>,
}

/// The machine's memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// All of it.
    pub total_bytes: u64,
    /// In no use.
    pub free_bytes: Option<u64>,
    /// Buffers of block devices.
    pub buffers_bytes: Option<u64>,
    /// Caches of files, and what else can be given back of the kernel's.
    pub cached_bytes: Option<u64>,
    /// The rest.
    pub used_bytes: Option<u64>,
    /// What programs can have without swapping.
    pub available_bytes: Option<u64>,
    /// Shared between processes.
    pub shared_bytes: Option<u64>,
    /// Has to be written yet.
    pub dirty_bytes: Option<u64>,
    /// Swap space.
    pub swap_total_bytes: Option<u64>,
    /// Swap space in no use.
    pub swap_free_bytes: Option<u64>,
}

/// Counters of paging.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Paging {
    /// Faults, all of them.
    pub faults: Option<u64>,
    /// Faults that waited for storage.
    pub major_faults: Option<u64>,
    /// Pages from swap space.
    pub swapped_in: Option<u64>,
    /// Pages to swap space.
    pub swapped_out: Option<u64>,
    /// Processes killed for want of memory.
    pub oom_kills: Option<u64>,
}

/// Time that tasks lost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pressure {
    /// While some waited.
    pub some_s: Option<f64>,
    /// While all waited.
    pub full_s: Option<f64>,
}

/// One disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// Its name.
    pub name: Arc<str>,
    /// Bytes read, written.
    pub bytes: [Option<u64>; 2],
    /// Requests to read, to write.
    pub operations: [Option<u64>; 2],
    /// Time of requests to read, to write.
    pub operation_s: [Option<f64>; 2],
    /// Time with requests.
    pub busy_s: Option<f64>,
}

/// One network interface; received, sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: Arc<str>,
    /// Bytes.
    pub bytes: [Option<u64>; 2],
    /// Packets.
    pub packets: [Option<u64>; 2],
    /// Errors.
    pub errors: [Option<u64>; 2],
    /// Packets that were dropped.
    pub dropped: [Option<u64>; 2],
}

/// One file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filesystem {
    /// What is mounted.
    pub device: Arc<str>,
    /// Where.
    pub mountpoint: Arc<str>,
    /// Its kind.
    pub kind: Arc<str>,
    /// Space in use, by whomever.
    pub used_bytes: u64,
    /// Space for users.
    pub free_bytes: u64,
}

/// One sensor.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensor {
    /// Its name.
    pub name: Arc<str>,
    /// What it shows.
    pub celsius: Option<f64>,
}

/// One energy counter of a processor.
#[derive(Debug, Clone, PartialEq)]
pub struct EnergyZone {
    /// Its name in the system: `intel-rapl:0`.
    pub id: Arc<str>,
    /// What it counts: `package-0`, `dram`.
    pub name: Arc<str>,
    /// Energy; goes on where the system's counter starts again.
    pub joules: Option<f64>,
    /// Power since the last pass.
    pub watts: Option<f64>,
}

/// One process.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Time in user mode, in the kernel.
    pub cpu_time_s: [Option<f64>; 2],
    /// Share of all processors since the last pass.
    pub cpu_utilization: [Option<f64>; 2],
    /// Resident memory.
    pub resident_bytes: Option<u64>,
    /// Address space.
    pub virtual_bytes: Option<u64>,
    /// Threads.
    pub threads: Option<u64>,
    /// Open descriptors.
    pub descriptors: Option<u64>,
    /// Faults without, with waiting for storage.
    pub faults: [Option<u64>; 2],
    /// Processors given up, taken away.
    pub context_switches: [Option<u64>; 2],
    /// Bytes from storage, to it.
    pub disk_bytes: [Option<u64>; 2],
    /// Time since its start.
    pub uptime_s: Option<f64>,
}

/// The control group of the process.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Container {
    /// Time in user mode, in the kernel.
    pub cpu_time_s: [Option<f64>; 2],
    /// Processors busy since the last pass.
    pub cpu_usage: Option<f64>,
    /// Processors that it may use.
    pub cpu_limit: Option<f64>,
    /// Time for which it was stopped.
    pub throttled_s: Option<f64>,
    /// Memory.
    pub memory_bytes: Option<u64>,
    /// Memory not from files.
    pub rss_bytes: Option<u64>,
    /// Memory without caches that were not used lately.
    pub working_set_bytes: Option<u64>,
    /// Lowest limit of it and those around it.
    pub memory_limit_bytes: Option<u64>,
    /// Processes killed at the limit.
    pub oom_kills: Option<u64>,
    /// Time that its tasks lost.
    pub pressure: [Pressure; 3],
}

impl Container {
    /// What its memory may grow by.
    #[must_use]
    pub fn available_bytes(&self) -> Option<u64> {
        Some(self.memory_limit_bytes?.saturating_sub(self.working_set_bytes?))
    }
}
