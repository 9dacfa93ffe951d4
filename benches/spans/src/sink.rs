//! A receiver of OTLP over HTTP and gRPC that counts the spans of the bench and forgets them. It is a process of its own,
//! so that its CPU time is not in the senders'.

use std::convert::Infallible;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use stepscope_otlp::{SpanHead, Visitor, proto};

/// Spans that have come.
static SPANS: AtomicU64 = AtomicU64::new(0);

/// Flag and length before a message of gRPC.
const GRPC_PREFIX: usize = 5;

/// What a sender over HTTP/2 may have under way before it has to wait.
const WINDOW_BYTES: u32 = 4 << 20;

/// Counts the spans that the bench makes, and none that a library adds.
#[derive(Default)]
struct Count(u64);

impl Visitor for Count {
    fn span(&mut self, head: &SpanHead<'_>) {
        self.0 += u64::from(matches!(head.name, "work" | "step"));
    }
}

/// Receives until standard input ends; says first where, in one line.
pub(crate) fn serve() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    listener.set_nonblocking(true)?;
    println!("{}", listener.local_addr()?);
    std::thread::Builder::new().name("end".into()).spawn(|| {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    })?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            let _ = stream.set_nodelay(true);
            tokio::spawn(async move {
                let service = hyper::service::service_fn(answer);
                let mut builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                builder
                    .http2()
                    .initial_stream_window_size(WINDOW_BYTES)
                    .initial_connection_window_size(WINDOW_BYTES);
                let _ = builder.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    })
}

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;

async fn answer(request: Request<Incoming>) -> Result<Answer, hyper::Error> {
    if request.method() == Method::GET {
        let count = SPANS.load(Ordering::Relaxed).to_string();
        return Ok(Response::new(Full::from(count).boxed_unsync()));
    }
    let is_grpc = request.headers().get("content-type").is_some_and(|kind| kind == "application/grpc");
    let is_of_traces =
        ["/v1/traces", "TraceService/Export"].iter().any(|end| request.uri().path().ends_with(end));
    let body = request.into_body().collect().await?.to_bytes();
    let message = if is_grpc { body.get(GRPC_PREFIX..).unwrap_or_default() } else { &body[..] };
    if is_of_traces {
        let mut count = Count::default();
        // What is damaged has no spans, and is missed in the result.
        let _ = proto::decode_traces(message, &mut count);
        SPANS.fetch_add(count.0, Ordering::Relaxed);
    }
    let (kind, body) = if is_grpc {
        let mut trailers = HeaderMap::new();
        trailers.insert("grpc-status", HeaderValue::from_static("0"));
        let empty = Full::from(Bytes::from_static(&[0; GRPC_PREFIX]));
        ("application/grpc", empty.with_trailers(async { Some(Ok(trailers)) }).boxed_unsync())
    } else {
        ("application/x-protobuf", Full::default().boxed_unsync())
    };
    let mut answer = Response::new(body);
    answer.headers_mut().insert("content-type", HeaderValue::from_static(kind));
    Ok(answer)
}

/// A sink at work; it ends with this.
pub(crate) struct Sink {
    process: Child,
    pub(crate) address: String,
}

impl Sink {
    pub(crate) fn start() -> io::Result<Self> {
        let program = std::env::current_exe()?;
        let mut process =
            Command::new(program).arg("sink").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut address = String::new();
        if let Some(output) = process.stdout.take() {
            io::BufRead::read_line(&mut io::BufReader::new(output), &mut address)?;
        }
        Ok(Self { process, address: address.trim().to_owned() })
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// How many spans the sink at `address` has received.
pub(crate) fn received(address: &str) -> io::Result<u64> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET / HTTP/1.1\r\nhost: sink\r\nconnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let count = text.rsplit("\r\n").find(|line| !line.is_empty()).and_then(|line| line.trim().parse().ok());
    count.ok_or_else(|| io::Error::other("the sink did not say how many"))
}
