//! Scrapes over HTTP, good and bad.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use stepscope_metrics::Metrics;

const LOOPBACK: ([u8; 4], u16) = ([127, 0, 0, 1], 0);
const PATIENCE: Duration = Duration::from_secs(60);

fn started() -> (Metrics, SocketAddr) {
    let metrics = Metrics::builder().prometheus(LOOPBACK.into()).gpus(false).start().unwrap();
    assert!(metrics.wait_for_pass(1, PATIENCE));
    let address = metrics.address().unwrap();
    (metrics, address)
}

fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The server may have refused before all of it was sent.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

#[test]
fn a_scrape_has_the_figures_of_the_snapshot_in_the_format_asked_for() {
    let (metrics, address) = started();
    let answer = ask(address, "GET /metrics?x=1 HTTP/1.1\r\nHost: x\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("text/plain; version=0.0.4"));
    assert!(head.contains(&format!("Content-Length: {}", body.len())));
    let total = metrics.snapshot().host.memory.unwrap().total_bytes;
    assert!(body.contains(&format!("\nsystem_memory_limit_bytes {total}\n")));
    let open =
        ask(address, "GET /metrics HTTP/1.1\r\naccept: application/openmetrics-text; version=1.0.0\r\n\r\n");
    assert!(open.contains("application/openmetrics-text; version=1.0.0") && open.ends_with("# EOF\n"));
    let head = ask(address, "HEAD /metrics HTTP/1.0\n\n");
    assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"));
    for (request, status) in [
        ("GET /other HTTP/1.1\r\n\r\n", "404"),
        ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
        ("\r\n\r\n", "405"),
        ("GET /", "400"),
    ] {
        if status == "400" {
            // Cut off: closed without an answer once the other side has ended.
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let mut answer = String::new();
            assert_eq!(stream.read_to_string(&mut answer).unwrap(), 0);
        } else {
            assert!(ask(address, request).starts_with(&format!("HTTP/1.1 {status}")), "{request:?}");
        }
    }
}

#[test]
fn a_megabyte_of_head_is_refused() {
    let (_metrics, address) = started();
    let long = format!("GET /metrics HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(1 << 20));
    let answer = ask(address, &long);
    // The system may throw the answer away when as much comes after it.
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    assert!(ask(address, "GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200"));
}

#[test]
fn slow_clients_take_no_more_than_their_places_and_the_end_waits_for_none() {
    let (metrics, address) = started();
    let mut idle: Vec<TcpStream> = (0..16).map(|_| TcpStream::connect(address).unwrap()).collect();
    let refused = loop {
        let answer = ask(address, "GET /metrics HTTP/1.1\r\n\r\n");
        if answer.is_empty() || answer.starts_with("HTTP/1.1 503") {
            break answer;
        }
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    };
    drop(refused);
    idle.truncate(8);
    let deadline = Instant::now() + PATIENCE;
    while !ask(address, "GET /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 200") {
        assert!(Instant::now() < deadline);
    }
    let ended = Instant::now();
    metrics.stop();
    assert!(ended.elapsed() < Duration::from_secs(5));
    drop(idle);
}

#[test]
fn addresses_that_will_not_do_are_refused_with_what_to_do() {
    let (_metrics, address) = started();
    let error = Metrics::builder().prometheus(address).start().unwrap_err().to_string();
    assert!(error.contains("another program") && error.contains("choose another port"), "{error}");
    let error = Metrics::builder().prometheus(([0, 0, 0, 0], 0).into()).start().unwrap_err().to_string();
    assert!(error.contains("allow"), "{error}");
    let error =
        Metrics::builder().prometheus(([192, 0, 2, 1], 9).into()).allow_remote(true).start().unwrap_err();
    assert!(error.to_string().contains("no such address"), "{error}");
    let open = Metrics::builder()
        .prometheus(([0, 0, 0, 0], 0).into())
        .allow_remote(true)
        .gpus(false)
        .start()
        .unwrap();
    open.stop();
}

#[test]
fn series_over_the_budget_are_left_out_counted_and_told_once() {
    let metrics = Metrics::builder().prometheus(LOOPBACK.into()).budget(10).gpus(false).start().unwrap();
    assert!(metrics.wait_for_pass(1, PATIENCE));
    for _ in 0..2 {
        let answer = ask(metrics.address().unwrap(), "GET /metrics HTTP/1.1\r\n\r\n");
        let left_out =
            answer.lines().find(|line| line.starts_with("stepscope_exporter_series_left_out ")).unwrap();
        assert!(left_out.rsplit(' ').next().unwrap().parse::<u64>().unwrap() > 10);
        assert_eq!(answer.lines().filter(|line| line.starts_with("system_")).count(), 10);
    }
    let notes = metrics.notes();
    assert_eq!(notes.iter().filter(|note| note.contains("series")).count(), 1, "{notes:?}");
}

#[test]
fn the_history_is_that_of_the_snapshots() {
    let interval = Duration::from_millis(100);
    let metrics = Metrics::builder().interval(interval).history(true).gpus(false).start().unwrap();
    assert!(metrics.wait_for_pass(5, PATIENCE));
    let history = metrics.history();
    let limit = history.of("system.memory.limit").next().unwrap().whole();
    let total = metrics.snapshot().host.memory.unwrap().total_bytes as f64;
    assert!(limit.readings >= 5 && limit.average() == Some(total) && limit.peak == total, "{limit:?}");
    let busy: f64 = history.of("system.cpu.time").filter_map(|track| track.whole().average()).sum();
    assert!(busy > 0.0, "processors' time goes on at some rate");
}
