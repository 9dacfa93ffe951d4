//! An OTLP/HTTP collector of a few lines: takes requests on a loopback port, over connections that it keeps open,
//! answers as it is told, and keeps what it accepted.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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
    Late(Duration),
    /// Say that everything is accepted, and read no more than the head of a request that is longer than what waits there
    /// ([`WAITING_BYTES`]); accept others.
    Early,
    /// Read the request and leave the connection open without a word.
    Silence,
    /// Accept everything, begin an answer, and leave the connection open without the rest of it.
    Begun,
    /// The same, and close the connection.
    Torn,
    /// Read the request and close the connection.
    HangUp,
    /// Accept everything, say nothing of it, and close the connection a moment after the answer.
    AcceptOnce,
}

/// More than the system takes at the end of a connection where nobody reads.
const WAITING_BYTES: usize = 200_000;

#[derive(Debug, Default)]
struct Received {
    recording: Recording,
    requests: Vec<String>,
    heads: Vec<String>,
    silent: Vec<TcpStream>,
    connections: usize,
    /// Requests that are being answered, and the most at once.
    at_once: usize,
    most_at_once: usize,
}

pub(crate) struct Collector {
    port: u16,
    received: Arc<Mutex<Received>>,
    is_up: Arc<AtomicBool>,
    /// The thread that has the listener.
    listening: Mutex<Option<JoinHandle<()>>>,
}

impl Collector {
    /// Starts one; `answer` gets the path (`/v1/traces`) and how many requests for it came before.
    pub(crate) fn start(answer: impl Fn(&str, usize) -> Answer + Send + Sync + 'static) -> Self {
        Self::start_at(0, answer)
    }

    /// As [`Self::start`] on a port, with which another one has ended.
    pub(crate) fn start_at(
        port: u16,
        answer: impl Fn(&str, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = bind(port);
        let port = listener.local_addr().unwrap().port();
        let (received, is_up) = (Arc::<Mutex<Received>>::default(), Arc::new(AtomicBool::new(true)));
        let (shared, answer, stays) = (Arc::clone(&received), Arc::new(answer), Arc::clone(&is_up));
        // Ends with the test process, or when it is killed.
        let take = move || {
            for stream in listener.incoming() {
                if !stays.load(Ordering::SeqCst) {
                    return;
                }
                let stream = stream.unwrap();
                let (shared, answer, stays) = (Arc::clone(&shared), Arc::clone(&answer), Arc::clone(&stays));
                shared.lock().unwrap().connections += 1;
                let serve =
                    move || while stays.load(Ordering::SeqCst) && serve(&stream, &*answer, &shared) {};
                std::thread::Builder::new().name("connection".into()).spawn(serve).unwrap();
            }
        };
        let listening = std::thread::Builder::new().name("collector".into()).spawn(take).unwrap();
        Self { port, received, is_up, listening: Mutex::new(Some(listening)) }
    }

    /// Listens no more, and leaves requests without an answer. The port is free when this returns.
    pub(crate) fn kill(&self) {
        self.is_up.store(false, Ordering::SeqCst);
        // Wakes it up.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
        if let Some(listening) = self.listening.lock().unwrap().take() {
            listening.join().unwrap();
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Connections that were made.
    pub(crate) fn connections(&self) -> usize {
        self.received.lock().unwrap().connections
    }

    /// The most requests that waited for their answers at the same time.
    pub(crate) fn most_at_once(&self) -> usize {
        self.received.lock().unwrap().most_at_once
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

/// Listens on a port, 0 for any. One that was free a moment ago may be the own end of somebody's connection now, which
/// passes.
pub(super) fn bind(port: u16) -> TcpListener {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        match TcpListener::bind(("127.0.0.1", port)) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < patience => {
                std::thread::yield_now();
            }
            listener => return listener.unwrap(),
        }
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
    let brief = Duration::from_millis(100);
    let mut queued = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, brief) {
        queued.push(stream);
    }
    (format!("http://{address}"), (listener, queued))
}

/// What zstd has compressed, as another implementation than ours reads it.
pub(super) fn unzstd(bytes: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(bytes).unwrap().read_to_end(&mut whole).unwrap();
    whole
}

/// One request; whether there may be another one.
fn serve(stream: &TcpStream, answer: &impl Fn(&str, usize) -> Answer, shared: &Mutex<Received>) -> bool {
    let mut reader = BufReader::new(stream);
    let (mut head, mut line) = (String::new(), String::new());
    while reader.read_line(&mut line).is_ok_and(|len| len > 2) {
        head.push_str(&line);
        line.clear();
    }
    let Some(path) = head.split_whitespace().nth(1).map(str::to_owned) else { return false };
    let field = |name: &str| {
        let value =
            |line: &str| line.to_ascii_lowercase().strip_prefix(name).map(|value| value.trim().to_owned());
        head.lines().find_map(value)
    };
    let length = field("content-length:").map_or(0, |value| value.parse().unwrap());
    let is_early = {
        let shared = shared.lock().unwrap();
        let before = shared.requests.iter().filter(|request| **request == path).count();
        length > WAITING_BYTES && matches!(answer(&path, before), Answer::Early)
    };
    if is_early {
        let mut shared = shared.lock().unwrap();
        shared.requests.push(path);
        shared.heads.push(head);
        let mut stream = stream;
        let is_sent = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_ok();
        shared.silent.push(stream.try_clone().unwrap());
        assert!(is_sent);
        return false;
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return false;
    }
    assert!(reader.buffer().is_empty(), "a request came before the answer to the one before");
    match field("content-encoding:").as_deref() {
        None => {}
        Some("gzip") => {
            let mut whole = Vec::new();
            flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut whole).unwrap();
            body = whole;
        }
        Some("zstd") => body = unzstd(&body),
        other => panic!("{other:?}"),
    }
    let answer = {
        let mut shared = shared.lock().unwrap();
        let before = shared.requests.iter().filter(|request| **request == path).count();
        shared.requests.push(path.clone());
        shared.heads.push(head);
        shared.at_once += 1;
        shared.most_at_once = shared.most_at_once.max(shared.at_once);
        answer(&path, before)
    };
    if let Answer::Late(time) = answer {
        std::thread::sleep(time);
    }
    let mut shared = shared.lock().unwrap();
    shared.at_once -= 1;
    let (status, response) = match &answer {
        Answer::Accept | Answer::AcceptOnce | Answer::Early | Answer::Late(_) | Answer::Torn => {
            ("200 OK", &[][..])
        }
        Answer::Begun => {
            shared.silent.push(stream.try_clone().unwrap());
            ("200 OK", &[][..])
        }
        Answer::With(response) => ("200 OK", &response[..]),
        Answer::Status(status) => (*status, &[][..]),
        Answer::Silence => {
            shared.silent.push(stream.try_clone().unwrap());
            return false;
        }
        Answer::HangUp => return false,
    };
    if status == "200 OK" {
        match path.rsplit('/').next() {
            Some("traces") => shared.recording.add_traces(&body),
            Some("metrics") => shared.recording.add_metrics(&body),
            other => panic!("{other:?}"),
        }
    }
    drop(shared);
    let is_begun = matches!(answer, Answer::Begun | Answer::Torn);
    let length = response.len() + if is_begun { 10 } else { 0 };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/x-protobuf\r\ncontent-length: {length}\r\n\r\n"
    );
    // A client that has given up is the client's business.
    let mut stream = stream;
    stream.write_all(&[head.as_bytes(), response].concat()).is_ok()
        && !is_begun
        && !matches!(answer, Answer::AcceptOnce)
}
