//! Runs the user's program with our receiver beside it: environment set, signals passed on, and what it sent last
//! waited for.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use stepscope_server::{Counts, Limits, Receiver};

use crate::args::Global;
use crate::environment;
use crate::error::CliError;
use crate::output;
use crate::signals::{self, Forwarding};

/// How long what is under way when the program ends may take to arrive.
const DRAIN: Duration = Duration::from_secs(5);

/// How it went.
pub(crate) struct Ran {
    /// How the program ended.
    pub(crate) status: ExitStatus,
    /// What arrived.
    pub(crate) counts: Counts,
}

impl Ran {
    /// The exit code of the program; 128 and the signal's number where one ended it, as shells have it.
    pub(crate) fn code(&self) -> u8 {
        let signal = std::os::unix::process::ExitStatusExt::signal(&self.status).map(|signal| signal + 128);
        let code = self.status.code().or(signal).unwrap_or(i32::from(u8::MAX));
        u8::try_from(code & 0xff).unwrap_or(u8::MAX)
    }
}

/// Where the program's output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Out {
    /// Where ours goes.
    Inherited,
    /// All of it to our standard error, so that standard output is ours alone.
    Aside,
    /// Nowhere.
    Silent,
}

/// Runs `command` with a receiver that writes to `folder`. `more` is set in its environment besides.
pub(crate) fn run(
    command: &[OsString],
    folder: &Path,
    out: Out,
    more: &[(&str, &str)],
    global: Global,
) -> Result<Ran, CliError> {
    let Some((name, arguments)) = command.split_first() else {
        return Err(CliError::Usage("name the program to run behind --".into()));
    };
    let forwarding = Forwarding::start();
    let receiver =
        Receiver::start(folder, Limits::default()).map_err(|error| CliError::output(folder, error))?;
    let changes = environment::for_program(&receiver.endpoint(), |name| std::env::var_os(name));
    for note in &changes.notes {
        output::note(global, note);
    }
    let mut program = Command::new(name);
    program.args(arguments).envs(changes.set).envs(more.iter().copied());
    match out {
        Out::Inherited => {}
        Out::Aside => drop(program.stdout(aside())),
        Out::Silent => drop(program.stdout(Stdio::null()).stderr(Stdio::null())),
    }
    for name in changes.remove {
        program.env_remove(name);
    }
    let mut child = program.spawn().map_err(|error| CliError::Program(name.clone(), error))?;
    forwarding.to(&child);
    signals::wait_for_end(&child);
    drop(forwarding);
    let status = child.wait().map_err(|error| CliError::Program(name.clone(), error))?;
    receiver.drain(DRAIN);
    Ok(Ran { status, counts: receiver.stop() })
}

/// A second way to our standard error; nowhere where there is none.
fn aside() -> Stdio {
    let stderr = std::os::fd::AsFd::as_fd(&std::io::stderr()).try_clone_to_owned();
    stderr.map_or_else(|_| Stdio::null(), Stdio::from)
}
