//! A control group with limits for programs of a test, as a container has: where this machine has groups of the first version
//! and lets us make some. On others there is none, and what is said of containers depends on where the tests run.

use std::fs;
use std::path::PathBuf;

/// Controllers, with the file of a limit of each and what is in it. Two processors, in microseconds a tenth of a second.
const LIMITS: [(&str, &str, &str); 3] = [
    ("memory", "memory.limit_in_bytes", "17179869184"),
    ("cpu", "cpu.cfs_quota_us", "200000"),
    ("cpuacct", "cgroup.clone_children", "0"),
];

/// A group; removed when dropped, if nothing runs in it.
#[derive(Debug)]
pub struct Group(Vec<PathBuf>);

impl Group {
    /// Makes one.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let mut group = Self(Vec::new());
        for (controller, file, limit) in LIMITS {
            let folder = PathBuf::from(format!("/sys/fs/cgroup/{controller}/{name}-{}", std::process::id()));
            fs::create_dir(&folder).ok()?;
            group.0.push(folder.clone());
            fs::write(folder.join(file), limit).ok()?;
        }
        Some(group)
    }

    /// The files that a process' id is written to.
    pub fn members(&self) -> impl Iterator<Item = PathBuf> {
        self.0.iter().map(|folder| folder.join("cgroup.procs"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in &self.0 {
            // What is left over has no effect.
            let _ = fs::remove_dir(folder);
        }
    }
}
