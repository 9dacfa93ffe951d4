//! Disks: `/proc/diskstats`. Partitions and devices that are files or memory are left out: their traffic is a disk's, or
//! none.

use std::path::PathBuf;
use std::sync::Arc;

use super::Root;
use super::file::{Buffer, Input};
use super::parse::{lines, number, words};
use crate::snapshot::Disk;

/// Disks that have figures; more are left out.
const MAX_DISKS: usize = 64;
/// Names that are remembered.
const MAX_NAMES: usize = 2_048;
const NOT_DISKS: [&str; 3] = ["loop", "ram", "zram"];
/// `/proc/diskstats` counts in these, whatever the disk does.
const SECTOR_BYTES: u64 = 512;

#[derive(Debug)]
pub(super) struct Disks {
    file: Input,
    /// `/sys/block`, where there is one: what is listed there is a whole disk.
    blocks: Option<PathBuf>,
    /// Every name that was met, and whether it has figures.
    names: Vec<(Arc<str>, bool)>,
}

impl Disks {
    pub(super) fn new(root: &Root) -> Self {
        let blocks = root.path.join("sys/block");
        let blocks = blocks.is_dir().then_some(blocks);
        Self { file: root.input("proc/diskstats"), blocks, names: Vec::new() }
    }

    pub(super) fn read(&mut self, buffer: &mut Buffer, disks: &mut Vec<Disk>) {
        let Some(text) = self.file.read(buffer) else {
            disks.clear();
            return;
        };
        let mut count = 0;
        for line in lines(text) {
            let mut fields = words(line).skip(2);
            let Some(name) = fields.next().and_then(|name| self.name(name)) else { continue };
            if count == MAX_DISKS {
                break;
            }
            let mut numbers = [None; 10];
            for (slot, field) in numbers.iter_mut().zip(fields) {
                *slot = number(field);
            }
            let [reads, _, read_sectors, read_ms, writes, _, written_sectors, write_ms, _, busy_ms] = numbers;
            let bytes = |sectors: Option<u64>| sectors.and_then(|count| count.checked_mul(SECTOR_BYTES));
            let seconds = |ms: Option<u64>| ms.map(|ms| ms as f64 / 1e3);
            let disk = Disk {
                name,
                bytes: [bytes(read_sectors), bytes(written_sectors)],
                operations: [reads, writes],
                operation_s: [seconds(read_ms), seconds(write_ms)],
                busy_s: seconds(busy_ms),
            };
            super::put(disks, count, disk);
            count += 1;
        }
        disks.truncate(count);
    }

    /// The name, if it is that of a disk.
    fn name(&mut self, name: &[u8]) -> Option<Arc<str>> {
        if let Some((known, is_disk)) = self.names.iter().find(|(known, _)| known.as_bytes() == name) {
            return is_disk.then(|| Arc::clone(known));
        }
        let text: Arc<str> = std::str::from_utf8(name).ok()?.into();
        let is_virtual = NOT_DISKS.iter().any(|kind| {
            text.strip_prefix(kind).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        });
        // Names with a `/` have a `!` there.
        let is_whole = self.blocks.as_ref().is_none_or(|folder| folder.join(text.replace('/', "!")).exists());
        let is_disk = is_whole && !is_virtual;
        if self.names.len() < MAX_NAMES {
            self.names.push((Arc::clone(&text), is_disk));
        }
        is_disk.then_some(text)
    }
}
