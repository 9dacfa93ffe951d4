//! What lies between a program and a collector that is well: a TCP proxy that forwards, waits, delays answers, or only
//! seems to be there. It knows nothing of what it forwards. What is wrong begins when a given number of bytes of
//! requests has passed, so that it comes in the middle of what a program sends, however fast that is.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that are forwarded in one piece, at most.
const PIECE_BYTES: usize = 16 << 10;

/// How the proxy treats what comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// As it comes.
    Forward,
    /// Nothing goes on in either direction, and nothing is lost: it goes on when the manner changes.
    Hold,
    /// Each piece of an answer waits for so long.
    Late(Duration),
    /// Connections stay open, requests go on, and answers vanish, for good: a connection that was so does not get well.
    SwallowAnswers,
    /// The same, and requests vanish as well, from the byte on at which it begins.
    SwallowAll,
}

impl Manner {
    fn is_half_open(self) -> bool {
        matches!(self, Self::SwallowAnswers | Self::SwallowAll)
    }
}

#[derive(Debug)]
struct State {
    manner: Manner,
    /// What comes next, and after how many further bytes of requests.
    next: Option<(u64, Manner)>,
    /// Connections that were made since the manner became what it is.
    connections: u64,
    /// All connections, with what has become of them for good.
    open: Vec<Pair>,
    is_closed: bool,
}

#[derive(Debug)]
struct Pair {
    near: TcpStream,
    far: TcpStream,
    /// It is half open.
    stuck: Option<Manner>,
}

impl State {
    fn turn(&mut self, manner: Manner) {
        (self.manner, self.connections) = (manner, 0);
        if manner.is_half_open() {
            for pair in &mut self.open {
                pair.stuck.get_or_insert(manner);
            }
        }
    }
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The manner in which a piece of connection `index` is to be treated, after it has been waited for.
    fn manner(&self, index: usize) -> Manner {
        let mut state = self.lock();
        while state.manner == Manner::Hold && !state.is_closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.open[index].stuck.unwrap_or(state.manner)
    }

    /// Counts `bytes` bytes of a request of connection `index`; says how many of them go on.
    fn passes(&self, index: usize, bytes: usize) -> usize {
        let before = self.manner(index);
        let mut state = self.lock();
        let mut first = bytes;
        if let Some((left, manner)) = state.next {
            if left > bytes as u64 {
                state.next = Some((left - bytes as u64, manner));
            } else {
                first = left as usize;
                state.next = None;
                state.turn(manner);
                self.changed.notify_all();
            }
        }
        if before == Manner::SwallowAll {
            return 0;
        }
        let is_cut = state.open[index].stuck == Some(Manner::SwallowAll);
        if is_cut { first } else { bytes }
    }
}

/// A running proxy; it ends when it is dropped, and closes all connections then.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Listens on loopback for connections to `far`.
    ///
    /// # Errors
    /// When that is not possible.
    pub fn start(far: &str, manner: Manner) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let state = State { manner, next: None, connections: 0, open: Vec::new(), is_closed: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let (accepting, far) = (Arc::clone(&shared), far.to_owned());
        std::thread::Builder::new()
            .name("proxy".into())
            .spawn(move || accept(&listener, &far, &accepting))?;
        Ok(Self { address, shared })
    }

    /// Where it listens, as `host:port`.
    #[must_use]
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// From now on.
    pub fn turn(&self, manner: Manner) {
        self.shared.lock().turn(manner);
        self.shared.changed.notify_all();
    }

    /// When `bytes` further bytes of requests have gone by, all connections together.
    pub fn turn_after(&self, bytes: u64, manner: Manner) {
        self.shared.lock().next = Some((bytes, manner));
    }

    /// Waits until the manner that was to come is there, and `connections` further connections were made.
    ///
    /// # Errors
    /// When that is not so within `limit`.
    pub fn wait_for_connections(&self, connections: u64, limit: Duration) -> Result<(), String> {
        let deadline = Instant::now() + limit;
        let mut state = self.shared.lock();
        while state.next.is_some() || state.connections < connections {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                return Err(format!("{} connections, not {connections}: {state:?}", state.connections));
            };
            let woken = self.shared.changed.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_closed = true;
        for pair in &state.open {
            // The other end may have closed it.
            let _ = (pair.near.shutdown(Shutdown::Both), pair.far.shutdown(Shutdown::Both));
        }
        drop(state);
        self.shared.changed.notify_all();
        // The listener looks whether it is over when somebody comes.
        let _ = TcpStream::connect(self.address);
    }
}

fn accept(listener: &TcpListener, far: &str, shared: &Arc<Shared>) {
    for near in listener.incoming().flatten() {
        if shared.lock().is_closed {
            return;
        }
        // Where nobody listens behind it, neither does the proxy: the connection ends at once.
        let Ok(far) = TcpStream::connect(far) else { continue };
        // Whoever fails here has no descriptors left, and the test fails for want of an answer.
        let _ = connect(near, far, shared);
    }
}

fn connect(near: TcpStream, far: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let (near_too, far_too) = (near.try_clone()?, far.try_clone()?);
    let mut state = shared.lock();
    let index = state.open.len();
    let stuck = Some(state.manner).filter(|manner| manner.is_half_open());
    state.open.push(Pair { near: near.try_clone()?, far: far.try_clone()?, stuck });
    state.connections += 1;
    drop(state);
    shared.changed.notify_all();
    let (for_requests, for_answers) = (Arc::clone(shared), Arc::clone(shared));
    let requests = move || forward_requests(near, far, index, &for_requests);
    let answers = move || forward_answers(far_too, near_too, index, &for_answers);
    std::thread::Builder::new().name("requests".into()).spawn(requests)?;
    std::thread::Builder::new().name("answers".into()).spawn(answers)?;
    Ok(())
}

/// Ends with the connection, of whichever end; what an end does then is of no interest here.
fn forward_requests(mut near: TcpStream, mut far: TcpStream, index: usize, shared: &Shared) {
    let mut piece = [0; PIECE_BYTES];
    while let Ok(count @ 1..) = near.read(&mut piece) {
        let passing = shared.passes(index, count);
        if far.write_all(&piece[..passing]).is_err() {
            break;
        }
    }
    // Through a connection that is half open not even its end gets through.
    if !shared.manner(index).is_half_open() {
        let _ = far.shutdown(Shutdown::Write);
    }
}

fn forward_answers(mut far: TcpStream, mut near: TcpStream, index: usize, shared: &Shared) {
    let mut piece = [0; PIECE_BYTES];
    while let Ok(count @ 1..) = far.read(&mut piece) {
        let manner = shared.manner(index);
        if let Manner::Late(time) = manner {
            std::thread::sleep(time);
        }
        if !manner.is_half_open() && near.write_all(&piece[..count]).is_err() {
            break;
        }
    }
    if !shared.manner(index).is_half_open() {
        let _ = near.shutdown(Shutdown::Write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(60);

    fn open(proxy: &Proxy) -> TcpStream {
        let stream = TcpStream::connect(proxy.address()).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        stream
    }

    #[test]
    fn bytes_go_through_and_wait_where_they_are_held() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let proxy = Proxy::start(&listener.local_addr().unwrap().to_string(), Manner::Forward).unwrap();
        let mut near = open(&proxy);
        let mut far = listener.accept().unwrap().0;
        let mut piece = [0; 3];
        near.write_all(b"one").unwrap();
        far.read_exact(&mut piece).unwrap();
        assert_eq!(&piece, b"one");
        proxy.turn(Manner::Hold);
        near.write_all(b"two").unwrap();
        far.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert!(far.read(&mut piece).is_err(), "nothing comes meanwhile");
        far.set_read_timeout(Some(LIMIT)).unwrap();
        proxy.turn(Manner::Late(Duration::from_millis(1)));
        far.read_exact(&mut piece).unwrap();
        assert_eq!(&piece, b"two", "nothing is lost");
        far.write_all(b"yes").unwrap();
        near.read_exact(&mut piece).unwrap();
        assert_eq!(&piece, b"yes");
    }

    #[test]
    fn a_connection_that_is_half_open_stays_so_and_a_fresh_one_is_well() {
        for (manner, arriving) in [(Manner::SwallowAnswers, "onetwo"), (Manner::SwallowAll, "onet")] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let proxy = Proxy::start(&listener.local_addr().unwrap().to_string(), Manner::Forward).unwrap();
            let stuck = open(&proxy);
            let mut far = listener.accept().unwrap().0;
            proxy.turn_after(4, manner);
            (&stuck).write_all(b"onetwo").unwrap();
            let mut got = vec![0; arriving.len()];
            far.read_exact(&mut got).unwrap();
            assert_eq!(got, arriving.as_bytes());
            proxy.wait_for_connections(0, LIMIT).unwrap();
            proxy.turn(Manner::Forward);
            let fresh = open(&proxy);
            let mut far_fresh = listener.accept().unwrap().0;
            proxy.wait_for_connections(1, LIMIT).unwrap();
            for (far, is_well) in [(&mut far, false), (&mut far_fresh, true)] {
                far.write_all(b"answer").unwrap();
                far.shutdown(Shutdown::Write).unwrap();
                let near = if is_well { &fresh } else { &stuck };
                near.set_read_timeout(Some(if is_well { LIMIT } else { Duration::from_millis(50) })).unwrap();
                let mut answer = String::new();
                let end = { near }.read_to_string(&mut answer);
                assert_eq!((end.is_ok(), answer.as_str()), (is_well, if is_well { "answer" } else { "" }));
            }
        }
    }
}
