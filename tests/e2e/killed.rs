//! A run that is killed in the middle is readable at once, its figures are those of the spans that it has, and it is known
//! not to have ended. How much of its end it lacks is a matter of time: `kill_costs.rs`.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use stepscope_testkit::random::Random;
use stepscope_testkit::{TempFolder, folder::files_below};

use crate::figures::compare_report;
use crate::program::{LIMIT, output, report, stepscope};

const KILLS: u32 = 10;
/// Of how many the figures are computed a second time.
const COMPARED: u32 = 4;

fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    u64::try_from(since.as_nanos()).expect("a clock before 2554")
}

/// A demo that trains for much longer than anybody waits.
fn endless_demo(out: &Path) -> Child {
    let out = out.to_string_lossy().into_owned();
    let mut command = stepscope(&["--quiet", "demo", "--epochs", "10000", "--out", &out]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the demo starts")
}

/// Whether the run has begun: its first file holds something.
fn has_begun(out: &Path) -> bool {
    files_below(out)
        .is_ok_and(|files| files.iter().any(|file| file.metadata().is_ok_and(|file| file.len() > 0)))
}

fn wait_until_begun(out: &Path, child: &mut Child) {
    let deadline = std::time::Instant::now() + LIMIT;
    while !has_begun(out) {
        assert!(std::time::Instant::now() < deadline, "the demo wrote nothing");
        assert!(matches!(child.try_wait(), Ok(None)), "the demo ended by itself");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A demo that was killed at a random moment: its profiles, and when it was killed.
pub(crate) fn killed(folder: &TempFolder, random: &mut Random) -> (PathBuf, u64) {
    let profiles = folder.join("profiles");
    let mut child = endless_demo(&profiles);
    wait_until_begun(&profiles, &mut child);
    std::thread::sleep(Duration::from_micros(random.below(1_500_000)));
    let killed_ns = now_ns();
    child.kill().expect("SIGKILL is sent");
    child.wait().expect("the demo is gone");
    (profiles, killed_ns)
}

#[test]
fn killed_at_random_moments() {
    let mut random = Random::new(9);
    for kill in 0..KILLS {
        let folder = TempFolder::new("killed").expect("a folder");
        let (profiles, _) = killed(&folder, &mut random);
        let report = report(&[&profiles]);
        assert_eq!(report["run"]["ended"], false, "kill {kill}");
        assert_eq!(report["run"]["ended_by"], Value::Null, "kill {kill}: nobody could say so");
        says_not_ended(&profiles, kill);
        for issue in report["read_issues"].as_array().expect("a list") {
            // The step at work and a torn last record are all that a kill may leave behind.
            let kind = issue["kind"].as_str().unwrap_or_default();
            assert!(matches!(kind, "truncated" | "incomplete_trace"), "kill {kill}: {issue}");
        }
        if kill < COMPARED {
            compare_report(&folder, &profiles);
        }
    }
}

/// One statement about the end, without another that contradicts it.
fn says_not_ended(folder: &Path, kill: u32) {
    let text = text(folder);
    for said in ["The run did not finish cleanly", "no loss was counted", "is missing and cannot be counted"]
    {
        assert!(text.contains(said), "kill {kill}: {said:?} is not in\n{text}");
    }
    for unsaid in ["none lost", "0 spans missing", "last second"] {
        assert!(!text.contains(unsaid), "kill {kill}: {unsaid:?} is in\n{text}");
    }
    // The hint names whatever finding comes first.
    let findings = text.matches("spans_lost").count() - text.matches("explain spans_lost").count();
    assert_eq!(findings, 1, "kill {kill}: one finding\n{text}");
}

/// The report on a folder, words of a paragraph on one line.
fn text(folder: &Path) -> String {
    let mut command = stepscope(&["--quiet", "--no-color", "analyze"]);
    output(command.arg(folder)).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_termination_signal_loses_nothing_and_is_named() {
    // The signal may come while nothing is at work of which anything has ended.
    let was_at_work = (0..5).any(|_| terminated().contains("at work when the run ended"));
    assert!(was_at_work, "of five runs none says that something was at work");
}

/// The report on a run that a signal ended, which lost nothing and says so.
fn terminated() -> String {
    let folder = TempFolder::new("terminated").expect("a folder");
    let mut child = endless_demo(folder.path());
    wait_until_begun(folder.path(), &mut child);
    std::thread::sleep(Duration::from_millis(700));
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(kill.is_ok_and(|status| status.success()), "SIGTERM is sent");
    let status = child.wait().expect("the demo is gone");
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(15),
        "ended by the signal itself"
    );
    let report = report(&[folder.path()]);
    assert_eq!(report["run"]["ended"], true);
    assert_eq!(
        (&report["run"]["ended_by"], &report["ranks"][0]["ended_by"]),
        (&"SIGTERM".into(), &"SIGTERM".into())
    );
    for figure in ["dropped_total", "lost", "absent", "missing_spans"] {
        assert_eq!(report["losses"][figure], Value::from(0), "{figure}");
    }
    assert_eq!(report["losses"]["emitted"], report["run"]["spans"]);
    let rules: Vec<&Value> =
        report["findings"].as_array().expect("a list").iter().map(|b| &b["rule"]).collect();
    assert!(!rules.contains(&&Value::from("spans_lost")), "{rules:?}");
    let text = text(folder.path());
    assert!(text.contains("ended by SIGTERM") && text.contains("none lost"), "{text}");
    text
}
