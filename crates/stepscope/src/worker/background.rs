//! The background thread: takes records out of the rings, hands them to the sinks, publishes aggregates, and
//! ends the run, or, should it die of a panic, accounts for what it leaves. It never traces itself.

mod live_memory;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use stepscope_core::{LossReason, SectionKind};

use crate::export::Sink;
use crate::export::directory::DirectorySink;
use crate::export::encode::Context;
use crate::export::exporter_sink::ExporterSink;
#[cfg(feature = "http")]
use crate::export::http::HttpSink;
use crate::export::known_callsite::Known;
use crate::export::publish::Snapshot;
use crate::export::thread_names::ThreadNames;
use crate::hot::budget::Measured;
use crate::hot::rate::SHARE_INTERVAL;
use crate::hot::recorder::Recorder;
use crate::hot::span_filter::SpanFilter;
use crate::hot::thread;
use crate::os::catch_panic::catch_panic;
use crate::os::clock::now_ns;
use crate::os::diagnostics::print_diagnostic;
use crate::os::ticks::Keeper;
use crate::os::{memory, sys};
use crate::shared::attrs;
use crate::shared::record::SectionRecord;
use crate::shared::thread_shared::ThreadShared;
use crate::worker::capture_requests::CaptureRequests;
use crate::worker::control::{Control, Flushed, Reach, deadline};
use crate::worker::costs;
use crate::worker::deep_step_watch::DeepStepWatch;
use crate::worker::own_thread;
use crate::worker::resident::Resident;

/// Name of the background thread.
pub(crate) const THREAD_NAME: &str = "stepscope";

/// Pause between two looks into the rings, by how full the fullest of them was: one into rings that are almost empty costs
/// more than what is in them. 150,000 spans a second that begin in the longest one still have room by default.
const BUSY_PAUSE: Duration = Duration::from_millis(2);
const PAUSE: Duration = Duration::from_millis(20);
const IDLE_PAUSE: Duration = Duration::from_millis(40);

/// A ring fuller than this (of 256) is busy.
const BUSY_FILL: usize = 32;
/// One with no more than this is idle.
const IDLE_FILL: usize = 2;

/// What the end of a run waits for a last reading of gauges, which takes a millisecond as a rule.
#[cfg(feature = "metrics")]
const LAST_READING: Duration = Duration::from_millis(100);

/// Records between two looks whether the run is to end.
const LOOK_INTERVAL: u64 = 1_024;

/// Where spans go.
pub(crate) struct Sinks {
    pub directory: Option<DirectorySink>,
    #[cfg(feature = "http")]
    pub http: Option<HttpSink>,
    pub handover: Option<ExporterSink>,
    /// In place of those that could not be set up.
    pub unusable: Vec<Box<dyn Sink + Send>>,
}

/// A number of each kind of sink; those that could not be set up have nothing to wait for.
type Marks = [u64; 3];

/// Not known yet.
const UNKNOWN: Marks = [u64::MAX; 3];

impl Sinks {
    fn each(&mut self, mut f: impl FnMut(&mut dyn Sink)) {
        if let Some(sink) = &mut self.directory {
            f(sink);
        }
        #[cfg(feature = "http")]
        if let Some(sink) = &mut self.http {
            f(sink);
        }
        if let Some(sink) = &mut self.handover {
            f(sink);
        }
        self.unusable.iter_mut().for_each(|sink| f(&mut **sink));
    }
}

/// A flush that waits for acknowledgements.
struct Flushing {
    ticket: u64,
    reach: Reach,
    /// What was lost before it began, by sinks that could be set up: nothing has ever reached the others.
    lost_before: u64,
    /// Up to here each transport has to be done; see [`Sink::handed_over`].
    marks: Marks,
}

/// How full, of 256, the fullest ring was before it was emptied, and what the fullest one had again after it.
#[derive(Debug, Default)]
struct Drained {
    fill: usize,
    left: usize,
    /// There was more to take, and something else to do.
    is_cut: bool,
}

struct Worker {
    recorder: Arc<Recorder>,
    sinks: Sinks,
    threads: Vec<Arc<ThreadShared>>,
    thread_names: ThreadNames,
    callsites: Vec<Known>,
    cpus: Option<u64>,
    deep_steps: DeepStepWatch,
    capture_requests: CaptureRequests,
    /// When the bound in a second was last shared out.
    shared: Instant,
    /// Records so far.
    taken: u64,
    words: Vec<u64>,
    entries: Vec<u8>,
    resident: Resident,
    #[cfg(feature = "mem")]
    live_memory: crate::worker::live_memory::Taker,
}

/// Starts the background thread.
pub(crate) fn start(recorder: Arc<Recorder>, sinks: Sinks, control: Arc<Control>) -> std::io::Result<()> {
    let _own = memory::own_call();
    let mut worker = Worker::new(recorder, sinks);
    worker.read_resident();
    let live = move || {
        let mut worker = worker;
        // Nothing here is meant to panic. Should something, the program goes on, and so does the account.
        if !is_well(|| worker.run(&control)) {
            worker.die(&control);
        }
    };
    own_thread::spawn(THREAD_NAME, live).map(drop)
}

/// Whether `f` came to its end without a panic.
fn is_well(f: impl FnOnce()) -> bool {
    catch_panic(f).is_some()
}

impl Worker {
    fn new(recorder: Arc<Recorder>, sinks: Sinks) -> Self {
        let capture_requests = CaptureRequests::new(sinks.directory.as_ref().map(DirectorySink::path));
        Self {
            recorder,
            sinks,
            threads: Vec::new(),
            thread_names: ThreadNames::default(),
            callsites: Vec::new(),
            deep_steps: DeepStepWatch::default(),
            cpus: std::thread::available_parallelism().ok().map(|cpus| cpus.get() as u64),
            capture_requests,
            shared: Instant::now(),
            taken: 0,
            words: Vec::new(),
            entries: Vec::new(),
            resident: Resident::default(),
            #[cfg(feature = "mem")]
            live_memory: crate::worker::live_memory::Taker::new(Instant::now()),
        }
    }

    fn run(&mut self, control: &Control) {
        let (mut flushed, mut published) = (Instant::now(), Instant::now());
        let mut flushing = Vec::new();
        let mut clock = Keeper::default();
        let has_handlers = self.recorder.config.handle_signals;
        self.recorder.costs.set(costs::measure());
        loop {
            clock.keep();
            self.deep_steps.start_looking(&self.recorder);
            self.read_resident();
            let (asked, end) = control.take();
            let signal = sys::pending_signal().filter(|_| has_handlers);
            // Before anything else: what is lost from here on, in whatever is done with it, is lost to them.
            flushing.extend(asked.into_iter().map(|(ticket, reach)| self.flushing(ticket, reach)));
            let is_last = end.is_some() || signal.is_some();
            let last = is_last.then(|| self.flushing(0, Reach::Delivered));
            if let Some(mut last) = last {
                let deadline = end.unwrap_or_else(|| deadline(self.recorder.config.exit_timeout));
                self.finish(deadline, signal);
                // Nothing is left to be handed over.
                flushing.iter_mut().for_each(|flush| flush.marks = Marks::default());
                flushing.iter().for_each(|flush| control.answer(flush.ticket, self.flushed(flush)));
                last.marks = Marks::default();
                control.set_ended(self.flushed(&last));
                if let Some(signal) = signal {
                    sys::raise_with_default(signal);
                }
                return;
            }
            let drained =
                self.drain(|| control.is_ending() || (has_handlers && sys::pending_signal().is_some()));
            if drained.is_cut {
                // The rest is taken when nothing more comes: rings may have filled up again, and there is not much time.
                continue;
            }
            self.share();
            let is_asked = flushing.iter().any(|flush| flush.marks == UNKNOWN);
            let recorder = Arc::clone(&self.recorder);
            let config = &recorder.config;
            self.capture_requests.answer_signals(&recorder);
            let publish_soon = recorder.publish_soon.swap(false, Ordering::Relaxed);
            if publish_soon || published.elapsed() >= config.aggregate_interval || self.live_memory_is_due() {
                published = Instant::now();
                // Spans first: sums without the spans they are made of would be hard to read.
                self.with_context(|sinks, context| sinks.each(|sink| sink.flush(context)));
                // The end of an epoch is a point that says everything.
                self.publish(publish_soon);
            }
            if is_asked || flushed.elapsed() >= config.flush_interval {
                flushed = Instant::now();
                self.answer_file();
                self.with_context(|sinks, context| {
                    sinks.each(|sink| if is_asked { sink.flush_all(context) } else { sink.flush(context) });
                });
                self.keep_reading(false);
                self.note_sinks();
                let marks = self.handed_over();
                flushing
                    .iter_mut()
                    .filter(|flush| flush.marks == UNKNOWN)
                    .for_each(|flush| flush.marks = marks);
            }
            let pause = if drained.fill > BUSY_FILL || !flushing.is_empty() {
                BUSY_PAUSE
            } else if drained.fill > IDLE_FILL {
                PAUSE
            } else {
                IDLE_PAUSE
            };
            let until = Instant::now() + pause;
            self.sinks.each(|sink| {
                sink.work(until);
            });
            flushing.retain(|flush| {
                let is_done = self.is_done(flush);
                if is_done {
                    // Whoever has waited finds the figures as they are now.
                    self.note_sinks();
                    control.answer(flush.ticket, self.flushed(flush));
                }
                !is_done
            });
            // A ring that has filled up meanwhile is not left alone.
            if drained.left <= BUSY_FILL {
                control.wait_until(until);
            }
        }
    }

    /// Shares out the bound in a second, when it is time.
    fn share(&mut self) {
        let Some(rate) = self.recorder.span_filter.as_ref().and_then(SpanFilter::rate) else { return };
        let since = self.shared.elapsed();
        if since >= SHARE_INTERVAL {
            self.shared = Instant::now();
            rate.measure(|| Measured {
                now_ns: now_ns(),
                step_ns: self.recorder.thread_registry.step_ns(),
                cpu_ns: sys::thread_cpu_ns(),
                taken: self.taken,
            });
            rate.share(since);
        }
    }

    /// A flush that begins now; its mark comes when everything has been handed over.
    fn flushing(&mut self, ticket: u64, reach: Reach) -> Flushing {
        let nowhere = self.sinks.unusable.iter().map(|sink| sink.counts().dropped.iter().sum::<u64>());
        let nowhere = nowhere.sum::<u64>();
        let lost_before = self.lost().saturating_sub(nowhere);
        Flushing { ticket, reach, lost_before, marks: UNKNOWN }
    }

    /// Whether there is nothing more to wait for.
    fn is_done(&mut self, flush: &Flushing) -> bool {
        let is_settled = self.is_settled(flush);
        let mut is_in_trouble = false;
        self.sinks.each(|sink| is_in_trouble |= sink.is_in_trouble());
        match flush.reach {
            Reach::Written => true,
            Reach::DeliveredIfWell => is_settled || is_in_trouble,
            Reach::Delivered => is_settled,
        }
    }

    /// How it went.
    fn flushed(&mut self, flush: &Flushing) -> Flushed {
        let is_settled = self.is_settled(flush);
        let mut lacks_sums = false;
        self.sinks.each(|sink| lacks_sums |= sink.lacks_sums());
        match self.lost().saturating_sub(flush.lost_before) {
            _ if !is_settled && flush.reach != Reach::Written => Flushed::TimedOut,
            0 if !lacks_sums => Flushed::Complete,
            lost => Flushed::Dropped(lost),
        }
    }

    /// What each sink has given to its transport.
    fn handed_over(&mut self) -> Marks {
        let mut marks = Marks::default();
        let mut slots = marks.iter_mut();
        self.sinks.each(|sink| slots.next().into_iter().for_each(|mark| *mark = sink.handed_over()));
        marks
    }

    fn is_settled(&mut self, flush: &Flushing) -> bool {
        let (mut is_settled, mut marks) = (true, flush.marks.iter());
        self.sinks.each(|sink| is_settled &= marks.next().is_none_or(|&mark| sink.settled() >= mark));
        is_settled
    }

    /// Spans that sinks have lost, without those that a bound has made them leave out.
    fn lost(&mut self) -> u64 {
        let mut lost = 0;
        self.sinks.each(|sink| {
            let counts = sink.counts();
            let dropped = LossReason::ALL.iter().zip(counts.dropped);
            let unwanted = |reason| matches!(reason, LossReason::Thinned | LossReason::SizeBound);
            lost += dropped.filter(|&(&reason, _)| !unwanted(reason)).map(|(_, count)| count).sum::<u64>();
        });
        lost
    }

    /// Takes out of the rings what is in them now, and leaves what comes meanwhile to the next turn: a thread that makes sections
    /// without a pause makes them faster than they are taken. Looks now and then whether that `is_over`: then the rest is left.
    fn drain(&mut self, is_over: impl Fn() -> bool) -> Drained {
        let known = self.threads.len();
        self.recorder.thread_registry.take_fresh(&mut self.threads);
        for thread in self.threads.get(known..).unwrap_or_default() {
            self.thread_names.begin(thread.id, &thread.name);
        }
        let mut drained = Drained::default();
        let threads = std::mem::take(&mut self.threads);
        let mut words = std::mem::take(&mut self.words);
        for thread in &threads {
            drained.fill = thread.ring.fill().max(drained.fill);
            // Read before the ring's end is: after it is set, nothing more comes.
            let retired = thread.retired.load(Ordering::Acquire);
            let end = thread.ring.end();
            while !drained.is_cut && thread.take_before(end, &mut words) {
                self.take_record(&words, thread.id);
                drained.is_cut = self.taken.is_multiple_of(LOOK_INTERVAL) && is_over();
            }
            drained.left = thread.ring.fill().max(drained.left);
            if retired && !drained.is_cut {
                self.retire(thread);
            } else {
                self.threads.push(Arc::clone(thread));
            }
        }
        self.words = words;
        drained
    }

    /// Takes a record from the ring of the thread with this id.
    fn take_record(&mut self, words: &[u64], thread: u64) {
        self.taken += 1;
        let Some((mut record, rest)) = SectionRecord::unpack(words, thread) else { return };
        self.resident.complete(&mut record);
        attrs::unpack(rest, &mut self.entries);
        if self.callsites.len() <= record.callsite as usize {
            let lacking = self.recorder.sources_from(self.callsites.len());
            self.callsites.extend(lacking.into_iter().map(Known::from));
        }
        if record.kind == SectionKind::Step {
            self.deep_steps.see(&self.recorder, &record, &mut self.entries);
        }
        let context = Context {
            recorder: &self.recorder,
            callsites: &self.callsites,
            threads: &self.thread_names,
            cpus: self.cpus,
        };
        #[cfg(feature = "metrics")]
        if self.recorder.gauges.feed().is_some()
            && (record.kind == SectionKind::Step || !self.entries.is_empty())
        {
            let fields = Known::fields(self.callsites.get(record.callsite as usize));
            self.recorder.gauges.observe(&record, attrs::Entries::new(&self.entries, fields));
        }
        self.sinks.each(|sink| sink.record(&context, &record, &self.entries));
    }

    /// Keeps the sums of a thread that has ended; its name stays known for spans that end elsewhere.
    fn retire(&mut self, thread: &Arc<ThreadShared>) {
        self.recorder.thread_registry.end(thread);
        self.thread_names.end(thread.id);
    }

    fn snapshot(&mut self, is_full: bool) -> Snapshot {
        let mut missed = Vec::new();
        let mut snapshot = Snapshot { time_ns: now_ns(), is_full, ..Snapshot::default() };
        let (ended_threads, threads) = self.recorder.thread_registry.read();
        snapshot.sums.clone_from(&ended_threads.sums);
        let mut tally = ended_threads.tally;
        self.recorder.add_losses(&mut tally);
        for thread in &threads {
            tally.add(thread);
            thread.aggregates.for_each(|path, sums| match sums {
                Some(sums) => snapshot.sums.entry(path).or_default().merge(&sums),
                None => missed.push(path),
            });
        }
        // Cumulative sums never go back: without one thread's part there is none this time.
        missed.iter().for_each(|path| drop(snapshot.sums.remove(path)));
        (snapshot.emitted, snapshot.lost) = (tally.emitted, tally.lost);
        self.sinks.each(|sink| {
            sink.prepare();
            let counts = self.recorder.with_the_rest(sink.counts(), &tally);
            snapshot.sinks.push((sink.name(), counts));
        });
        if self.recorder.tracked().has_memory() {
            (snapshot.rss_bytes, snapshot.live_bytes) = (memory::rss_bytes(), memory::live_bytes());
            snapshot.memory_limit = memory::limit(&self.recorder.set_limit_bytes);
            #[cfg(feature = "mem")]
            if is_full || self.live_memory.is_due(snapshot.live_bytes, Instant::now()) {
                snapshot.live_memory = self.live_memory.take(snapshot.live_bytes, Instant::now());
            }
        }
        snapshot
    }

    /// Hands the latest reading of gauges to the sinks that keep all; the last one is made for that.
    #[cfg(feature = "metrics")]
    fn keep_reading(&mut self, is_last: bool) {
        if let Some(feed) =
            self.recorder.gauges.feed().filter(|feed| is_last && (feed.is_sent || feed.is_kept))
        {
            feed.latest.refresh(LAST_READING);
        }
        self.with_context(|sinks, context| sinks.each(|sink| sink.keep_reading(context, is_last)));
    }

    #[cfg(not(feature = "metrics"))]
    #[expect(clippy::unused_self, reason = "there are none")]
    fn keep_reading(&mut self, _: bool) {}

    /// Makes known what the sinks have done with the spans.
    fn note_sinks(&mut self) {
        let mut counts = Vec::new();
        self.sinks.each(|sink| counts.push((sink.name(), sink.counts())));
        self.recorder.set_sinks(counts);
    }

    /// Tells every sink, and gives what it has told.
    fn publish(&mut self, is_full: bool) -> Snapshot {
        let snapshot = self.snapshot(is_full);
        self.with_context(|sinks, context| sinks.each(|sink| sink.publish(context, &snapshot)));
        snapshot
    }

    /// The state once more, with the memory of `end`: what sending takes after it is not the program's.
    fn snapshot_since(&mut self, end: &Snapshot) -> Snapshot {
        Snapshot { rss_bytes: end.rss_bytes, live_bytes: end.live_bytes, ..self.snapshot(true) }
    }

    /// Sends until nothing is left or time is up; whether nothing is left.
    #[cfg(feature = "http")]
    fn send_all(&mut self, deadline: Instant) -> bool {
        let Some(http) = &mut self.sinks.http else { return false };
        while http.work(deadline) {
            if Instant::now() >= deadline {
                return false;
            }
            // Between two tries there is only time to pass.
            std::thread::sleep(
                Duration::from_millis(5).min(deadline.saturating_duration_since(Instant::now())),
            );
        }
        true
    }

    fn with_context(&mut self, f: impl FnOnce(&mut Sinks, &Context<'_>)) {
        let context = Context {
            recorder: &self.recorder,
            callsites: &self.callsites,
            threads: &self.thread_names,
            cpus: self.cpus,
        };
        f(&mut self.sinks, &context);
    }

    /// The thread has panicked. Nothing leaves any more: what was taken is written where that still goes, and everything
    /// else, what ends later, too, is lost and counted. Sums go on, on the threads themselves.
    fn die(&mut self, control: &Control) {
        print_diagnostic(
            "nothing is written or sent any more, because of this panic of its own; spans are counted as lost",
        );
        let recorder = Arc::clone(&self.recorder);
        recorder.deep_steps.end();
        // Whatever has panicked may do so again: who waits for this thread is told of its end all the same.
        is_well(|| recorder.orphan());
        is_well(|| self.release(|_| {}));
        self.with_context(|sinks, context| {
            if let Some(directory) = &mut sinks.directory {
                is_well(|| directory.flush_all(context));
            }
            #[cfg(feature = "http")]
            if let Some(http) = &mut sinks.http {
                is_well(|| http.abandon());
            }
            if let Some(handover) = &mut sinks.handover {
                is_well(|| handover.end(Instant::now()));
            }
        });
        is_well(|| self.note_sinks());
        is_well(|| {
            let snapshot = self.snapshot(true);
            self.with_context(|sinks, context| {
                if let Some(directory) = &mut sinks.directory {
                    directory.publish(context, &snapshot);
                }
            });
        });
        sys::restore_signal_handlers();
        // Nobody waits for this thread any more. All that people are told was said before: who waits may end the process.
        control.set_died();
        // One that our handler still held back, and that nobody else would heed.
        if let Some(signal) = sys::pending_signal().filter(|_| recorder.config.handle_signals) {
            sys::raise_with_default(signal);
        }
    }

    /// Puts into the ring of this thread what waits for sections to end: it does no longer. `some` after some of them each.
    fn release(&mut self, some: impl Fn(&mut Self)) {
        let recorder = Arc::clone(&self.recorder);
        for places in recorder.traces.places() {
            thread::with(&recorder, |state| state.release(places));
            some(self);
        }
    }

    /// The end: the run's span, everything that is left, the final figures.
    fn finish(&mut self, deadline: Instant, signal: Option<i32>) {
        let recorder = Arc::clone(&self.recorder);
        thread::with(&recorder, |state| state.finish_run(signal));
        crate::hot::recorder::retire(&recorder);
        recorder.deep_steps.end();
        self.release(|worker| {
            worker.drain(|| false);
        });
        self.drain(|| false);
        self.keep_reading(true);
        self.with_context(|sinks, context| sinks.each(|sink| sink.finish(context)));
        if let Some(handover) = &mut self.sinks.handover {
            handover.close();
        }
        // Published before the sinks end, so that a receiver gets the figures, too.
        let end = self.publish(true);
        #[cfg(feature = "mem")]
        memory::live::stop();
        #[cfg(feature = "http")]
        if self.send_all(deadline) {
            // What became of the last spans is known only now, and the receiver is there to be told.
            let mut snapshot = self.snapshot_since(&end);
            self.with_context(|sinks, context| {
                if let Some(http) = &mut sinks.http {
                    snapshot.settle(http.name());
                    http.publish(context, &snapshot);
                }
            });
            self.send_all(deadline);
        }
        #[cfg(feature = "http")]
        if let Some(http) = &mut self.sinks.http {
            http.abandon();
        }
        if let Some(handover) = &mut self.sinks.handover {
            handover.end(deadline);
        }
        recorder.end();
        // And once more with what the sending has cost, for those who read the directory.
        let snapshot = self.snapshot_since(&end);
        self.with_context(|sinks, context| {
            if let Some(directory) = &mut sinks.directory {
                directory.publish(context, &snapshot);
            }
        });
        self.note_sinks();
        // Threads that stay and record nothing keep theirs until they end.
        self.threads.iter().for_each(|thread| thread.ring.give_back());
    }
}

#[cfg(test)]
mod tests;
