//! `stepscope monitor`, scraped by the real Prometheus: every series of the table arrives under its name, type and unit,
//! with the values of the scrape; and `promtool` has nothing against the text but what the conventions' names bring.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use stepscope_core::metric;
use stepscope_core::vocabulary::Instrument;
use stepscope_stack_tests::http;
use stepscope_stack_tests::program::{command, parse, stepscope};
use stepscope_stack_tests::stack;
use stepscope_testkit::TempFolder;

const PATIENCE: Duration = Duration::from_secs(120);

/// Ended when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map_or(0, |at| at.port())
}

fn monitor() -> Result<(Running, String), String> {
    let failed = |error: std::io::Error| format!("failed to start the monitor: {error}");
    let mut command = stepscope(&["monitor", "--listen", "127.0.0.1:0"])?;
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let stderr = child.stderr.take().ok_or("no standard error")?;
    let mut line = String::new();
    BufReader::new(stderr).read_line(&mut line).map_err(failed)?;
    let address =
        line.trim().strip_prefix("metrics are at http://").and_then(|rest| rest.strip_suffix("/metrics"));
    let address = address.ok_or_else(|| line.clone())?.to_owned();
    Ok((Running(child), address))
}

fn prometheus(program: &Path, folder: &TempFolder, target: &str) -> Result<(Running, String), String> {
    let failed = |error: std::io::Error| format!("failed to start Prometheus: {error}");
    let address = format!("127.0.0.1:{}", free_port());
    let file = folder.join("prometheus.yml");
    let text = format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs:\n  - job_name: monitor\n    static_configs: [{{targets: ['{target}']}}]\n"
    );
    std::fs::write(&file, text).map_err(failed)?;
    let log = std::fs::File::create(folder.join("prometheus.log")).map_err(failed)?;
    let child = command(program, &[&format!("--web.listen-address={address}")])
        .arg(format!("--config.file={}", file.display()))
        .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .map_err(failed)?;
    Ok((Running(child), address))
}

fn ask(address: &str, path: &str) -> Result<Value, String> {
    Ok(parse(&http::get(address, &format!("/api/v1/{path}"))?)?["data"].take())
}

/// What `promtool` says about a text.
fn lint(promtool: &Path, text: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("failed to run promtool: {error}");
    let mut tool = Command::new(promtool);
    tool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = tool.spawn().map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(text.as_bytes()).map_err(failed)?;
    }
    let output = child.wait_with_output().map_err(failed)?;
    Ok(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn prometheus_has_what_the_table_says() -> Result<(), String> {
    let program = stack::path("prometheus")?;
    if !program.is_file() {
        println!("SKIPPED: Prometheus is not built (scripts/stack build prometheus)");
        return Ok(());
    }
    let folder = TempFolder::new("monitor").map_err(|error| error.to_string())?;
    let (_monitor, target) = monitor()?;
    let (_prometheus, address) = prometheus(&program, &folder, &target)?;
    let deadline = Instant::now() + PATIENCE;
    // After several readings everything is there, shares of time among it.
    let has_come = |address: &str| ask(address, "query?query=stepscope_exporter_passes_total%3E3");
    while !has_come(&address).is_ok_and(|found| found["result"][0].is_object()) {
        assert!(Instant::now() < deadline, "nothing was scraped");
        std::thread::sleep(Duration::from_millis(200));
    }
    let text = http::get(&target, "/metrics")?;
    let mut names: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next())
        .collect();
    names.dedup();
    let known = ask(&address, "label/__name__/values")?;
    let known: Vec<&str> = known.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let types = ask(&address, "targets/metadata?limit=10000")?;
    let types = types.as_array().ok_or("no metadata")?;
    let mut checked = 0;
    for name in names.iter().filter(|name| **name != "target_info") {
        assert!(known.contains(name), "{name} is not in Prometheus");
        // Of the rows that begin like it the longest is its own.
        let rows = metric::all().filter(|row| name.starts_with(&row.name.replace('.', "_")));
        let row =
            rows.max_by_key(|row| row.name.len()).ok_or_else(|| format!("{name} is not in the table"))?;
        let (kind, end) =
            if row.instrument == Instrument::Counter { ("counter", "_total") } else { ("gauge", "") };
        let family = name.strip_suffix(end).unwrap_or(name);
        assert!(name.ends_with(end), "{name}");
        let of = |entry: &&Value| entry["metric"] == *name || entry["metric"] == *family;
        let entry = types.iter().find(of).ok_or_else(|| format!("{name} has no type"))?;
        assert_eq!(entry["type"], kind, "{name}");
        let unit = match row.unit {
            "s" => "seconds",
            "By" => "bytes",
            "1" => "ratio",
            "Cel" => "celsius",
            "J" => "joules",
            "W" => "watts",
            _ => "",
        };
        assert_eq!(entry["unit"], unit, "{name}");
        checked += 1;
    }
    println!(
        "{checked} metrics of the table in Prometheus, {} series",
        text.lines().filter(|line| !line.starts_with('#')).count()
    );
    assert!(checked > 30);
    let total = ask(&address, "query?query=system_memory_limit_bytes")?;
    let scraped = text.lines().find_map(|line| line.strip_prefix("system_memory_limit_bytes "));
    assert_eq!(total["result"][0]["value"][1].as_str(), scraped);
    // The conventions call amounts `….count`.
    let lint = lint(&program.with_file_name("promtool"), &text)?;
    let other: Vec<&str> =
        lint.lines().filter(|line| !line.ends_with("should not have \"_count\" suffix")).collect();
    assert_eq!(other, [""; 0], "promtool");
    Ok(())
}
