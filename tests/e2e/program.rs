//! Running the built program and reading its reports.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use stepscope_testkit::{binaries, process, published};

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
        if is_setting(&text) {
            command.env_remove(&name);
        }
    }
    command
}

fn is_setting(name: &str) -> bool {
    let is_context = matches!(name, "TRACEPARENT" | "TRACESTATE" | "BAGGAGE");
    is_context || name.starts_with("STEPSCOPE_") || name.starts_with("OTEL_")
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

/// Where it is set, a test fails of which others disturbed a run too much, and tries longer before.
const QUIET_NEEDED: &str = "STEPSCOPE_QUIET_NEEDED";

fn quiet_is_needed() -> bool {
    static IS_NEEDED: LazyLock<bool> = LazyLock::new(|| std::env::var_os(QUIET_NEEDED).is_some());
    *IS_NEEDED
}

/// For how long all tests together run again what others on the machine disturbed.
fn patience() -> Duration {
    Duration::from_secs(if quiet_is_needed() { 30 * 60 } else { 2 * 60 })
}

/// How often one run is tried, at most.
const TRIES: u32 = 8;

/// Runs until others disturbed a run in less than the share `quiet` of its time, or patience ends. Gives the quietest
/// run, and the share of its time that others disturbed: nothing for a quiet one. By that much its times are uncertain,
/// and what is held against them is allowed as much more.
pub(crate) fn quietest<T>(quiet: f64, mut run: impl FnMut() -> (T, f64)) -> (T, f64) {
    static SPENT_MS: AtomicU64 = AtomicU64::new(0);
    let mut best = run();
    for _ in 1..TRIES {
        if best.1 < quiet || Duration::from_millis(SPENT_MS.load(Ordering::Relaxed)) >= patience() {
            break;
        }
        let begun = Instant::now();
        let next = run();
        SPENT_MS.fetch_add(begun.elapsed().as_millis() as u64, Ordering::Relaxed);
        if next.1 < best.1 {
            best = next;
        }
    }
    let (it, share) = best;
    (it, if share < quiet { 0.0 } else { share })
}

/// How many of a test's runs were held to its limits. What others took of a run is allowed it; where that widens the limits
/// much, the run has shown little. The test says at its end of how many that was so, and fails where quiet is needed.
pub(crate) struct Judged {
    what: &'static str,
    runs: u32,
    not: u32,
}

impl Judged {
    /// What others may widen limits by, as a share of the gain: with the 30 % that are allowed in any case, half of it.
    const ALLOWED_MORE: f64 = 0.2;

    /// Counts runs of `what`.
    pub(crate) const fn new(what: &'static str) -> Self {
        Self { what, runs: 0, not: 0 }
    }

    /// One more run, and whether it is held to the limits.
    pub(crate) fn run(&mut self, is_held: bool) {
        self.runs += 1;
        self.not += u32::from(!is_held);
    }

    /// One more run in which a gain was predicted.
    pub(crate) fn gain(&mut self, measured: f64, unsure: f64) {
        self.run(unsure < Self::ALLOWED_MORE * measured);
    }

    fn says(&self) -> Option<String> {
        let Self { what, runs, not } = self;
        let text = || {
            format!("{not} of {runs} runs of {what} were disturbed so much that wider limits held for them")
        };
        (*not > 0).then(text)
    }
}

impl Drop for Judged {
    fn drop(&mut self) {
        let Some(text) = self.says() else { return };
        assert!(!quiet_is_needed() || std::thread::panicking(), "{text}, and {QUIET_NEEDED} is set");
        published::skipped(&text);
    }
}

/// What is wrong with a run, unless it `is_so`.
pub(crate) fn holds(is_so: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if is_so { Ok(()) } else { Err(problem()) }
}

/// Where others took half as much time as a run waits, what is found is what they did.
const LOST: f64 = 0.5;

/// Runs and judges; again where that failed and others had taken a part of the time, at last with nothing judged where
/// they had taken too much. A run gives what is wrong with it, and the share by which its times are uncertain.
pub(crate) fn again<T>(
    what: &str,
    judged: &mut Judged,
    mut run: impl FnMut(&mut Judged) -> (Result<T, String>, f64),
) -> Option<T> {
    let mut tries = 3;
    loop {
        let (outcome, unsure) = run(judged);
        match outcome {
            Ok(it) => return Some(it),
            Err(problem) if unsure == 0.0 || (tries == 1 && unsure < LOST) => panic!("{what}: {problem}"),
            Err(problem) if tries == 1 => {
                println!("{what}: others left nothing to judge: {problem}");
                judged.run(false);
                return None;
            }
            Err(problem) => println!("{what}, +- {:.1} %: {problem}", unsure * 100.0),
        }
        tries -= 1;
    }
}

#[test]
fn runs_that_wider_limits_held_for_are_counted() {
    let mut judged = Judged::new("a fault");
    judged.gain(0.5, 0.09);
    assert_eq!(judged.says(), None);
    judged.gain(0.5, 0.11);
    judged.run(true);
    let said = judged.says();
    assert!(said.is_some_and(|text| text.starts_with("1 of 3 runs of a fault were disturbed")));
    judged.not = 0;
}

/// Tests that judge times hold this, so that they do not disturb each other.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
