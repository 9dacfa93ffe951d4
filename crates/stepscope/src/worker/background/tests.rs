//! The death of the background thread, in a process of its own: the thread really panics, and what the handle's figures
//! say of spans still adds up. What the other ways to end come to is tested from outside (`tests/layer/process.rs`).

use std::collections::BTreeMap;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::AtomicBool;

use stepscope_core::Level;

use super::*;
use crate::api::figures::Figures;
use crate::api::guard::Guard;
use crate::config::ring::Overflow;
use crate::config::{Config, Format};
use crate::context::identity::{Given, Identity};
use crate::export::exporter::{Exported, Exporter};
use crate::hot::open::Spec;
use crate::hot::recorder;
use crate::process::exit;
use crate::shared::callsite::{Callsite, Source};
use crate::shared::sink_counts::SinkCounts;
use crate::{section, step};

/// Set where this is the process whose thread dies: its directory.
const DIES: &str = "LAYER_THREAD_DIES";

/// Its name, for the other process.
const NAME: &str = "worker::background::tests::spans_add_up_after_the_death_of_the_background_thread";

/// Long enough for a machine that has no time; only a failure takes as long.
const LONG: Duration = Duration::from_secs(60);

/// Whether the next record is the last.
static IS_FATAL: AtomicBool = AtomicBool::new(false);

/// A sink with a mistake in it.
#[derive(Default)]
struct Faulty(SinkCounts);

impl Sink for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn record(&mut self, _: &Context<'_>, _: &SectionRecord, _: &[u8]) {
        assert!(!IS_FATAL.load(Ordering::SeqCst), "a mistake of the layer's");
        self.0.exported += 1;
    }

    fn publish(&mut self, _: &Context<'_>, _: &Snapshot) {}

    fn flush(&mut self, _: &Context<'_>) {}

    fn work(&mut self, _: Instant) -> bool {
        false
    }

    fn counts(&self) -> SinkCounts {
        self.0
    }
}

/// Takes the first message, and keeps the second for ever.
#[derive(Debug, Default)]
struct Slow(u64);

impl Exporter for Slow {
    fn export(&mut self, _: &[u8], _: u64) -> Exported {
        self.0 += 1;
        if self.0 == 1 {
            return Exported::Taken;
        }
        loop {
            std::thread::park();
        }
    }
}

fn steps(count: u64) {
    for number in 0..count {
        let _step = step!(number);
        let _part = section!("part");
    }
}

/// Waits until everything so far has been taken. (One of the sinks loses it.)
fn let_it_take(control: &Control) {
    let flushed = control.flush(LONG, Reach::Written);
    assert!(matches!(flushed, Flushed::Dropped(_)), "{flushed:?}");
}

fn print(when: &str, recorder: &Recorder) {
    let figures = Figures::of(recorder);
    let count = |path: &str| figures.section(path).map_or(0, |section| section.count);
    println!("= {when}.steps {}", count("step"));
    println!("= {when}.parts {}", count("step/part"));
    let spans = figures.spans();
    println!("= {when}.emitted {}", spans.emitted);
    println!("= {when}.dropped {}", spans.dropped.iter().map(|&(_, count)| count).sum::<u64>());
    for &(name, exported, lost) in &spans.sinks {
        println!("= {when}.{name}.exported {exported}\n= {when}.{name}.lost {lost}");
    }
    println!("= {when}.threads {}", recorder.thread_registry.read().1.len());
}

/// The process whose thread dies.
fn live(directory: &std::path::Path) {
    // Small rings, so that they are full soon when nobody empties them.
    let config = Config { ring_bytes: 0, level: Level::Detailed, ..Config::default() };
    let recorder =
        Arc::new(Recorder::new(config, Identity::resolve(Given::default(), |_| None, &mut Vec::new())));
    assert!(recorder::make_current(&recorder));
    let control = Arc::new(Control::default());
    let mut sinks = Sinks {
        directory: Some(DirectorySink::create(directory, Format::Protobuf, 1 << 30).unwrap()),
        #[cfg(feature = "http")]
        http: None,
        handover: Some(ExporterSink::create(Box::new(Slow::default())).unwrap()),
        unusable: vec![Box::new(Faulty::default())],
    };
    // Takes connections, by the system, and answers nothing.
    let receiver = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    #[cfg(feature = "http")]
    {
        use crate::export::http::{HttpSink, Targets};
        let mut otlp = crate::config::otlp::Otlp::default();
        otlp.set_endpoint(format!("http://{}", receiver.local_addr().unwrap()));
        sinks.http = Some(HttpSink::create(Targets::parse(&otlp).unwrap()).unwrap());
    }
    sinks
        .unusable
        .push(Box::new(crate::export::unusable_sink::UnusableSink::new("nowhere", LossReason::WriteFailed)));
    exit::hook_panics(&recorder);
    start(Arc::clone(&recorder), sinks, Arc::clone(&control)).unwrap();
    let guard = Guard::new(Arc::clone(&recorder), Arc::clone(&control), None);

    steps(10);
    let has_taken = || Figures::of(&recorder).spans().sinks.contains(&("exporter", 20, 0));
    while !has_taken() {
        let_it_take(&control);
    }
    // A message that is kept, and one that waits behind it.
    for _ in 0..2 {
        steps(10);
        let_it_take(&control);
    }
    let open = step!(30);
    IS_FATAL.store(true, Ordering::SeqCst);
    steps(10);
    // It is dead when this is answered, long before time is up.
    assert_eq!(control.flush(LONG, Reach::Written), Flushed::TimedOut);
    // Who waits is told before the thread has ended, and parts with what it recorded itself.
    while recorder.thread_registry.read().1.len() > 1 {
        std::thread::yield_now();
    }
    print("death", &recorder);
    drop(open);
    // More than the ring has room for, here and on threads that end.
    steps(2_000);
    for _ in 0..20 {
        let thread = std::thread::Builder::new().name("late".into()).spawn(|| steps(1_000)).unwrap();
        thread.join().unwrap();
    }
    assert_eq!(guard.flush(LONG), Flushed::TimedOut);
    print("later", &recorder);
    drop(guard);
    print("end", &recorder);
    drop(receiver);
}

/// Runs this test in a process of its own, as the one whose thread dies, by a shell's `script`.
fn run(script: &str) -> (Output, BTreeMap<String, u64>) {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", NAME, "--nocapture"]).current_dir(directory.path());
    let output = command.env(DIES, directory.path().join("profiles")).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let lines = said.lines().filter_map(|line| line.strip_prefix("= ")?.split_once(' '));
    let figures = lines.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect();
    (output, figures)
}

/// Ends another step for each that it is given, as a thread does that makes them faster than they are taken.
struct Echo {
    recorder: Arc<Recorder>,
    counts: SinkCounts,
}

impl Echo {
    /// A worker whose only sink this is.
    fn worker(config: Config) -> (Arc<Recorder>, Worker) {
        let identity = Identity::resolve(Given::default(), |_| None, &mut Vec::new());
        let recorder = Arc::new(Recorder::new(config, identity));
        let echo = Self { recorder: Arc::clone(&recorder), counts: SinkCounts::default() };
        let sinks = Sinks {
            directory: None,
            #[cfg(feature = "http")]
            http: None,
            handover: None,
            unusable: vec![Box::new(echo)],
        };
        (Arc::clone(&recorder), Worker::new(recorder, sinks))
    }

    /// A step of the thread that calls it.
    fn step(recorder: &Arc<Recorder>) {
        static STEP: Callsite = Callsite::new("step", None, "module", "file", 1, &[]);
        thread::with(recorder, |state| {
            let spec = Spec { step: Some(0), ..Spec::default() };
            let key = state.enter_section(Source::Section(&STEP), &spec, &[], |_| ()).unwrap();
            state.end_section(key);
        });
    }
}

impl Sink for Echo {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn record(&mut self, _: &Context<'_>, _: &SectionRecord, _: &[u8]) {
        self.counts.exported += 1;
        assert!(self.counts.exported < 1_000, "no turn has an end");
        Self::step(&self.recorder);
    }

    fn publish(&mut self, _: &Context<'_>, _: &Snapshot) {}

    fn flush(&mut self, _: &Context<'_>) {}

    fn work(&mut self, _: Instant) -> bool {
        false
    }

    fn counts(&self) -> SinkCounts {
        self.counts
    }
}

#[test]
fn a_turn_has_an_end_where_sections_come_faster_than_they_are_taken() {
    for overflow in [Overflow::DropNewest, Overflow::DropOldest] {
        let (recorder, mut worker) = Echo::worker(Config { overflow, ..Config::default() });
        (0..10).for_each(|_| Echo::step(&recorder));
        // Each turn takes what was there before it, and leaves what came meanwhile.
        for turn in 1..4 {
            worker.drain(|| false);
            assert_eq!(worker.taken, 10 * turn, "{overflow:?}");
        }
        // One that is over leaves the rest to the next one, also of a thread that has ended.
        worker.taken = LOOK_INTERVAL - 5;
        worker.threads.iter().for_each(|thread| thread.retired.store(true, Ordering::Release));
        assert!(worker.drain(|| true).is_cut);
        assert_eq!((worker.taken, worker.threads.len()), (LOOK_INTERVAL, 1));
        assert!(!worker.drain(|| true).is_cut);
        // What was left of those before, and what has come for each since.
        assert_eq!((worker.taken, worker.threads.len()), (LOOK_INTERVAL + 10, 0));
    }
}

/// Threads go on when the run ends, and what they are ending then nobody takes any more.
#[test]
fn what_ends_after_the_last_look_is_lost_to_the_end_of_the_run() {
    let (recorder, mut worker) = Echo::worker(Config::default());
    (0..10).for_each(|_| Echo::step(&recorder));
    worker.finish(Instant::now() + LONG, None);
    // A step has come for each that was taken, those of the last turn after it.
    let figures = Figures::of(&recorder);
    let spans = figures.spans();
    let [("echo", arrived, lost)] = spans.sinks[..] else { panic!("{spans:?}") };
    assert!(arrived > 20 && lost >= 10, "{spans:?}");
    assert_eq!(arrived + lost, spans.emitted);
    // And whatever comes later.
    (0..10).for_each(|_| Echo::step(&recorder));
    let figures = Figures::of(&recorder);
    let spans = figures.spans();
    assert_eq!(spans.sinks, [("echo", arrived, lost + 10)]);
    assert_eq!(arrived + lost + 10, spans.emitted);
}

/// The sums of an epoch that has just ended are published in the same turn, and the spans before them.
#[test]
fn a_flush_is_told_of_what_is_lost_for_another_reason_in_its_turn() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("profiles");
    let recorder = Arc::new(Recorder::new(
        Config::default(),
        Identity::resolve(Given::default(), |_| None, &mut Vec::new()),
    ));
    let sinks = Sinks {
        directory: Some(DirectorySink::create(&path, Format::Protobuf, 1 << 30).unwrap()),
        #[cfg(feature = "http")]
        http: None,
        handover: None,
        unusable: Vec::new(),
    };
    let control = Arc::new(Control::default());
    Echo::step(&recorder);
    std::fs::remove_dir_all(&path).unwrap();
    recorder.publish_soon.store(true, Ordering::Relaxed);
    let asked = Arc::clone(&control);
    let ask = move || (asked.flush(LONG, Reach::Delivered), asked.end(LONG));
    let asking = std::thread::Builder::new().name("flush".into()).spawn(ask).unwrap();
    // Until it has asked.
    control.wait_until(Instant::now() + LONG);
    Worker::new(recorder, sinks).run(&control);
    assert_eq!(asking.join().unwrap(), (Flushed::Dropped(1), true));
}

#[test]
fn spans_add_up_after_the_death_of_the_background_thread() {
    if let Some(directory) = std::env::var_os(DIES) {
        return live(directory.as_ref());
    }
    // A program that hangs is ended: it fails then.
    for (script, is_heard) in [
        ("exec timeout 300 \"$@\"", true),
        // A full pipe that nobody reads.
        ("mkfifo full; exec 9<>full; head -c 65536 /dev/zero >&9; exec timeout 300 \"$@\" 2>&9", false),
    ] {
        let (output, figures) = run(script);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{:?} {said} {figures:?}", output.status);
        assert_eq!(said.contains("the background thread has panicked at "), is_heard, "{said}");
        assert_eq!(said.contains("a mistake of the layer's\n"), is_heard, "{said}");
        // Said by us and by nobody else.
        assert!(said.lines().all(|line| line.starts_with("stepscope: ")), "{said}");
        for (when, steps, open) in [("death", 40, 0), ("later", 22_040, 1), ("end", 22_040, 1)] {
            let figure = |name: &str| figures[&format!("{when}.{name}")];
            // The sums go on.
            assert_eq!((figure("steps"), figure("parts")), (steps + open, steps), "{when} {figures:?}");
            // The open step is a span, too. (The run's mark of its start is made by who sets up.)
            let emitted = figure("emitted");
            assert_eq!(emitted, 2 * steps + open, "{when}");
            for sink in ["directory", "exporter", "faulty", "nowhere"] {
                let (exported, lost) = (figure(&format!("{sink}.exported")), figure(&format!("{sink}.lost")));
                assert_eq!(exported + lost + figure("dropped"), emitted, "{when} {sink} {figures:?}");
            }
            // What was written before stays so, and of the steps of the end only what was taken before the mistake.
            assert!((60..80).contains(&figure("directory.exported")), "{when} {figures:?}");
            assert_eq!((figure("exporter.exported"), figure("faulty.exported")), (20, 60), "{when}");
            assert_eq!(figure("dropped") > 0, when != "death", "{when} {figures:?}");
            #[cfg(feature = "http")]
            assert_eq!(figure("otlp.lost") + figure("dropped"), emitted, "{when} {figures:?}");
            // Threads that have ended are not kept: only this one is left.
            assert_eq!(figure("threads"), 1, "{when}");
        }
    }
}
