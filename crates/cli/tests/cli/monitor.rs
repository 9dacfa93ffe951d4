//! `stepscope monitor`: once, scraped, following a process, asked to end.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::{command, folder, output, run};
use serde_json::Value;

/// The program, listening; and its address.
fn listening(arguments: &[&str]) -> (Child, String) {
    let folder = folder("monitor");
    let all = [&["monitor", "--listen", "127.0.0.1:0"], arguments].concat();
    let mut child = command(folder.path(), &all)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let stderr = child.stderr.take().expect("it is a pipe");
    let mut line = String::new();
    BufReader::new(stderr).read_line(&mut line).expect("it says where");
    let address =
        line.trim().strip_prefix("metrics are at http://").and_then(|rest| rest.strip_suffix("/metrics"));
    (child, address.unwrap_or_else(|| panic!("{line}")).to_owned())
}

fn scrape(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    answer
}

/// Asks it to end, and gives its code and how long that took.
fn ended(mut child: Child) -> (Option<i32>, Duration) {
    let begun = Instant::now();
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill runs");
    assert!(kill.success());
    (child.wait().expect("it ends").code(), begun.elapsed())
}

#[test]
fn once_gives_every_figure_as_json_and_a_line_for_people() {
    let folder = folder("monitor-once");
    let text = output(folder.path(), &["monitor", "--once", "--format", "json"]);
    let value: Value = serde_json::from_str(&text).expect("one object");
    let points = value["points"].as_array().expect("points");
    let of = |name: &str| points.iter().filter(|point| point["metric"] == name).count();
    assert_eq!(of("system.cpu.utilization"), 8, "two readings give shares");
    assert!(of("system.filesystem.usage") > 0 && of("process.memory.usage") == 1, "{text}");
    let line = output(folder.path(), &["monitor", "--once"]);
    assert!(line.starts_with("CPU ") && line.contains(" | memory ") && line.lines().count() == 1, "{line}");
}

#[test]
fn a_scrape_is_answered_and_the_end_is_quick_and_quiet() {
    let (child, address) = listening(&[]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !scrape(&address).contains("\nsystem_memory_limit_bytes ") {
        assert!(Instant::now() < deadline);
    }
    let folder = folder("monitor-port");
    let taken = run(folder.path(), &["monitor", "--listen", &address]);
    assert_eq!(taken.code, 3);
    assert!(
        taken.stderr.contains("another program") && taken.stderr.contains("another port"),
        "{}",
        taken.stderr
    );
    let (code, time) = ended(child);
    assert_eq!(code, Some(0));
    assert!(time < Duration::from_secs(20), "{time:?}");
}

#[test]
fn a_process_is_followed_to_its_end() {
    let mut sleep = Command::new("sleep").arg("2").spawn().expect("sleep runs");
    let (mut child, address) = listening(&["--pid", &sleep.id().to_string(), "--interval", "0.1"]);
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut seen = false;
    while !seen && child.try_wait().expect("it can be asked").is_none() && Instant::now() < deadline {
        let text = TcpStream::connect(&address).map(|_| scrape(&address)).unwrap_or_default();
        seen = text.contains("\nprocess_thread_count 1\n")
            && text.contains(&format!("process_pid=\"{}\"", sleep.id()));
    }
    assert!(seen);
    sleep.wait().expect("it ends");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let folder = folder("monitor-none");
    let none = run(folder.path(), &["monitor", "--pid", "4194304"]);
    assert_eq!((none.code, none.stderr.trim()), (3, "stepscope: there is no process 4194304"));
}

#[test]
fn a_container_is_followed_by_the_path_of_its_group() {
    let groups = std::fs::read_to_string("/proc/self/cgroup").expect("it is there");
    let path = groups.lines().filter_map(|line| line.splitn(3, ':').nth(2)).find(|path| *path != "/");
    let folder = folder("monitor-container");
    let none = run(folder.path(), &["monitor", "--container", "0123456789ab", "--once"]);
    assert_eq!(none.code, 3);
    assert!(none.stderr.contains("there is no container \"0123456789ab\""), "{}", none.stderr);
    let is_seen = |path: &str| run(folder.path(), &["monitor", "--container", path, "--once"]).code == 0;
    let Some(path) = path.filter(|path| is_seen(path)) else {
        println!("SKIPPED: this process is in no group but the machine's, or out of its sight");
        return;
    };
    let text = output(folder.path(), &["monitor", "--container", path, "--once", "--format", "json"]);
    let value: Value = serde_json::from_str(&text).expect("one object");
    let points = value["points"].as_array().expect("points");
    let is_there = |point: &Value| point["metric"].as_str().unwrap_or_default().starts_with("container.");
    assert!(points.iter().any(is_there), "{text}");
}

#[test]
fn a_driver_that_hangs_does_not_keep_it() {
    let folder = folder("monitor-hang");
    let library =
        stepscope_fake_nvml::install(folder.path(), "devices 2\nhang after 40\n").expect("it is built");
    let (child, address) = listening(&["--nvml", &library.to_string_lossy()]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while !scrape(&address).contains("hw_state=\"failed\"} 1\n") {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(100));
    }
    let text = scrape(&address);
    assert!(
        text.contains("\nsystem_memory_limit_bytes ") && !text.contains("hw_gpu_memory_usage_bytes{"),
        "{text}"
    );
    let (code, time) = ended(child);
    assert_eq!(code, Some(0));
    assert!(time < Duration::from_secs(20), "{time:?}");
}
