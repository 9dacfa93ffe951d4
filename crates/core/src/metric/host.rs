//! Metrics of the machine, of the container around a process, and of the process: what the exporter reads from `/proc`,
//! `/sys` and control groups. Other systems have fewer of them.

use crate::attr;
use crate::vocabulary::{Instrument, Metric, Tier, stability};

metrics! {
    /// Time since the machine started.
    UPTIME = "system.uptime", Gauge, "s", [], "/proc/uptime", Pass;
    /// Logical processors of the machine.
    CPU_COUNT = "system.cpu.logical.count", UpDownCounter, "{cpu}", [], "/proc/stat", Pass;
    /// Time of all processors, by what they did.
    CPU_TIME = "system.cpu.time", Counter, "s", [attr::CPU_MODE], "/proc/stat", Pass;
    /// Share of all processors' time since the last pass, by what they did.
    CPU_UTILIZATION = "system.cpu.utilization", Gauge, "1", [attr::CPU_MODE], "/proc/stat", Pass;
    /// Share of one processor's time since the last pass that it was neither idle nor waiting for storage.
    CPU_CORE_UTILIZATION = "stepscope.system.cpu.core.utilization", Gauge, "1", [attr::CPU_LOGICAL_NUMBER], "/proc/stat", Pass;
    /// Tasks that ran, could have run or waited for storage, on average over the window.
    LOAD = "stepscope.system.load", Gauge, "{task}", [attr::LOAD_WINDOW], "/proc/loadavg", Pass;
    /// Memory of the machine by what it is in; together these are all of it.
    MEMORY_USAGE = "system.memory.usage", UpDownCounter, "By", [attr::MEMORY_STATE], "/proc/meminfo", Pass;
    /// Memory of the machine.
    MEMORY_LIMIT = "system.memory.limit", UpDownCounter, "By", [], "/proc/meminfo", Pass;
    /// Share of the machine's memory that is neither free nor could be freed without swapping.
    MEMORY_UTILIZATION = "stepscope.system.memory.utilization", Gauge, "1", [], "/proc/meminfo", Pass;
    /// Memory that programs can have without swapping, as the kernel estimates.
    MEMORY_AVAILABLE = "system.memory.linux.available", UpDownCounter, "By", [], "/proc/meminfo", Pass;
    /// Memory shared between processes, files in memory among it.
    MEMORY_SHARED = "system.memory.linux.shared", UpDownCounter, "By", [], "/proc/meminfo", Pass;
    /// Memory that was written and has to reach storage yet.
    MEMORY_DIRTY = "stepscope.system.memory.dirty", UpDownCounter, "By", [], "/proc/meminfo", Pass;
    /// Swap space by whether it is in use.
    PAGING_USAGE = "system.paging.usage", UpDownCounter, "By", [attr::PAGING_STATE], "/proc/meminfo", Pass;
    /// Page faults of all processes.
    PAGING_FAULTS = "system.paging.faults", Counter, "{fault}", [attr::PAGING_FAULT_TYPE], "/proc/vmstat", Slow;
    /// Pages that were swapped in and out.
    PAGING_OPERATIONS = "system.paging.operations", Counter, "{operation}", [attr::PAGING_FAULT_TYPE, attr::PAGING_DIRECTION], "/proc/vmstat", Slow;
    /// Processes that the kernel killed because memory was short.
    OOM_KILLS = "stepscope.system.oom_kills", Counter, "{process}", [], "/proc/vmstat", Slow;
    /// Processes and threads that were created.
    PROCESSES_CREATED = "system.process.created", Counter, "{process}", [], "/proc/stat", Pass;
    /// Times that processors went from one task to another.
    CONTEXT_SWITCHES = "stepscope.system.context_switches", Counter, "{context_switch}", [], "/proc/stat", Pass;
    /// Time during which tasks could not go on, for want of a processor, memory or storage.
    PRESSURE = "stepscope.system.pressure.time", Counter, "s", [attr::PRESSURE_RESOURCE, attr::PRESSURE_KIND], "/proc/pressure/*", Pass;
    /// Bytes that a disk read and wrote.
    DISK_IO = "system.disk.io", Counter, "By", [attr::SYSTEM_DEVICE, attr::DISK_IO_DIRECTION], "/proc/diskstats", Pass;
    /// Requests that a disk has completed.
    DISK_OPERATIONS = "system.disk.operations", Counter, "{operation}", [attr::SYSTEM_DEVICE, attr::DISK_IO_DIRECTION], "/proc/diskstats", Pass;
    /// Time that a disk's requests took, added up.
    DISK_OPERATION_TIME = "system.disk.operation_time", Counter, "s", [attr::SYSTEM_DEVICE, attr::DISK_IO_DIRECTION], "/proc/diskstats", Pass;
    /// Time during which a disk had requests.
    DISK_IO_TIME = "system.disk.io_time", Counter, "s", [attr::SYSTEM_DEVICE], "/proc/diskstats", Pass;
    /// Space of a file system by whether it is in use.
    FILESYSTEM_USAGE = "system.filesystem.usage", UpDownCounter, "By", [attr::SYSTEM_DEVICE, attr::FILESYSTEM_MOUNTPOINT, attr::FILESYSTEM_TYPE, attr::FILESYSTEM_STATE], "statvfs", Slow;
    /// Share of a file system's space that is in use.
    FILESYSTEM_UTILIZATION = "system.filesystem.utilization", Gauge, "1", [attr::SYSTEM_DEVICE, attr::FILESYSTEM_MOUNTPOINT, attr::FILESYSTEM_TYPE], "statvfs", Slow;
    /// Bytes through a network interface of the process' network namespace.
    NETWORK_IO = "system.network.io", Counter, "By", [attr::NETWORK_INTERFACE_NAME, attr::NETWORK_IO_DIRECTION], "/proc/net/dev", Pass;
    /// Packets through a network interface.
    NETWORK_PACKETS = "system.network.packet.count", Counter, "{packet}", [attr::SYSTEM_DEVICE, attr::NETWORK_IO_DIRECTION], "/proc/net/dev", Pass;
    /// Packets that a network interface dropped.
    NETWORK_DROPPED = "system.network.packet.dropped", Counter, "{packet}", [attr::NETWORK_INTERFACE_NAME, attr::NETWORK_IO_DIRECTION], "/proc/net/dev", Pass;
    /// Errors of a network interface.
    NETWORK_ERRORS = "system.network.errors", Counter, "{error}", [attr::NETWORK_INTERFACE_NAME, attr::NETWORK_IO_DIRECTION], "/proc/net/dev", Pass;
    /// TCP connections by state.
    NETWORK_CONNECTIONS = "system.network.connection.count", UpDownCounter, "{connection}", [attr::NETWORK_TRANSPORT, attr::NETWORK_CONNECTION_STATE], "/proc/net/snmp, /proc/net/sockstat", Slow;

    /// Processor time of the process.
    PROCESS_CPU_TIME = "process.cpu.time", Counter, "s", [attr::CPU_MODE], "/proc/PID/stat", Pass;
    /// Processor time of the process since the last pass over that time, of all processors of the machine.
    PROCESS_CPU_UTILIZATION = "process.cpu.utilization", Gauge, "1", [attr::CPU_MODE], "/proc/PID/stat", Pass;
    /// Virtual memory of the process.
    PROCESS_MEMORY_VIRTUAL = "process.memory.virtual", UpDownCounter, "By", [], "/proc/PID/stat", Pass;
    /// Threads of the process.
    PROCESS_THREADS = "process.thread.count", UpDownCounter, "{thread}", [], "/proc/PID/stat", Pass;
    /// Open file descriptors of the process.
    PROCESS_DESCRIPTORS = "process.unix.file_descriptor.count", UpDownCounter, "{file_descriptor}", [], "/proc/PID/fd", Slow;
    /// How often threads of the process left a processor; of a process other than the exporter's own not known.
    PROCESS_CONTEXT_SWITCHES = "process.context_switches", Counter, "{context_switch}", [attr::CONTEXT_SWITCH_TYPE], "getrusage", Pass;
    /// Page faults of the process.
    PROCESS_FAULTS = "process.paging.faults", Counter, "{fault}", [attr::PAGING_FAULT_TYPE], "/proc/PID/stat", Pass;
    /// Bytes that the process read from storage and wrote to it.
    PROCESS_DISK_IO = "process.disk.io", Counter, "By", [attr::DISK_IO_DIRECTION], "/proc/PID/io", Pass;
    /// Time since the process started.
    PROCESS_UPTIME = "process.uptime", Gauge, "s", [], "/proc/PID/stat, /proc/uptime", Pass;

    /// Processor time of the container.
    CONTAINER_CPU_TIME = "container.cpu.time", Counter, "s", [attr::CPU_MODE], "cpu.stat, cpuacct.stat", Pass;
    /// Processors that the container kept busy since the last pass.
    CONTAINER_CPU_USAGE = "container.cpu.usage", Gauge, "{cpu}", [], "cpu.stat, cpuacct.usage", Pass;
    /// Processors that the container may use: the lowest quota of its group and the groups around it.
    CONTAINER_CPU_LIMIT = "stepscope.container.cpu.limit", Gauge, "{cpu}", [], "cpu.max, cpu.cfs_quota_us", Pass;
    /// Time for which the container was stopped because its quota was used up.
    CONTAINER_CPU_THROTTLED = "stepscope.container.cpu.throttled.time", Counter, "s", [], "cpu.stat", Pass;
    /// Memory of the container, caches of files among it.
    CONTAINER_MEMORY_USAGE = "container.memory.usage", UpDownCounter, "By", [], "memory.current, memory.usage_in_bytes", Pass;
    /// Memory of the container that is not from files.
    CONTAINER_MEMORY_RSS = "container.memory.rss", UpDownCounter, "By", [], "memory.stat", Slow;
    /// Memory of the container without caches of files that were not used lately.
    CONTAINER_MEMORY_WORKING_SET = "container.memory.working_set", UpDownCounter, "By", [], "memory.stat", Slow;
    /// What the container's memory may grow by: its limit without its working set. Absent without a limit.
    CONTAINER_MEMORY_AVAILABLE = "container.memory.available", UpDownCounter, "By", [], "memory.stat", Slow;
    /// The memory that the container may use: the lowest limit of its group and the groups around it. Absent without one.
    CONTAINER_MEMORY_LIMIT = "stepscope.container.memory.limit", UpDownCounter, "By", [], "memory.max, memory.limit_in_bytes", Pass;
    /// Processes of the container that the kernel killed because the limit was reached.
    CONTAINER_OOM_KILLS = "stepscope.container.oom_kills", Counter, "{process}", [], "memory.events, memory.oom_control", Pass;
    /// Time during which the container's tasks could not go on, for want of a processor, memory or storage.
    CONTAINER_PRESSURE = "stepscope.container.pressure.time", Counter, "s", [attr::PRESSURE_RESOURCE, attr::PRESSURE_KIND], "*.pressure", Pass;
}
