//! An OTLP/HTTP collector of a few lines: takes requests one after the other on a loopback port, answers as
//! it is told, and keeps what it accepted.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex};

use super::Recording;

/// How to answer a request.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// Accept everything.
    Accept,
    /// Accept the request with this `ExportTraceServiceResponse`.
    With(Vec<u8>),
    /// Refuse with this status line and header lines.
    Status(&'static str),
    /// Accept everything, but only after this time.
    Late(std::time::Duration),
    /// Read the request and leave the connection open without a word.
    Silence,
    /// Read the request and close the connection.
    HangUp,
}

#[derive(Debug, Default)]
struct Received {
    recording: Recording,
    requests: Vec<String>,
    heads: Vec<String>,
    silent: Vec<TcpStream>,
}

pub(crate) struct Collector {
    port: u16,
    received: Arc<Mutex<Received>>,
}

impl Collector {
    /// Starts one; `answer` gets the path (`/v1/traces`) and how many requests for it came before.
    pub(crate) fn start(answer: impl Fn(&str, usize) -> Answer + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let received = Arc::new(Mutex::new(Received::default()));
        let shared = Arc::clone(&received);
        // Ends with the test process: a listener cannot be woken portably.
        std::thread::Builder::new()
            .name("collector".into())
            .spawn(move || {
                for stream in listener.incoming() {
                    serve(stream.unwrap(), &answer, &shared);
                }
            })
            .unwrap();
        Self { port, received }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it accepted so far.
    pub(crate) fn recording(&self) -> Recording {
        std::mem::take(&mut self.received.lock().unwrap().recording)
    }

    /// Paths of all requests so far, accepted or not.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.received.lock().unwrap().requests.clone()
    }

    /// Heads of all requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.received.lock().unwrap().heads.clone()
    }
}

/// A port on which nobody listens.
pub(crate) fn closed_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// An address whose connections are never made: a listener with a full queue of them, which nobody takes.
#[expect(unsafe_code, reason = "the standard library does not set the length of the queue")]
pub(crate) fn deaf() -> (String, impl Sized) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // SAFETY: the descriptor is the listener's, which is open.
    assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
    let address = listener.local_addr().unwrap();
    let brief = std::time::Duration::from_millis(100);
    let mut queued = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, brief) {
        queued.push(stream);
    }
    (format!("http://{address}"), (listener, queued))
}

fn serve(stream: TcpStream, answer: &impl Fn(&str, usize) -> Answer, shared: &Mutex<Received>) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut line) = (String::new(), String::new());
    while reader.read_line(&mut line).is_ok_and(|len| len > 2) {
        head.push_str(&line);
        line.clear();
    }
    let Some(path) = head.split_whitespace().nth(1).map(str::to_owned) else { return };
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:").map(str::to_owned))
        .map_or(0, |value| value.trim().parse().unwrap());
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let mut stream = reader.into_inner();
    let mut shared = shared.lock().unwrap();
    let before = shared.requests.iter().filter(|request| **request == path).count();
    shared.requests.push(path.clone());
    shared.heads.push(head);
    let (status, response) = match answer(&path, before) {
        Answer::Accept => ("200 OK", Vec::new()),
        Answer::Late(time) => {
            std::thread::sleep(time);
            ("200 OK", Vec::new())
        }
        Answer::With(response) => ("200 OK", response),
        Answer::Status(status) => (status, Vec::new()),
        Answer::Silence => return shared.silent.push(stream),
        Answer::HangUp => return,
    };
    if status == "200 OK" {
        match path.as_str() {
            "/v1/traces" => shared.recording.add_traces(&body),
            "/v1/metrics" => shared.recording.add_metrics(&body),
            other => panic!("{other}"),
        }
    }
    let length = response.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/x-protobuf\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    // A client that has given up is the client's business.
    let _ = stream.write_all(&[head.as_bytes(), &response].concat());
}
