//! Which directories running programs write to: by name, by process id, or the latest run's. Nothing in them is read.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::args::CaptureArgs;
use crate::error::CliError;

/// Folders that the layer makes: run, attempt, process.
const DEPTH: usize = 3;

/// The directories of the processes that are meant, and of the latest one of another run there.
pub(super) fn directories(args: &CaptureArgs) -> Result<(Vec<PathBuf>, Option<PathBuf>), CliError> {
    let target = args.target.as_deref().and_then(OsStr::to_str);
    let pid = args.pid.or_else(|| target.and_then(|text| text.parse::<u32>().ok()));
    let base = match (&args.target, pid) {
        (Some(directory), None) => Path::new(directory),
        _ => args.profiles.as_path(),
    };
    let mut found = Vec::new();
    // An earlier process may have had the same id.
    let open = pid.map(written_by).unwrap_or_default();
    open.iter().for_each(|directory| find(directory, 0, &mut found));
    if found.is_empty() {
        find(base, DEPTH, &mut found);
        found.retain(|(_, directory)| pid.is_none() || pid_of(directory) == pid);
    }
    // Of several runs the latest, of that all processes.
    let attempt = found.iter().max().and_then(|(_, directory)| directory.parent().map(Path::to_owned));
    let (meant, others): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|(_, directory)| directory.parent() == attempt.as_deref());
    let other = others.into_iter().max().map(|(_, directory)| directory);
    let mut directories: Vec<PathBuf> = meant.into_iter().map(|(_, directory)| directory).collect();
    directories.sort();
    if directories.is_empty() {
        let base = base.display();
        return Err(CliError::Input(match pid {
            Some(pid) if cfg!(target_os = "linux") && !Path::new(&format!("/proc/{pid}")).exists() => {
                format!("there is no process {pid}, and no recording of one below {base}")
            }
            Some(pid) => format!(
                "process {pid} writes no recording below {base}: does it have stepscope's layer, a level other than off, and \
                 a directory (STEPSCOPE_DIR)? Name that one with --profiles if it is elsewhere"
            ),
            None => {
                format!("there is no recording below {base}; name the directory that the program writes to")
            }
        }));
    }
    Ok((directories, other))
}

/// Adds the directories in which a process records, with the time of its latest file.
fn find(directory: &Path, depth: usize, found: &mut Vec<(SystemTime, PathBuf)>) {
    let (mut latest, mut below) = (None, Vec::new());
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => below.push(entry.path()),
            Ok(metadata) if name.to_str().is_some_and(is_ours) => {
                latest = latest.max(Some(metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH)));
            }
            _ => {}
        }
    }
    found.extend(latest.map(|latest| (latest, directory.to_owned())));
    if depth > 0 {
        below.iter().for_each(|directory| find(directory, depth - 1, found));
    }
}

fn is_ours(name: &str) -> bool {
    name.starts_with("traces-") || name.starts_with("metrics-")
}

/// The folders of the files of ours that a process of this machine has open, wherever they are.
fn written_by(pid: u32) -> BTreeSet<PathBuf> {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let files = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    let ours = files.filter(|file| file.file_name().and_then(OsStr::to_str).is_some_and(is_ours));
    ours.filter_map(|file| file.parent().map(Path::to_owned)).collect()
}

/// The process that a directory is called after: `<host>-<pid>-r<rank>`.
fn pid_of(directory: &Path) -> Option<u32> {
    let (rest, rank) = directory.file_name()?.to_str()?.rsplit_once('-')?;
    rank.strip_prefix('r')?;
    rest.rsplit_once('-')?.1.parse().ok()
}
