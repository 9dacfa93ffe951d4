//! Recorded trees against values computed by hand.

use std::collections::BTreeMap;

use crate::common::{lay, series, tree};
use stepscope_metrics::Sampler;

/// The series after each pass over a tree; in the last one, whatever more `change` does to the folder.
fn passes(name: &str) -> Vec<BTreeMap<String, f64>> {
    let folder = tempfile::tempdir().unwrap();
    let mut sampler = None;
    let mut all = Vec::new();
    for files in tree(name) {
        lay(folder.path(), &files);
        let sampler = sampler.get_or_insert_with(|| Sampler::of_files(folder.path(), 42));
        all.push(series(sampler.pass()));
    }
    all
}

#[track_caller]
fn has(series: &BTreeMap<String, f64>, expected: &[(&str, f64)]) {
    for (key, value) in expected {
        let found = series.get(*key).unwrap_or_else(|| panic!("{key} is absent of {:?}", series.keys()));
        assert!((found - value).abs() <= 1e-9 * value.abs().max(1.0), "{key}: {found}, not {value}");
    }
}

#[track_caller]
fn lacks(series: &BTreeMap<String, f64>, names: &[&str]) {
    for name in names {
        let found: Vec<_> = series.keys().filter(|key| key.starts_with(name)).collect();
        assert!(found.is_empty(), "{found:?} should be absent");
    }
}

#[test]
fn the_machine() {
    let [first, second] = &passes("v2")[..] else { panic!() };
    has(
        first,
        &[
            ("system.uptime", 1_000.0),
            ("system.cpu.logical.count", 2.0),
            ("system.cpu.time{user}", 1.0),
            ("system.cpu.time{iowait}", 0.4),
            ("system.cpu.time{softirq}", 0.06),
            ("stepscope.system.load{5m}", 1.25),
            ("system.process.created", 77.0),
            ("stepscope.system.context_switches", 5_000.0),
            ("system.memory.limit", 16_384_000_000.0),
            ("system.memory.usage{free}", 4_096_000_000.0),
            // Cached 6,000,000 kB and reclaimable 700,000 kB.
            ("system.memory.usage{cached}", 6_860_800_000.0),
            ("system.memory.usage{used}", 4_915_200_000.0),
            ("stepscope.system.memory.utilization", 0.25),
            ("system.memory.linux.available", 12_288_000_000.0),
            ("system.paging.usage{used}", 512_000_000.0),
            ("system.paging.faults{minor}", 990.0),
            ("system.paging.operations{major,out}", 4.0),
            ("stepscope.system.oom_kills", 2.0),
            ("stepscope.system.pressure.time{cpu,some}", 1.5),
            ("stepscope.system.pressure.time{io,full}", 1.0),
            ("system.disk.io{nvme0n1,read}", 4_096_000.0),
            ("system.disk.io{nvme0n1,write}", 32_768_000.0),
            ("system.disk.operations{nvme0n1,write}", 2_000.0),
            ("system.disk.operation_time{nvme0n1,write}", 3.0),
            ("system.disk.io_time{nvme0n1}", 1.5),
            ("system.network.io{eth0,transmit}", 654_321.0),
            ("system.network.packet.dropped{eth0,receive}", 2.0),
            ("system.network.errors{eth0,transmit}", 3.0),
            ("system.network.connection.count{tcp,established}", 34.0),
            ("system.network.connection.count{tcp,time_wait}", 5.0),
        ],
    );
    // Two passes are needed for these; partitions, devices of memory and ends of containers have none.
    lacks(first, &["system.cpu.utilization", "stepscope.system.cpu.core", "container.cpu.usage"]);
    lacks(first, &["system.disk.io{nvme0n1p1", "system.disk.io{loop0", "system.network.io{veth"]);
    // 60 of 200 ticks; of the first processor's 80 all were busy, of the other's 120 ten.
    has(
        second,
        &[
            ("system.cpu.utilization{user}", 0.3),
            ("system.cpu.utilization{idle}", 0.5),
            ("stepscope.system.cpu.core.utilization{0}", 1.0),
            ("stepscope.system.cpu.core.utilization{1}", 10.0 / 120.0),
        ],
    );
}

#[test]
fn the_process() {
    let [first, second] = &passes("v2")[..] else { panic!() };
    has(
        first,
        &[
            ("process.cpu.time{user}", 2.0),
            ("process.cpu.time{system}", 1.0),
            ("process.memory.usage", 2_048_000.0),
            ("process.memory.virtual", 8_000_000.0),
            ("process.thread.count", 9.0),
            ("process.unix.file_descriptor.count", 3.0),
            ("process.paging.faults{minor}", 300.0),
            ("process.paging.faults{major}", 7.0),
            ("process.disk.io{write}", 8_192.0),
            ("process.uptime", 900.0),
        ],
    );
    lacks(first, &["process.context_switches", "process.cpu.utilization"]);
    // 50 ticks in a second of two processors.
    has(second, &[("process.cpu.utilization{user}", 0.25), ("process.cpu.utilization{system}", 0.1)]);
}

#[test]
fn a_container_of_version_2_has_the_lowest_limit_of_those_around_it() {
    let [first, second] = &passes("v2")[..] else { panic!() };
    has(
        first,
        &[
            ("stepscope.container.memory.limit", 1e9),
            ("stepscope.container.cpu.limit", 1.5),
            ("container.memory.usage", 7e8),
            ("container.memory.rss", 4e8),
            ("container.memory.working_set", 6e8),
            ("container.memory.available", 4e8),
            ("stepscope.container.oom_kills", 1.0),
            ("container.cpu.time{user}", 2.0),
            ("stepscope.container.cpu.throttled.time", 0.5),
            ("stepscope.container.pressure.time{cpu,full}", 3.0),
        ],
    );
    lacks(first, &["stepscope.container.pressure.time{memory"]);
    has(second, &[("container.cpu.usage", 1.2), ("container.memory.usage", 8e8)]);
}

#[test]
fn a_container_of_version_1_without_pressure() {
    let [first, second] = &passes("v1")[..] else { panic!() };
    has(
        first,
        &[
            ("stepscope.container.memory.limit", 536_870_912.0),
            ("stepscope.container.cpu.limit", 2.5),
            ("container.memory.rss", 1.8e8),
            ("container.memory.working_set", 2.6e8),
            ("container.cpu.time{user}", 12.34),
            ("stepscope.container.cpu.throttled.time", 0.25),
            ("stepscope.container.oom_kills", 3.0),
        ],
    );
    lacks(
        first,
        &["stepscope.system.pressure", "stepscope.container.pressure", "system.cpu", "system.memory"],
    );
    has(second, &[("container.cpu.usage", 1.5)]);
}

#[test]
fn a_container_of_both_versions() {
    let [only] = &passes("hybrid")[..] else { panic!() };
    has(
        only,
        &[
            ("stepscope.container.memory.limit", 2e8),
            ("container.memory.usage", 1.5e8),
            ("stepscope.container.cpu.limit", 0.5),
            ("container.cpu.time{user}", 7e-6),
            ("stepscope.container.pressure.time{io,some}", 1.0),
        ],
    );
    lacks(only, &["container.memory.working_set", "container.memory.available"]);
}

#[test]
fn energy_goes_on_where_the_counter_begins_again() {
    let [first, second] = &passes("rapl")[..] else { panic!() };
    has(
        first,
        &[
            ("hw.energy{intel-rapl:0,package-0,cpu}", 262_143.0),
            ("hw.energy{intel-rapl:0:1,dram,memory}", 1.0),
        ],
    );
    // 328,850 µJ to the maximum, and 671,150 from there.
    has(
        second,
        &[
            ("hw.energy{intel-rapl:0,package-0,cpu}", 262_144.0),
            ("hw.energy{intel-rapl:0:1,dram,memory}", 3.0),
        ],
    );
    lacks(second, &["hw.energy{intel-rapl:1", "hw.energy{intel-rapl:0:0"]);
}

#[test]
fn damaged_files_give_nothing_and_no_panic() {
    let [only] = &passes("odd")[..] else { panic!() };
    lacks(
        only,
        &["system.memory", "stepscope.system.load", "system.uptime", "process.", "stepscope.container.cpu"],
    );
    has(only, &[("system.cpu.time{user}", 0.12), ("container.memory.usage", 12.0)]);
}

#[test]
fn nothing_at_all_gives_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut sampler = Sampler::of_files(folder.path(), 42);
    let names: Vec<String> = series(sampler.pass()).into_keys().collect();
    assert!(names.iter().all(|name| name.starts_with("stepscope.exporter.")), "{names:?}");
}

#[test]
fn what_is_gone_vanishes_at_the_next_pass() {
    let folder = tempfile::tempdir().unwrap();
    lay(folder.path(), &tree("v2")[0]);
    let mut sampler = Sampler::of_files(folder.path(), 42);
    has(&series(sampler.pass()), &[("system.disk.io_time{sda}", 0.005)]);
    let path = folder.path().join("proc/diskstats");
    let text = std::fs::read_to_string(&path).unwrap();
    let without: String = text.split_inclusive('\n').filter(|line| !line.contains(" sda ")).collect();
    std::fs::write(&path, without).unwrap();
    // The process ends and another one gets its id.
    let stat = folder.path().join("proc/42/stat");
    let text = std::fs::read_to_string(&stat).unwrap().replace(" 10000 ", " 20000 ");
    std::fs::write(&stat, text).unwrap();
    let after = series(sampler.pass());
    lacks(&after, &["system.disk.io_time{sda", "process."]);
    has(&after, &[("system.disk.io_time{nvme0n1}", 1.5)]);
    assert!(sampler.process_ended());
}

/// A pipe stops whoever opens it: no file of the machine is opened, by the passes or before.
#[cfg(unix)]
#[test]
fn who_does_not_tell_of_the_machine_opens_none_of_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let files = &tree("v2")[0];
    lay(folder.path(), files);
    let is_own = |path: &str| ["proc/42/", "proc/self/", "sys/"].iter().any(|start| path.starts_with(start));
    let is_of_machine = |path: &&String| !is_own(path);
    let of_machine: Vec<&String> = files.iter().map(|(path, _)| path).filter(is_of_machine).collect();
    assert!(of_machine.len() > 5, "{of_machine:?}");
    for path in of_machine {
        let path = folder.path().join(path);
        std::fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    }
    let metrics =
        stepscope_metrics::Metrics::builder().host(false).root(folder.path()).pid(42).start().unwrap();
    assert!(metrics.latest().refresh(std::time::Duration::from_secs(60)));
    let series = series(&metrics.snapshot());
    assert!(series.contains_key("process.thread.count") && series.contains_key("container.memory.usage"));
    lacks(&series, &["system.", "hw."]);
}

#[test]
fn a_clock_that_goes_back_withholds_shares_for_a_pass_and_freezes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    lay(folder.path(), &tree("v2")[0]);
    let at = |seconds: &str| lay(folder.path(), &[("proc/uptime".to_owned(), format!("{seconds} 1.0\n"))]);
    at("1000.00");
    let mut sampler = Sampler::of_files(folder.path(), 42);
    sampler.pass();
    at("900.00");
    let back = series(sampler.pass());
    lacks(&back, &["process.cpu.utilization", "container.cpu.usage"]);
    has(&back, &[("system.uptime", 900.0)]);
    at("901.00");
    has(&series(sampler.pass()), &[("process.cpu.utilization{user}", 0.0), ("container.cpu.usage", 0.0)]);
}

#[test]
fn of_256_processors_each_has_a_share_and_those_off_have_none() {
    let folder = tempfile::tempdir().unwrap();
    let stat = |ticks: u64| {
        let mut text = format!("cpu  {} 0 0 {} 0 0 0 0 0 0\n", 255 * ticks, 255 * ticks);
        for index in (0..256).filter(|index| *index != 7) {
            text.push_str(&format!("cpu{index} {} 0 0 {} 0 0 0 0 0 0\n", ticks, 3 * ticks));
        }
        [("proc/stat".to_owned(), text + "ctxt 5\n")]
    };
    lay(folder.path(), &stat(1_000));
    let mut sampler = Sampler::of_files(folder.path(), 42);
    sampler.pass();
    lay(folder.path(), &stat(1_100));
    let series = series(sampler.pass());
    has(
        &series,
        &[("system.cpu.logical.count", 255.0), ("stepscope.system.cpu.core.utilization{255}", 0.25)],
    );
    lacks(&series, &["stepscope.system.cpu.core.utilization{7}"]);
}
