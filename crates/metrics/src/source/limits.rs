//! What bounds the memory of a process: its control groups, its address space, the machine. When a limit is reached is not
//! told here.

use std::path::Path;

use super::Root;
use super::cgroup;
use super::file::{Buffer, Input};
use super::memory::memory;
use super::parse::{lines, number, words};

/// What a limit is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// A control group, the process' own or one around it.
    Container,
    /// The address space of the process (`RLIMIT_AS`, `ulimit -v`).
    AddressSpace,
    /// The machine.
    Host,
    /// A device.
    Device,
    /// Resident memory of the process, by whom has set it.
    Set,
}

impl LimitKind {
    /// As sentences name it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Container => "the container's limit",
            Self::AddressSpace => "the limit of its address space",
            Self::Host => "the machine's memory",
            Self::Device => "the device's memory",
            Self::Set => "the limit set",
        }
    }
}

/// A limit, and how far memory has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// What it is of.
    pub kind: LimitKind,
    /// The limit.
    pub limit_bytes: u64,
    /// What counts against it: without caches of files that were not used lately, and with other processes where the limit is
    /// theirs as well.
    pub used_bytes: u64,
}

impl Limit {
    /// What memory may grow by.
    #[must_use]
    pub const fn room_bytes(&self) -> u64 {
        self.limit_bytes.saturating_sub(self.used_bytes)
    }
}

/// The limits of a process; files stay open between readings.
#[derive(Debug)]
pub struct Limits {
    buffer: Buffer,
    groups: Vec<cgroup::MemoryFiles>,
    own: Input,
    sizes: Input,
    machine: Input,
    page_bytes: u64,
}

impl Limits {
    /// Of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self::of(&Root::at(Path::new("/")), "self")
    }

    /// Of the files below `root`, which may be recorded ones, and the process `pid`.
    #[must_use]
    pub fn of_files(root: &Path, pid: u32) -> Self {
        Self::of(&Root::at(root), &pid.to_string())
    }

    fn of(root: &Root, process: &str) -> Self {
        Self {
            buffer: Buffer::default(),
            groups: cgroup::around(&root.path, process),
            own: root.input(&format!("proc/{process}/limits")),
            sizes: root.input(&format!("proc/{process}/statm")),
            machine: root.input("proc/meminfo"),
            page_bytes: root.page_bytes,
        }
    }

    /// Resident bytes of the process.
    pub fn resident_bytes(&mut self) -> Option<u64> {
        self.size(1)
    }

    /// A word of `statm`, in bytes.
    fn size(&mut self, index: usize) -> Option<u64> {
        let pages = words(self.sizes.read(&mut self.buffer)?).nth(index).and_then(number)?;
        pages.checked_mul(self.page_bytes)
    }

    /// The limit with least room, and before others one that is `set` for resident memory; absent where none is known.
    pub fn nearest(&mut self, set: Option<u64>) -> Option<Limit> {
        let set = set.and_then(|limit_bytes| {
            Some(Limit { kind: LimitKind::Set, limit_bytes, used_bytes: self.resident_bytes()? })
        });
        let others = [self.address_space(), self.host(), self.container()];
        others.into_iter().flatten().chain(set).min_by_key(Limit::room_bytes)
    }

    fn container(&mut self) -> Option<Limit> {
        let buffer = &mut self.buffer;
        let limits = self.groups.iter_mut().filter_map(|group| {
            let (limit_bytes, used_bytes) = group.limit_and_use(buffer)?;
            Some(Limit { kind: LimitKind::Container, limit_bytes, used_bytes })
        });
        limits.min_by_key(Limit::room_bytes)
    }

    fn address_space(&mut self) -> Option<Limit> {
        const NAME: &[u8] = b"Max address space";
        let text = self.own.read(&mut self.buffer)?;
        let line = lines(text).find_map(|line| line.strip_prefix(NAME))?;
        // `unlimited` is no number.
        let limit_bytes = words(line).next().and_then(number)?;
        Some(Limit { kind: LimitKind::AddressSpace, limit_bytes, used_bytes: self.size(0)? })
    }

    fn host(&mut self) -> Option<Limit> {
        let memory = self.machine.read(&mut self.buffer).and_then(memory)?;
        let used_bytes = memory.total_bytes.saturating_sub(memory.available_bytes?);
        Some(Limit { kind: LimitKind::Host, limit_bytes: memory.total_bytes, used_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of 16 GB with 12 to be had; groups `/pod/job` with these memory.max and memory.current (kB), a file
    /// `/proc/7/limits` with this address space.
    fn machine(groups: [(&str, u64); 2], address_space: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("proc/meminfo", "MemTotal: 16000000 kB\nMemFree: 4 kB\nMemAvailable: 12000000 kB\n");
        write("proc/7/cgroup", "0::/pod/job\n");
        write("proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        // 2 GB of address space, 1 GB of it resident.
        write("proc/7/statm", "500000 250000 9 9 0 9 0\n");
        write(
            "proc/7/limits",
            &format!("Limit Soft Hard Units\nMax address space {address_space} unlimited bytes\n"),
        );
        for (group, (limit, used)) in ["pod", "pod/job"].iter().zip(groups) {
            write(&format!("sys/fs/cgroup/{group}/cgroup.type"), "domain\n");
            write(&format!("sys/fs/cgroup/{group}/memory.max"), limit);
            write(&format!("sys/fs/cgroup/{group}/memory.current"), &format!("{used}\n"));
            write(&format!("sys/fs/cgroup/{group}/memory.stat"), "anon 5\ninactive_file 1000000000\n");
        }
        folder
    }

    #[test]
    fn the_limit_with_least_room_is_that_which_is_reached_first() {
        let nearest = |groups, address_space: &str, set| {
            let folder = machine(groups, address_space);
            let limit = Limits::of_files(folder.path(), 7).nearest(set).unwrap();
            (limit.kind, limit.limit_bytes, limit.used_bytes)
        };
        let none = [("max", 3_000_000_000), ("max", 3_000_000_000)];
        assert_eq!(nearest(none, "unlimited", None), (LimitKind::Host, 16_384_000_000, 4_096_000_000));
        // Virtual memory counts against that one, resident memory against one that is set.
        assert_eq!(
            nearest(none, "8000000000", None),
            (LimitKind::AddressSpace, 8_000_000_000, 2_048_000_000)
        );
        assert_eq!(
            nearest(none, "8000000000", Some(5_000_000_000)),
            (LimitKind::Set, 5_000_000_000, 1_024_000_000)
        );
        // The group around has the higher limit and less room: others are in it. Idle caches of files count in none.
        let around = [("9000000000", 8_500_000_000), ("4000000000", 2_000_000_000)];
        assert_eq!(nearest(around, "unlimited", None), (LimitKind::Container, 9_000_000_000, 7_500_000_000));
        let own = [("9000000000", 3_000_000_000), ("4000000000", 2_000_000_000)];
        assert_eq!(nearest(own, "unlimited", None), (LimitKind::Container, 4_000_000_000, 1_000_000_000));
    }

    #[test]
    fn where_nothing_can_be_read_no_limit_is_known() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Limits::of_files(folder.path(), 7).nearest(Some(1)), None);
    }
}
