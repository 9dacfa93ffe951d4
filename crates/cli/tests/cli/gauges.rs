//! Gauges of a program that `stepscope::init` records: scraped, by local rank, sent with the sums, and without keeping the
//! program's end waiting.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::{command, folder, run};

const PATIENCE: Duration = Duration::from_secs(60);

/// A port that nobody listens on, and the next one.
fn free_port() -> u16 {
    loop {
        let first = TcpListener::bind(("127.0.0.1", 0)).expect("there are ports");
        let port = first.local_addr().expect("it has one").port();
        if port < u16::MAX && TcpListener::bind(("127.0.0.1", port + 1)).is_ok() {
            return port;
        }
    }
}

fn scrape(port: u16) -> String {
    let mut answer = String::new();
    if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) {
        let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n");
        let _ = stream.read_to_string(&mut answer);
    }
    answer
}

/// A demo that trains until it is killed.
fn trains(folder: &Path) -> Command {
    let mut command =
        command(folder, &["demo", "--quiet", "--steps", "1000000", "--epochs", "10000", "--out", "x"]);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// What a scrape has as soon as `is_so`; the program is killed then.
fn scraped(mut child: Child, port: u16, is_so: impl Fn(&str) -> bool) -> String {
    let deadline = Instant::now() + PATIENCE;
    let text = loop {
        let text = scrape(port);
        if is_so(&text) || Instant::now() > deadline {
            break text;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    assert!(is_so(&text), "{text}");
    text
}

#[test]
fn each_local_rank_has_its_port_and_the_first_the_machine() {
    let (folder, port) = (folder("gauges"), free_port());
    let address = format!("127.0.0.1:{port}");
    let rank = |rank: u16| {
        let mut command = trains(folder.path());
        command.env("STEPSCOPE_METRICS_ADDR", &address).env("LOCAL_RANK", rank.to_string());
        command.env("RANK", rank.to_string()).spawn().expect("it starts")
    };
    let has_steps = |text: &str| text.contains("\nstepscope_step_duration_p50_seconds ");
    let first = scraped(rank(0), port, has_steps);
    for name in ["system_memory_limit_bytes ", "process_thread_count ", "stepscope_sample_rate_per_second "] {
        assert!(first.contains(&format!("\n{name}")), "{name} is not in {first}");
    }
    assert!(
        first.contains("target_info{service_name=\"stepscope-demo\"")
            && first.contains("stepscope_rank=\"0\"")
    );
    let second = scraped(rank(1), port + 1, has_steps);
    assert!(second.contains("\nprocess_thread_count ") && second.contains("stepscope_rank=\"1\""));
    assert!(!second.contains("\nsystem_"), "{second}");
}

#[test]
fn what_cannot_be_listened_on_is_said_and_the_program_goes_on() {
    let folder = folder("gauges-port");
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("there are ports");
    let taken = taken.local_addr().expect("it has one").to_string();
    for (address, said) in [(&*taken, "another port"), ("0.0.0.0:0", "allow"), ("here", "no address")] {
        let mut command = command(folder.path(), &["demo", "--quiet", "--steps", "5", "--epochs", "1"]);
        let output = command.env("STEPSCOPE_METRICS_ADDR", address).output().expect("it runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && stderr.contains(said), "{address}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}

#[test]
fn who_is_sent_the_sums_has_the_gauges_too_unless_told_not_to() {
    let folder = folder("gauges-sent");
    let has_gauges = |name: &str, exporter: &str| {
        let arguments = ["demo", "--quiet", "--steps", "200", "--epochs", "1"];
        let program = env!("CARGO_BIN_EXE_stepscope");
        let mut command = command(folder.path(), &["record", "--out", name, "--", program]);
        command.args(arguments).env("OTEL_METRICS_EXPORTER", exporter);
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut open = vec![folder.join(name)];
        let mut all = Vec::new();
        while let Some(path) = open.pop() {
            if path.is_dir() {
                let entries = std::fs::read_dir(&path).expect("it can be read");
                open.extend(entries.flatten().map(|entry| entry.path()));
            } else {
                all.extend(std::fs::read(&path).expect("it can be read"));
            }
        }
        let report = run(folder.path(), &["analyze", name]);
        assert_eq!(report.code, 0, "{}", report.stderr);
        let has = |name: &[u8]| all.windows(name.len()).any(|bytes| bytes == name);
        assert!(has(b"stepscope.section.total"));
        has(b"system.memory.limit") && has(b"process.thread.count")
    };
    assert!(has_gauges("with", "otlp"));
    assert!(!has_gauges("without", "none"));
}

#[test]
fn a_driver_that_hangs_does_not_delay_the_end() {
    let folder = folder("gauges-hang");
    stepscope_fake_nvml::install(folder.path(), "devices 2\nhang after 1\n").expect("it is built");
    let port = free_port();
    let mut command = command(folder.path(), &["demo", "--quiet", "--steps", "100", "--epochs", "1"]);
    command.env("STEPSCOPE_METRICS_ADDR", format!("127.0.0.1:{port}"));
    command.env("LD_LIBRARY_PATH", folder.path());
    let begun = Instant::now();
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
}
