//! A receiver of OTLP/HTTP that is well or in trouble, as it is told: the process that is one, and that process seen by
//! the one that starts it. What is sent is read and thrown away.

use std::error::Error;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Where a receiver may listen: below the ports that connections get for their own end, lest a sender that finds nobody
/// connects to itself.
const PORTS: std::ops::Range<u16> = 24_318..24_400;

type Failure = Box<dyn Error + Send + Sync>;

/// What is wrong with the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nothing.
    None,
    /// Nobody listens.
    Absent,
    /// Each answer takes a second.
    Slow,
    /// 503, and to come again in a second.
    Refusing,
    /// Takes requests, and never answers.
    HalfOpen,
    /// Takes requests, answers with a head, and never with the rest.
    HeadOnly,
}

impl Trouble {
    const ALL: [Self; 6] =
        [Self::None, Self::Absent, Self::Slow, Self::Refusing, Self::HalfOpen, Self::HeadOnly];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Absent => "absent",
            Self::Slow => "slow",
            Self::Refusing => "refusing",
            Self::HalfOpen => "half-open",
            Self::HeadOnly => "head-only",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|trouble| trouble.name() == text)
    }
}

/// What the connections share.
struct State {
    trouble: Trouble,
    /// Those that wait for an answer that does not come.
    hanging: Vec<TcpStream>,
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listens until standard input ends, is what each line of it says, and answers such a line when it is.
pub(crate) fn run(port: u16) -> Result<(), Failure> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    let state = Arc::new(Mutex::new(State { trouble: Trouble::None, hanging: Vec::new() }));
    let shared = Arc::clone(&state);
    std::thread::Builder::new().name("accept".into()).spawn(move || accept(&listener, &shared))?;
    for line in std::io::stdin().lines() {
        let trouble = Trouble::parse(&line?).ok_or("no such trouble")?;
        let mut state = lock(&state);
        state.trouble = trouble;
        for stream in state.hanging.drain(..) {
            // It may have been closed by the other end.
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(state);
        println!("{}", trouble.name());
    }
    Ok(())
}

fn accept(listener: &TcpListener, state: &Arc<Mutex<State>>) {
    for stream in listener.incoming().flatten() {
        let state = Arc::clone(state);
        let serve = move || {
            let mut reader = BufReader::new(&stream);
            while let Ok(()) = serve(&mut reader, &stream, &state) {}
        };
        if std::thread::Builder::new().name("connection".into()).spawn(serve).is_err() {
            return;
        }
    }
}

/// Takes one request and answers as the receiver is then.
fn serve(
    reader: &mut BufReader<&TcpStream>,
    mut stream: &TcpStream,
    state: &Mutex<State>,
) -> std::io::Result<()> {
    let length = head(reader)?.ok_or(std::io::ErrorKind::UnexpectedEof)?;
    std::io::copy(&mut reader.take(length), &mut std::io::sink())?;
    let trouble = {
        // As one step: what hangs is known to whoever has it end.
        let mut state = lock(state);
        if matches!(state.trouble, Trouble::HalfOpen | Trouble::HeadOnly) {
            state.hanging.push(stream.try_clone()?);
        }
        state.trouble
    };
    match trouble {
        Trouble::HalfOpen => {}
        Trouble::HeadOnly => stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n")?,
        Trouble::Refusing => stream
            .write_all(b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\n\r\n")?,
        Trouble::None | Trouble::Absent | Trouble::Slow => {
            if trouble == Trouble::Slow {
                std::thread::sleep(Duration::from_secs(1));
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
        }
    }
    Ok(())
}

/// Reads the head of a request: the length of its body, if there is a request.
fn head(reader: &mut impl BufRead) -> std::io::Result<Option<u64>> {
    let (mut length, mut line) = (None, String::new());
    while reader.read_line(&mut line)? > 2 {
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
        line.clear();
    }
    Ok(length.filter(|_| !line.is_empty()))
}

/// The process that is the receiver.
pub(crate) struct Receiver {
    port: u16,
    process: Option<(Child, BufReader<ChildStdout>)>,
}

impl Receiver {
    /// One that is well.
    pub(crate) fn start() -> Result<Self, Failure> {
        let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
        let port = PORTS.into_iter().find(is_free).ok_or("no port is free for the receiver")?;
        let mut receiver = Self { port, process: None };
        receiver.be(Trouble::None)?;
        Ok(receiver)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}:{}", Ipv4Addr::LOCALHOST, self.port)
    }

    /// Returns when it is so.
    pub(crate) fn be(&mut self, trouble: Trouble) -> Result<(), Failure> {
        if trouble == Trouble::Absent {
            self.end();
            return Ok(());
        }
        let process = match &mut self.process {
            Some(process) => process,
            gone => gone.insert(Self::spawn(self.port)?),
        };
        let (process, said) = process;
        let input = process.stdin.as_mut().ok_or("the receiver has no standard input")?;
        input.write_all(format!("{}\n", trouble.name()).as_bytes())?;
        let mut line = String::new();
        if said.read_line(&mut line)? == 0 {
            return Err("the receiver has ended".into());
        }
        Ok(())
    }

    fn spawn(port: u16) -> Result<(Child, BufReader<ChildStdout>), Failure> {
        let mut process = Command::new(std::env::current_exe()?)
            .args(["receiver", &port.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let said = BufReader::new(process.stdout.take().ok_or("the receiver has no standard output")?);
        Ok((process, said))
    }

    fn end(&mut self) {
        if let Some((mut process, _)) = self.process.take() {
            // It may have ended by itself.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_tells_the_length_of_the_body() {
        let mut request: &[u8] = b"POST /v1/traces HTTP/1.1\r\nContent-Length: 12\r\nhost: a\r\n\r\nbody";
        assert_eq!(head(&mut request).unwrap(), Some(12));
        assert_eq!(request, b"body");
        assert_eq!(head(&mut &b""[..]).unwrap(), None);
    }

    #[test]
    fn every_trouble_has_a_name_of_its_own() {
        for trouble in Trouble::ALL {
            assert_eq!(Trouble::parse(trouble.name()), Some(trouble));
        }
        assert_eq!(Trouble::parse("fine"), None);
    }
}
