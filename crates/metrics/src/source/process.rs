//! One process: `/proc/PID/stat` and `io` every pass, the number of its descriptors now and then.

use std::path::PathBuf;

use super::file::{Buffer, Input};
use super::parse::{lines, number, value, words};
use super::{Root, system};
use crate::snapshot::Process;

#[derive(Debug)]
pub(super) struct ProcessFiles {
    pid: u32,
    is_own: bool,
    stat: Input,
    io: Input,
    descriptors: PathBuf,
    ticks_per_s: f64,
    page_bytes: u64,
    /// When it started, to tell it from a later one with its id.
    start_ticks: Option<u64>,
    is_gone: bool,
    before: Option<([u64; 2], f64)>,
    open: Option<u64>,
}

impl ProcessFiles {
    pub(super) fn new(root: &Root, pid: u32) -> Self {
        let folder = format!("proc/{pid}");
        Self {
            pid,
            is_own: root.is_live && pid == std::process::id(),
            stat: root.input(&format!("{folder}/stat")),
            io: root.input(&format!("{folder}/io")),
            descriptors: root.path.join(&folder).join("fd"),
            ticks_per_s: root.ticks_per_s,
            page_bytes: root.page_bytes,
            start_ticks: None,
            is_gone: false,
            before: None,
            open: None,
        }
    }

    /// Whether it was there and is no more.
    pub(super) const fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// `uptime_s` and `cpus` are the machine's.
    pub(super) fn read(
        &mut self,
        buffer: &mut Buffer,
        (uptime_s, cpus): (Option<f64>, Option<u64>),
        is_slow: bool,
    ) -> Option<Process> {
        if self.is_gone {
            return None;
        }
        let stat = self.stat.read(buffer).and_then(parse);
        let Some(stat) = stat.filter(|stat| self.start_ticks.is_none_or(|start| start == stat.start_ticks))
        else {
            self.is_gone = self.start_ticks.is_some();
            return None;
        };
        self.start_ticks = Some(stat.start_ticks);
        if is_slow {
            self.open = descriptors(&self.descriptors);
        }
        let io = self.io.read(buffer);
        let disk_bytes =
            io.map_or([None; 2], |text| [value(text, b"read_bytes"), value(text, b"write_bytes")]);
        let start_s = stat.start_ticks as f64 / self.ticks_per_s;
        let mut cpu_utilization = [None; 2];
        if let Some(now_s) = uptime_s {
            if let Some((before, then_s)) = self.before.filter(|(_, then_s)| now_s > *then_s) {
                let all = (now_s - then_s) * self.ticks_per_s * cpus.unwrap_or(1).max(1) as f64;
                for ((share, now), before) in cpu_utilization.iter_mut().zip(stat.cpu_ticks).zip(before) {
                    *share = Some(now.saturating_sub(before) as f64 / all);
                }
            }
            self.before = Some((stat.cpu_ticks, now_s));
        }
        Some(Process {
            pid: self.pid,
            cpu_time_s: stat.cpu_ticks.map(|ticks| Some(ticks as f64 / self.ticks_per_s)),
            cpu_utilization,
            resident_bytes: stat.resident_pages.and_then(|pages| pages.checked_mul(self.page_bytes)),
            virtual_bytes: stat.virtual_bytes,
            threads: stat.threads,
            descriptors: self.open,
            faults: stat.faults,
            context_switches: if self.is_own { system::context_switches() } else { [None; 2] },
            disk_bytes,
            uptime_s: uptime_s.map(|now_s| (now_s - start_s).max(0.0)),
        })
    }
}

struct Stat {
    cpu_ticks: [u64; 2],
    faults: [Option<u64>; 2],
    threads: Option<u64>,
    start_ticks: u64,
    virtual_bytes: Option<u64>,
    resident_pages: Option<u64>,
}

/// The name in parentheses may contain anything, so fields count from the last of these: the first is the state.
fn parse(text: &[u8]) -> Option<Stat> {
    let line = lines(text).next()?;
    let end = line.iter().rposition(|&byte| byte == b')')?;
    let mut fields = [None; 22];
    for (slot, word) in fields.iter_mut().zip(words(line.get(end + 1..)?)) {
        *slot = number(word);
    }
    let field = |index: usize| fields.get(index).copied().flatten();
    Some(Stat {
        cpu_ticks: [field(11)?, field(12)?],
        faults: [field(7), field(9)],
        threads: field(17),
        start_ticks: field(19)?,
        virtual_bytes: field(20),
        resident_pages: field(21),
    })
}

/// Kernels from 6.2 on say the number as the folder's size.
fn descriptors(folder: &std::path::Path) -> Option<u64> {
    let size = std::fs::metadata(folder).ok()?.len();
    #[cfg(target_os = "linux")]
    if size > 0 && folder.starts_with("/proc") {
        return Some(size);
    }
    let _ = size;
    Some(std::fs::read_dir(folder).ok()?.count() as u64)
}
