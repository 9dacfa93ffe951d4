//! A killed run is readable at once, has every step up to its last one, and is known not to have ended. Nothing here is
//! judged by a clock; how much of the end is missing is in `killed`.

use std::time::Duration;

use serde_json::Value;
use stepscope_testkit::TempFolder;

use crate::killed::{endless_demo, says_not_ended, wait_until_begun};
use crate::program::report;

#[test]
fn what_was_written_is_whole() {
    for kill in 0..3 {
        let folder = TempFolder::new("kill-9").expect("a folder");
        let mut child = endless_demo(folder.path());
        wait_until_begun(folder.path(), &mut child);
        std::thread::sleep(Duration::from_millis(400 * u64::from(kill) + 37));
        child.kill().expect("SIGKILL is sent");
        child.wait().expect("the demo is gone");

        let report = report(&[folder.path()]);
        assert_eq!(report["run"]["ended"], false, "kill {kill}");
        assert_eq!(report["run"]["ended_by"], Value::Null, "kill {kill}: nobody could say so");
        says_not_ended(folder.path(), kill);
        for issue in report["read_issues"].as_array().expect("a list") {
            // The step at work and a torn last record are all that a kill may leave behind.
            let kind = issue["kind"].as_str().unwrap_or_default();
            assert!(matches!(kind, "truncated" | "incomplete_trace"), "kill {kill}: {issue}");
        }
        let series = report["detailed_metrics"]["series"].as_array().expect("a list");
        let train = series.iter().find(|series| series["mode"] == "train").expect("training steps");
        let numbers: Vec<u64> = train["points"]
            .as_array()
            .expect("points")
            .iter()
            .filter(|point| point["count"] == 1)
            .map(|point| point["step"].as_u64().expect("a number"))
            .collect();
        // Without a hole.
        assert!(!numbers.is_empty(), "kill {kill}");
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "kill {kill}: {numbers:?}");
        println!("kill {kill}: {} steps", numbers.len());
    }
}
