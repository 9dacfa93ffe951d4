//! The facade `metrics`: ours in the recorder of `metrics-exporter-prometheus`, and others' in ours. All in one test, as a
//! process has one recorder.

use std::time::{Duration, Instant};

use metrics_exporter_prometheus::PrometheusBuilder;
use stepscope_metrics::view::prometheus::{Format, Renderer};
use stepscope_metrics::{Metrics, Recorder, Snapshot};

const PATIENCE: Duration = Duration::from_secs(60);

/// A crate that knows only the facade.
fn work() {
    metrics::describe_histogram!("request time", metrics::Unit::Seconds, "Time of a request.");
    metrics::counter!("requests.total", "path" => "/a\"b").increment(3);
    metrics::counter!("requests.total", "path" => "/b").increment(4);
    metrics::gauge!("loss").set(f64::NAN);
    metrics::gauge!("rate", "a.b" => "1", "a_b" => "2").set(-2.5);
    metrics::gauge!("system.cpu.logical.count").set(99.0);
    let times = metrics::histogram!("request time");
    (1..=100).for_each(|number| times.record(f64::from(number) / 100.0));
    times.record(f64::INFINITY);
    for number in 0..2_000 {
        metrics::gauge!("exploding", "id" => number.to_string()).set(1.0);
    }
}

fn rendered(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    Renderer::new(Format::Text).render(snapshot, usize::MAX, &[], &mut text);
    text
}

#[test]
fn ours_are_in_the_programs_recorder_and_the_programs_in_ours() {
    let theirs = PrometheusBuilder::new().install_recorder().unwrap();
    let interval = Duration::from_millis(100);
    let metrics = Metrics::builder()
        .interval(interval)
        .gpus(false)
        .forward_to_recorder(true)
        .install_recorder(true)
        .start()
        .unwrap();
    assert!(metrics.wait_for_pass(3, PATIENCE));
    let deadline = Instant::now() + PATIENCE;
    let total = metrics.snapshot().host.memory.unwrap().total_bytes;
    while !theirs.render().contains(&format!("\nsystem_memory_limit {total}\n")) {
        assert!(Instant::now() < deadline, "{}", theirs.render());
    }
    let text = theirs.render();
    assert!(text.contains("# TYPE system_cpu_utilization gauge") && text.contains("cpu_mode=\"idle\""));
    assert!(text.contains("# TYPE system_process_created counter"));
    let notes = metrics.notes();
    let told: Vec<&String> = notes.iter().filter(|note| note.contains("recorder")).collect();
    assert_eq!(told.len(), 1, "theirs stays, and that is said: {notes:?}");

    metrics::with_local_recorder(&Recorder::new(), work);
    let passes = metrics.snapshot().passes;
    assert!(metrics.wait_for_pass(passes + 2, PATIENCE));
    let text = rendered(&metrics.snapshot());
    for line in [
        "# TYPE requests_total counter\nrequests_total{path=\"/a\\\"b\"} 3\nrequests_total{path=\"/b\"} 4\n",
        "# TYPE loss gauge\nloss NaN\n",
        "rate{a_b=\"1\"} -2.5\n",
        "user_system_cpu_logical_count 99\n",
        "# HELP request_time_seconds Time of a request.\n# TYPE request_time_seconds gauge\n",
        "request_time_seconds{quantile=\"1\"} 1\n",
        "request_time_count_total 100\n",
        "request_time_sum_seconds 50.5\n",
    ] {
        assert!(text.contains(line), "{line} is not in\n{}", text.replace("exploding", ""));
    }
    let median = text.lines().find_map(|line| line.strip_prefix("request_time_seconds{quantile=\"0.5\"} "));
    let median: f64 = median.unwrap().parse().unwrap();
    assert!((median / 0.5 - 1.0).abs() <= 0.0625, "{median}");
    let handles = text.lines().filter(|line| line.starts_with("exploding{")).count();
    assert_eq!(handles, 1_000 - 6, "the bound");
    let dropped = metrics.snapshot().user_dropped.unwrap();
    assert_eq!(dropped, 2_000 - handles as u64 + 1, "handles, and the value that is no number");
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let mut once = names.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), names.len(), "each family once");
    let notes = metrics.notes();
    for what in ["request_time", "a label hold", "labels of the program's metric rate", "user.system.cpu"] {
        assert_eq!(notes.iter().filter(|note| note.contains(what)).count(), 1, "{what}: {notes:?}");
    }
}
