//! Running the built program and reading its reports.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use stepscope_testkit::{binaries, process};

/// No single call of the program takes longer than this on two busy cores.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

/// The program: `STEPSCOPE_BIN`, else the one built beside the tests.
pub(crate) fn program() -> PathBuf {
    match std::env::var_os("STEPSCOPE_BIN") {
        Some(path) => PathBuf::from(path),
        None => binaries::find("stepscope").expect("the program is built: cargo xtask test e2e"),
    }
}

/// A call of the program that inherits no setting of the caller's.
pub(crate) fn stepscope(arguments: &[&str]) -> Command {
    let mut command = clean(Command::new(program()));
    command.args(arguments);
    command
}

/// `command` without any setting of the caller's.
pub(crate) fn clean(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("STEPSCOPE_") || text.starts_with("OTEL_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Standard output of a call that must succeed.
pub(crate) fn output(command: &mut Command) -> String {
    let ended = process::run(command, LIMIT).expect("the program starts");
    ended.success().expect("the program succeeds").stdout_text()
}

/// The JSON report on `inputs`, which is one by its schema.
pub(crate) fn report(inputs: &[&Path]) -> Value {
    let report = parse(&report_text(inputs));
    assert_valid(&report);
    report
}

/// The JSON report on `inputs`, as printed.
pub(crate) fn report_text(inputs: &[&Path]) -> String {
    let mut command = stepscope(&["--quiet", "analyze", "--format", "json"]);
    command.args(inputs);
    output(&mut command)
}

/// Holds a report to its schema.
pub(crate) fn assert_valid(report: &Value) {
    static SCHEMA: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
        let path = binaries::repository().join("crates/analyze/schema/report.schema.json");
        let schema = std::fs::read_to_string(path).expect("the schema is there");
        jsonschema::draft202012::new(&parse(&schema)).expect("it is a schema")
    });
    let errors: Vec<String> =
        SCHEMA.iter_errors(report).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

pub(crate) fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("not JSON: {error}: {text:.300}"))
}

/// For how long all tests together go on trying on a machine that is too busy to judge times.
const PATIENCE: Duration = Duration::from_secs(8 * 60);

/// Tries of a run whose times are judged.
pub(crate) struct Tries {
    /// Left, whatever time they take.
    least: u32,
    begun: Instant,
}

impl Tries {
    /// So many, and more while there is time.
    pub(crate) fn at_least(least: u32) -> Self {
        Self { least, begun: Instant::now() }
    }

    /// Whether to try once more.
    pub(crate) fn more(&mut self) -> bool {
        static SPENT_MS: AtomicU64 = AtomicU64::new(0);
        let took_ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.begun = Instant::now();
        if let Some(left) = self.least.checked_sub(1) {
            self.least = left;
            return true;
        }
        let spent_ms = SPENT_MS.fetch_add(took_ms, Ordering::Relaxed) + took_ms;
        Duration::from_millis(spent_ms) < PATIENCE
    }
}

/// Tests that judge times hold this, so that they do not disturb each other.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
