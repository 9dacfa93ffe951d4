//! `stepscope monitor`, scraped by the real Prometheus and pushing to the real collector: every series of the table arrives
//! under its name, type and unit, with the values of the same reading's scrape; and `promtool` has nothing against the text
//! but what the conventions' names bring.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use stepscope_core::metric;
use stepscope_core::vocabulary::Instrument;
use stepscope_stack_tests::boards;
use stepscope_stack_tests::http;
use stepscope_stack_tests::program::{command, parse, stepscope};
use stepscope_stack_tests::prometheus::Prometheus;
use stepscope_stack_tests::stack::{self, Stack};
use stepscope_testkit::TempFolder;

pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Ended when dropped.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map_or(0, |at| at.port())
}

fn monitor(arguments: &[&str], settings: &[(&str, &str)]) -> Result<(Running, String), String> {
    let failed = |error: std::io::Error| format!("failed to start the monitor: {error}");
    let mut command = stepscope(&["monitor", "--listen", "127.0.0.1:0"])?;
    command.args(arguments).envs(settings.iter().copied());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(failed)?;
    let stderr = child.stderr.take().ok_or("no standard error")?;
    let mut line = String::new();
    BufReader::new(stderr).read_line(&mut line).map_err(failed)?;
    let address =
        line.trim().strip_prefix("metrics are at http://").and_then(|rest| rest.strip_suffix("/metrics"));
    let address = address.ok_or_else(|| line.clone())?.to_owned();
    Ok((Running(child), address))
}

pub(crate) fn prometheus(
    program: &Path,
    folder: &TempFolder,
    target: &str,
) -> Result<(Running, String), String> {
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

pub(crate) fn ask(address: &str, path: &str) -> Result<Value, String> {
    Ok(parse(&http::get(address, &format!("/api/v1/{path}"))?)?["data"].take())
}

/// What `promtool` says about a text.
pub(crate) fn lint(promtool: &Path, text: &str) -> Result<String, String> {
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
    let (_monitor, target) = monitor(&[], &[])?;
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
    assert_host_board_answers(Prometheus { address: &address })?;
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

/// The board of hosts needs no run: its variable finds the machine, and its figures are there.
fn assert_host_board_answers(prometheus: Prometheus<'_>) -> Result<(), String> {
    let board = boards::all()?.into_iter().find(|board| board.name == "host").ok_or("no board of hosts")?;
    let variables = board.variables(prometheus, &[])?;
    let of = |name: &str| variables.iter().find(|one| one.name == name).map(|one| one.values.len());
    assert_eq!((of("host"), of("run")), (Some(1), Some(0)), "{variables:?}");
    for panel in ["Processors busy A", "Memory used A", "File systems A"] {
        let place = format!("host: {panel}");
        let query = board.queries(&variables).into_iter().find(|query| query.place == place);
        let query = query.ok_or_else(|| format!("there is no {place}"))?;
        assert!(!prometheus.series(&query.text, query.is_range)?.is_empty(), "{place}: {}", query.text);
    }
    Ok(())
}

/// A message's points by Prometheus' names and labels; each metric is held against the table.
fn pushed(message: &Value) -> BTreeMap<String, f64> {
    let mut points = BTreeMap::new();
    let all = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let scopes =
        all(&message["resourceMetrics"]).into_iter().flat_map(|resource| all(&resource["scopeMetrics"]));
    for found in scopes.flat_map(|scope| all(&scope["metrics"])) {
        let name = found["name"].as_str().unwrap_or_default();
        let row =
            metric::all().find(|row| row.name == name).unwrap_or_else(|| panic!("{name} is in no table"));
        assert_eq!(found["unit"].as_str().unwrap_or_default(), row.unit, "{name}");
        let (sum, gauge) = (&found["sum"], &found["gauge"]);
        let instrument = match (sum.is_object(), sum["isMonotonic"].as_bool().unwrap_or_default()) {
            (true, true) => Instrument::Counter,
            (true, false) => Instrument::UpDownCounter,
            (false, _) => Instrument::Gauge,
        };
        assert_eq!(instrument, row.instrument, "{name}");
        let (unit, end) = match (row.unit, instrument) {
            ("s", _) => ("_seconds", ""),
            ("By", _) => ("_bytes", ""),
            ("Cel", _) => ("_celsius", ""),
            ("J", _) => ("_joules", ""),
            ("W", _) => ("_watts", ""),
            ("1", Instrument::Gauge) => ("", "_ratio"),
            _ => ("", ""),
        };
        let total = if instrument == Instrument::Counter { "_total" } else { "" };
        let name = format!("{}{unit}{end}{total}", name.replace('.', "_"));
        for point in all(if sum.is_object() { &sum["dataPoints"] } else { &gauge["dataPoints"] }) {
            let mut labels: Vec<String> = all(&point["attributes"])
                .iter()
                .map(|label| {
                    let key = label["key"].as_str().unwrap_or_default().replace('.', "_");
                    format!("{key}={}", label["value"]["stringValue"])
                })
                .collect();
            labels.sort_unstable();
            let integer = point["asInt"].as_str().and_then(|text| text.parse::<f64>().ok());
            let value = integer.or_else(|| point["asDouble"].as_f64()).unwrap_or_else(|| panic!("{point}"));
            points.insert(format!("{name}{{{}}}", labels.join(",")), value);
        }
    }
    points
}

/// The same of a scrape.
fn scraped(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("target_info"));
    let split = |line: &str| {
        let (series, value) = line.rsplit_once(' ')?;
        let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
        let mut labels: Vec<&str> =
            labels.trim_end_matches('}').split(',').filter(|text| !text.is_empty()).collect();
        labels.sort_unstable();
        Some((format!("{name}{{{}}}", labels.join(",")), value.parse().ok()?))
    };
    lines.map(|line| split(line).unwrap_or_else(|| panic!("{line}"))).collect()
}

#[test]
fn the_collector_has_what_the_same_readings_scrape_has() -> Result<(), String> {
    let built = |name: &str| stack::path(name).is_ok_and(|path| path.is_file());
    let Some(kind) = ["collector", "collector-slim"].into_iter().find(|name| built(name)) else {
        println!("SKIPPED: no collector is built (scripts/stack build collector-slim)");
        return Ok(());
    };
    let stack = Stack::start(&["collector"], &[("STACK_COLLECTOR", kind)])?;
    let settings = [("OTEL_METRIC_EXPORT_INTERVAL", "500")];
    let (_monitor, target) = monitor(&["--otlp", stack.endpoint(), "--interval", "3"], &settings)?;
    const PASSES: &str = "stepscope_exporter_passes_total{}";
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline, "no push has the readings of a scrape");
        std::thread::sleep(Duration::from_millis(300));
        let scrape = scraped(&http::get(&target, "/metrics")?);
        // Shares of time need two readings, and an instrument the reading before.
        let Some(passes) = scrape.get(PASSES).copied().filter(|passes| *passes >= 3.0) else { continue };
        let text = std::fs::read_to_string(stack.data("json/metrics.jsonl")).unwrap_or_default();
        // The last line may be written just now.
        let messages = text.lines().rev().filter_map(|line| parse(line).ok()).map(|message| pushed(&message));
        let Some(push) = messages.into_iter().find(|points| points.get(PASSES) == Some(&passes)) else {
            continue;
        };
        assert_eq!(push, scrape);
        println!("{} series of reading {passes} are the same in a push and a scrape", push.len());
        assert!(push.len() > 50);
        return Ok(());
    }
}
