//! Runs the example programs as child processes: a recorder is global per process, so every scenario needs
//! one of its own. What the programs do is in `examples/programs`.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};

use super::Recording;

/// A run of the example `programs` with a clean environment and a directory of its own.
pub(crate) struct Program {
    command: Command,
    directory: tempfile::TempDir,
}

/// A program that has ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    directory: tempfile::TempDir,
}

/// The example `name`, which cargo builds beside the tests.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let path = profile.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(path.exists(), "{} is missing: run `cargo build -p stepscope --examples` first", path.display());
    path
}

impl Program {
    /// The scenario `arguments` (name first) of the example `programs`.
    pub(crate) fn new(arguments: &[&str]) -> Self {
        Self::of_example("programs", arguments)
    }

    /// Another example with these arguments.
    pub(crate) fn of_example(name: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(example(name));
        command.args(arguments);
        Self::of(command)
    }

    /// The scenario, started by `sh -c "<script>"` with the program's command line as `"$@"`.
    pub(crate) fn in_shell(script: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh"]).arg(example("programs")).args(arguments);
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let directory = tempfile::tempdir().unwrap();
        command.env_clear().env("STEPSCOPE_DIR", directory.path().join("profiles"));
        // Gauges of the machine, which a build of the whole workspace has, are no messages that the tests count.
        command.env("OTEL_METRICS_EXPORTER", "none");
        // Nor is live memory, which comes beside.
        command.env("STEPSCOPE_MEMORY_SEND", "off");
        // Which steps are deep ones is no part of what other tests are about.
        command.env("STEPSCOPE_DEEP_STEPS", "off");
        command.env("PROGRAMS_WAY", crate::WAY);
        // A machine that has no time for the thread that empties the rings decides nothing: what overflows, and what ends
        // in time, have tests of their own.
        command.env("STEPSCOPE_RING_BYTES", "32000000").env("STEPSCOPE_EXIT_TIMEOUT", "60000");
        command.current_dir(directory.path());
        Self { command, directory }
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// With the usual time for the end: for receivers that never take everything.
    pub(crate) fn hurried(self) -> Self {
        self.env("STEPSCOPE_EXIT_TIMEOUT", "2000")
    }

    /// Without a directory: what is recorded goes to the endpoint only.
    pub(crate) fn without_directory(mut self) -> Self {
        self.command.env_remove("STEPSCOPE_DIR");
        self
    }

    /// The program's own directory, gone with it.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn start(&mut self) -> Child {
        self.start_with_stderr(Stdio::piped())
    }

    /// With that as its standard error.
    pub(crate) fn start_with_stderr(&mut self, stderr: impl Into<Stdio>) -> Child {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap()
    }

    pub(crate) fn end(self, output: Output) -> Ended {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ended {
            status: output.status,
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            directory: self.directory,
        }
    }

    /// Runs it to its end, however that is.
    pub(crate) fn run(mut self) -> Ended {
        let output = self.start().wait_with_output().unwrap();
        self.end(output)
    }

    /// Runs it to an end with exit code 0.
    pub(crate) fn succeed(self) -> Ended {
        let ended = self.run();
        assert!(ended.status.success(), "{:?}\n{}\n{}", ended.status, ended.stdout, ended.stderr);
        ended
    }
}

impl Ended {
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The files it wrote, read strictly: damage anywhere fails the test.
    pub(crate) fn recording(&self) -> Recording {
        Recording::read(&self.path().join("profiles"))
    }

    pub(crate) fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// Lines that the layer wrote to standard error.
    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.starts_with("stepscope: ")).collect()
    }

    /// What the program says it did itself: lines `= name value` on standard output.
    pub(crate) fn truth(&self) -> BTreeMap<&str, u64> {
        self.stdout
            .lines()
            .filter_map(|line| {
                let (name, value) = line.strip_prefix("= ")?.rsplit_once(' ')?;
                Some((name, value.parse().unwrap()))
            })
            .collect()
    }
}
