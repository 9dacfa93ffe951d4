//! What bounds the memory of a process: its control groups, its address space, the machine. When a limit is reached is not
//! told here.

use std::path::{Path, PathBuf};

use crate::cgroup::{Chain, Resolver};

/// From here on a limit of version 1 means none.
const UNLIMITED_BYTES: u64 = 1 << 60;

/// What a limit is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// A control group, the process' own or one around it.
    Container,
    /// The address space of the process (`RLIMIT_AS`, `ulimit -v`).
    AddressSpace,
    /// The machine.
    Host,
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

/// The limits of a process, read anew by each question: some ten small files.
#[derive(Debug)]
pub struct Limits {
    /// The process' folder below `/proc`.
    own: PathBuf,
    machine: PathBuf,
    groups: Chain,
}

impl Limits {
    /// Of this process.
    #[must_use]
    pub fn of_this_process() -> Self {
        Self::of(Path::new("/"), "self")
    }

    /// Of the files below `root`, which may be recorded ones, and the process `pid`.
    #[must_use]
    pub fn of_files(root: &Path, pid: u32) -> Self {
        Self::of(root, &pid.to_string())
    }

    fn of(root: &Path, process: &str) -> Self {
        Self {
            own: root.join("proc").join(process),
            machine: root.join("proc/meminfo"),
            groups: Resolver::new(root, process).chain("memory"),
        }
    }

    /// The limit with least room; `set` is one more, of resident memory. Absent where none is known.
    #[must_use]
    pub fn nearest(&self, set: Option<u64>) -> Option<Limit> {
        let status = read(&self.own.join("status")).unwrap_or_default();
        let set = set.and_then(|limit_bytes| {
            Some(Limit { kind: LimitKind::Set, limit_bytes, used_bytes: kilobytes(&status, "VmRSS:")? })
        });
        let groups = self.groups.folders.iter().filter_map(|folder| group(folder, self.groups.is_v2));
        let others = [self.address_space(&status), self.host(), set];
        groups.chain(others.into_iter().flatten()).min_by_key(Limit::room_bytes)
    }

    fn address_space(&self, status: &str) -> Option<Limit> {
        let text = read(&self.own.join("limits"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
        // `unlimited` is no number.
        let limit_bytes = line.split_whitespace().next()?.parse().ok()?;
        let used_bytes = kilobytes(status, "VmSize:")?;
        Some(Limit { kind: LimitKind::AddressSpace, limit_bytes, used_bytes })
    }

    fn host(&self) -> Option<Limit> {
        let text = read(&self.machine)?;
        let limit_bytes = kilobytes(&text, "MemTotal:")?;
        let used_bytes = limit_bytes.saturating_sub(kilobytes(&text, "MemAvailable:")?);
        Some(Limit { kind: LimitKind::Host, limit_bytes, used_bytes })
    }
}

/// The limit of one group: caches of files that were not used lately give way.
fn group(folder: &Path, is_v2: bool) -> Option<Limit> {
    let [limit, usage, idle] = if is_v2 {
        ["memory.max", "memory.current", "inactive_file "]
    } else {
        ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "]
    };
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let limit_bytes = number(&read(&folder.join(limit))?).filter(|bytes| *bytes < UNLIMITED_BYTES)?;
    let usage = number(&read(&folder.join(usage))?)?;
    let stat = read(&folder.join("memory.stat")).unwrap_or_default();
    let idle = stat.lines().find_map(|line| number(line.strip_prefix(idle)?));
    let used_bytes = usage.saturating_sub(idle.unwrap_or(0));
    Some(Limit { kind: LimitKind::Container, limit_bytes, used_bytes })
}

fn read(path: &Path) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// Bytes of a line `KEY 16 kB`.
fn kilobytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1_024)
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
        write("proc/7/status", "Name:\tt\nVmSize:\t 2000000 kB\nVmRSS:\t 1000000 kB\n");
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
