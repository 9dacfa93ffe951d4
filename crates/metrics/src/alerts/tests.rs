//! Rules against readings whose course is known.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::snapshot::Container;
use stepscope_core::metric;

const RULE: Rule = Rule {
    name: "load",
    measure: Measure::Greatest(metric::host::LOAD),
    above: 0.9,
    clear: 0.8,
    hold: Duration::from_secs(5),
    severity: Severity::Warning,
};

/// Seconds at which the alert began or ended to fire, of one reading a second.
fn changes(values: impl IntoIterator<Item = Option<f64>>) -> Vec<(u64, bool)> {
    let (start, seen) = (Instant::now(), Arc::new(Mutex::new(Vec::new())));
    let told = Arc::clone(&seen);
    let tell = move |change: &Change<'_>| told.lock().unwrap().push(change.firing);
    let mut watcher = Watcher::new(Alerts::none().rule(RULE).on_change(tell));
    let mut changes = Vec::new();
    for (second, value) in (0..).zip(values) {
        let mut snapshot = Snapshot::default();
        snapshot.host.load = [value, Some(0.1), None];
        watcher.look(&mut snapshot, start + Duration::from_secs(second));
        watcher.tell(&Notes::default());
        let firing = snapshot.alerts[0].firing;
        if let Some(told) = seen.lock().unwrap().pop() {
            assert_eq!(told, firing, "callback and gauge agree");
            changes.push((second, firing));
        }
    }
    changes
}

#[test]
fn a_square_wave_does_not_flap() {
    let wave = |half: usize, high: f64, low: f64| {
        changes((0..600).map(move |second| Some(if (second / half).is_multiple_of(2) { high } else { low })))
    };
    assert_eq!(wave(3, 0.95, 0.1), [], "never above for long enough");
    assert_eq!(wave(30, 0.95, 0.85), [(5, true)], "between the bounds it goes on");
    assert_eq!(wave(4, 0.95, 0.85), [], "nor does it begin there");
    assert_eq!(wave(300, 0.95, 0.1), [(5, true), (305, false)]);
    let long = wave(100, 0.95, 0.1);
    assert_eq!(long.len(), 6, "once each way in each half: {long:?}");
}

#[test]
fn what_is_not_known_fires_nothing_and_does_not_go_on() {
    let vanishes = (0..40).map(|second| (second < 10).then_some(0.95));
    // The second load average is known, and low.
    assert_eq!(changes(vanishes), [(5, true), (15, false)]);
    assert_eq!(changes((0..40).map(|_| Some(f64::NAN))), []);
}

#[test]
fn each_usual_rule_looks_at_what_the_exporter_has() {
    let exported: HashSet<&str> = metric::exported().map(|row| row.name).collect();
    let mut names = HashSet::new();
    for rule in RULES.iter().chain(PROGRAM_RULES) {
        let clears = if rule.is_below() { rule.clear > rule.above } else { rule.clear < rule.above };
        assert!(names.insert(rule.name) && clears, "{}", rule.name);
        let metrics = match rule.measure {
            Measure::Greatest(name) | Measure::Least(name) => vec![name],
            Measure::SumWithout { metric, .. } => vec![metric],
            Measure::Share(part, whole) => vec![part, whole],
        };
        assert!(metrics.iter().all(|name| exported.contains(name)), "{}", rule.name);
    }
}

#[test]
fn shares_and_sums_are_those_of_the_snapshot() {
    let mut watcher = Watcher::new(Alerts::default());
    let mut snapshot = Snapshot::default();
    snapshot.host.cpu_utilization =
        [Some(0.5), Some(0.25), Some(0.2), Some(0.03), Some(0.02), None, None, None];
    let container =
        Container { working_set_bytes: Some(900), memory_limit_bytes: Some(1_000), ..Container::default() };
    snapshot.container = Some(container);
    watcher.look(&mut snapshot, Instant::now());
    let of = |watcher: &Watcher, name: &str| {
        let watch = watcher.watches.iter().find(|watch| watch.rule.name == name).unwrap();
        watch.found.measure(&watch.rule)
    };
    assert!((of(&watcher, "cpu").unwrap() - 0.95).abs() < 1e-9);
    assert_eq!(of(&watcher, "container_memory"), Some(0.9));
    assert_eq!(of(&watcher, "disk"), None);
    let changes = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&changes);
    watcher.alerts = watcher.alerts.on_change(move |change| told.lock().unwrap().push(change.to_string()));
    watcher.look(&mut snapshot, Instant::now() + Duration::from_secs(30));
    watcher.tell(&Notes::default());
    assert_eq!(*changes.lock().unwrap(), ["alert container_memory fires: 0.900 is above 0.85 for 10 s"]);
    watcher.alerts = watcher.alerts.on_change(|_| panic!("in a callback"));
    snapshot.container = None;
    watcher.look(&mut snapshot, Instant::now() + Duration::from_secs(60));
    watcher.look(&mut snapshot, Instant::now() + Duration::from_secs(90));
    let notes = Notes::default();
    watcher.tell(&notes);
    assert!(notes.take()[0].contains("panicked"));
}

#[test]
fn a_deadline_fires_below_its_bound() {
    let mut watcher = Watcher::new(Alerts::none().of_program());
    let seconds = [None, Some(7_000.0), Some(3_599.0), Some(3_700.0), Some(3_901.0)];
    let fires = seconds.map(|time_left_s| {
        let leak = stepscope_limits::leaks::Leak { bytes_per_step: 1e6, time_left_s };
        let mut snapshot = Snapshot::default();
        snapshot.program.leak = Some(leak);
        watcher.look(&mut snapshot, Instant::now());
        snapshot.alerts.iter().find(|alert| &*alert.rule == "memory_deadline").unwrap().firing
    });
    assert_eq!(fires, [false, false, true, true, false]);
}
