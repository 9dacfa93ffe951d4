//! Points of the machine, the process and the container.

use stepscope_core::attr;
use stepscope_core::metric::host::row;
use stepscope_core::metric::row as layer;

use super::{MAX_DIGITS, Walk, digits};
use crate::snapshot::{
    CPU_MODES, Container, Host, LOAD_WINDOWS, PRESSURE_RESOURCES, Pressure, Process, Snapshot,
};

const DISK: [&str; 2] = ["read", "write"];
const NETWORK: [&str; 2] = ["receive", "transmit"];
const MODES: [&str; 2] = ["user", "system"];

pub(super) fn visit(snapshot: &Snapshot, walk: &mut Walk<'_>) {
    machine(&snapshot.host, walk);
    memory(&snapshot.host, walk);
    disks(snapshot, walk);
    network(snapshot, walk);
    if let Some(container) = &snapshot.container {
        of_container(container, walk);
    }
    if let Some(process) = &snapshot.process {
        of_process(process, walk);
    }
}

fn machine(host: &Host, walk: &mut Walk<'_>) {
    walk.one(&row::UPTIME, host.uptime_s);
    walk.one(&row::CPU_COUNT, host.cpus);
    walk.each(&row::CPU_TIME, attr::CPU_MODE, CPU_MODES.into_iter().zip(host.cpu_time_s));
    walk.each(&row::CPU_UTILIZATION, attr::CPU_MODE, CPU_MODES.into_iter().zip(host.cpu_utilization));
    walk.each(&row::LOAD, attr::LOAD_WINDOW, LOAD_WINDOWS.into_iter().zip(host.load));
    walk.one(&row::PROCESSES_CREATED, host.processes_created);
    walk.one(&row::CONTEXT_SWITCHES, host.context_switches);
    pressure(walk.of(&row::PRESSURE), &host.pressure);
}

fn pressure(walk: &mut Walk<'_>, pressure: &[Pressure; 3]) {
    for (resource, pressure) in PRESSURE_RESOURCES.into_iter().zip(pressure) {
        for (kind, seconds) in [("some", pressure.some_s), ("full", pressure.full_s)] {
            walk.point(&[(attr::PRESSURE_RESOURCE, resource), (attr::PRESSURE_KIND, kind)], seconds);
        }
    }
}

fn memory(host: &Host, walk: &mut Walk<'_>) {
    if let Some(memory) = host.memory {
        let states = [
            ("used", memory.used_bytes),
            ("free", memory.free_bytes),
            ("buffers", memory.buffers_bytes),
            ("cached", memory.cached_bytes),
        ];
        walk.each(&row::MEMORY_USAGE, attr::MEMORY_STATE, states);
        walk.one(&row::MEMORY_LIMIT, Some(memory.total_bytes));
        let total = (memory.total_bytes > 0).then_some(memory.total_bytes);
        let share = memory.available_bytes.zip(total);
        walk.one(
            &row::MEMORY_UTILIZATION,
            share.map(|(available, total)| total.saturating_sub(available) as f64 / total as f64),
        );
        walk.one(&row::MEMORY_AVAILABLE, memory.available_bytes);
        walk.one(&row::MEMORY_SHARED, memory.shared_bytes);
        walk.one(&row::MEMORY_DIRTY, memory.dirty_bytes);
        let swap = memory.swap_total_bytes.zip(memory.swap_free_bytes);
        let used = swap.map(|(total, free)| total.saturating_sub(free));
        walk.each(&row::PAGING_USAGE, attr::PAGING_STATE, [("used", used), ("free", memory.swap_free_bytes)]);
    }
    let paging = host.paging;
    let minor = paging.faults.zip(paging.major_faults).map(|(all, major)| all.saturating_sub(major));
    let faults = [("minor", minor), ("major", paging.major_faults)];
    walk.each(&row::PAGING_FAULTS, attr::PAGING_FAULT_TYPE, faults);
    walk.of(&row::PAGING_OPERATIONS);
    for (direction, count) in [("in", paging.swapped_in), ("out", paging.swapped_out)] {
        walk.point(&[(attr::PAGING_FAULT_TYPE, "major"), (attr::PAGING_DIRECTION, direction)], count);
    }
    walk.one(&row::OOM_KILLS, paging.oom_kills);
}

fn disks(snapshot: &Snapshot, walk: &mut Walk<'_>) {
    macro_rules! both {
        ($row:expr, $field:ident) => {
            walk.of($row);
            for disk in &snapshot.disks {
                for (direction, value) in DISK.into_iter().zip(disk.$field) {
                    let labels = [(attr::SYSTEM_DEVICE, &*disk.name), (attr::DISK_IO_DIRECTION, direction)];
                    walk.point(&labels, value);
                }
            }
        };
    }
    both!(&row::DISK_IO, bytes);
    both!(&row::DISK_OPERATIONS, operations);
    both!(&row::DISK_OPERATION_TIME, operation_s);
    walk.of(&row::DISK_IO_TIME);
    for disk in &snapshot.disks {
        walk.point(&[(attr::SYSTEM_DEVICE, &*disk.name)], disk.busy_s);
    }
    walk.of(&row::FILESYSTEM_USAGE);
    for system in &snapshot.filesystems {
        for (state, bytes) in [("used", system.used_bytes), ("free", system.free_bytes)] {
            let labels = [
                (attr::SYSTEM_DEVICE, &*system.device),
                (attr::FILESYSTEM_MOUNTPOINT, &*system.mountpoint),
                (attr::FILESYSTEM_TYPE, &*system.kind),
                (attr::FILESYSTEM_STATE, state),
            ];
            walk.point(&labels, Some(bytes));
        }
    }
    walk.of(&row::FILESYSTEM_UTILIZATION);
    for system in &snapshot.filesystems {
        let all = system.used_bytes.saturating_add(system.free_bytes);
        let labels = [
            (attr::SYSTEM_DEVICE, &*system.device),
            (attr::FILESYSTEM_MOUNTPOINT, &*system.mountpoint),
            (attr::FILESYSTEM_TYPE, &*system.kind),
        ];
        walk.point(&labels, (all > 0).then(|| system.used_bytes as f64 / all as f64));
    }
}

fn network(snapshot: &Snapshot, walk: &mut Walk<'_>) {
    macro_rules! both {
        ($row:expr, $key:expr, $field:ident) => {
            walk.of($row);
            for interface in &snapshot.interfaces {
                for (direction, value) in NETWORK.into_iter().zip(interface.$field) {
                    walk.point(&[($key, &*interface.name), (attr::NETWORK_IO_DIRECTION, direction)], value);
                }
            }
        };
    }
    both!(&row::NETWORK_IO, attr::NETWORK_INTERFACE_NAME, bytes);
    both!(&row::NETWORK_PACKETS, attr::SYSTEM_DEVICE, packets);
    both!(&row::NETWORK_DROPPED, attr::NETWORK_INTERFACE_NAME, dropped);
    both!(&row::NETWORK_ERRORS, attr::NETWORK_INTERFACE_NAME, errors);
    let host = &snapshot.host;
    walk.of(&row::NETWORK_CONNECTIONS);
    for (state, count) in [("established", host.tcp_established), ("time_wait", host.tcp_time_wait)] {
        walk.point(&[(attr::NETWORK_TRANSPORT, "tcp"), (attr::NETWORK_CONNECTION_STATE, state)], count);
    }
}

fn of_container(container: &Container, walk: &mut Walk<'_>) {
    walk.each(&row::CONTAINER_CPU_TIME, attr::CPU_MODE, MODES.into_iter().zip(container.cpu_time_s));
    walk.one(&row::CONTAINER_CPU_USAGE, container.cpu_usage);
    walk.one(&row::CONTAINER_CPU_LIMIT, container.cpu_limit);
    walk.one(&row::CONTAINER_CPU_THROTTLED, container.throttled_s);
    walk.one(&row::CONTAINER_MEMORY_USAGE, container.memory_bytes);
    walk.one(&row::CONTAINER_MEMORY_RSS, container.rss_bytes);
    walk.one(&row::CONTAINER_MEMORY_WORKING_SET, container.working_set_bytes);
    walk.one(&row::CONTAINER_MEMORY_AVAILABLE, container.available_bytes());
    walk.one(&row::CONTAINER_MEMORY_LIMIT, container.memory_limit_bytes);
    walk.one(&row::CONTAINER_OOM_KILLS, container.oom_kills);
    pressure(walk.of(&row::CONTAINER_PRESSURE), &container.pressure);
}

fn of_process(process: &Process, walk: &mut Walk<'_>) {
    let both = |values| MODES.into_iter().zip::<[Option<f64>; 2]>(values);
    walk.each(&row::PROCESS_CPU_TIME, attr::CPU_MODE, both(process.cpu_time_s));
    walk.each(&row::PROCESS_CPU_UTILIZATION, attr::CPU_MODE, both(process.cpu_utilization));
    walk.one(&layer::PROCESS_MEMORY_USAGE, process.resident_bytes);
    walk.one(&row::PROCESS_MEMORY_VIRTUAL, process.virtual_bytes);
    walk.one(&row::PROCESS_THREADS, process.threads);
    walk.one(&row::PROCESS_DESCRIPTORS, process.descriptors);
    let switches = ["voluntary", "involuntary"].into_iter().zip(process.context_switches);
    walk.each(&row::PROCESS_CONTEXT_SWITCHES, attr::CONTEXT_SWITCH_TYPE, switches);
    let faults = ["minor", "major"].into_iter().zip(process.faults);
    walk.each(&row::PROCESS_FAULTS, attr::PAGING_FAULT_TYPE, faults);
    walk.each(&row::PROCESS_DISK_IO, attr::DISK_IO_DIRECTION, DISK.into_iter().zip(process.disk_bytes));
    walk.one(&row::PROCESS_UPTIME, process.uptime_s);
}

/// Of each processor.
pub(super) fn cores(snapshot: &Snapshot, walk: &mut Walk<'_>) {
    walk.of(&row::CPU_CORE_UTILIZATION);
    for (index, &share) in snapshot.cores.iter().enumerate() {
        let mut text = [0; MAX_DIGITS];
        let number = digits(index as u64, &mut text);
        walk.point(&[(attr::CPU_LOGICAL_NUMBER, number)], share);
    }
}
