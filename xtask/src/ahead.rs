//! What later stages compile from sources of others, begun while the first stages run, which leave processors idle now and
//! then: the programs of `scripts/stack`, the examples and what they are made of. Only where it is asked for, as CI does; the stages build it all the same,
//! and find it done. What is built, and with which flags, is theirs to say.

use crate::process::command;
use std::process::{Child, Stdio};

/// Where it is set, there is something built ahead.
const WANTED: &str = "STEPSCOPE_BUILD_AHEAD";

/// The builds, in a process group of their own. They end with this.
pub(crate) struct Ahead(Option<Child>);

impl Ahead {
    /// Runs the lines of a shell, one after the other, each whatever became of the one before, when nobody else wants a
    /// processor.
    pub(crate) fn start(lines: &[String]) -> Self {
        if std::env::var_os(WANTED).is_none() || lines.is_empty() {
            return Self(None);
        }
        let script = lines.join("\n");
        eprintln!("meanwhile, with what is idle:\n{script}");
        let mut builds = command("nice", &["-n", "19", "sh", "-c", &script]);
        builds.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut builds, 0);
        // Nothing depends on it.
        Self(builds.spawn().ok())
    }

    /// Waits for their end: what is measured from here on needs the processors.
    pub(crate) fn finish(&mut self) {
        if let Some(mut builds) = self.0.take() {
            eprintln!("waiting for what was begun ahead");
            let _ = builds.wait();
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        if let Some(mut builds) = self.0.take() {
            // Whoever is in its group.
            let _ = command("kill", &["--", &format!("-{}", builds.id())]).status();
            let _ = builds.wait();
        }
    }
}
