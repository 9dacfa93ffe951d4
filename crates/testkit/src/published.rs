//! Traces that others published, with what their own tools expect of them: where they lie, and what is said where they
//! do not. They are no part of the repository; what they mean to a test is the test's.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::binaries;

/// The variable that names their folder; without it, they are looked for beside the repository.
const VARIABLE: &str = "STEPSCOPE_SHARED_DATA";

/// The folder of the published traces. Where there is none, [`skipped`] says once for each test that it checked nothing.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    let default = || binaries::repository().join("../shared/data");
    let folder = std::env::var_os(VARIABLE).map_or_else(default, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    skipped(&missing(&folder));
    None
}

fn missing(folder: &Path) -> String {
    format!("no published traces in {} (set {VARIABLE})", folder.display())
}

/// Says what the running test did not check, once, past what captures the output of tests that pass.
pub fn skipped(what: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let thread = std::thread::current();
    let line = format!("SKIPPED: {}: {what}\n", thread.name().unwrap_or("a test"));
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(line.clone()) {
        // Nobody reads a standard error that is closed.
        drop(std::io::stderr().write_all(line.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs this test again as a program of its own, whose test passes and has its output captured.
    #[test]
    fn what_was_skipped_is_said_once_and_past_the_capture() {
        const INNER: &str = "STEPSCOPE_TESTKIT_SKIPS";
        if std::env::var_os(INNER).is_some() {
            assert_eq!((folder(), folder()), (None, None));
            return;
        }
        let name = "published::tests::what_was_skipped_is_said_once_and_past_the_capture";
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again.args([name, "--exact"]).env(INNER, "1").env(VARIABLE, "/nonexistent");
        let output = again.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said.matches("SKIPPED: ").count(), 1, "{said}");
        assert!(said.contains("/nonexistent (set STEPSCOPE_SHARED_DATA)"), "{said}");
    }
}
