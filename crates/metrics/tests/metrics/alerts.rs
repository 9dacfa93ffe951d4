//! The alert of a container's memory on a recorded machine whose container comes close to its limit: the gauge, the callback
//! and the text agree, and it is over when the memory is given back.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stepscope_metrics::Metrics;
use stepscope_metrics::alerts::{Alerts, RULES, Rule};

use crate::common::{lay, series, tree};

const PATIENCE: Duration = Duration::from_secs(60);
const GAUGE: &str = "stepscope.alert.firing{container_memory,critical}";

fn uses(root: &Path, bytes: &str) {
    lay(root, &[("sys/fs/cgroup/slice/pod/app/memory.current".to_owned(), format!("{bytes}\n"))]);
}

#[test]
fn the_limit_of_memory_is_told_before_it_is_reached_and_once() {
    let folder = tempfile::tempdir().unwrap();
    tree("v2").iter().for_each(|files| lay(folder.path(), files));
    let usual = RULES.iter().find(|rule| rule.name == "container_memory").unwrap();
    // The usual one, but for the time.
    let rule = Rule { hold: Duration::from_millis(300), ..*usual };
    let changes = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&changes);
    let metrics = Metrics::builder()
        .interval(Duration::from_millis(100))
        .root(folder.path())
        .pid(42)
        .gpus(false)
        .alerts(Alerts::none().rule(rule).on_change(move |change| {
            told.lock().unwrap().push((change.rule.name, change.firing));
        }))
        .start()
        .unwrap();
    let until = |is_firing: f64| {
        let deadline = Instant::now() + PATIENCE;
        while series(&metrics.snapshot()).get(GAUGE) != Some(&is_firing) {
            assert!(Instant::now() < deadline, "{:?}", metrics.snapshot().container);
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    until(0.0);
    assert_eq!(*changes.lock().unwrap(), []);
    // 100 MB of it are caches that were not used lately: 89 % of the 1 GB around the group, whose own limit is 2 GB.
    uses(folder.path(), "990000000");
    until(1.0);
    uses(folder.path(), "500000000");
    until(0.0);
    metrics.stop();
    assert_eq!(*changes.lock().unwrap(), [("container_memory", true), ("container_memory", false)]);
}
