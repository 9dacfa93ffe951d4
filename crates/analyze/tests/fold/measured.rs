//! Metrics of machines and devices joined to steps: planned loads against the figures of each stretch, whoever wrote them.

use std::sync::Arc;

use stepscope_analyze::summary::{FigureRow, HostFigures, NotJoined};
use stepscope_analyze::{Config, Partial, Summary};
use stepscope_model::{MetricPoint, ReadOptions, Reader, Resource, Sink, Trace};
use stepscope_testkit::Format;
use stepscope_testkit::measured::{Kind, Point, message};

use crate::build::Build;

const S: u64 = 1_000_000_000;
const BEGIN: u64 = 1_700_000_000 * S;
const GIB: f64 = 1_073_741_824.0;

#[derive(Debug)]
struct Fold(Partial);

impl Sink for Fold {
    fn trace(&mut self, trace: &Trace) {
        self.0.add(trace);
    }

    fn metric(&mut self, resource: &Arc<Resource>, start_ns: u64, time_ns: u64, point: &MetricPoint) {
        self.0.metric(resource, start_ns, time_ns, point);
    }
}

/// A partial of messages, read as files of `format` hold them.
fn read(partial: Partial, messages: &[Vec<u8>], format: Format) -> Partial {
    let mut fold = Fold(partial);
    let mut reader = Reader::new(ReadOptions::default());
    let bytes = stepscope_testkit::disturb::file(messages, format);
    reader.read_stream("metrics", bytes.as_slice(), &mut fold).unwrap();
    drop(reader.finish(&mut fold));
    fold.0
}

fn process() -> Arc<Resource> {
    Arc::new(Resource {
        run_id: "run".into(),
        rank: Some(0),
        host_name: "host-a".into(),
        service_instance_id: "i-0".into(),
        ..Resource::default()
    })
}

/// 60 s of steps: of 20 ms in the first half, of 50 ms in the second.
fn steps() -> Partial {
    let mut partial = Partial::new(Config::default());
    let (resource, mut at, mut number) = (process(), BEGIN, 0u64);
    while at < BEGIN + 60 * S {
        let length = if at < BEGIN + 30 * S { 20_000_000 } else { 50_000_000 };
        let mut build = Build::of(number, &resource);
        build.step(number as i64, at, at + length).thread(1);
        partial.add(&build.trace());
        (at, number) = (at + length, number + 1);
    }
    partial
}

/// What was planned for a half of the run: shares of processors, memory and bytes a second.
#[derive(Debug, Clone, Copy)]
struct Load {
    user: f64,
    iowait: f64,
    memory: f64,
    read: f64,
}

const CALM: Load = Load { user: 0.30, iowait: 0.02, memory: 4.0 * GIB, read: 5e6 };
const BUSY: Load = Load { user: 0.70, iowait: 0.25, memory: 14.0 * GIB, read: 180e6 };
const TOTAL: f64 = 16.0 * GIB;

fn load_at(second: u64) -> Load {
    if second <= 30 { CALM } else { BUSY }
}

/// What a machine with eight processors says each second: its counters count since `boot`.
fn exporter(second: u64) -> Vec<Point<'static>> {
    let (boot, now) = (BEGIN - 1_000 * S, BEGIN + second * S);
    let sum = |of: fn(Load) -> f64| (1..=second).map(|second| of(load_at(second))).sum::<f64>();
    let (user, iowait) = (sum(|load| 8.0 * load.user), sum(|load| 8.0 * load.iowait));
    let idle = 8.0 * second as f64 - user - iowait;
    let cpu = |mode, value| {
        Point::counter("system.cpu.time", "s", &[("cpu.mode", mode)], (boot, now), 5_000.0 + value)
    };
    let disk = |device, direction, value| {
        let labels = [("system.device", device), ("disk.io.direction", direction)];
        Point::counter("system.disk.io", "By", &labels, (boot, now), value)
    };
    let load = load_at(second);
    vec![
        cpu("user", user),
        cpu("iowait", iowait),
        cpu("idle", idle),
        disk("sda", "read", 1e9 + sum(|load| load.read)),
        // A partition of it, and what is mapped to it, say the same again.
        disk("sda1", "read", 1e9 + sum(|load| load.read)),
        disk("dm-0", "read", 1e9 + sum(|load| load.read)),
        disk("sda", "write", 7e9),
        Point::gauge("system.memory.limit", "By", &[], now, TOTAL),
        Point::gauge("system.memory.linux.available", "By", &[], now, TOTAL - load.memory),
    ]
}

const MONITOR: &[(&str, &str)] = &[("service.name", "monitor"), ("host.name", "host-a")];

fn monitored() -> Vec<Vec<u8>> {
    (0..=60).map(|second| message(Format::Proto, MONITOR, &exporter(second))).collect()
}

fn row<'a>(host: &'a HostFigures, name: &str) -> &'a FigureRow {
    host.figure(name).unwrap_or_else(|| panic!("{name} of {:?}", host.figures))
}

fn host(summary: &Summary) -> &HostFigures {
    assert_eq!(summary.metrics.not_joined, None);
    assert_eq!(summary.metrics.hosts.len(), 1);
    &summary.metrics.hosts[0]
}

/// Each stretch is within 5 points of what was planned for its half.
fn assert_planned(host: &HostFigures) {
    assert!(host.stretches.len() >= 20, "{:?}", host.stretches.len());
    type Planned = (&'static str, f64, fn(Load) -> f64);
    let expected: [Planned; 4] = [
        ("cpu_busy_share", 0.05, |load| load.user),
        ("cpu_iowait_share", 0.05, |load| load.iowait),
        ("memory_used_share", 0.05, |load| load.memory / TOTAL),
        ("disk_read_bytes_per_s", 0.05 * BUSY.read, |load| load.read),
    ];
    for (name, within, of) in expected {
        let row = row(host, name);
        for (stretch, value) in host.stretches.iter().zip(&row.values) {
            let planned = of(if stretch.to_ns <= BEGIN + 30 * S { CALM } else { BUSY });
            let value = value.unwrap_or_else(|| panic!("{name} at {}", stretch.from_ns - BEGIN));
            assert!((value - planned).abs() <= within, "{name}: {value} instead of {planned}");
        }
    }
}

#[test]
fn each_stretch_shows_the_load_that_was_planned_for_it() {
    let summary = read(steps(), &monitored(), Format::Proto).finish(None);
    let host = host(&summary);
    assert_eq!((host.name.as_deref(), host.every_ns, host.sources.len()), (Some("host-a"), S, 1));
    assert_planned(host);
    // 1,500 steps of 20 ms, 600 of 50 ms: 50 and 20 in a stretch.
    assert_eq!((host.steps, host.steps_measured), (2_100, 2_100));
    for stretch in &host.stretches {
        let (steps, ms) = if stretch.to_ns <= BEGIN + 30 * S { (50, 20) } else { (20, 50) };
        assert_eq!((stretch.steps, stretch.step_p50_ns), (steps, Some(ms * 1_000_000)));
    }
    let busy = row(host, "cpu_busy_share");
    assert_eq!((busy.min, busy.mean, busy.max), (Some(0.3), Some(0.5), Some(0.7)));
    let memory = row(host, "memory_used_bytes");
    assert_eq!((memory.min, memory.max), (Some(4.0 * GIB), Some(14.0 * GIB)));
    // 30 s at 5 MB/s, 30 s at 180 MB/s.
    assert_eq!(row(host, "disk_read_bytes_per_s").mean, Some(92.5e6));
    assert_eq!(row(host, "disk_write_bytes_per_s").max, Some(0.0));
    assert!(host.figure("swap_in_per_s").is_none(), "what nobody said is absent");
}

/// The same machine as the collector's receiver `host_metrics` tells it: each processor by itself, other names.
fn collector(second: u64) -> Vec<Point<'static>> {
    const CPUS: [&str; 8] = ["cpu0", "cpu1", "cpu2", "cpu3", "cpu4", "cpu5", "cpu6", "cpu7"];
    let mut points = Vec::new();
    for mut point in exporter(second) {
        let label = |point: &Point<'static>, at: usize| point.labels[at].1;
        match point.name {
            "system.cpu.time" => {
                let state = if label(&point, 0) == "iowait" { "wait" } else { label(&point, 0) };
                points.extend(CPUS.map(|cpu| Point {
                    labels: vec![("cpu", cpu), ("state", state)],
                    value: point.value / 8.0,
                    ..point.clone()
                }));
                continue;
            }
            "system.disk.io" => {
                point.labels = vec![("device", label(&point, 0)), ("direction", label(&point, 1))];
            }
            "system.memory.limit" => {
                let load = load_at(second);
                let states = [("used", load.memory), ("free", TOTAL - load.memory - GIB), ("buffered", GIB)];
                points.extend(states.map(|(state, value)| {
                    Point::gauge("system.memory.usage", "By", &[("state", state)], point.time_ns, value)
                }));
                continue;
            }
            _ => continue,
        }
        points.push(point);
    }
    points
}

#[test]
fn the_collectors_names_say_the_same() {
    let resource = [("host.name", "host-a"), ("os.type", "linux")];
    let messages: Vec<_> =
        (0..=60).map(|second| message(Format::Json, &resource, &collector(second))).collect();
    let summary = read(steps(), &messages, Format::Json).finish(None);
    assert_planned(host(&summary));
    assert_eq!(summary.other_runs, [], "who watches a machine is no run");
}

#[test]
fn a_counter_that_begins_anew_is_unknown_there_and_not_negative() {
    let mut messages = Vec::new();
    for second in 0..=60u64 {
        // The machine counts anew after second 40, with a start of its own or without one.
        let since = if second > 40 { BEGIN + 40 * S } else { BEGIN - S };
        let seconds = if second > 40 { second - 40 } else { second + 1 };
        let points = [("user", 2.0), ("idle", 6.0)].map(|(mode, a_second)| {
            let times = (since, BEGIN + second * S);
            let labels = [("cpu.mode", mode)];
            Point::counter("system.cpu.time", "s", &labels, times, a_second * seconds as f64)
        });
        let disk = Point {
            start_ns: 0,
            ..Point::counter(
                "system.disk.io",
                "By",
                &[("system.device", "sda"), ("disk.io.direction", "read")],
                (0, BEGIN + second * S),
                1e6 * seconds as f64,
            )
        };
        messages.push(message(Format::Proto, MONITOR, &[points.to_vec(), vec![disk]].concat()));
    }
    let summary = read(steps(), &messages, Format::Proto).finish(None);
    let host = host(&summary);
    for (name, expected) in [("cpu_busy_share", 0.25), ("disk_read_bytes_per_s", 1e6)] {
        let row = row(host, name);
        for (stretch, value) in host.stretches.iter().zip(&row.values) {
            let is_reset = stretch.from_ns == BEGIN + 40 * S;
            assert_eq!(*value, (!is_reset).then_some(expected), "{name} at {}", stretch.from_ns - BEGIN);
        }
        assert_eq!((row.min, row.mean, row.max), (Some(expected), Some(expected), Some(expected)));
    }
}

#[test]
fn increments_add_up_to_rates() {
    let point = |second: u64, mode: &'static str, seconds: f64| Point {
        kind: Kind::Delta,
        start_ns: BEGIN + (second - 1) * S,
        ..Point::counter("system.cpu.time", "s", &[("cpu.mode", mode)], (0, BEGIN + second * S), seconds)
    };
    let of =
        |second| message(Format::Proto, MONITOR, &[point(second, "user", 3.0), point(second, "idle", 1.0)]);
    let summary = read(steps(), &(1..=60).map(of).collect::<Vec<_>>(), Format::Proto).finish(None);
    let row = row(host(&summary), "cpu_busy_share");
    assert!(row.values.iter().all(|value| *value == Some(0.75)), "{:?}", row.values);
}

#[test]
fn metrics_of_another_machine_or_time_say_nothing_of_the_steps() {
    let elsewhere = [("service.name", "monitor"), ("host.name", "host-b")];
    let messages: Vec<_> =
        (0..=60).map(|second| message(Format::Proto, &elsewhere, &exporter(second))).collect();
    let summary = read(steps(), &messages, Format::Proto).finish(None);
    assert!(summary.metrics.hosts.is_empty());
    assert_eq!(summary.metrics.not_joined, Some(NotJoined::OtherHosts { hosts: vec!["host-b".into()] }));

    let late: Vec<_> = (0..=60)
        .map(|second| {
            let later = |point: Point<'static>| Point { time_ns: point.time_ns + 3_600 * S, ..point };
            let points: Vec<_> = exporter(second).into_iter().map(later).collect();
            message(Format::Proto, MONITOR, &points)
        })
        .collect();
    let summary = read(steps(), &late, Format::Proto).finish(None);
    assert!(summary.metrics.hosts.is_empty());
    let (first_ns, last_ns) = (BEGIN + 3_600 * S, BEGIN + 3_660 * S);
    assert_eq!(summary.metrics.not_joined, Some(NotJoined::OtherTime { first_ns, last_ns }));
}

#[test]
fn metrics_that_name_no_machine_are_those_of_the_only_one() {
    let messages: Vec<_> = (0..=60).map(|second| message(Format::Proto, &[], &exporter(second))).collect();
    let summary = read(steps(), &messages, Format::Proto).finish(None);
    assert_planned(host(&summary));
}

#[test]
fn a_process_tells_of_its_machine_and_of_itself() {
    let own = [("service.instance.id", "i-0"), ("stepscope.run.id", "run"), ("host.name", "host-a")];
    let of = |second: u64| {
        let times = (BEGIN - S, BEGIN + second * S);
        let mut points = exporter(second);
        let cpu = |mode, value| Point::counter("process.cpu.time", "s", &[("cpu.mode", mode)], times, value);
        points.push(cpu("user", 1.5 * second as f64));
        points.push(cpu("system", 0.5 * second as f64));
        points.push(Point::gauge("stepscope.container.memory.limit", "By", &[], times.1, 8.0 * GIB));
        points.push(Point::gauge("container.memory.working_set", "By", &[], times.1, 6.0 * GIB));
        message(Format::Proto, &own, &points)
    };
    let summary = read(steps(), &(0..=60).map(of).collect::<Vec<_>>(), Format::Proto).finish(None);
    let host = host(&summary);
    assert_eq!(row(host, "memory_used_share").max, Some(0.75), "of the container, which may use less");
    assert_eq!(host.processes.len(), 1);
    let cores = host.processes[0].figures.iter().find(|row| row.figure == "cpu_cores").unwrap();
    assert_eq!((cores.min, cores.max), (Some(2.0), Some(2.0)));
}

#[test]
fn allocators_of_a_process_have_figures_of_their_own() {
    let own = [("service.instance.id", "i-0"), ("stepscope.run.id", "run"), ("host.name", "host-a")];
    // glibc has 2 GiB of the system, of which the program takes 1.5 GiB for the first half and 0.5 GiB for the second.
    let of = |second: u64| {
        let now = BEGIN + second * S;
        let live = if second <= 30 { 1.5 } else { 0.5 };
        let point = |allocator, name, unit, value| {
            Point::gauge(name, unit, &[("stepscope.allocator", allocator)], now, value)
        };
        let points = [
            point("glibc", "stepscope.allocator.live", "By", live * GIB),
            point("glibc", "stepscope.allocator.reserved", "By", 2.0 * GIB),
            point("glibc", "stepscope.allocator.fragmentation", "1", 1.0 - live / 2.0),
            point("jemalloc", "stepscope.allocator.reserved", "By", 4.0 * GIB),
            point("jemalloc", "stepscope.allocator.arenas", "{arena}", 8.0),
        ];
        message(Format::Proto, &own, &points)
    };
    let summary = read(steps(), &(0..=60).map(of).collect::<Vec<_>>(), Format::Proto).finish(None);
    let figures = &host(&summary).processes[0].figures;
    let names: Vec<_> = figures.iter().map(|row| (row.about.as_deref().unwrap(), row.figure)).collect();
    let expected = [
        ("glibc", "allocator_live_bytes"),
        ("glibc", "allocator_reserved_bytes"),
        ("glibc", "allocator_fragmentation_share"),
        ("jemalloc", "allocator_reserved_bytes"),
        ("jemalloc", "allocator_arenas"),
    ];
    assert_eq!(names, expected);
    let ends = |at: usize| {
        let row: &FigureRow = &figures[at];
        (row.mean, row.values.first().copied().flatten(), row.values.last().copied().flatten())
    };
    assert_eq!(ends(0), (Some(GIB), Some(1.5 * GIB), Some(0.5 * GIB)));
    assert_eq!(ends(2), (Some(0.5), Some(0.25), Some(0.75)));
    assert_eq!((figures[3].max, figures[4].max), (Some(4.0 * GIB), Some(8.0)));
}

#[test]
fn gpus_have_their_own_figures_and_energy_a_step() {
    let of = |second: u64| {
        let now = BEGIN + second * S;
        let busy = if second <= 30 { 0.2 } else { 0.9 };
        let gpu = [("hw.id", "GPU-1"), ("hw.name", "gpu0"), ("hw.model", "H200")];
        let with = |key, value| [&gpu[..], &[(key, value)]].concat();
        let points = [
            Point::gauge("hw.gpu.utilization", "%", &with("hw.gpu.task", "general"), now, 100.0 * busy),
            Point::gauge("hw.gpu.memory.usage", "By", &gpu, now, 60.0 * GIB),
            Point::gauge("hw.gpu.memory.limit", "By", &gpu, now, 80.0 * GIB),
            Point::gauge("hw.power", "W", &with("hw.type", "gpu"), now, 420.0),
            // 420 J a second; the machine's sensor is none of the GPU's.
            Point::counter("hw.energy", "J", &with("hw.type", "gpu"), (BEGIN, now), 420.0 * second as f64),
            // A counter of the processors that stands still, as on machines that have none.
            Point::counter("hw.energy", "J", &[("hw.id", "cpu"), ("hw.type", "cpu")], (BEGIN, now), 7.0),
            Point::gauge("hw.temperature", "Cel", &[("hw.id", "board"), ("hw.name", "board")], now, 99.0),
            Point::gauge(
                "stepscope.gpu.throttled",
                "1",
                &with("stepscope.gpu.throttle.reason", "idle"),
                now,
                1.0,
            ),
            Point::gauge(
                "stepscope.gpu.throttled",
                "1",
                &with("stepscope.gpu.throttle.reason", "thermal"),
                now,
                f64::from(u8::from(second > 45)),
            ),
        ];
        message(Format::Proto, MONITOR, &points)
    };
    let summary = read(steps(), &(0..=60).map(of).collect::<Vec<_>>(), Format::Proto).finish(None);
    let [gpu] = summary.metrics.gpus.as_slice() else { panic!("{:?}", summary.metrics.gpus) };
    assert_eq!((gpu.title(), gpu.model.as_deref()), ("gpu0", Some("H200")));
    let figure = |name: &str| gpu.figure(name).unwrap_or_else(|| panic!("{name}"));
    assert_eq!(figure("utilization_share").mean, Some(0.55));
    assert_eq!(figure("memory_used_share").max, Some(0.75));
    assert_eq!(figure("throttled_share").mean, Some(0.25), "15 of 60 s; an idle clock is not throttled");
    // 420 W for 60 s, over 2,100 steps.
    assert_eq!(figure("energy_j_per_step").mean, Some(12.0));
    assert!(gpu.figure("temperature_celsius").is_none());
    assert!(host(&summary).figure("energy_j_per_step").is_none(), "not 0 J");
}

#[test]
fn any_cut_and_order_of_the_metrics_gives_the_same_report() {
    let mut messages = monitored();
    let all = read(steps(), &messages, Format::Proto);
    stepscope_testkit::disturb::shuffle(&mut messages, 11);
    let mut merged = steps();
    for part in messages.chunks(7) {
        let part = read(Partial::new(Config::default()), part, Format::Proto);
        let part = Partial::from_bytes(&part.to_bytes().unwrap(), Config::default()).unwrap();
        merged.merge(&part);
    }
    assert!(merged.to_bytes().unwrap() == all.to_bytes().unwrap());
    assert_eq!(merged.finish(None), all.finish(None));
}

#[test]
fn a_file_that_is_given_twice_says_the_same() {
    let messages = monitored();
    let once = read(steps(), &messages, Format::Proto).finish(None);
    let twice = read(steps(), &[messages.clone(), messages].concat(), Format::Proto).finish(None);
    assert_eq!(once.metrics, twice.metrics);
}

#[test]
fn gauges_of_any_name_are_told_beside() {
    let of = |second: u64| {
        let mut points = exporter(second);
        let depth = if second <= 30 { 2.0 } else { 6.0 };
        points.push(Point::gauge("queue.depth", "1", &[("queue", "train")], BEGIN + second * S, depth));
        message(Format::Proto, MONITOR, &points)
    };
    let summary = read(steps(), &(0..=60).map(of).collect::<Vec<_>>(), Format::Proto).finish(None);
    let [gauge] = host(&summary).gauges.as_slice() else { panic!("one gauge") };
    assert_eq!(gauge.about.as_deref(), Some("queue.depth{queue=train}"));
    assert_eq!((gauge.min, gauge.mean, gauge.max), (Some(2.0), Some(4.0), Some(6.0)));
}

#[test]
fn resident_memory_tells_of_a_container_that_is_seldom_read() {
    let own = [("service.instance.id", "i-0"), ("stepscope.run.id", "run"), ("host.name", "host-a")];
    let of = |second: u64| {
        let now = BEGIN + second * S;
        let resident = 1.0 + 0.1 * second as f64;
        let points = [
            Point::gauge("stepscope.container.memory.limit", "By", &[], now, 8.0 * GIB),
            // Read at the beginning, and said again since.
            Point::gauge("container.memory.working_set", "By", &[], now, 1.5 * GIB),
            Point::gauge("process.memory.physical_usage", "By", &[], now, resident * GIB),
        ];
        message(Format::Proto, &own, &points)
    };
    let summary = read(steps(), &(0..=60).map(of).collect::<Vec<_>>(), Format::Proto).finish(None);
    let used = row(host(&summary), "memory_used_share");
    assert_eq!((used.min, used.max), (Some(0.1875), Some(0.875)), "1.5 and 7 of 8 GiB");
}
