//! Many spans on threads that come and go: eight at a time, that hand spans to each other, of which some end spans faster
//! than anybody takes them. Counted on both sides, to the span; and memory must not grow with their number.

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

/// Resident memory, when everything so far is gone.
fn settled_bytes(run: &Guard) -> u64 {
    let _ = run.flush(FOR_EVER);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
}

pub(crate) fn run(spans: u64) {
    let received = Received::<Ids>::default();
    *received.0.lock().unwrap() = Ids::with_room(spans);
    let (run, directory) = start(&received);
    let all_turns = spans / OF_A_TURN;
    let (mut begun, mut threads, mut after) = (0, 0, Vec::new());
    while begun < all_turns {
        std::thread::scope(|scope| {
            for _ in 0..AT_A_TIME.min(all_turns - begun) {
                // They end at different times.
                let turns = OF_A_LIFE / OF_A_TURN * (threads % AT_A_TIME + 1) * 2 / (AT_A_TIME + 1);
                let turns = turns.min(all_turns.div_ceil(40)).min(all_turns - begun);
                let is_hasty = threads % HASTY == HASTY - 1;
                let (run, name) = (&run, format!("visitor-{threads}"));
                let life = move || live(run, turns, is_hasty);
                std::thread::Builder::new().name(name).spawn_scoped(scope, life).unwrap();
                (begun, threads) = (begun + turns, threads + 1);
            }
        });
        after.push((begun, settled_bytes(&run)));
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
    let (_, tenth_bytes) = *after.iter().find(|&&(begun, _)| begun * 10 >= all_turns).unwrap();
    let (_, end_bytes) = *after.last().unwrap();
    let most_bytes = after.iter().map(|&(_, bytes)| bytes).max().unwrap();
    say("threads", threads);
    say("spans", made);
    say("lost", lost + lost_there);
    say("arrived", arrived);
    say("traces", traces);
    say("parents", ids.parents);
    say("resident.tenth_bytes", tenth_bytes);
    say("resident.end_bytes", end_bytes);
    say("resident.most_bytes", most_bytes);
    drop(directory);
}
