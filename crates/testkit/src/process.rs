//! Programs run by tests: with a deadline, their output collected whatever its size.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
    /// Whether it was killed because its time was up.
    pub timed_out: bool,
}

impl Ended {
    /// Standard output as text.
    #[must_use]
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text.
    #[must_use]
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// This, if the program ended with success.
    ///
    /// # Errors
    /// Says how it ended instead, with its output.
    pub fn success(self) -> Result<Self, String> {
        if self.status.success() && !self.timed_out {
            return Ok(self);
        }
        let ending = if self.timed_out { "ran out of time".into() } else { self.status.to_string() };
        Err(format!("{ending}\n--- stdout\n{}\n--- stderr\n{}", self.stdout_text(), self.stderr_text()))
    }
}

/// How often a running program is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Runs `command` without input for at most `limit`, then kills it.
///
/// # Errors
/// When it cannot be started or waited for.
pub fn run(command: &mut Command, limit: Duration) -> io::Result<Ended> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let stdout = drain("stdout", child.stdout.take())?;
    let stderr = drain("stderr", child.stderr.take())?;
    let (status, timed_out) = wait(&mut child, limit)?;
    Ok(Ended { status, stdout: collect(stdout), stderr: collect(stderr), timed_out })
}

/// Waits for `child` for at most `limit`, then kills it; also says whether it had to.
///
/// # Errors
/// When it cannot be waited for.
pub fn wait(child: &mut Child, limit: Duration) -> io::Result<(ExitStatus, bool)> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok((status, false));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            return Ok((child.wait()?, true));
        }
        thread::sleep(LOOK_EVERY);
    }
}

fn drain(name: &str, pipe: Option<impl Read + Send + 'static>) -> io::Result<JoinHandle<Vec<u8>>> {
    thread::Builder::new().name(name.into()).spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // A broken pipe ends the output; what came before counts.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

fn collect(reader: JoinHandle<Vec<u8>>) -> Vec<u8> {
    reader.join().unwrap_or_default()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Ended {
        run(Command::new("sh").args(["-c", script]), limit).unwrap()
    }

    #[test]
    fn output_larger_than_a_pipe_arrives() {
        let ended = shell("head -c 300000 /dev/zero; echo oops >&2; exit 3", Duration::from_secs(60));
        assert_eq!((ended.stdout.len(), ended.stderr_text().as_str()), (300_000, "oops\n"));
        assert_eq!((ended.status.code(), ended.timed_out), (Some(3), false));
        assert!(ended.success().unwrap_err().contains("oops"));
    }

    #[test]
    fn a_program_without_end_is_killed() {
        let ended = shell("echo before; exec sleep 1000", Duration::from_millis(300));
        assert!(ended.timed_out);
        assert!(ended.success().is_err());
    }
}
