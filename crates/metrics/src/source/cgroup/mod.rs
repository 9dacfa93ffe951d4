//! The container around a process, whoever made it: its control group. The limits in force are the lowest of the group's
//! and of those around it.

mod find;

use std::path::{Path, PathBuf};

pub use self::find::ControlGroup;
use stepscope_limits::cgroup::{Chain, Resolver};

use super::Root;
use super::file::{Buffer, Input};
use super::parse::{number, value, words};
use super::pressure::PressureFiles;
use crate::snapshot::Container;

/// From here on a limit of version 1 means none.
const UNLIMITED_BYTES: u64 = 1 << 60;

#[derive(Debug)]
pub(super) struct Group {
    memory: Option<MemoryFiles>,
    processor: Option<ProcessorFiles>,
    quotas: Vec<Quota>,
    throttled: Option<(Input, bool)>,
    pressure: Option<PressureFiles>,
    ticks_per_s: f64,
    /// Processor time of the pass before, and when that was.
    before: Option<(f64, f64)>,
    kept: Container,
    /// Its folder, if it was chosen: then it is told when it goes.
    chosen: Option<PathBuf>,
    is_gone: bool,
}

#[derive(Debug)]
struct MemoryFiles {
    is_v2: bool,
    usage: Input,
    limits: Vec<Input>,
    stat: Input,
    events: Input,
}

#[derive(Debug)]
enum ProcessorFiles {
    V2(Input),
    V1(Input),
}

#[derive(Debug)]
enum Quota {
    V2(Input),
    V1 { quota: Input, period: Input },
}

impl Group {
    /// The group of the process; `None` where it is in none but the machine's.
    pub(super) fn find(root: &Root, pid: u32) -> Option<Self> {
        Self::of(root, &Resolver::new(&root.path, &pid.to_string()))
    }

    /// The group that was chosen, which may be gone.
    pub(super) fn chosen(root: &Root, group: &ControlGroup) -> Option<Self> {
        let resolver = Resolver::of_group(&root.path, group.path());
        let chosen = resolver.own(group.path());
        Self::of(root, &resolver).map(|found| Self { chosen, ..found })
    }

    fn of(root: &Root, resolver: &Resolver) -> Option<Self> {
        let chains = ["memory", "cpu", "cpuacct"].map(|controller| resolver.chain(controller));
        let [memory, cpu, accounting] = &chains;
        // Version 2 has no controller of that name; its files of the processor are everywhere.
        let accounting = if accounting.folders.is_empty() { cpu } else { accounting };
        let unified =
            [memory, cpu].into_iter().find(|chain| chain.is_v2).and_then(|chain| chain.folders.first());
        let group = Self {
            memory: memory_files(memory),
            processor: accounting.folders.first().map(|folder| {
                if accounting.is_v2 {
                    ProcessorFiles::V2(file(folder, "cpu.stat"))
                } else {
                    ProcessorFiles::V1(file(folder, "cpuacct.stat"))
                }
            }),
            quotas: cpu.folders.iter().map(|folder| quota(folder, cpu.is_v2)).collect(),
            throttled: cpu.folders.first().map(|folder| (file(folder, "cpu.stat"), cpu.is_v2)),
            pressure: unified.map(|folder| {
                PressureFiles::new(
                    ["cpu.pressure", "memory.pressure", "io.pressure"].map(|name| file(folder, name)),
                )
            }),
            ticks_per_s: root.ticks_per_s,
            before: None,
            kept: Container::default(),
            chosen: None,
            is_gone: false,
        };
        let is_any = group.memory.is_some() || group.processor.is_some() || group.throttled.is_some();
        is_any.then_some(group)
    }

    /// Whether it was chosen, and is no more.
    pub(super) const fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// `uptime_s` is the machine's.
    pub(super) fn read(
        &mut self,
        buffer: &mut Buffer,
        uptime_s: Option<f64>,
        is_slow: bool,
    ) -> Option<Container> {
        self.is_gone = self.is_gone || self.chosen.as_ref().is_some_and(|folder| !folder.is_dir());
        if self.is_gone {
            return None;
        }
        let mut container = Container::default();
        if let Some(files) = &mut self.memory {
            container.memory_bytes = files.usage.read(buffer).and_then(number);
            container.memory_limit_bytes = files
                .limits
                .iter_mut()
                .filter_map(|limit| limit.read(buffer).and_then(number))
                .filter(|&bytes| bytes < UNLIMITED_BYTES)
                .min();
            container.oom_kills = files.events.read(buffer).and_then(|text| value(text, b"oom_kill"));
            if is_slow {
                let stat = files.stat.read(buffer);
                self.kept.rss_bytes = stat.and_then(|text| rss(text, files.is_v2));
                let inactive = stat.and_then(|text| inactive(text, files.is_v2));
                let usage = container.memory_bytes.zip(inactive);
                self.kept.working_set_bytes = usage.map(|(usage, inactive)| usage.saturating_sub(inactive));
            }
            container.rss_bytes = self.kept.rss_bytes;
            container.working_set_bytes = self.kept.working_set_bytes;
        }
        container.cpu_time_s = self.processor_time(buffer);
        let [user, system] = container.cpu_time_s;
        if let Some((used_s, now_s)) = user.zip(system).map(|(user, system)| user + system).zip(uptime_s) {
            if let Some((before_s, then_s)) = self.before.filter(|(_, then_s)| now_s > *then_s) {
                container.cpu_usage = Some((used_s - before_s).max(0.0) / (now_s - then_s));
            }
            self.before = Some((used_s, now_s));
        }
        container.cpu_limit =
            self.quotas.iter_mut().filter_map(|quota| quota.read(buffer)).min_by(f64::total_cmp);
        if let Some((file, is_v2)) = &mut self.throttled {
            let text = file.read(buffer);
            container.throttled_s = if *is_v2 {
                text.and_then(|text| value(text, b"throttled_usec")).map(|time| time as f64 / 1e6)
            } else {
                text.and_then(|text| value(text, b"throttled_time")).map(|time| time as f64 / 1e9)
            };
        }
        if let Some(files) = &mut self.pressure {
            container.pressure = files.read(buffer);
        }
        Some(container)
    }

    fn processor_time(&mut self, buffer: &mut Buffer) -> [Option<f64>; 2] {
        match &mut self.processor {
            Some(ProcessorFiles::V2(file)) => {
                let Some(text) = file.read(buffer) else { return [None; 2] };
                [&b"user_usec"[..], b"system_usec"].map(|key| value(text, key).map(|time| time as f64 / 1e6))
            }
            Some(ProcessorFiles::V1(file)) => {
                let Some(text) = file.read(buffer) else { return [None; 2] };
                [&b"user"[..], b"system"]
                    .map(|key| value(text, key).map(|ticks| ticks as f64 / self.ticks_per_s))
            }
            None => [None; 2],
        }
    }
}

impl Quota {
    /// Processors that it allows.
    fn read(&mut self, buffer: &mut Buffer) -> Option<f64> {
        let (quota, period) = match self {
            Self::V2(file) => {
                let mut words = words(file.read(buffer)?);
                (words.next().and_then(number)?, words.next().and_then(number)?)
            }
            Self::V1 { quota, period } => {
                let quota = quota.read(buffer).and_then(number)?;
                (quota, period.read(buffer).and_then(number)?)
            }
        };
        (period > 0).then(|| quota as f64 / period as f64)
    }
}

fn memory_files(chain: &Chain) -> Option<MemoryFiles> {
    let own = chain.folders.first()?;
    let names = if chain.is_v2 {
        ["memory.current", "memory.max", "memory.events"]
    } else {
        ["memory.usage_in_bytes", "memory.limit_in_bytes", "memory.oom_control"]
    };
    let [usage, limit, events] = names;
    Some(MemoryFiles {
        is_v2: chain.is_v2,
        usage: file(own, usage),
        limits: chain.folders.iter().map(|folder| file(folder, limit)).collect(),
        stat: file(own, "memory.stat"),
        events: file(own, events),
    })
}

fn quota(folder: &Path, is_v2: bool) -> Quota {
    if is_v2 {
        return Quota::V2(file(folder, "cpu.max"));
    }
    Quota::V1 { quota: file(folder, "cpu.cfs_quota_us"), period: file(folder, "cpu.cfs_period_us") }
}

/// Version 1 adds up the groups below in keys of their own.
fn rss(text: &[u8], is_v2: bool) -> Option<u64> {
    if is_v2 { value(text, b"anon") } else { value(text, b"total_rss") }
}

fn inactive(text: &[u8], is_v2: bool) -> Option<u64> {
    if is_v2 { value(text, b"inactive_file") } else { value(text, b"total_inactive_file") }
}

fn file(folder: &Path, name: &str) -> Input {
    Input::new(folder.join(name))
}
