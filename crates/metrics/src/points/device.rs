//! Points of devices.

use std::fmt::Write as _;

use stepscope_core::attr;
use stepscope_core::metric::device::row;

use super::{Label, Value, Walk};
use crate::snapshot::{Gpu, Snapshot};
use stepscope_core::vocabulary::Metric;

const STATES: [&str; 3] = ["ok", "degraded", "failed"];
const REASONS: [&str; 5] = ["power_cap", "thermal", "power_brake", "idle", "other"];
const GPU: &str = "gpu";

/// What every point of a GPU has.
fn labels(gpu: &Gpu) -> [Label<'_>; 4] {
    [
        (attr::HW_ID, &gpu.uuid),
        (attr::HW_NAME, &gpu.name),
        (attr::HW_MODEL, &gpu.model),
        (attr::HW_VENDOR, &gpu.vendor),
    ]
}

/// One point a GPU.
fn one<V: Into<Value>>(
    walk: &mut Walk<'_>,
    row: &'static Metric,
    gpus: &[Gpu],
    value: impl Fn(&Gpu) -> Option<V>,
) {
    walk.of(row);
    for gpu in gpus {
        walk.point(&labels(gpu), value(gpu));
    }
}

/// One point for each value of an attribute and each GPU.
fn each<V: Into<Value>, const N: usize>(
    walk: &mut Walk<'_>,
    row: &'static Metric,
    (key, names): (&'static str, [&'static str; N]),
    gpus: &[Gpu],
    values: impl Fn(&Gpu) -> [Option<V>; N],
) {
    walk.of(row);
    for gpu in gpus {
        let [id, name, model, vendor] = labels(gpu);
        for (label, value) in names.into_iter().zip(values(gpu)) {
            walk.point(&[id, name, model, vendor, (key, label)], value);
        }
    }
}

pub(super) fn visit(snapshot: &Snapshot, walk: &mut Walk<'_>) {
    let gpus = &snapshot.gpus[..];
    walk.of(&row::HW_STATUS);
    for gpu in gpus {
        let [id, name, model, vendor] = labels(gpu);
        for state in STATES {
            let labels = [id, name, model, vendor, (attr::HW_TYPE, GPU), (attr::HW_STATE, state)];
            walk.point(&labels, (!gpu.state.is_empty()).then(|| u64::from(gpu.state == state)));
        }
    }
    let tasks = (attr::HW_GPU_TASK, ["general", "encoder", "decoder"]);
    each(walk, &row::GPU_UTILIZATION, tasks, gpus, |gpu| gpu.utilization);
    one(walk, &row::GPU_MEMORY_USAGE, gpus, |gpu| gpu.memory_used_bytes);
    one(walk, &row::GPU_MEMORY_LIMIT, gpus, |gpu| gpu.memory_total_bytes);
    one(walk, &row::GPU_MEMORY_UTILIZATION, gpus, |gpu| {
        let total = gpu.memory_total_bytes.filter(|&total| total > 0)?;
        Some(gpu.memory_used_bytes? as f64 / total as f64)
    });
    one(walk, &row::GPU_MEMORY_PEAK, gpus, |gpu| gpu.memory_peak_bytes);
    let owners = (attr::GPU_PROCESS, ["own", "other"]);
    each(walk, &row::GPU_PROCESS_MEMORY, owners, gpus, |gpu| gpu.process_bytes);
    one(walk, &row::GPU_BUSY_TIME, gpus, |gpu| gpu.busy_s);
    let units = (attr::GPU_UNIT, ["sm", "tensor", "dram"]);
    each(walk, &row::GPU_ACTIVITY, units, gpus, |gpu| gpu.activity);
    let directions = (attr::NETWORK_IO_DIRECTION, ["receive", "transmit"]);
    each(walk, &row::GPU_IO, directions, gpus, |gpu| gpu.pcie_bytes);
    let clocks = (attr::GPU_CLOCK_DOMAIN, ["sm", "memory"]);
    each(walk, &row::GPU_CLOCK, clocks, gpus, |gpu| gpu.clock_hz);
    each(walk, &row::GPU_THROTTLED, (attr::GPU_THROTTLE_REASON, REASONS), gpus, |gpu| {
        gpu.throttled.map(|is_so| is_so.map(u64::from))
    });
    xids(gpus, walk);
    walk.of(&row::HW_ERRORS);
    for gpu in gpus {
        let [id, name, model, vendor] = labels(gpu);
        for (kind, count) in ["ecc_corrected", "ecc_uncorrected"].into_iter().zip(gpu.ecc_errors) {
            let labels = [id, name, model, vendor, (attr::HW_TYPE, GPU), (attr::ERROR_TYPE, kind)];
            walk.point(&labels, count);
        }
    }
    one(walk, &row::HW_TEMPERATURE, gpus, |gpu| gpu.celsius);
    for sensor in &snapshot.sensors {
        walk.point(&[(attr::HW_ID, &*sensor.name), (attr::HW_NAME, &*sensor.name)], sensor.celsius);
    }
    power(walk, (&row::HW_POWER, snapshot), |gpu| gpu.watts, |zone| zone.watts);
    power(walk, (&row::HW_ENERGY, snapshot), |gpu| gpu.joules, |zone| zone.joules);
}

fn xids(gpus: &[Gpu], walk: &mut Walk<'_>) {
    walk.of(&row::GPU_XID);
    for gpu in gpus {
        let [id, name, model, vendor] = labels(gpu);
        for &(code, count) in &gpu.xids {
            let mut text = String::new();
            let _ = write!(text, "{code}");
            walk.point(&[id, name, model, vendor, (attr::GPU_XID_CODE, &text)], Some(count));
        }
    }
}

fn power(
    walk: &mut Walk<'_>,
    (row, snapshot): (&'static Metric, &Snapshot),
    of_gpu: impl Fn(&Gpu) -> Option<f64>,
    of_zone: impl Fn(&crate::snapshot::EnergyZone) -> Option<f64>,
) {
    walk.of(row);
    for gpu in &snapshot.gpus {
        let [id, name, model, vendor] = labels(gpu);
        walk.point(&[id, name, model, vendor, (attr::HW_TYPE, GPU)], of_gpu(gpu));
    }
    for zone in &snapshot.zones {
        let kind = if zone.name.starts_with("package") { "cpu" } else { "memory" };
        let labels = [(attr::HW_ID, &*zone.id), (attr::HW_NAME, &*zone.name), (attr::HW_TYPE, kind)];
        walk.point(&labels, of_zone(zone));
    }
}
