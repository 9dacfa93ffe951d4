//! Pythons with packages that are none of ours, for tests with the OpenTelemetry SDK and with Perfetto's trace processor:
//! virtual environments outside of the repository, made once for each list of packages.

use crate::process::{command, root, run};
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// The interpreter, made where the cache lacks it; `None` where there is no network or no `venv`.
pub(crate) fn interpreter() -> Option<PathBuf> {
    environment("otel-python", "tests/e2e/otel_requirements.txt")
}

/// The interpreter of an environment with the packages that a file of the repository lists; `None` as above.
pub(crate) fn environment(name: &str, requirements: &str) -> Option<PathBuf> {
    let requirements = root().join(requirements);
    let mut hasher = DefaultHasher::new();
    std::fs::read(&requirements).ok()?.hash(&mut hasher);
    let folder = cache()?.join(format!("{name}-{:016x}", hasher.finish()));
    let python = folder.join("bin/python");
    if !python.is_file() {
        // One that is half made would be taken for a whole one the next time.
        make(&folder, &requirements).inspect_err(|_| drop(std::fs::remove_dir_all(&folder))).ok()?;
    }
    Some(python)
}

fn make(folder: &Path, requirements: &Path) -> crate::Outcome {
    let mut venv = command("python3", &["-m", "venv", "--clear"]);
    venv.arg(folder);
    run(venv)?;
    let mut install =
        command(folder.join("bin/python"), &["-m", "pip", "install", "--quiet", "--requirement"]);
    install.arg(requirements);
    run(install)
}

fn cache() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value: &OsString| !value.is_empty());
    let base = variable("XDG_CACHE_HOME").map(PathBuf::from);
    base.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".cache"))).map(|base| base.join("stepscope"))
}
