//! One process measured from outside: CPU time and peak memory as the kernel counted them, and the time that
//! passed.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::programs::Programs;

/// What a process used.
pub(crate) struct Measured {
    /// User and system time of all its threads.
    pub(crate) cpu: Duration,
    pub(crate) wall: Duration,
    pub(crate) peak_bytes: u64,
    /// What it wrote.
    pub(crate) output: String,
}

/// A process to be measured.
pub(crate) struct Work {
    program: OsString,
    arguments: Vec<OsString>,
    keeps_output: bool,
}

impl Work {
    /// A case of this program.
    pub(crate) fn case(name: &str, path: &Path) -> Result<Self, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?.into_os_string();
        let arguments = vec!["case".into(), name.into(), path.into()];
        Ok(Self { program, arguments, keeps_output: true })
    }

    /// The whole analysis, to the report.
    pub(crate) fn analysis(programs: &Programs, path: &Path, threads: u8) -> Self {
        let mut arguments: Vec<OsString> =
            ["analyze", "--quiet", "--format", "json", "--threads"].map(Into::into).into();
        arguments.extend([threads.to_string().into(), path.into()]);
        Self { program: programs.stepscope.clone().into_os_string(), arguments, keeps_output: false }
    }

    /// Runs it.
    pub(crate) fn measure(&self) -> Result<Measured, String> {
        let start = Instant::now();
        let child = self.start()?;
        self.end(child, start)
    }

    /// Runs it twice side by side; the time is until both are done, the rest that of one of them.
    pub(crate) fn measure_twice(&self) -> Result<Measured, String> {
        let start = Instant::now();
        let (one, other) = (self.start()?, self.start()?);
        self.end(one, start)?;
        self.end(other, start)
    }

    fn start(&self) -> Result<Child, String> {
        let output = if self.keeps_output { Stdio::piped() } else { Stdio::null() };
        let spawned = Command::new(&self.program).args(&self.arguments).stdout(output).spawn();
        spawned.map_err(|error| format!("{}: {error}", self.program.display()))
    }

    fn end(&self, mut child: Child, start: Instant) -> Result<Measured, String> {
        let mut output = String::new();
        if let Some(mut stdout) = child.stdout.take() {
            stdout.read_to_string(&mut output).map_err(|error| error.to_string())?;
        }
        let pid = libc::pid_t::try_from(child.id()).map_err(|error| error.to_string())?;
        let mut status = 0;
        // SAFETY: all bits zero are a valid `rusage`.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both pointers are writable for the duration of the call; nobody else waits for this child.
        let waited = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
        let wall = start.elapsed();
        if waited != pid || status != 0 {
            return Err(format!("{} ended with status {status}", self.program.display()));
        }
        let time = |time: libc::timeval| {
            Duration::from_secs(time.tv_sec.unsigned_abs())
                + Duration::from_micros(time.tv_usec.unsigned_abs())
        };
        Ok(Measured {
            cpu: time(usage.ru_utime) + time(usage.ru_stime),
            wall,
            // Linux counts it in KiB.
            peak_bytes: usage.ru_maxrss.unsigned_abs() * 1024,
            output,
        })
    }
}
