//! `stepscope capture`: asks running programs to record their next steps more closely, by a file in the directory that
//! each of them writes to. What they do then is theirs; nothing is read here.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, io};

use stepscope::Capture;

use crate::args::{CaptureArgs, Global};
use crate::error::CliError;
use crate::{exit, output};

/// Folders that the layer makes: run, attempt, process.
const DEPTH: usize = 3;

/// Between two looks at what has been taken.
const PAUSE: Duration = Duration::from_millis(20);

/// Asks, and waits until it is known who will do it.
pub(crate) fn run(args: &CaptureArgs, global: Global) -> Result<u8, CliError> {
    let capture = Capture::steps(args.steps).level(args.level.level());
    let asked = directories(args)?;
    let until = Instant::now() + Duration::from_secs(args.timeout);
    let mut placed = Vec::new();
    for directory in &asked {
        placed.extend(ask(directory, capture, until)?.then_some(directory));
    }
    let is_open = |directory: &&PathBuf| directory.join(Capture::REQUEST_FILE).exists();
    while placed.iter().any(is_open) && Instant::now() < until {
        std::thread::sleep(PAUSE);
    }
    // Nobody is to find it later: where it cannot be removed any more, it has just been taken.
    let (open, mut taken): (Vec<_>, Vec<_>) = placed.into_iter().partition(is_open);
    let late =
        open.iter().filter(|directory| fs::remove_file(directory.join(Capture::REQUEST_FILE)).is_err());
    taken.extend(late);
    if taken.is_empty() {
        return Err(CliError::Input(format!(
            "no program took it within {} s from {}: has the run ended?",
            args.timeout,
            list(&asked.iter().collect::<Vec<_>>())
        )));
    }
    if !global.quiet {
        let (steps, level) = (args.steps, args.level.level());
        let text = format!("the next {steps} steps are recorded at {level}:\n{}\n", list(&taken));
        output::stdout(text.as_bytes())?;
    }
    Ok(exit::FINE)
}

fn list(directories: &[&PathBuf]) -> String {
    directories.iter().map(|directory| directory.display().to_string()).collect::<Vec<_>>().join("\n")
}

/// Puts the request there in one piece, behind that of somebody else who waits there; `false` where that one is not taken
/// before `until`.
fn ask(directory: &Path, capture: Capture, until: Instant) -> Result<bool, CliError> {
    let path = directory.join(Capture::REQUEST_FILE);
    let draft = path.with_extension(std::process::id().to_string());
    let placed = fs::write(&draft, capture.to_string()).and_then(|()| place(&draft, &path, until));
    // Nothing of it is to stay.
    let _ = fs::remove_file(&draft);
    placed.map_err(|error| CliError::output(&path, error))
}

fn place(draft: &Path, path: &Path, until: Instant) -> io::Result<bool> {
    loop {
        match fs::hard_link(draft, path) {
            Ok(()) => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // There are no links here, or no directory any more.
            Err(_) => return fs::rename(draft, path).map(|()| true),
        }
        if Instant::now() >= until {
            return Ok(false);
        }
        std::thread::sleep(PAUSE);
    }
}

/// The directories of the processes that are meant.
fn directories(args: &CaptureArgs) -> Result<Vec<PathBuf>, CliError> {
    let pid = args.target.as_deref().and_then(OsStr::to_str).and_then(|text| text.parse::<u32>().ok());
    let base = match (&args.target, pid) {
        (Some(directory), None) => Path::new(directory),
        _ => args.profiles.as_path(),
    };
    let mut found = Vec::new();
    find(base, DEPTH, &mut found);
    if let Some(pid) = pid {
        found.retain(|(_, directory)| pid_of(directory) == Some(pid));
    }
    // Of several runs the latest, of that all processes.
    let attempt = found.iter().max().and_then(|(_, directory)| directory.parent().map(Path::to_owned));
    found.retain(|(_, directory)| directory.parent() == attempt.as_deref());
    let mut directories: Vec<PathBuf> = found.into_iter().map(|(_, directory)| directory).collect();
    directories.sort();
    if directories.is_empty() {
        let whose = pid.map_or(String::new(), |pid| format!(" of process {pid}"));
        let base = base.display();
        return Err(CliError::Input(format!(
            "there is no recording{whose} below {base}; name the directory that the program writes to"
        )));
    }
    Ok(directories)
}

/// Adds the directories in which a process records, with the time of its latest file.
fn find(directory: &Path, depth: usize, found: &mut Vec<(SystemTime, PathBuf)>) {
    let (mut latest, mut below) = (None, Vec::new());
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = |name: &str| name.starts_with("traces-") || name.starts_with("metrics-");
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

/// The process that a directory is called after: `<host>-<pid>-r<rank>`.
fn pid_of(directory: &Path) -> Option<u32> {
    let (rest, rank) = directory.file_name()?.to_str()?.rsplit_once('-')?;
    rank.strip_prefix('r')?;
    rest.rsplit_once('-')?.1.parse().ok()
}
