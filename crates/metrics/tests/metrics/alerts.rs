//! Alerts of a program that tells of itself, and that of a container's memory on a recorded machine whose container comes close to its limit: the gauge, the callback
//! and the text agree, and it is over when the memory is given back.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stepscope_metrics::Metrics;
use stepscope_metrics::alerts::{Alerts, RULES, Rule};
use stepscope_metrics::snapshot::Program;

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

#[test]
fn a_program_that_tells_of_a_long_section_and_of_no_step_is_an_alert_until_it_tells_otherwise() {
    let tells = Arc::new(Mutex::new(Program::default()));
    let changes = Arc::new(Mutex::new(Vec::new()));
    let (told, seen) = (Arc::clone(&tells), Arc::clone(&changes));
    let rules = Alerts::none().of_program();
    // The usual ones, but for the time.
    let no_step =
        stepscope_metrics::alerts::PROGRAM_RULES.iter().find(|rule| rule.name == "no_step").unwrap();
    let rules = rules.rule(Rule { hold: Duration::ZERO, ..*no_step });
    let metrics = Metrics::builder()
        .interval(Duration::from_secs(300))
        .host(false)
        .program(move |program| program.clone_from(&told.lock().unwrap()))
        .alerts(rules.on_change(move |change| {
            seen.lock().unwrap().push((change.rule.name, change.firing, change.labels.to_owned()));
        }))
        .start()
        .unwrap();
    let firing = |longest_s: &[(&str, f64)], overdue| {
        let mut program = tells.lock().unwrap();
        program.longest_s = longest_s.iter().map(|(path, seconds)| ((*path).into(), *seconds)).collect();
        program.steps.overdue = overdue;
        drop(program);
        assert!(metrics.latest().refresh(PATIENCE));
        let series = series(&metrics.snapshot());
        let gauge = |labels: &str| series[&format!("stepscope.alert.firing{{{labels}}}")] > 0.0;
        let both = (gauge("section,warning"), gauge("no_step,critical"));
        (both, std::mem::take(&mut *changes.lock().unwrap()))
    };
    let change = |name, is_firing, labels: &str| (name, is_firing, labels.to_owned());
    assert_eq!(firing(&[("step", 4.9)], Some(9.9)), ((false, false), vec![]));
    let labels = "stepscope.path=save";
    assert_eq!(
        firing(&[("load", 5.5), ("save", 7.0)], Some(10.5)),
        ((true, true), vec![change("section", true, labels), change("no_step", true, "")])
    );
    // Nothing ended since then; a step that is overdue still is.
    assert_eq!(firing(&[], Some(11.5)), ((false, true), vec![change("section", false, "")]));
    assert_eq!(firing(&[], Some(0.1)), ((false, false), vec![change("no_step", false, "")]));
}
