//! Where the control group of a process is: from `/proc/PID/cgroup` and `/proc/self/mountinfo` to folders, for version 1,
//! version 2 and machines with both.

use std::path::{Path, PathBuf};

/// Groups within groups beyond this depth are not looked at.
const MAX_DEPTH: usize = 32;

/// The folders of one controller, from the process' own group outwards. The machine's root group is none of them: what
/// is counted there is not a container's.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Chain {
    pub(super) folders: Vec<PathBuf>,
    pub(super) is_v2: bool,
}

/// Finds the groups of a controller.
#[derive(Debug)]
pub(super) struct Resolver {
    root: PathBuf,
    groups: String,
    mounts: String,
}

impl Resolver {
    pub(super) fn new(root: &Path, pid: u32) -> Self {
        let read = |path: String| std::fs::read_to_string(root.join(path)).unwrap_or_default();
        Self {
            root: root.to_owned(),
            groups: read(format!("proc/{pid}/cgroup")),
            mounts: read("proc/self/mountinfo".to_owned()),
        }
    }

    /// Of version 1 where that has the controller, else of version 2.
    pub(super) fn chain(&self, controller: &str) -> Chain {
        let first = self.groups.lines().find_map(|line| {
            let (controllers, path) = group(line)?;
            controllers.split(',').any(|name| name == controller).then_some(path)
        });
        if let Some(path) = first {
            return self.folders(path, Some(controller));
        }
        let second = self.groups.lines().find_map(|line| line.strip_prefix("0::"));
        second.map(|path| self.folders(path, None)).unwrap_or_default()
    }

    fn folders(&self, group: &str, controller: Option<&str>) -> Chain {
        let is_v2 = controller.is_none();
        let Some((mount_root, mountpoint)) = self.mounts.lines().find_map(|line| mount(line, controller))
        else {
            return Chain { folders: Vec::new(), is_v2 };
        };
        let top = self.root.join(unescape(mountpoint).trim_start_matches('/'));
        // A group that is not below what is mounted here is out of sight: the mount's top is the closest there is.
        let inside =
            Path::new(group).strip_prefix(unescape(mount_root)).ok().filter(|path| !path.starts_with(".."));
        let own = inside.map_or_else(|| top.clone(), |path| top.join(path));
        let outwards = own.ancestors().take_while(|folder| folder.starts_with(&top)).take(MAX_DEPTH);
        let folders = outwards.filter(|folder| folder.is_dir() && !is_machine(folder, is_v2));
        Chain { folders: folders.map(Path::to_owned).collect(), is_v2 }
    }
}

/// Whether the folder is the root of all groups: that has files that no other has, or lacks one that all others have.
fn is_machine(folder: &Path, is_v2: bool) -> bool {
    if is_v2 { !folder.join("cgroup.type").exists() } else { folder.join("release_agent").exists() }
}

/// Controllers and path of `4:memory:/a/b`.
fn group(line: &str) -> Option<(&str, &str)> {
    let mut parts = line.splitn(3, ':').skip(1);
    parts.next().zip(parts.next())
}

/// Root and mount point of a line of `mountinfo`, if it is the hierarchy of the controller, or that of version 2.
fn mount<'a>(line: &'a str, controller: Option<&str>) -> Option<(&'a str, &'a str)> {
    let (head, tail) = line.split_once(" - ")?;
    let mut tail = tail.split(' ');
    let (kind, options) = (tail.next()?, tail.nth(1).unwrap_or_default());
    let fits = match controller {
        Some(controller) => kind == "cgroup" && options.split(',').any(|option| option == controller),
        None => kind == "cgroup2",
    };
    let mut head = head.split(' ').skip(3);
    head.next().zip(head.next()).filter(|_| fits)
}

/// Blanks and the like are octal there.
fn unescape(path: &str) -> String {
    path.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_told_by_kind_and_controller() {
        let first = "35 31 0:32 /docker/ab /sys/fs/cgroup/mem\\040ory rw - cgroup cgroup rw,memory";
        assert_eq!(mount(first, Some("memory")), Some(("/docker/ab", "/sys/fs/cgroup/mem\\040ory")));
        assert_eq!(mount(first, Some("cpu")), None);
        assert_eq!(mount(first, None), None);
        assert_eq!(unescape("/a\\040b"), "/a b");
        let second = "41 31 0:38 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate";
        assert_eq!(mount(second, None), Some(("/", "/sys/fs/cgroup")));
        assert_eq!(group("4:memory:/a:b"), Some(("memory", "/a:b")));
    }
}
