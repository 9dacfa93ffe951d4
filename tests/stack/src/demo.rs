//! `scripts/stack demo` with a GPU that is none: the programs, and the runs that it sends to them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use stepscope_testkit::{TempFolder, process};

use crate::limits::Group;
use crate::program::{command, output, stepscope};
use crate::prometheus::Prometheus;
use crate::stack::script;

/// What the library that stands for the driver answers.
const GPUS: &str = "devices 2\nramp\nxid 0 79\nthrottled 0 thermal\n";
/// Writes the shell's id into the files that the first argument names, and becomes the program of the others.
const INTO_GROUP: &str = "for file in $1; do echo $$ >\"$file\"; done; shift; exec \"$@\"";
/// Programs end within this time.
const LIMIT: Duration = Duration::from_secs(60);

/// A demo that has sent its runs and waits for Ctrl-C.
#[derive(Debug)]
pub struct Demo {
    folder: TempFolder,
    child: Child,
    addresses: BTreeMap<String, String>,
    /// What it printed when it was ready.
    pub said: String,
    /// When it was started.
    pub began: Instant,
    group: Option<Group>,
}

impl Demo {
    /// Starts it and waits until it is ready.
    ///
    /// # Errors
    /// When it ends before.
    pub fn start() -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("failed to start the demo: {error}");
        let folder = TempFolder::new("boards").map_err(failed)?;
        let driver = folder.join("driver");
        std::fs::create_dir_all(&driver).map_err(failed)?;
        stepscope_fake_nvml::install(&driver, GPUS).map_err(failed)?;
        let group = Group::new("stepscope-boards");
        let members = group.iter().flat_map(Group::members);
        // The shell that becomes it goes into the group first.
        let mut demo = command(Path::new("sh"), &["-c", INTO_GROUP, "sh"]);
        demo.arg(members.map(|file| file.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" "))
            .arg(script(&[]).get_program())
            .args(["demo", "--free-ports", "--dir"])
            .arg(folder.join("stack"))
            .env("STEPSCOPE_BIN", stepscope(&[])?.get_program())
            .env("LD_LIBRARY_PATH", &driver)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let began = Instant::now();
        let mut child = demo.spawn().map_err(failed)?;
        let stdout = child.stdout.take().ok_or("no standard output")?;
        let (addresses, said) = (BTreeMap::new(), String::new());
        let mut this = Self { folder, child, addresses, said, began, group };
        for line in BufReader::new(stdout).lines() {
            let line = line.map_err(failed)?;
            this.said.push_str(&line);
            this.said.push('\n');
            if line.starts_with("Send your own program") {
                let text = std::fs::read_to_string(this.folder.join("stack/env")).map_err(failed)?;
                let pairs = text.lines().filter_map(|line| line.split_once('='));
                this.addresses = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
                return Ok(this);
            }
        }
        Err(format!("the demo ended before it was ready: {}", this.said))
    }

    /// Whether its runs are in a container with limits.
    #[must_use]
    pub const fn has_limits(&self) -> bool {
        self.group.is_some()
    }

    /// The address of this name; empty if there is none.
    #[must_use]
    pub fn address(&self, name: &str) -> &str {
        self.addresses.get(name).map_or("", String::as_str)
    }

    /// Its Prometheus.
    #[must_use]
    pub fn prometheus(&self) -> Prometheus<'_> {
        Prometheus { address: self.address("PROMETHEUS") }
    }

    /// A file or folder of its.
    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join("stack").join(name)
    }

    /// The id of the run whose name begins so.
    ///
    /// # Errors
    /// When there is none.
    pub fn run(&self, name: &str) -> Result<String, String> {
        let runs = std::fs::read_dir(self.file("runs")).map_err(|error| error.to_string())?;
        let mut names = runs.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.find(|run| run.starts_with(name)).ok_or_else(|| format!("there is no run {name}"))
    }

    /// A call of a program that sends here.
    #[must_use]
    pub fn call(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut call = command(program, arguments);
        call.env("OTEL_EXPORTER_OTLP_ENDPOINT", self.address("OTEL_EXPORTER_OTLP_ENDPOINT"))
            .env("OTEL_METRIC_EXPORT_INTERVAL", "1000")
            .env("STEPSCOPE_DIR", self.file("others"))
            .env("LD_LIBRARY_PATH", self.folder.join("driver"));
        call
    }

    /// Analyses a run again and pushes what is found.
    ///
    /// # Errors
    /// When that fails.
    pub fn push_again(&self, run: &str) -> Result<(), String> {
        let program = stepscope(&[])?.get_program().to_owned();
        let mut analyze = self.call(Path::new(&program), &["--quiet", "analyze", "--push"]);
        output(analyze.arg(self.file("runs").join(run))).map(drop)
    }

    /// Ends it as Ctrl-C does, and gives which of its programs run on.
    ///
    /// # Errors
    /// When it does not end.
    pub fn interrupt(mut self) -> Result<Vec<String>, String> {
        self.signal("INT");
        let (status, timed_out) = process::wait(&mut self.child, LIMIT).map_err(|error| error.to_string())?;
        if timed_out || !status.success() {
            return Err(format!("the demo ended with {status}"));
        }
        let names = ["COLLECTOR_OTLP_HTTP", "JAEGER_QUERY", "PROMETHEUS"];
        let listens = |name: &&str| std::net::TcpStream::connect(self.address(name)).is_ok();
        Ok(names.iter().filter(|name| listens(name)).map(|name| (*name).to_owned()).collect())
    }

    fn signal(&self, name: &str) {
        let _ = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status();
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.signal("TERM");
            let _ = process::wait(&mut self.child, LIMIT);
        }
    }
}
