//! Memory and paging: `/proc/meminfo` every pass, `/proc/vmstat` now and then.

use super::Root;
use super::file::{Buffer, Input};
use super::parse::{pairs, value};
use crate::snapshot::{Host, Memory, Paging};

#[derive(Debug)]
pub(super) struct MemoryFiles {
    meminfo: Input,
    vmstat: Input,
}

impl MemoryFiles {
    pub(super) fn new(root: &Root) -> Self {
        Self { meminfo: root.input("proc/meminfo"), vmstat: root.input("proc/vmstat") }
    }

    pub(super) fn read(&mut self, buffer: &mut Buffer, host: &mut Host, is_slow: bool) {
        host.memory = self.meminfo.read(buffer).and_then(memory);
        if is_slow {
            host.paging = self.vmstat.read(buffer).map(paging).unwrap_or_default();
        }
    }
}

fn memory(text: &[u8]) -> Option<Memory> {
    let mut memory = Memory::default();
    let (mut total, mut reclaimable) = (None, None);
    let mut left = 10;
    for (key, kilobytes) in pairs(text) {
        let slot = match key {
            b"MemTotal" => &mut total,
            b"MemFree" => &mut memory.free_bytes,
            b"MemAvailable" => &mut memory.available_bytes,
            b"Buffers" => &mut memory.buffers_bytes,
            b"Cached" => &mut memory.cached_bytes,
            b"SReclaimable" => &mut reclaimable,
            b"Shmem" => &mut memory.shared_bytes,
            b"Dirty" => &mut memory.dirty_bytes,
            b"SwapTotal" => &mut memory.swap_total_bytes,
            b"SwapFree" => &mut memory.swap_free_bytes,
            _ => continue,
        };
        *slot = kilobytes.checked_mul(1_024);
        left -= 1;
        if left == 0 {
            break;
        }
    }
    memory.total_bytes = total?;
    memory.cached_bytes = memory.cached_bytes.map(|cached| cached.saturating_add(reclaimable.unwrap_or(0)));
    let other = memory.free_bytes.zip(memory.buffers_bytes).zip(memory.cached_bytes);
    memory.used_bytes = other.map(|((free, buffers), cached)| {
        memory.total_bytes.saturating_sub(free).saturating_sub(buffers).saturating_sub(cached)
    });
    Some(memory)
}

fn paging(text: &[u8]) -> Paging {
    Paging {
        faults: value(text, b"pgfault"),
        major_faults: value(text, b"pgmajfault"),
        swapped_in: value(text, b"pswpin"),
        swapped_out: value(text, b"pswpout"),
        oom_kills: value(text, b"oom_kill"),
    }
}
