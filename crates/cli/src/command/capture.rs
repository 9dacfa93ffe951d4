//! `stepscope capture`: asks running programs to record their next steps more closely, or to write what is live, by a file in the
//! directory that each of them writes to. What they do then is theirs; of live memory they answer in the same file.

mod live_memory;
mod places;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, io};

use stepscope::__settings::MEMORY_REQUEST;
use stepscope::Capture;

use crate::args::{CaptureArgs, Global};
use crate::error::CliError;
use crate::{exit, output};

/// Between two looks at what has been taken.
const PAUSE: Duration = Duration::from_millis(20);

/// Who waits shows it so often that the request is somebody's.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// A request without a sign of life for so long is nobody's any more: who made it has died.
const ABANDONED: Duration = Duration::from_secs(10);

/// Asks, and waits until it is known who will do it.
pub(crate) fn run(args: &CaptureArgs, global: Global) -> Result<u8, CliError> {
    let text = if args.memory {
        MEMORY_REQUEST.to_owned()
    } else {
        Capture::steps(args.steps).level(args.level.level()).to_string()
    };
    let (asked, other) = places::directories(args)?;
    // (None where that is beyond what a clock can say.)
    let until = Instant::now().checked_add(Duration::from_secs(args.timeout));
    let mut requests = Vec::new();
    for directory in &asked {
        requests.push(Request::new(directory, &text)?);
    }
    loop {
        for request in &mut requests {
            request.look()?;
        }
        let is_over = until.is_some_and(|until| Instant::now() >= until);
        if is_over || requests.iter().all(|request| request.state == State::Taken) {
            break;
        }
        std::thread::sleep(PAUSE);
    }
    let all = requests.into_iter().zip(&asked);
    let (taken, answers): (Vec<&PathBuf>, Vec<String>) =
        all.filter_map(|(request, asked)| Some((asked, request.end()?))).unzip();
    if taken.is_empty() {
        let mut text = format!(
            "no program took it within {} s from {}: has the run ended?",
            args.timeout,
            list(&asked.iter().collect::<Vec<_>>())
        );
        if let Some(other) = other {
            let _ = write!(
                text,
                " Of other runs there the latest is {}: name it, if it is meant.",
                other.display()
            );
        }
        return Err(CliError::Input(text));
    }
    if args.memory {
        return live_memory::tell(&taken, &answers, global);
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is not there: somebody else's may be.
    Waits,
    IsThere,
    Taken,
}

/// The request in one directory. It is written beside its place and linked there in one piece, so that of two names left it
/// is known that it was not taken, whoever has asked meanwhile.
struct Request {
    path: PathBuf,
    draft: PathBuf,
    /// What it is known by at its place where files have no second names: the system's number of it, if it has one.
    moved: Option<Option<u64>>,
    state: State,
    signed: Instant,
}

impl Request {
    fn new(directory: &Path, text: &str) -> Result<Self, CliError> {
        let path = directory.join(Capture::REQUEST_FILE);
        clear(directory);
        let draft = path.with_extension(std::process::id().to_string());
        let request = Self { path, draft, moved: None, state: State::Waits, signed: Instant::now() };
        fs::write(&request.draft, text).map_err(|error| CliError::output(&request.path, error))?;
        Ok(request)
    }

    /// Goes on as far as it can now.
    fn look(&mut self) -> Result<(), CliError> {
        match self.state {
            State::Waits => {
                if self.place().map_err(|error| CliError::output(&self.path, error))? {
                    self.state = State::IsThere;
                }
            }
            State::IsThere if !self.is_there() => self.state = State::Taken,
            State::IsThere => {}
            State::Taken => return Ok(()),
        }
        if self.signed.elapsed() >= SIGN_OF_LIFE {
            self.signed = Instant::now();
            let own = if self.moved.is_some() { &self.path } else { &self.draft };
            let own = fs::File::options().append(true).open(own);
            let _ = own.and_then(|own| own.set_modified(SystemTime::now()));
        }
        Ok(())
    }

    /// Puts it there, unless somebody else's is.
    fn place(&mut self) -> io::Result<bool> {
        match fs::hard_link(&self.draft, &self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove_abandoned(&self.path);
                Ok(false)
            }
            // There are no links here.
            Err(_) => self.place_by_turns(),
        }
    }

    /// As [`place`](Self::place), where of two files with one name the one before is gone: one after the other.
    fn place_by_turns(&mut self) -> io::Result<bool> {
        let turn = self.path.with_extension("turn");
        match fs::File::options().write(true).create_new(true).open(&turn) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove_abandoned(&turn);
                return Ok(false);
            }
            opened => drop(opened?),
        }
        let is_free = !self.path.exists();
        let placed = if is_free { fs::rename(&self.draft, &self.path) } else { Ok(()) };
        if is_free && placed.is_ok() {
            self.moved = Some(fs::metadata(&self.path).ok().as_ref().and_then(number));
        } else {
            remove_abandoned(&self.path);
        }
        let _ = fs::remove_file(turn);
        placed.map(|()| is_free)
    }

    /// Whether it is there and not taken.
    fn is_there(&self) -> bool {
        if let Some(moved) = self.moved {
            return fs::metadata(&self.path).is_ok_and(|there| moved.is_none() || number(&there) == moved);
        }
        let draft = fs::metadata(&self.draft).ok().and_then(|draft| names_and_number(&draft));
        draft.map_or_else(|| self.path.exists(), |(names, _)| names > 1)
    }

    /// Nobody is to find it later: where it cannot be removed any more, it has just been taken.
    fn withdraw(&mut self) {
        if self.state == State::IsThere {
            let is_removed = self.is_there() && fs::remove_file(&self.path).is_ok();
            self.state = if is_removed { State::Waits } else { State::Taken };
        }
    }

    /// What its file holds after it was taken: an answer, if there is one; `None` if it was not taken.
    fn end(mut self) -> Option<String> {
        self.withdraw();
        (self.state == State::Taken).then(|| fs::read_to_string(&self.draft).unwrap_or_default())
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.withdraw();
        let _ = fs::remove_file(&self.draft);
    }
}

/// Removes a file that nobody has given a sign of life of for long.
fn remove_abandoned(path: &Path) {
    let age = fs::metadata(path).and_then(|file| file.modified()).map(|time| time.elapsed());
    if age.is_ok_and(|age| age.is_ok_and(|age| age > ABANDONED)) {
        let _ = fs::remove_file(path);
    }
}

/// Removes what those have left there that were killed while they asked.
fn clear(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let end = path.file_name().and_then(|name| name.to_str()?.strip_prefix("capture."));
        if end.is_some_and(|end| end.bytes().all(|byte| byte.is_ascii_digit())) {
            remove_abandoned(&path);
        }
    }
}

/// How many names a file has, and the system's number of it, where there is such a thing.
#[cfg(unix)]
fn names_and_number(file: &fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((file.nlink(), file.ino()))
}

#[cfg(not(unix))]
fn names_and_number(_: &fs::Metadata) -> Option<(u64, u64)> {
    None
}

/// The system's number of a file.
fn number(file: &fs::Metadata) -> Option<u64> {
    names_and_number(file).map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepscope_testkit::TempFolder;

    /// As on a file system on which a file has one name.
    #[test]
    fn without_links_one_request_is_there_after_the_other() {
        let folder = TempFolder::new("capture-turns").unwrap();
        let mut requests = [3, 5].map(|steps| {
            let mut request = Request::new(folder.path(), &Capture::steps(steps).to_string()).unwrap();
            // (Of another process.)
            let draft = request.draft.with_extension(format!("0{steps}"));
            fs::rename(std::mem::replace(&mut request.draft, draft.clone()), draft).unwrap();
            request
        });
        let [first, second] = &mut requests;
        assert_eq!((first.place_by_turns().unwrap(), second.place_by_turns().unwrap()), (true, false));
        let text = || fs::read_to_string(folder.path().join(Capture::REQUEST_FILE)).unwrap();
        assert!(first.is_there() && text().starts_with("steps=3,"));
        // It is taken, and the other one's turn comes.
        fs::remove_file(&first.path).unwrap();
        assert!(!first.is_there() && second.place_by_turns().unwrap());
        assert!(!first.is_there() && second.is_there() && text().starts_with("steps=5,"));
        // Somebody who has died while it was his turn holds up others for a while only.
        let turn = second.path.with_extension("turn");
        let left = fs::File::create(&turn).unwrap();
        fs::remove_file(&second.path).unwrap();
        fs::write(&first.draft, "steps=4").unwrap();
        assert!(!first.place_by_turns().unwrap());
        left.set_modified(SystemTime::now() - 2 * ABANDONED).unwrap();
        assert!(!first.place_by_turns().unwrap() && first.place_by_turns().unwrap());
        assert!(text() == "steps=4" && !turn.exists());
    }
}
