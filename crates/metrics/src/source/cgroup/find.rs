//! Which control group a user means by a container's id or a path. What the group's files say is not here.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use stepscope_limits::cgroup::{Mount, mounts};

use crate::error::Error;

/// Groups within groups beyond this depth are not looked at.
const MAX_DEPTH: usize = 16;
/// More groups are not looked at.
const MAX_GROUPS: usize = 100_000;
/// Shorter beginnings of ids fit too much.
const MIN_ID: usize = 6;

/// A container's control group, found by [`ControlGroup::find`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlGroup {
    path: PathBuf,
}

impl ControlGroup {
    /// The group of a container on this machine: by its id (at least six letters of it, with or without `docker://` in
    /// front), by the name of the group, or by the group's path, with the folder of its hierarchy or without.
    ///
    /// # Errors
    /// Where there is none, or more than one.
    pub fn find(text: &str) -> Result<Self, Error> {
        Self::find_below(Path::new("/"), text)
    }

    /// The same for the files of another place than `/`.
    ///
    /// # Errors
    /// Where there is none, or more than one.
    pub fn find_below(root: &Path, text: &str) -> Result<Self, Error> {
        let mounts = mounts(root);
        if mounts.is_empty() {
            return Err(Error::new("this system has no control groups"));
        }
        let text = text.split_once("://").map_or(text, |(_, id)| id);
        let found = if text.contains('/') { at(root, &mounts, text) } else { named(root, &mounts, text) };
        let mut paths = found.iter();
        match (paths.next(), paths.next()) {
            (None, _) => Err(Error::new(format!(
                "there is no container {text:?}: no control group has that id, name or path (systemd-cgls and \
                 /proc/PID/cgroup show those that there are)"
            ))),
            (Some(path), None) => Ok(Self { path: path.clone() }),
            (Some(one), Some(other)) => Err(Error::new(format!(
                "more than one control group fits {text:?}: /{} and /{}; give more of the id, or the path",
                one.display(),
                other.display()
            ))),
        }
    }

    /// Its path below the folders of the hierarchies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The path below the hierarchies, if any of them has it. The machine's own group, which is at the top, is no container.
fn at(root: &Path, mounts: &[Mount], text: &str) -> BTreeSet<PathBuf> {
    let full = Path::new(text);
    let inside = mounts
        .iter()
        .filter_map(|mount| full.strip_prefix(&mount.point).ok())
        .min_by_key(|inside| inside.as_os_str().len());
    let inside = inside.unwrap_or_else(|| full.strip_prefix("/").unwrap_or(full));
    let is_plain = inside.components().all(|part| matches!(part, Component::Normal(_)));
    let is_there = mounts.iter().any(|mount| mount.folder(root).join(inside).is_dir());
    let is_one = is_plain && is_there && inside.components().next().is_some();
    is_one.then(|| inside.components().collect()).into_iter().collect()
}

fn named(root: &Path, mounts: &[Mount], id: &str) -> BTreeSet<PathBuf> {
    let (mut found, mut left) = (BTreeSet::new(), MAX_GROUPS);
    for mount in mounts {
        walk(&mount.folder(root), &mut PathBuf::new(), id, &mut left, &mut found);
    }
    found
}

/// Groups inside of one that fits are its own.
fn walk(top: &Path, inside: &mut PathBuf, id: &str, left: &mut usize, found: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(top.join(&*inside)) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        if *left == 0 {
            return;
        }
        *left -= 1;
        inside.push(entry.file_name());
        if fits(&entry.file_name().to_string_lossy(), id) {
            found.insert(inside.clone());
        } else if inside.components().count() < MAX_DEPTH {
            walk(top, inside, id, left, found);
        }
        inside.pop();
    }
}

/// Groups are called by the container's id, or `docker-ID.scope`, `cri-containerd-ID.scope`, `…:cri-containerd:ID`. Those of
/// programs that look after a container (`crio-conmon-ID.scope`) are others.
fn fits(name: &str, id: &str) -> bool {
    let stem = name.strip_suffix(".scope").unwrap_or(name);
    let tail = stem.rsplit(['-', ':']).next().unwrap_or(stem);
    let is_id = id.len() >= MIN_ID && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    name == id || (is_id && tail.starts_with(id) && !name.contains("conmon"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Sampler;

    const ID: &str = "3f9c0a7be1d2c4455667788990aabbccddeeff00112233445566778899aabbcc";

    /// A machine with version 2, or with version 1 and nothing else.
    fn machine(groups: &[&str], is_v2: bool) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let (mounts, tops) = if is_v2 {
            ("41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", &["sys/fs/cgroup"][..])
        } else {
            let first = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                         36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
            (first, &["sys/fs/cgroup/memory", "sys/fs/cgroup/cpu,cpuacct"][..])
        };
        std::fs::create_dir_all(folder.path().join("proc/self")).unwrap();
        std::fs::write(folder.path().join("proc/self/mountinfo"), mounts).unwrap();
        for (top, group) in tops.iter().flat_map(|top| groups.iter().map(move |group| (top, group))) {
            std::fs::create_dir_all(folder.path().join(top).join(group)).unwrap();
        }
        folder
    }

    #[test]
    fn containers_are_found_as_runtimes_name_them_and_by_path() {
        let scope = format!("system.slice/docker-{ID}.scope");
        let pod = format!("kubepods.slice/pod1.slice/cri-containerd-a{ID}.scope/inner");
        let monitor = format!("machine.slice/libpod-conmon-{ID}.scope");
        for is_v2 in [true, false] {
            let folder = machine(&[&scope, &pod, &monitor, "system.slice/nginx.service"], is_v2);
            let found = |text: &str| ControlGroup::find_below(folder.path(), text).map(|group| group.path);
            let [path, full] = [
                format!("/{scope}"),
                format!("/sys/fs/cgroup{}/{scope}/", if is_v2 { "" } else { "/memory" }),
            ];
            for text in [ID, &ID[..12], &format!("docker://{ID}"), &path, &full] {
                assert_eq!(found(text).unwrap(), Path::new(&scope), "{text}");
            }
            assert_eq!(found(&format!("a{ID}")).unwrap(), Path::new(&pod).parent().unwrap());
            assert_eq!(found("nginx.service").unwrap(), Path::new("system.slice/nginx.service"));
            for text in ["", "3f9c", "/", "/sys/fs/cgroup", "/../proc", "/a/../b", "nginx", "deadbeefdead"] {
                let error = found(text).unwrap_err().to_string();
                assert!(error.starts_with("there is no container"), "{text}: {error}");
            }
        }
    }

    #[test]
    fn an_id_that_fits_twice_is_told_and_without_groups_there_are_none() {
        let folder = machine(&["a/abcdef01", "b/abcdef02"], true);
        let found = |text| ControlGroup::find_below(folder.path(), text).map_err(|error| error.to_string());
        let error = found("abcdef").unwrap_err();
        assert!(error.contains("/a/abcdef01 and /b/abcdef02"), "{error}");
        assert_eq!(found("abcdef02").unwrap().path(), Path::new("b/abcdef02"));
        let none = tempfile::tempdir().unwrap();
        let error = ControlGroup::find_below(none.path(), "abcdef").unwrap_err().to_string();
        assert_eq!(error, "this system has no control groups");
    }

    #[test]
    fn its_figures_come_with_the_limits_around_it_and_go_with_it() {
        let folder = machine(&["pod/abcdef01"], false);
        let group = ControlGroup::find_below(folder.path(), "abcdef01").unwrap();
        let memory = folder.path().join("sys/fs/cgroup/memory");
        let write = |file: &str, text: &str| std::fs::write(memory.join(file), text).unwrap();
        write("pod/abcdef01/memory.usage_in_bytes", "1000\n");
        write("pod/abcdef01/memory.limit_in_bytes", "9000\n");
        write("pod/memory.limit_in_bytes", "5000\n");
        let notes = std::sync::Arc::default();
        let mut sampler = Sampler::with_notes(folder.path(), 1, true, Some(&group), &notes);
        let container = sampler.pass().container.unwrap();
        assert_eq!((container.memory_bytes, container.memory_limit_bytes), (Some(1_000), Some(5_000)));
        assert!(!sampler.container_ended());
        std::fs::remove_dir_all(folder.path().join("sys/fs/cgroup")).unwrap();
        assert_eq!(sampler.pass().container, None);
        assert!(sampler.container_ended());
    }
}
