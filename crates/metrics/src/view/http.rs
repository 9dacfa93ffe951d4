//! A server for scrapers: `GET /metrics` on one address, one answer a connection. Few connections at a time, each on a
//! thread of its own with a deadline, so that slow ones keep nobody waiting and cannot gather.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::prometheus::Format;

/// More connections at a time are refused.
const MAX_CONNECTIONS: usize = 16;
/// Longer heads of requests are refused.
const MAX_HEAD: usize = 8 << 10;
/// From the first byte to the last.
const DEADLINE: Duration = Duration::from_secs(10);
/// Scrapers need little.
const STACK_BYTES: usize = 256 << 10;

/// Renders what is known now.
pub(crate) type Render = Arc<dyn Fn(Format) -> String + Send + Sync>;

/// The server, until it is stopped.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    stops: Arc<AtomicBool>,
}

impl Server {
    /// Listens; the error says what is wrong with the address.
    pub(crate) fn start(address: SocketAddr, render: Render) -> Result<Self, String> {
        let listener = TcpListener::bind(address).map_err(|error| refusal(address, &error))?;
        let address = listener.local_addr().map_err(|error| refusal(address, &error))?;
        let stops = Arc::new(AtomicBool::new(false));
        let (flag, failed) = (Arc::clone(&stops), "failed to start the thread that answers scrapes");
        std::thread::Builder::new()
            .name("stepscope-scrape".into())
            .stack_size(STACK_BYTES)
            .spawn(move || accept(&listener, &flag, &render))
            .map_err(|error| format!("{failed}: {error}"))?;
        Ok(Self { address, stops })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    /// Nothing is accepted any more; connections that are open end by themselves.
    fn drop(&mut self) {
        self.stops.store(true, Ordering::SeqCst);
        // It waits for a connection, so it gets one.
        let any = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        let address = SocketAddr::new(any, self.address.port());
        let _ = TcpStream::connect_timeout(&address, Duration::from_millis(200));
    }
}

fn refusal(address: SocketAddr, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "failed to listen on {address}: another program does already; stop that, or choose another port (0 for any free one)"
        ),
        io::ErrorKind::AddrNotAvailable => {
            format!("failed to listen on {address}: this machine has no such address")
        }
        io::ErrorKind::PermissionDenied => {
            format!("failed to listen on {address}: not permitted; ports below 1024 are the administrator's")
        }
        _ => format!("failed to listen on {address}: {error}"),
    }
}

fn accept(listener: &TcpListener, stops: &AtomicBool, render: &Render) {
    let open = Arc::new(AtomicUsize::new(0));
    while !stops.load(Ordering::SeqCst) {
        let Ok((stream, _)) = listener.accept() else {
            // No descriptors left, say: not again at once.
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        if stops.load(Ordering::SeqCst) {
            return;
        }
        let slot = Slot::take(&open);
        if slot.is_none() {
            let _ = stream.set_nonblocking(true);
            let _ = (&stream)
                .write(b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            continue;
        }
        let render = Arc::clone(render);
        let handle = move || {
            let _slot = slot;
            // Whoever is gone cannot be told.
            let _ = serve(&stream, &render);
        };
        let thread = std::thread::Builder::new().name("stepscope-answer".into()).stack_size(STACK_BYTES);
        // Where there is no thread left, the connection is closed.
        let _ = thread.spawn(handle);
    }
}

/// One of the connections.
struct Slot(Arc<AtomicUsize>);

impl Slot {
    fn take(open: &Arc<AtomicUsize>) -> Option<Self> {
        let taken = open.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |open| {
            (open < MAX_CONNECTIONS).then_some(open + 1)
        });
        taken.ok().map(|_| Self(Arc::clone(open)))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

fn serve(stream: &TcpStream, render: &Render) -> io::Result<()> {
    let deadline = Instant::now() + DEADLINE;
    let mut head = Vec::with_capacity(1_024);
    let is_whole = loop {
        if head.windows(4).any(|bytes| bytes == b"\r\n\r\n") || head.windows(2).any(|bytes| bytes == b"\n\n")
        {
            break true;
        }
        if head.len() >= MAX_HEAD {
            break false;
        }
        let mut piece = [0; 1_024];
        stream.set_read_timeout(Some(left(deadline)?))?;
        let length = (&*stream).read(&mut piece)?;
        if length == 0 {
            return Ok(());
        }
        head.extend_from_slice(piece.get(..length).unwrap_or_default());
    };
    let head = String::from_utf8_lossy(&head);
    let mut lines = head.lines();
    let mut request = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (request.next().unwrap_or_default(), request.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    let plain = "text/plain; charset=utf-8";
    let (status, kind, body) = match (method, path) {
        _ if !is_whole => {
            ("431 Request Header Fields Too Large", plain, "the head of the request is too long\n".into())
        }
        ("GET" | "HEAD", "/metrics") => {
            let accept: Vec<&str> =
                lines.filter_map(|line| line.split_once(':')).filter_map(accepted).collect();
            let format = Format::accepted(&accept.join(","));
            ("200 OK", format.content_type(), render(format))
        }
        ("GET" | "HEAD", "/") => ("200 OK", plain, "stepscope: metrics are at /metrics\n".into()),
        ("GET" | "HEAD", _) => ("404 Not Found", plain, "metrics are at /metrics\n".into()),
        _ => ("405 Method Not Allowed", plain, "only GET and HEAD are answered\n".into()),
    };
    let length = body.len();
    let mut answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    if method != "HEAD" {
        answer.push_str(&body);
    }
    write_all(stream, answer.as_bytes(), deadline)?;
    // What the other side still sends would make the system throw the answer away.
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut rest = [0; 1_024];
    for _ in 0..MAX_HEAD {
        stream.set_read_timeout(Some(left(deadline)?.min(Duration::from_secs(1))))?;
        if (&*stream).read(&mut rest)? == 0 {
            break;
        }
    }
    Ok(())
}

fn accepted<'a>((name, value): (&str, &'a str)) -> Option<&'a str> {
    name.trim().eq_ignore_ascii_case("accept").then_some(value)
}

fn write_all(mut stream: &TcpStream, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(deadline)?))?;
        let written = stream.write(bytes)?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = bytes.get(written..).unwrap_or_default();
    }
    Ok(())
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}
