//! A training run with the feature `metrics`, scraped by the real Prometheus: the machine's figures, its own, those of its
//! allocators and its steps are there, and `promtool` has nothing against the text but what the conventions' names bring.

use std::process::Stdio;
use std::time::Instant;

use stepscope_stack_tests::http;
use stepscope_stack_tests::program::stepscope;
use stepscope_stack_tests::stack;
use stepscope_testkit::TempFolder;

use crate::monitor::{PATIENCE, Running, ask, free_port, lint, prometheus};

/// Series of every kind, as Prometheus' own query language asks for them.
const QUERIES: [&str; 8] = [
    "system_memory_limit_bytes",
    "process_memory_usage_bytes",
    "process_thread_count>1",
    "rate(process_cpu_time_seconds_total[10s])>0",
    "stepscope_allocation_rate_bytes_per_second>0",
    "stepscope_step_duration_p50_seconds>0",
    "stepscope_sample_rate_per_second>0",
    "stepscope_exporter_passes_total>3",
];

#[test]
fn prometheus_has_a_training_run() -> Result<(), String> {
    let program = stack::path("prometheus")?;
    if !program.is_file() {
        println!("SKIPPED: Prometheus is not built (scripts/stack build prometheus)");
        return Ok(());
    }
    let failed = |error: std::io::Error| format!("failed to start the demo: {error}");
    let folder = TempFolder::new("training").map_err(failed)?;
    let target = format!("127.0.0.1:{}", free_port());
    let mut demo = stepscope(&["demo", "--quiet", "--steps", "1000000", "--epochs", "10000", "--out"])?;
    demo.arg(folder.join("profile")).env("STEPSCOPE_METRICS_ADDR", &target);
    let demo = demo.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(Running).map_err(failed)?;
    let (_prometheus, address) = prometheus(&program, &folder, &target)?;
    let deadline = Instant::now() + PATIENCE;
    let answers = |query: &str| {
        let query = query.replace('>', "%3E").replace('[', "%5B").replace(']', "%5D");
        ask(&address, &format!("query?query={query}")).is_ok_and(|found| found["result"][0].is_object())
    };
    loop {
        let missing: Vec<&str> = QUERIES.into_iter().filter(|query| !answers(query)).collect();
        if missing.is_empty() && answers("up==1") {
            break;
        }
        assert!(Instant::now() < deadline, "not in Prometheus: {missing:?}");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let text = http::get(&target, "/metrics")?;
    let lint = lint(&program.with_file_name("promtool"), &text)?;
    let other: Vec<&str> =
        lint.lines().filter(|line| !line.ends_with("should not have \"_count\" suffix")).collect();
    assert_eq!(other, [""; 0], "promtool");
    println!("{} series of a training run", text.lines().filter(|line| !line.starts_with('#')).count());
    // What is gone vanishes: the target is down, and its series are stale.
    drop(demo);
    while !answers("up==0") || answers("process_memory_usage_bytes") {
        assert!(Instant::now() < deadline, "it is still there");
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    Ok(())
}
