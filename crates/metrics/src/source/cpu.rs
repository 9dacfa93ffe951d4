//! Processors: `/proc/stat`, `/proc/loadavg`, `/proc/uptime`.

use super::Root;
use super::file::{Buffer, Input};
use super::parse::{fraction, lines, number, words};
use crate::snapshot::{Host, Snapshot};

/// Processors of which each has figures of its own.
const MAX_CORES: usize = 4_096;

const IDLE: [usize; 2] = [3, 4];

type Ticks = [Option<u64>; 8];

#[derive(Debug)]
pub(super) struct Cpu {
    stat: Input,
    load: Input,
    uptime: Input,
    ticks_per_s: f64,
    before: Option<Ticks>,
    cores_before: Vec<Option<Ticks>>,
}

impl Cpu {
    pub(super) fn new(root: &Root) -> Self {
        Self {
            stat: root.input("proc/stat"),
            load: root.input("proc/loadavg"),
            uptime: root.input("proc/uptime"),
            ticks_per_s: root.ticks_per_s,
            before: None,
            cores_before: Vec::new(),
        }
    }

    pub(super) fn read(&mut self, buffer: &mut Buffer, snapshot: &mut Snapshot) {
        let host = &mut snapshot.host;
        let text = self.uptime.read(buffer);
        host.uptime_s = text.and_then(|text| fraction(words(text).next()?));
        host.load = [None; 3];
        if let Some(text) = self.load.read(buffer) {
            for (slot, word) in host.load.iter_mut().zip(words(text)) {
                *slot = fraction(word);
            }
        }
        (host.cpu_time_s, host.cpu_utilization) = ([None; 8], [None; 8]);
        (host.cpus, host.processes_created, host.context_switches) = (None, None, None);
        snapshot.cores.clear();
        let Some(text) = self.stat.read(buffer) else {
            (self.before, self.cores_before) = (None, Vec::new());
            return;
        };
        for line in lines(text) {
            let mut fields = words(line);
            match fields.next() {
                Some(b"cpu") => {
                    let now = ticks(fields);
                    self.totals(&mut snapshot.host, now);
                }
                Some(b"processes") => snapshot.host.processes_created = fields.next().and_then(number),
                Some(b"ctxt") => snapshot.host.context_switches = fields.next().and_then(number),
                Some(name) => {
                    let index = name.strip_prefix(b"cpu").and_then(number);
                    if let Some(index) = index.and_then(|index| usize::try_from(index).ok()) {
                        snapshot.host.cpus = Some(snapshot.host.cpus.unwrap_or(0) + 1);
                        self.core(&mut snapshot.cores, index, ticks(fields));
                    }
                }
                None => {}
            }
        }
    }

    fn totals(&mut self, host: &mut Host, now: Ticks) {
        for (seconds, ticks) in host.cpu_time_s.iter_mut().zip(now) {
            *seconds = ticks.map(|ticks| ticks as f64 / self.ticks_per_s);
        }
        if let Some(passed) = self.before.and_then(|before| passed(&before, &now)) {
            let all: u64 = passed.iter().sum();
            for ((share, passed), known) in host.cpu_utilization.iter_mut().zip(passed).zip(now) {
                *share = known.map(|_| passed as f64 / all as f64);
            }
        }
        self.before = Some(now);
    }

    fn core(&mut self, cores: &mut Vec<Option<f64>>, index: usize, now: Ticks) {
        if index >= MAX_CORES {
            return;
        }
        if self.cores_before.len() <= index {
            self.cores_before.resize(index + 1, None);
        }
        // Processors that are off have no line.
        cores.resize(index + 1, None);
        let Some((before, share)) = self.cores_before.get_mut(index).zip(cores.get_mut(index)) else {
            return;
        };
        if let Some(passed) = before.and_then(|before| passed(&before, &now)) {
            let all: u64 = passed.iter().sum();
            let idle: u64 = IDLE.iter().filter_map(|&mode| passed.get(mode)).sum();
            *share = Some((all - idle) as f64 / all as f64);
        }
        *before = Some(now);
    }
}

fn ticks<'a>(mut fields: impl Iterator<Item = &'a [u8]>) -> Ticks {
    std::array::from_fn(|_| fields.next().and_then(number))
}

/// What came on top, if anything; the kernel corrects waiting for storage downwards at times.
fn passed(before: &Ticks, now: &Ticks) -> Option<[u64; 8]> {
    let mut passed = [0; 8];
    for ((slot, before), now) in passed.iter_mut().zip(before).zip(now) {
        *slot = now.unwrap_or(0).saturating_sub(before.unwrap_or(0));
    }
    passed.iter().any(|&ticks| ticks > 0).then_some(passed)
}
