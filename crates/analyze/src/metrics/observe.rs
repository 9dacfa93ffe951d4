//! One point into its series: which metrics are kept, and which of their series are folded into one.

use std::borrow::Cow;
use std::sync::Arc;

use stepscope_core::identity::hash_parts;
use stepscope_core::metric::{self, device, host, program, row};
use stepscope_model::{Measured, MeasuredKind, Resource};

use crate::metrics::{Metrics, SeriesKey};
use crate::run::Instance;

/// What is looked at of machines and devices.
const MACHINES: &[&str] = &[
    host::CPU_COUNT,
    host::CPU_TIME,
    host::CPU_UTILIZATION,
    host::CPU_CORE_UTILIZATION,
    host::LOAD,
    host::MEMORY_USAGE,
    host::MEMORY_LIMIT,
    host::MEMORY_AVAILABLE,
    host::PAGING_USAGE,
    host::PAGING_OPERATIONS,
    host::PRESSURE,
    host::DISK_IO,
    host::DISK_IO_TIME,
    host::FILESYSTEM_USAGE,
    host::FILESYSTEM_UTILIZATION,
    host::NETWORK_IO,
    device::GPU_UTILIZATION,
    device::GPU_BUSY_TIME,
    device::GPU_MEMORY_USAGE,
    device::GPU_MEMORY_LIMIT,
    device::GPU_MEMORY_UTILIZATION,
    device::GPU_ACTIVITY,
    device::GPU_CLOCK,
    device::GPU_THROTTLED,
    device::HW_TEMPERATURE,
    device::HW_POWER,
    device::HW_ENERGY,
];

/// What is looked at of processes.
const PROCESSES: &[&str] = &[
    row::PROCESS_MEMORY_USAGE.name,
    host::PROCESS_CPU_TIME,
    host::PROCESS_CPU_UTILIZATION,
    host::PROCESS_FAULTS,
    host::PROCESS_DISK_IO,
    program::ALLOCATOR_LIVE,
    program::ALLOCATOR_RESERVED,
    program::ALLOCATOR_FRAGMENTATION,
    program::ALLOCATOR_ARENAS,
];

/// What is looked at of the containers around them.
pub(super) const CONTAINERS: &[&str] = &[
    host::CONTAINER_CPU_LIMIT,
    host::CONTAINER_CPU_THROTTLED,
    host::CONTAINER_MEMORY_USAGE,
    host::CONTAINER_MEMORY_WORKING_SET,
    host::CONTAINER_MEMORY_LIMIT,
    host::CONTAINER_PRESSURE,
];

/// Processors of a machine can be hundreds: their figures are folded, and so are what else says it by processor.
const FOLDED: &[&str] = &[host::CPU_CORE_UTILIZATION, host::CPU_TIME, host::CPU_UTILIZATION];

impl Metrics {
    /// Adds a point.
    pub(crate) fn add(
        &mut self,
        resource: &Arc<Resource>,
        (start_ns, time_ns): (u64, u64),
        measured: &Measured,
        bound: usize,
    ) {
        let name = measured.name.as_ref();
        let sources = if MACHINES.contains(&name) {
            &mut self.machines
        } else if PROCESSES.contains(&name) || CONTAINERS.contains(&name) {
            &mut self.processes
        } else if metric::all().all(|row| row.name != name) {
            &mut self.gauges
        } else {
            return;
        };
        let is_folded = FOLDED.contains(&name);
        let (labels, others) = match is_folded {
            true => (first_label(name, &measured.labels), 0),
            false => (measured.labels.as_ref(), measured.others),
        };
        let key = key(resource, name, labels, others);
        if let Some(series) = sources.of(key, bound) {
            series.add(measured.kind, start_ns, time_ns, measured.millionths);
        }
    }

    /// Adds what a process says of its resident memory.
    pub(crate) fn add_resident(
        &mut self,
        resource: &Arc<Resource>,
        times: (u64, u64),
        bytes: u64,
        bound: usize,
    ) {
        let measured = Measured {
            name: Cow::Borrowed(row::PROCESS_MEMORY_USAGE.name),
            labels: "".into(),
            others: 0,
            kind: MeasuredKind::Gauge,
            millionths: i128::from(bytes).saturating_mul(1_000_000),
        };
        self.add(resource, times, &measured, bound);
    }
}

/// The labels of series that are folded: which processor is left out.
fn first_label<'a>(name: &str, labels: &'a str) -> &'a str {
    if name == host::CPU_CORE_UTILIZATION { "" } else { labels.split('\n').next().unwrap_or_default() }
}

fn key(resource: &Arc<Resource>, metric: &str, labels: &str, others: u64) -> SeriesKey {
    SeriesKey {
        source_hash: hash_of(resource),
        source: Instance(Arc::clone(resource)),
        hash: hash_parts(&[metric.as_bytes(), labels.as_bytes(), &others.to_le_bytes()]),
        metric: metric.into(),
        labels: labels.into(),
        others,
    }
}

/// A hash of all that tells a source.
fn hash_of(resource: &Resource) -> u64 {
    let Resource { run_id, service_name, service_instance_id, host_name, pid, creation_time, .. } = resource;
    let pid = pid.unwrap_or(-1).to_le_bytes();
    hash_parts(&[
        host_name.as_bytes(),
        service_instance_id.as_bytes(),
        run_id.as_bytes(),
        service_name.as_bytes(),
        &pid,
        creation_time.as_bytes(),
    ])
}
