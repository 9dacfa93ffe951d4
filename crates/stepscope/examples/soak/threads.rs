//! Many spans on threads that come and go: eight at a time, that hand spans to each other, of which some end spans faster
//! than anybody takes them. Counted on both sides, to the span; and memory must not grow with their number: it fails where it does.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use stepscope::{Guard, section, step};
use tracing::{Span, info_span};

use crate::received::{self, Keep, Received};
use crate::{FOR_EVER, PROGRESS, check_account, say, start};

/// Threads at a time.
const AT_A_TIME: u64 = 8;

/// Spans of a thread's whole life, if there are enough for all.
const OF_A_LIFE: u64 = 100_000;

/// Spans of a turn; see [`turn`].
const OF_A_TURN: u64 = 10;

/// After so many turns a thread waits until everything is taken: what it leaves in between fits into its ring.
const TURNS: u64 = 200;

/// One thread in so many waits for nobody.
const HASTY: u64 = 16;

/// What may be in use after all spans beyond what was after a tenth of them: names of threads that have ended, and spans that
/// outlive their threads.
const KNOWN_BYTES: u64 = 4 << 20;

/// And where spans were lost: in a directory that has used half of its bound, spans wait for the roots of their traces, and
/// some of those have been lost. (Then the oldest go: `thinning.rs` of the layer.)
const WAITING_BYTES: u64 = 32 << 20;

/// What may be resident beyond that and is not in use: what the arenas of the allocator keep of the exporter's queue, of
/// which threads that wait for nobody fill all 16 MiB, and of rings and messages.
const SLACK_BYTES: u64 = 24 << 20;

/// Ids of what arrived, in room that was taken before: it does not grow.
#[derive(Debug, Default)]
struct Ids {
    spans: Vec<u64>,
    /// Of those that announce: one a trace.
    traces: Vec<u128>,
    parents: u64,
}

impl Ids {
    fn with_room(spans: u64) -> Self {
        let mut ids = Self::default();
        // Written to once, so that it is there.
        ids.spans.resize(spans as usize + 16, 1);
        ids.traces.resize(spans as usize / 4 + 16, 1);
        ids.spans.clear();
        ids.traces.clear();
        ids
    }
}

impl Keep for Ids {
    fn keep(&mut self, span: &mut received::Span) {
        assert!(span.start_ns <= span.end_ns && span.id != 0 && span.id != span.parent, "{span:?}");
        self.spans.push(span.id);
        self.traces.extend(span.announced.map(|_| span.trace));
        self.parents += u64::from(span.parent != 0);
    }
}

/// Spans on their way to another thread.
static HANDED: Mutex<Vec<Span>> = Mutex::new(Vec::new());

static MADE: AtomicU64 = AtomicU64::new(0);

/// Ten spans: six in a step, one of which another thread may end, and four outside of any.
fn turn(number: u64) {
    {
        let _step = step!(number, samples = 8);
        let forward = info_span!("forward", number, loss = 0.5, text = "some text").entered();
        for _ in 0..2 {
            let _layer = section!("layer", number = number);
        }
        drop(forward);
        let handed = info_span!("handed", last = tracing::field::Empty);
        handed.in_scope(|| {
            Span::current().record("last", number);
        });
        let other = {
            let mut waiting = HANDED.lock().unwrap();
            waiting.push(handed);
            // Some wait for long, so that they outlive their threads.
            (waiting.len() > 4).then(|| waiting.swap_remove((number % 4) as usize))
        };
        if let Some(other) = other {
            other.in_scope(|| ());
        }
        info_span!("last").in_scope(|| ());
    }
    let outside = info_span!("outside", number);
    outside.in_scope(|| {
        let _part = section!("part");
        info_span!("inside").in_scope(|| ());
    });
    info_span!(parent: &outside, "chosen").in_scope(|| ());
}

/// How often a turn ends a section of each path.
fn paths_of_a_turn() -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        ("step", 1),
        ("step/forward", 1),
        ("step/forward/layer", 2),
        ("step/handed", 1),
        ("step/last", 1),
        ("outside", 1),
        ("outside/part", 1),
        ("outside/part/inside", 1),
        ("outside/chosen", 1),
    ])
}

fn live(run: &Guard, turns: u64, is_hasty: bool) {
    for number in 0..turns {
        turn(number);
        if number % TURNS == TURNS - 1 && !is_hasty {
            let _ = run.flush(FOR_EVER);
        }
        PROGRESS.fetch_add(1, Ordering::Relaxed);
    }
    MADE.fetch_add(turns * OF_A_TURN, Ordering::Relaxed);
}

/// Memory of the process when everything so far is gone.
#[derive(Debug, Clone, Copy)]
struct Settled {
    resident_bytes: u64,
    /// What the allocator has given out and not got back.
    used_bytes: u64,
}

impl Settled {
    fn now(run: &Guard) -> Self {
        let _ = run.flush(FOR_EVER);
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let resident = line.trim().trim_end_matches(" kB").parse::<u64>().unwrap();
        Self { resident_bytes: resident * 1_024, used_bytes: used_bytes() }
    }
}

#[cfg(target_env = "gnu")]
#[expect(unsafe_code, reason = "the allocator has no safe interface")]
fn used_bytes() -> u64 {
    // SAFETY: it takes nothing, and locks each arena for a short time.
    let info = unsafe { libc::mallinfo2() };
    (info.uordblks + info.hblkhd) as u64
}

/// Other allocators do not say.
#[cfg(not(target_env = "gnu"))]
fn used_bytes() -> u64 {
    0
}

pub(crate) fn run(spans: u64) {
    let received = Received::<Ids>::default();
    *received.0.lock().unwrap() = Ids::with_room(spans);
    let (run, directory) = start(&received);
    let all_turns = spans / OF_A_TURN;
    let (mut begun, mut threads, mut after) = (0, 0, Vec::new());
    while begun < all_turns {
        std::thread::scope(|scope| {
            let mut living = Vec::new();
            for _ in 0..AT_A_TIME.min(all_turns - begun) {
                // They end at different times.
                let turns = OF_A_LIFE / OF_A_TURN * (threads % AT_A_TIME + 1) * 2 / (AT_A_TIME + 1);
                let turns = turns.min(all_turns.div_ceil(40)).min(all_turns - begun);
                let is_hasty = threads % HASTY == HASTY - 1;
                let (run, name) = (&run, format!("visitor-{threads}"));
                let life = move || live(run, turns, is_hasty);
                living.push(std::thread::Builder::new().name(name).spawn_scoped(scope, life).unwrap());
                (begun, threads) = (begun + turns, threads + 1);
            }
            // Joined, so that what they tear down at their very end is gone, too.
            living.into_iter().for_each(|thread| thread.join().unwrap());
        });
        after.push((begun, Settled::now(&run)));
    }
    HANDED.lock().unwrap().clear();
    let handle = run.handle();
    drop(run);

    let figures = handle.figures();
    let (emitted, lost) = check_account(&figures);
    let made = MADE.load(Ordering::Relaxed);
    // And the mark of the run's start, and its end.
    assert_eq!((emitted, made), (all_turns * OF_A_TURN + 2, all_turns * OF_A_TURN));
    // The sums know what was lost, too.
    for (path, times) in paths_of_a_turn() {
        assert_eq!(figures.section(path).map(|section| section.count), Some(times * all_turns), "{path}");
    }
    assert_eq!(figures.sections().len(), paths_of_a_turn().len() + 1);

    let mut ids = std::mem::take(&mut *received.0.lock().unwrap());
    let (arrived, traces) = (ids.spans.len() as u64, ids.traces.len() as u64);
    let by_exporter = figures.spans().sinks.iter().find(|(name, ..)| *name != "directory").unwrap();
    let &(_, taken, lost_there) = by_exporter;
    assert_eq!((arrived, arrived + lost + lost_there), (taken, emitted));
    ids.spans.sort_unstable();
    ids.traces.sort_unstable();
    assert!(ids.spans.windows(2).all(|pair| pair[0] != pair[1]), "span ids repeat");
    assert!(ids.traces.windows(2).all(|pair| pair[0] != pair[1]), "trace ids repeat");

    // After a tenth everything that is kept has been made.
    let (_, tenth) = *after.iter().find(|&&(begun, _)| begun * 10 >= all_turns).unwrap();
    let (_, end) = *after.last().unwrap();
    let most = |bytes: fn(&Settled) -> u64| after.iter().map(|(_, settled)| bytes(settled)).max().unwrap();
    let most_resident_bytes = most(|settled| settled.resident_bytes);
    let most_used_bytes = most(|settled| settled.used_bytes);
    say("threads", threads);
    say("spans", made);
    say("lost", lost + lost_there);
    say("arrived", arrived);
    say("traces", traces);
    say("parents", ids.parents);
    say("resident.tenth_bytes", tenth.resident_bytes);
    say("resident.end_bytes", end.resident_bytes);
    say("resident.most_bytes", most_resident_bytes);
    say("used.tenth_bytes", tenth.used_bytes);
    say("used.end_bytes", end.used_bytes);
    say("used.most_bytes", most_used_bytes);
    let waiting_bytes = if lost + lost_there > 0 { WAITING_BYTES } else { 0 };
    let used_bytes = end.used_bytes.saturating_sub(tenth.used_bytes);
    assert!(used_bytes <= KNOWN_BYTES + waiting_bytes, "memory grows: {tenth:?} {end:?}");
    let resident_bytes = end.resident_bytes.saturating_sub(tenth.resident_bytes);
    assert!(resident_bytes <= KNOWN_BYTES + waiting_bytes + SLACK_BYTES, "memory grows: {tenth:?} {end:?}");
    drop(directory);
}
