//! What figures of machines, processes and GPUs are called, and how their values are said.

use super::super::cell::Unit;
use crate::summary::FigureRow;

/// What a machine's figure is called.
pub(super) fn label(figure: &str) -> &'static str {
    match figure {
        "cpu_busy_share" => "Processors busy",
        "cpu_user_share" => "In programs",
        "cpu_system_share" => "In the kernel",
        "cpu_iowait_share" => "Idle, waiting for storage",
        "cpu_idle_share" => "Idle",
        "cpu_steal_share" => "Taken by other machines",
        "busiest_core_share" => "Busiest processor",
        "load_1m_tasks" => "Tasks at work (load, 1 min)",
        "cpu_pressure_share" => "Tasks short of processors",
        "memory_pressure_share" => "Tasks short of memory",
        "io_pressure_share" => "Tasks waiting for storage",
        "memory_used_bytes" => "Memory in use",
        "memory_limit_bytes" => "Memory limit",
        "memory_used_share" => "Memory in use, of its limit",
        "swap_used_bytes" => "Swap space in use",
        "swap_in_per_s" => "Swapped in",
        "swap_out_per_s" => "Swapped out",
        "disk_read_bytes_per_s" => "Read from disks",
        "disk_write_bytes_per_s" => "Written to disks",
        "busiest_disk_share" => "Busiest disk",
        "network_receive_bytes_per_s" => "Received by the network",
        "network_transmit_bytes_per_s" => "Sent by the network",
        "container_throttled_share" => "Stopped, CPU quota used up",
        "filesystem_used_share" => "Full:",
        "energy_j_per_step" => "Energy of processors a step",
        _ => "Other",
    }
}

/// What a process' figure is called.
pub(super) fn of_process(figure: &str) -> &'static str {
    match figure {
        "cpu_cores" => "Processors used by the run",
        "resident_bytes" => "Memory resident",
        "disk_read_bytes_per_s" => "Read from storage by it",
        "disk_write_bytes_per_s" => "Written to storage by it",
        "major_faults_per_s" => "Page faults from storage",
        _ => "Other",
    }
}

/// Whether a figure is told where there is little room.
pub(super) fn is_brief(row: &FigureRow, is_process: bool) -> bool {
    let is_there = row.max.is_some_and(|most| most > 0.0);
    if is_process {
        return row.figure == "cpu_cores";
    }
    match row.figure {
        "cpu_busy_share" | "cpu_iowait_share" | "memory_used_bytes" | "memory_used_share" => true,
        "cpu_idle_share" | "memory_limit_bytes" | "load_1m_tasks" | "swap_used_bytes" | "gauge" => false,
        "filesystem_used_share" => row.max.is_some_and(|full| full >= 0.5),
        _ => is_there,
    }
}

/// How a value is said.
pub(super) fn unit(figure: &str, value: f64) -> Unit {
    let digits = |value: f64| match value.abs() {
        small if small < 10.0 => format!("{value:.2}"),
        middle if middle < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    };
    if figure.ends_with("_bytes_per_s") {
        Unit::ByteRate
    } else if figure.ends_with("_share") {
        Unit::Share
    } else if figure.ends_with("_bytes") {
        Unit::Bytes
    } else if figure.ends_with("_j_per_step") {
        Unit::Words(format!("{} J", digits(value)))
    } else if figure.ends_with("_per_s") {
        Unit::Words(format!("{}/s", digits(value)))
    } else if figure.ends_with("_w") {
        Unit::Words(format!("{} W", digits(value)))
    } else if figure.ends_with("_celsius") {
        Unit::Words(format!("{value:.0} °C"))
    } else if figure.ends_with("_hz") {
        Unit::Words(format!("{} MHz", (value / 1e6).round()))
    } else {
        Unit::Words(digits(value))
    }
}
