//! Clients that mean harm: slow, silent, lying, many. Each ends within its bound, memory stays within its own, and
//! an honest client is served all the while.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use stepscope_server::{Limits, Receiver};
use stepscope_testkit::random::Random;

use crate::client::{JSON, answer, connect, gzip, post, receiver, rest};

/// Short waits, so that tests see them end.
fn impatient() -> Limits {
    let wait = Duration::from_millis(400);
    Limits { first_request: wait, idle: wait, body: wait, ..Limits::default() }
}

fn assert_serves(receiver: &Receiver) {
    let answer = post(receiver.address(), "/v1/traces", &[("content-type", JSON)], b"{}");
    assert_eq!(answer.status, 200);
}

/// How long the connection stays when nothing more is sent, or `drip` sends a byte now and then.
fn stays(mut stream: TcpStream, drip: Option<u8>) -> Duration {
    let begin = Instant::now();
    stream.set_read_timeout(Some(Duration::from_millis(20))).expect("a timeout can be set");
    let mut bytes = [0; 1_024];
    while begin.elapsed() < Duration::from_secs(60) {
        match stream.read(&mut bytes) {
            Ok(0) => break,
            Err(error)
                if !matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) =>
            {
                break;
            }
            _ => {}
        }
        if let Some(byte) = drip
            && stream.write_all(&[byte]).is_err()
        {
            break;
        }
    }
    begin.elapsed()
}

#[test]
fn the_silent_and_the_slow_are_cut_off() {
    let (_folder, receiver) = receiver("slow", impatient());
    let begin = |bytes: &[u8]| {
        let mut stream = connect(receiver.address());
        stream.write_all(bytes).expect("a beginning is taken");
        stream
    };
    let headers = b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n";
    let body = [&headers[..], b"content-length: 100000\r\n\r\n{"].concat();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    let cases: [(&str, &[u8], Option<u8>); 8] = [
        ("says nothing", b"", None),
        ("stops in the method", b"PO", None),
        ("stops in the headers", headers, None),
        ("trickles headers", headers, Some(b'a')),
        ("stops in the body", &body, None),
        ("trickles the body", &body, Some(b' ')),
        ("stops in the preface of HTTP/2", &preface[..10], None),
        ("opens HTTP/2 and waits", preface, None),
    ];
    for (what, bytes, drip) in cases {
        let stayed = stays(begin(bytes), drip);
        assert!(stayed < Duration::from_secs(20), "{what}: stayed for {stayed:?}");
        assert_serves(&receiver);
    }
}

#[test]
fn a_slow_body_is_told_so() {
    let (_folder, receiver) = receiver("slow-body", impatient());
    let mut stream = connect(receiver.address());
    let request =
        "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
    stream.write_all(request.as_bytes()).expect("headers are taken");
    let answer = answer(&mut stream);
    assert_eq!(answer.status, 408);
    assert!(String::from_utf8_lossy(&answer.body).contains("did not come within"), "{answer:?}");
    assert_eq!(rest(&mut stream), b"", "the connection ends");
}

#[test]
fn lengths_that_lie_deceive_nobody() {
    let (_folder, receiver) = receiver("lying", impatient());
    // Less than announced, then gone.
    let mut stream = connect(receiver.address());
    let short = "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{}";
    stream.write_all(short.as_bytes()).expect("taken");
    stream.shutdown(std::net::Shutdown::Write).expect("half closed");
    let said = String::from_utf8_lossy(&rest(&mut stream)).into_owned();
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 400"), "{said}");
    // More than announced: what is left over is no request.
    let mut stream = connect(receiver.address());
    let long = "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}\0\0\r\n\r\n";
    stream.write_all(long.as_bytes()).expect("taken");
    let said = String::from_utf8_lossy(&rest(&mut stream)).into_owned();
    assert!(said.starts_with("HTTP/1.1 200") && said.contains("HTTP/1.1 400"), "{said}");
    // Not a number, two numbers, more than there is memory.
    for length in ["x", "-1", "2\r\ncontent-length: 3", "18446744073709551616"] {
        let mut stream = connect(receiver.address());
        let request = format!(
            "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{{}}"
        );
        stream.write_all(request.as_bytes()).expect("taken");
        let said = String::from_utf8_lossy(&rest(&mut stream)).into_owned();
        assert!(said.starts_with("HTTP/1.1 400"), "{length}: {said}");
    }
    let mut stream = connect(receiver.address());
    let request = "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 9999999999999\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("taken");
    assert_eq!(answer(&mut stream).status, 413, "before anything is sent");
    assert_serves(&receiver);
}

#[test]
fn huge_headers_are_too_large() {
    let (_folder, receiver) = receiver("headers", Limits::default());
    let mut stream = connect(receiver.address());
    let header = format!("x: {}\r\n", "a".repeat(1_000));
    stream.write_all(b"POST /v1/traces HTTP/1.1\r\n").expect("taken");
    // Until it is cut off.
    for _ in 0..1_000 {
        if stream.write_all(header.as_bytes()).is_err() {
            break;
        }
    }
    let said = String::from_utf8_lossy(&rest(&mut stream)).into_owned();
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 431"), "{said}");
    let many: Vec<String> = (0..200).map(|number| format!("x-{number}")).collect();
    let headers: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "y")).collect();
    assert_eq!(post(receiver.address(), "/v1/traces", &headers, b"").status, 431);
    assert_serves(&receiver);
}

#[test]
fn bombs_end_at_the_bound() {
    let limits = Limits { message_bytes: 1 << 20, in_flight_bytes: 2 << 20, ..Limits::default() };
    let (_folder, receiver) = receiver("bomb", limits);
    let bomb = gzip(&vec![b' '; 200 << 20]);
    assert!(bomb.len() < 1 << 20, "{} bytes on the wire", bomb.len());
    let headers = [("content-type", JSON), ("content-encoding", "gzip")];
    for _ in 0..5 {
        let answer = post(receiver.address(), "/v1/traces", &headers, &bomb);
        assert_eq!(answer.status, 413, "{:?}", String::from_utf8_lossy(&answer.body));
    }
    assert_serves(&receiver);
}

#[test]
fn too_much_at_once_is_asked_to_come_again() {
    let limits = Limits { message_bytes: 1 << 20, in_flight_bytes: 1 << 20, ..Limits::default() };
    let (_folder, receiver) = receiver("budget", limits);
    let begun = |bytes: usize| {
        let mut stream = connect(receiver.address());
        let head = "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n";
        stream.write_all(head.as_bytes()).expect("taken");
        stream.write_all(&vec![b' '; bytes]).expect("taken");
        stream
    };
    // The first has its room as soon as the second gets none. Should the second have come in between, the first
    // was refused, and begins again.
    let (mut first, busy) = (0..20)
        .find_map(|_| {
            let first = begun(900_000);
            let busy = (0..20).find_map(|_| {
                let answer =
                    post(receiver.address(), "/v1/traces", &[("content-type", JSON)], &[b' '; 300_000]);
                std::thread::sleep(Duration::from_millis(10));
                (answer.status == 503).then_some(answer)
            });
            busy.map(|busy| (first, busy))
        })
        .expect("no room is left for the second");
    assert!(busy.head.contains("retry-after: 1"), "{}", busy.head);
    first.write_all(&vec![b' '; 100_000]).expect("taken");
    assert_eq!(answer(&mut first).status, 400, "blanks are no message");
    assert_serves(&receiver);
}

#[test]
fn noise_is_refused_in_every_protocol() {
    let (_folder, receiver) = receiver("noise", impatient());
    let mut random = Random::new(4);
    for round in 0..200 {
        let bytes: Vec<u8> = (0..random.below(2_000)).map(|_| random.below(256) as u8).collect();
        let mut stream = connect(receiver.address());
        if round % 2 == 1 {
            // Noise behind a beginning of HTTP/2.
            let _ = stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        }
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = rest(&mut stream);
    }
    assert_serves(&receiver);
    assert_eq!(receiver.stop().taken(), 1);
}

/// Resident memory of this process.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("a number") * 4_096
}

/// Runs again as a program of its own: the memory of this one is that of every test that runs meanwhile, too.
#[test]
fn a_thousand_connections_stay_within_their_bounds() {
    const ALONE: &str = "STEPSCOPE_SERVER_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return a_thousand_connections();
    }
    let mut again = std::process::Command::new(std::env::current_exe().expect("this program"));
    again.args(["hostile::a_thousand_connections_stay_within_their_bounds", "--exact", "--nocapture"]);
    let output = again.env(ALONE, "1").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("150 half requests held, 850 turned away"), "{said}");
}

#[expect(
    clippy::print_stdout,
    reason = "standard output is how that program says that it has come to the end"
)]
fn a_thousand_connections() {
    // As many as the test itself has file descriptors for on both ends.
    let (_folder, receiver) = receiver("thousand", Limits { connections: 150, ..Limits::default() });
    let before = resident_bytes();
    let half_sent = |address: SocketAddr| {
        let mut stream = connect(address);
        let head = "POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n";
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&[b' '; 10_000]));
        stream
    };
    let mut open = Vec::new();
    let mut turned_away = 0;
    for number in 0..1_000 {
        let mut stream = half_sent(receiver.address());
        if number >= 150 {
            let said = String::from_utf8_lossy(&rest(&mut stream)).into_owned();
            assert!(said.is_empty() || said.starts_with("HTTP/1.1 503"), "{number}: {said}");
            turned_away += 1;
        } else {
            open.push(stream);
        }
    }
    let grown = resident_bytes().saturating_sub(before);
    assert_eq!(turned_away, 850);
    // 150 connections with 64 KiB at most each, and what the test itself holds.
    assert!(grown < 64 << 20, "{grown} bytes for 150 half requests");
    println!("{} half requests held, {turned_away} turned away, {grown} bytes", open.len());
    drop(open);
    let served = (0..500).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        let mut stream = connect(receiver.address());
        let _ = stream.write_all(b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}");
        rest(&mut stream).starts_with(b"HTTP/1.1 200")
    });
    assert!(served, "when the others are gone there is room");
    assert!(receiver.stop().refused >= 850);
}
