//! What other writers call the same things: names of metrics and of points' attributes that are read and never written. Most
//! are those of the OpenTelemetry collector's receiver `host_metrics`, which keeps to older conventions.

use super::{host, row};
use crate::attr;

/// Another name of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alias {
    /// The other name.
    pub name: &'static str,
    /// The metric's own.
    pub metric: &'static str,
    /// An attribute that every point of this name has.
    pub label: Option<(&'static str, &'static str)>,
}

const fn alias(name: &'static str, metric: &'static str) -> Alias {
    Alias { name, metric, label: None }
}

const fn load(name: &'static str, window: &'static str) -> Alias {
    Alias { name, metric: host::LOAD, label: Some((attr::LOAD_WINDOW, window)) }
}

/// Other names of metrics.
pub const METRICS: &[Alias] = &[
    load("system.cpu.load_average.1m", "1m"),
    load("system.cpu.load_average.5m", "5m"),
    load("system.cpu.load_average.15m", "15m"),
    alias("system.linux.memory.available", host::MEMORY_AVAILABLE),
    alias("system.linux.memory.dirty", host::MEMORY_DIRTY),
    alias("system.network.packets", host::NETWORK_PACKETS),
    alias("system.network.dropped", host::NETWORK_DROPPED),
    alias("system.network.connections", host::NETWORK_CONNECTIONS),
    alias("system.processes.created", host::PROCESSES_CREATED),
    alias("process.threads", host::PROCESS_THREADS),
    alias("process.open_file_descriptors", host::PROCESS_DESCRIPTORS),
    alias("process.memory.physical_usage", row::PROCESS_MEMORY_USAGE.name),
    alias("process.memory.virtual_usage", host::PROCESS_MEMORY_VIRTUAL),
];

/// Other names of points' attributes. One can stand for several: it is the one that the metric has.
pub const ATTRIBUTES: &[(&str, &str)] = &[
    ("cpu", attr::CPU_LOGICAL_NUMBER),
    ("system.cpu.logical_number", attr::CPU_LOGICAL_NUMBER),
    ("state", attr::CPU_MODE),
    ("system.cpu.state", attr::CPU_MODE),
    ("process.cpu.state", attr::CPU_MODE),
    ("state", attr::MEMORY_STATE),
    ("state", attr::PAGING_STATE),
    ("state", attr::FILESYSTEM_STATE),
    ("state", attr::NETWORK_CONNECTION_STATE),
    ("device", attr::SYSTEM_DEVICE),
    ("device", attr::NETWORK_INTERFACE_NAME),
    ("system.device", attr::NETWORK_INTERFACE_NAME),
    ("direction", attr::DISK_IO_DIRECTION),
    ("direction", attr::NETWORK_IO_DIRECTION),
    ("direction", attr::PAGING_DIRECTION),
    ("type", attr::PAGING_FAULT_TYPE),
    ("type", attr::CONTEXT_SWITCH_TYPE),
    ("type", attr::FILESYSTEM_TYPE),
    ("mountpoint", attr::FILESYSTEM_MOUNTPOINT),
    ("protocol", attr::NETWORK_TRANSPORT),
    ("gpu", attr::HW_ID),
];

/// Other words for values of attributes.
pub const VALUES: &[(&str, &str, &str)] = &[
    (attr::CPU_MODE, "wait", "iowait"),
    (attr::MEMORY_STATE, "buffered", "buffers"),
    (attr::PAGING_DIRECTION, "page_in", "in"),
    (attr::PAGING_DIRECTION, "page_out", "out"),
];

/// What a value is in the row's unit where an attribute has this word. The collector's pages in and out are bytes, of pages of
/// 4 KiB whatever the machine's are.
pub const SCALES: &[(&str, &str, f64)] = &[
    (attr::PAGING_DIRECTION, "page_in", 1.0 / 4_096.0),
    (attr::PAGING_DIRECTION, "page_out", 1.0 / 4_096.0),
];

/// Attributes that points of a metric may have beside those of its row: which processor the time is of.
pub const MORE: &[(&str, &str)] =
    &[(host::CPU_TIME, attr::CPU_LOGICAL_NUMBER), (host::CPU_UTILIZATION, attr::CPU_LOGICAL_NUMBER)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::all;

    #[test]
    fn every_alias_stands_for_a_row_and_is_no_name_of_one() {
        for Alias { name, metric, label } in METRICS {
            let row = all().find(|row| row.name == *metric).expect("a row");
            assert!(all().all(|row| row.name != *name), "{name} is a name itself");
            assert!(label.is_none_or(|(key, _)| row.attributes.contains(&key)), "{name}");
        }
        let known = |key: &str| all().any(|row| row.attributes.contains(&key));
        for (name, key) in ATTRIBUTES {
            assert!(known(key), "{name}");
        }
        assert!(VALUES.iter().all(|(key, ..)| known(key)));
        assert!(
            SCALES
                .iter()
                .all(|(key, word, _)| VALUES.iter().any(|(of, other, _)| (of, other) == (key, word)))
        );
    }
}
