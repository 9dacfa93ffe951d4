//! Where the control group of a process is: from `/proc/PID/cgroup` and `/proc/self/mountinfo` to folders, for version 1,
//! version 2 and machines with both.

use std::path::{Path, PathBuf};

/// Groups within groups beyond this depth are not looked at.
const MAX_DEPTH: usize = 32;

/// The folders of one controller, from the process' own group outwards. The machine's root group is none of them: what
/// is counted there is not a container's.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// Folders, the group's own first.
    pub folders: Vec<PathBuf>,
    /// Whether they are of version 2.
    pub is_v2: bool,
}

/// A hierarchy of groups.
#[derive(Debug, PartialEq, Eq)]
pub struct Mount {
    /// The group that is at the top of what can be seen.
    pub top: PathBuf,
    /// Where it is mounted.
    pub point: PathBuf,
    /// Options with the controllers of version 1; none of version 2.
    controllers: Option<String>,
}

impl Mount {
    /// Its folder below `root`.
    #[must_use]
    pub fn folder(&self, root: &Path) -> PathBuf {
        root.join(self.point.strip_prefix("/").unwrap_or(&self.point))
    }

    /// Whether it is the hierarchy of the controller, or that of version 2.
    fn has(&self, controller: Option<&str>) -> bool {
        match (&self.controllers, controller) {
            (Some(controllers), Some(controller)) => controllers.split(',').any(|name| name == controller),
            (None, None) => true,
            _ => false,
        }
    }
}

/// All hierarchies.
#[must_use]
pub fn mounts(root: &Path) -> Vec<Mount> {
    let text = std::fs::read_to_string(root.join("proc/self/mountinfo")).unwrap_or_default();
    text.lines().filter_map(mount).collect()
}

/// Finds the groups of a controller.
#[derive(Debug)]
pub struct Resolver {
    root: PathBuf,
    /// As `/proc/PID/cgroup` has them.
    groups: String,
    mounts: Vec<Mount>,
}

impl Resolver {
    /// Of a process by its id, or of `self`.
    #[must_use]
    pub fn new(root: &Path, process: &str) -> Self {
        let groups = std::fs::read_to_string(root.join(format!("proc/{process}/cgroup"))).unwrap_or_default();
        Self { root: root.to_owned(), groups, mounts: mounts(root) }
    }

    /// Of the group at this path in every hierarchy that has it.
    #[must_use]
    pub fn of_group(root: &Path, path: &Path) -> Self {
        let mounts = mounts(root);
        let mut groups = String::new();
        for mount in mounts.iter().filter(|mount| mount.folder(root).join(path).is_dir()) {
            let controllers = mount.controllers.as_deref().unwrap_or_default();
            // The format of /proc/PID/cgroup: 0 is version 2.
            let number = u8::from(mount.controllers.is_some());
            groups.push_str(&format!("{number}:{controllers}:{}\n", mount.top.join(path).display()));
        }
        Self { root: root.to_owned(), groups, mounts }
    }

    /// Folders of the groups themselves, in every hierarchy.
    #[must_use]
    pub fn own(&self, path: &Path) -> Option<PathBuf> {
        self.mounts.iter().map(|mount| mount.folder(&self.root).join(path)).find(|folder| folder.is_dir())
    }

    /// Of version 1 where that has the controller, else of version 2.
    #[must_use]
    pub fn chain(&self, controller: &str) -> Chain {
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
        let Some(mount) = self.mounts.iter().find(|mount| mount.has(controller)) else {
            return Chain { folders: Vec::new(), is_v2 };
        };
        let top = mount.folder(&self.root);
        // A group that is not below what is mounted here is out of sight: the mount's top is the closest there is.
        let inside = Path::new(group).strip_prefix(&mount.top).ok().filter(|path| !path.starts_with(".."));
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

/// The hierarchy of a line of `mountinfo`, if it is one.
fn mount(line: &str) -> Option<Mount> {
    let (head, tail) = line.split_once(" - ")?;
    let mut tail = tail.split(' ');
    let (kind, options) = (tail.next()?, tail.nth(1).unwrap_or_default());
    let controllers = match kind {
        "cgroup" => Some(options.to_owned()),
        "cgroup2" => None,
        _ => return None,
    };
    let mut head = head.split(' ').skip(3).map(|path| PathBuf::from(unescape(path)));
    let (top, point) = head.next().zip(head.next())?;
    Some(Mount { top, point, controllers })
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
        let found = mount(first).unwrap();
        assert_eq!((found.top, found.point), ("/docker/ab".into(), "/sys/fs/cgroup/mem ory".into()));
        let has = |line, controller| mount(line).is_some_and(|mount| mount.has(controller));
        assert!(has(first, Some("memory")) && !has(first, Some("cpu")) && !has(first, None));
        assert_eq!(unescape("/a\\040b"), "/a b");
        let second = "41 31 0:38 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate";
        assert!(has(second, None) && !has(second, Some("nsdelegate")));
        assert_eq!(mount("29 31 0:36 / /sys rw - sysfs sysfs rw"), None);
        assert_eq!(group("4:memory:/a:b"), Some(("memory", "/a:b")));
    }
}
