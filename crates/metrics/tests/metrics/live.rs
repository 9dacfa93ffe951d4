//! The machine at hand against a second reader: `procfs-core`'s parsers, on texts read just before and just after. Counters
//! lie between the two; gauges within 1 % of what lies between.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;

use procfs_core::net::InterfaceDeviceStatus;
use procfs_core::process::{Io, Stat};
use procfs_core::{
    CpuTime, DiskStats, ExplicitSystemInfo, FromRead, FromReadSI, IoPressure, KernelStats, LoadAverage,
    Meminfo, MemoryPressure, Uptime, VmStat,
};

use crate::common::series;
use stepscope_metrics::Sampler;

const SYSTEM: ExplicitSystemInfo =
    ExplicitSystemInfo { boot_time_secs: 0, ticks_per_second: 100, page_size: 4_096, is_little_endian: true };

/// What the second reader says, by the names of ours; and which of these are gauges.
fn second_reader() -> (BTreeMap<String, f64>, BTreeMap<String, f64>) {
    let (mut counters, mut gauges) = (BTreeMap::new(), BTreeMap::new());
    let stat = KernelStats::from_file("/proc/stat", &SYSTEM).unwrap();
    let seconds = |ticks: u64| ticks as f64 / 100.0;
    let CpuTime { user, nice, system, idle, iowait, irq, softirq, steal, .. } = stat.total;
    let modes = [("user", Some(user)), ("nice", Some(nice)), ("system", Some(system)), ("idle", Some(idle))];
    let more = [("iowait", iowait), ("interrupt", irq), ("softirq", softirq), ("steal", steal)];
    for (mode, ticks) in modes.into_iter().chain(more) {
        counters.insert(format!("system.cpu.time{{{mode}}}"), seconds(ticks.unwrap()));
    }
    counters.insert("system.process.created".into(), stat.processes as f64);
    counters.insert("stepscope.system.context_switches".into(), stat.ctxt as f64);
    gauges.insert("system.cpu.logical.count".into(), stat.cpu_time.len() as f64);
    counters.insert("system.uptime".into(), Uptime::from_file("/proc/uptime").unwrap().uptime);
    let load = LoadAverage::from_file("/proc/loadavg").unwrap();
    gauges.insert("stepscope.system.load{15m}".into(), f64::from(load.fifteen));
    let memory = Meminfo::from_file("/proc/meminfo").unwrap();
    gauges.insert("system.memory.limit".into(), memory.mem_total as f64);
    gauges.insert("system.memory.linux.available".into(), memory.mem_available.unwrap() as f64);
    let cached = memory.cached + memory.s_reclaimable.unwrap_or(0);
    gauges.insert("system.memory.usage{cached}".into(), cached as f64);
    let used = memory.mem_total - memory.mem_free - memory.buffers - cached;
    gauges.insert("system.memory.usage{used}".into(), used as f64);
    let pages = VmStat::from_file("/proc/vmstat").unwrap().0;
    counters.insert("system.paging.faults{major}".into(), pages["pgmajfault"] as f64);
    for disk in DiskStats::from_file("/proc/diskstats").unwrap().0 {
        if disk.name.starts_with("vd") || disk.name.starts_with("sd") || disk.name.starts_with("nvme") {
            counters
                .insert(format!("system.disk.io{{{},read}}", disk.name), disk.sectors_read as f64 * 512.0);
            counters.insert(
                format!("system.disk.io{{{},write}}", disk.name),
                disk.sectors_written as f64 * 512.0,
            );
            counters.insert(format!("system.disk.operations{{{},write}}", disk.name), disk.writes as f64);
            counters
                .insert(format!("system.disk.io_time{{{}}}", disk.name), disk.time_in_progress as f64 / 1e3);
        }
    }
    for (name, device) in InterfaceDeviceStatus::from_file("/proc/net/dev").unwrap().0 {
        counters.insert(format!("system.network.io{{{name},receive}}"), device.recv_bytes as f64);
        counters.insert(format!("system.network.io{{{name},transmit}}"), device.sent_bytes as f64);
        counters.insert(format!("system.network.packet.count{{{name},receive}}"), device.recv_packets as f64);
    }
    if let Ok(memory) = MemoryPressure::from_file("/proc/pressure/memory") {
        let total = memory.some.total as f64 / 1e6;
        counters.insert("stepscope.system.pressure.time{memory,some}".into(), total);
        let io = IoPressure::from_file("/proc/pressure/io").unwrap();
        counters.insert("stepscope.system.pressure.time{io,full}".into(), io.full.total as f64 / 1e6);
    }
    let own = Stat::from_file("/proc/self/stat").unwrap();
    counters.insert("process.cpu.time{user}".into(), seconds(own.utime));
    counters.insert("process.cpu.time{system}".into(), seconds(own.stime));
    counters.insert("process.paging.faults{minor}".into(), own.minflt as f64);
    gauges.insert("process.memory.virtual".into(), own.vsize as f64);
    gauges.insert("process.memory.usage".into(), own.rss as f64 * 4_096.0);
    if let Ok(io) = Io::from_file("/proc/self/io") {
        counters.insert("process.disk.io{write}".into(), io.write_bytes as f64);
    }
    (counters, gauges)
}

#[test]
fn the_live_machine_agrees_with_a_second_reader() {
    let (before, low) = second_reader();
    let ours = series(Sampler::new(std::process::id()).pass());
    let (after, high) = second_reader();
    let mut compared = 0;
    for (key, before) in &before {
        // Partitions are no disks.
        let Some(value) = ours.get(key) else {
            assert!(key.starts_with("system.disk.") && key.contains(char::is_numeric), "{key} is absent");
            continue;
        };
        let after = after[key];
        // A tick of the clock, for what the kernel adds up from several processors.
        assert!(
            (before - 0.0101..=after + 0.0101).contains(value),
            "{key}: {value} is not in {before}..={after}"
        );
        compared += 1;
    }
    for (key, low) in &low {
        let (low, high) = (low.min(high[key]), low.max(high[key]));
        let value = ours[key];
        // Tests in other threads may allocate meanwhile.
        let slack = if key.starts_with("process.memory") { 0.2 } else { 0.01 };
        assert!(
            (low * (1.0 - slack)..=high * (1.0 + slack)).contains(&value),
            "{key}: {value}, not {low}..={high}"
        );
        compared += 1;
    }
    assert!(compared >= 25, "{compared}");
}

/// Another process that does nothing: its gauges do not move.
#[test]
fn a_process_that_sleeps_agrees_with_a_second_reader() {
    let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let folder = std::path::PathBuf::from(format!("/proc/{}", child.id()));
    let stat = || Stat::from_file(folder.join("stat")).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    // The program is in its place and waits.
    while !(stat().state == 'S' && stat().comm == "sleep") {
        assert!(std::time::Instant::now() < deadline);
        std::thread::yield_now();
    }
    let (before, uptime) = (stat(), || Uptime::from_file("/proc/uptime").unwrap().uptime);
    let low = uptime() - before.starttime as f64 / 100.0;
    let ours = series(Sampler::new(child.id()).pass());
    let (after, high) = (stat(), uptime() - before.starttime as f64 / 100.0);
    let descriptors = std::fs::read_dir(folder.join("fd")).unwrap().count();
    child.kill().unwrap();
    child.wait().unwrap();
    for (name, value) in [
        ("process.memory.usage", after.rss as f64 * 4_096.0),
        ("process.memory.virtual", after.vsize as f64),
        ("process.thread.count", 1.0),
        ("process.unix.file_descriptor.count", descriptors as f64),
    ] {
        assert!((ours[name] / value - 1.0).abs() <= 0.01, "{name}: {}, not {value}", ours[name]);
    }
    for (name, low, high) in [
        ("process.cpu.time{user}", before.utime as f64 / 100.0, after.utime as f64 / 100.0),
        ("process.cpu.time{system}", before.stime as f64 / 100.0, after.stime as f64 / 100.0),
        ("process.paging.faults{minor}", before.minflt as f64, after.minflt as f64),
        ("process.uptime", low, high),
    ] {
        assert!((low - 0.0101..=high + 0.0101).contains(&ours[name]), "{name}: {} {low} {high}", ours[name]);
    }
}
