//! The machine: where profiles would be written, what keeps time, what memory figures can be read.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::{Finding, broken, fine, note};

/// Written and taken back, to see whether a profile could be.
const TRIAL_BYTES: usize = 64 << 10;

/// A clock that costs more than this is no longer read without a system call.
const SLOW_CLOCK_NS: u128 = 150;
const CLOCK_READS: u32 = 10_000;

/// Looks at the machine.
pub(crate) fn check(environment: &BTreeMap<String, String>) -> Vec<Finding> {
    let version = fine("version", concat!("stepscope ", env!("CARGO_PKG_VERSION"), "."));
    vec![version, directory(environment), clock(), memory(), container()]
}

/// Where the layer writes without an endpoint.
fn directory(environment: &BTreeMap<String, String>) -> Finding {
    const CHECK: &str = "directory";
    let named = environment.get("STEPSCOPE_DIR").filter(|path| !path.trim().is_empty());
    let path = named.map_or_else(|| PathBuf::from(crate::input::DEFAULT), PathBuf::from);
    let path = std::path::absolute(&path).unwrap_or(path);
    // What is missing of it is made when it is needed, in the last part that is there.
    let existing = path.ancestors().find(|part| part.exists()).unwrap_or(Path::new("/"));
    match try_to_write(existing) {
        Ok(()) => fine(CHECK, format!("{} can be written.", path.display())),
        Err(error) => broken(
            CHECK,
            format!("{} cannot be written: {error}.", existing.display()),
            "Choose another directory with STEPSCOPE_DIR, or make room or permission there.",
        ),
    }
}

fn try_to_write(folder: &Path) -> std::io::Result<()> {
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(&[0; TRIAL_BYTES])?;
    file.sync_all()
}

fn clock() -> Finding {
    const CHECK: &str = "clock";
    let begin = Instant::now();
    for _ in 0..CLOCK_READS {
        std::hint::black_box(Instant::now());
    }
    let cost_ns = begin.elapsed().as_nanos() / u128::from(CLOCK_READS);
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    match source.as_deref() {
        Some("tsc") => fine(
            CHECK,
            "Time is read from the processor's tick counter (tsc), which the system keeps time by.",
        ),
        Some(source) if cost_ns > SLOW_CLOCK_NS => note(
            CHECK,
            format!(
                "The system keeps time by {source}, and reading it takes {cost_ns} ns: each section costs twice that."
            ),
            "Where the hypervisor allows it, boot with clocksource=tsc; or record fewer, longer sections.",
        ),
        Some(source) => fine(
            CHECK,
            format!("Time is the system's ({source}, {cost_ns} ns a read); the tick counter is not used."),
        ),
        None => fine(CHECK, format!("Time is the system's ({cost_ns} ns a read).")),
    }
}

fn memory() -> Finding {
    const CHECK: &str = "memory";
    match read("/proc/self/statm").and_then(|line| line.split(' ').nth(1)?.parse::<u64>().ok()) {
        Some(_) => fine(CHECK, "Resident memory can be read."),
        None => note(
            CHECK,
            "Resident memory cannot be read from /proc: it is absent from reports.",
            "Mount /proc where the program runs; the counting allocator's figures do not need it.",
        ),
    }
}

fn container() -> Finding {
    const CHECK: &str = "container";
    let v2 = Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    let v1 = Path::new("/sys/fs/cgroup/memory").is_dir();
    let limit = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .into_iter()
        .find_map(read)
        .and_then(|text| text.parse::<u64>().ok())
        // Without a limit, version 1 says the largest number of pages.
        .filter(|&limit| limit < 1 << 60);
    match (v2 || v1, limit) {
        (_, Some(limit)) => {
            let limit = stepscope_analyze::report::units::bytes(limit);
            fine(CHECK, format!("Memory is limited to {limit}: what grows is killed there."))
        }
        (true, None) => fine(CHECK, "No memory limit is seen."),
        (false, None) => note(
            CHECK,
            "Control groups cannot be read, so a memory limit would not be seen.",
            "Mount /sys/fs/cgroup where the program runs.",
        ),
    }
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::*;

    #[test]
    fn a_directory_that_cannot_be_made_is_broken() {
        let folder = tempfile::tempdir().unwrap();
        let of = |path: &Path| {
            directory(&BTreeMap::from([("STEPSCOPE_DIR".to_owned(), path.to_string_lossy().into_owned())]))
        };
        assert_eq!(of(&folder.path().join("a/b")).state, State::Fine);
        std::fs::write(folder.path().join("file"), b"").unwrap();
        let found = of(&folder.path().join("file/below"));
        assert_eq!(found.state, State::Broken, "{found:?}");
        assert!(!folder.path().join("a").exists(), "nothing is left behind");
    }
}
