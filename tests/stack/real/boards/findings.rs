//! Findings on their way from the analyzer to Prometheus and to the collector's file, pushed once and twice.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use stepscope_core::attr;
use stepscope_stack_tests::demo::Demo;
use stepscope_stack_tests::program::parse;
use stepscope_stack_tests::prometheus::{Prometheus, now_s};

use super::PATIENCE;

/// Severities by run and rule, as Prometheus has them over the time range; each series once.
fn severities(prometheus: Prometheus<'_>) -> BTreeMap<(String, String), usize> {
    let mut all = BTreeMap::new();
    for series in
        prometheus.series("last_over_time(stepscope_finding_severity[30m])", false).expect("severities")
    {
        let label = |name: &str| series["metric"][name].as_str().unwrap_or_default().to_owned();
        *all.entry((label("stepscope_run_id"), label("stepscope_finding_rule"))).or_default() += 1;
    }
    all
}

/// How many findings these runs have, as Prometheus was told.
fn count(prometheus: Prometheus<'_>, runs: &[&str]) -> usize {
    let query =
        format!("last_over_time(stepscope_run_findings{{stepscope_run_id=~\"{}\"}}[30m])", runs.join("|"));
    let series = prometheus.series(&query, false).expect("counts");
    series.iter().filter_map(|one| one["value"][1].as_str()?.parse::<usize>().ok()).sum()
}

/// Identity and rule of a finding, with the times of its records.
type Records = BTreeMap<(String, String), Vec<String>>;

/// The records of findings in the collector's file, once there are as many: it writes what it has once a second.
fn records(demo: &Demo, wanted: usize) -> Records {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let text = std::fs::read_to_string(demo.file("data/findings/findings.jsonl")).expect("a file");
        let all = if text.ends_with('\n') { recorded(&text) } else { Records::new() };
        if all.values().map(Vec::len).sum::<usize>() >= wanted {
            return all;
        }
        assert!(Instant::now() < deadline, "{wanted} records are not written: {all:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn recorded(text: &str) -> Records {
    let mut all = Records::new();
    for message in text.lines().map(|line| parse(line).expect("JSON")) {
        for record in message["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().expect("records") {
            let value = |key: &str| {
                let attributes = record["attributes"].as_array().expect("attributes");
                let found = attributes.iter().find(|attribute| attribute["key"] == key);
                found.and_then(|found| found["value"]["stringValue"].as_str()).unwrap_or_default().to_owned()
            };
            assert_eq!(record["eventName"], attr::FINDING_EVENT);
            let time = record["timeUnixNano"].as_str().expect("a time").to_owned();
            all.entry((value(attr::FINDING_ID), value(attr::FINDING_RULE))).or_default().push(time);
        }
    }
    all
}

/// What was planted is in Prometheus and in the collector's file; pushed again there is no series more, and each record again
/// with its identity and time.
pub(super) fn assert_findings(demo: &Demo) {
    let [healthy, slow, leak] = ["healthy", "slow-loader", "leak"].map(|name| demo.run(name).expect("a run"));
    wait_for_scrape(demo.prometheus());
    let before = severities(demo.prometheus());
    let has = |run: &str, rule: &str| before.contains_key(&(run.to_owned(), rule.to_owned()));
    assert!(has(&leak, "memory_growth") && has(&slow, "input_bound"), "{before:?}");
    assert!(!has(&healthy, "memory_growth") && !has(&healthy, "input_bound"), "{before:?}");
    let first = count(demo.prometheus(), &[&healthy, &slow, &leak]);
    let once = records(demo, first);
    assert!(once.values().all(|times| times.len() == 1), "{once:?}");
    for run in [&slow, &leak] {
        demo.push_again(run).expect("it is pushed");
    }
    let again = records(demo, first + count(demo.prometheus(), &[&slow, &leak]));
    assert_eq!(once.keys().collect::<BTreeSet<_>>(), again.keys().collect::<BTreeSet<_>>());
    let mut repeated = 0;
    for ((id, rule), times) in &again {
        if id.starts_with(&slow) || id.starts_with(&leak) {
            assert!(times.len() == 2 && times[0] == times[1], "{id}: {times:?}");
            repeated += 1;
        } else {
            assert_eq!(times.len(), 1, "{id} {rule}");
        }
    }
    wait_for_scrape(demo.prometheus());
    assert_eq!(severities(demo.prometheus()), before);
    println!(
        "{} series of findings, pushed twice; {repeated} records twice, with equal ids and times",
        before.len()
    );
}

/// Waits until Prometheus has what the collector has now.
fn wait_for_scrape(prometheus: Prometheus<'_>) {
    let now = now_s();
    let deadline = Instant::now() + PATIENCE;
    let last = || {
        let scraped = prometheus.series("max(timestamp(up))", false).expect("an answer");
        scraped.first().and_then(|series| series["value"][1].as_str()?.parse::<f64>().ok()).unwrap_or(0.0)
    };
    while last() <= now {
        assert!(Instant::now() < deadline, "nothing is scraped");
        std::thread::sleep(Duration::from_millis(200));
    }
}
