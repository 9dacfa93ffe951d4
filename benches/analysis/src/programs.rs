//! The programs that take part: built in release mode beside the bench itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Where the programs are.
pub(crate) struct Programs {
    /// The target directory of the bench.
    pub(crate) target: PathBuf,
    pub(crate) stepscope: PathBuf,
    pub(crate) generate_run: PathBuf,
    pub(crate) record_run: PathBuf,
}

impl Programs {
    /// Builds all of them.
    pub(crate) fn build() -> Result<Self, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let release = own.parent().ok_or("the bench stands in no directory")?.to_owned();
        let target = release.parent().ok_or("the bench stands in no target directory")?.to_owned();
        let bench = Path::new(env!("CARGO_MANIFEST_DIR"));
        cargo(bench, &target, &["--bin", "record-run"])?;
        cargo(&bench.join("../.."), &target, &["-p", "stepscope-cli", "-p", "stepscope-testkit"])?;
        Ok(Self {
            stepscope: release.join("stepscope"),
            generate_run: release.join("generate-run"),
            record_run: release.join("record-run"),
            target,
        })
    }

    /// Runs a program to its end.
    pub(crate) fn run(&self, program: &Path, arguments: &[&str]) -> Result<(), String> {
        done(Command::new(program).args(arguments).stdout(Stdio::null()), &program.display().to_string())
    }
}

fn cargo(workspace: &Path, target: &Path, packages: &[&str]) -> Result<(), String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(workspace).args(["build", "--release", "--quiet", "--target-dir"]).arg(target);
    done(command.args(packages), "cargo build")
}

fn done(command: &mut Command, name: &str) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}
