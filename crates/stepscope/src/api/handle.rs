//! What a program can ask of its run and tell it while it goes on. How the run ends is in `process`.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stepscope_core::Level;

use crate::api::figures::Figures;
use crate::config::track::Track;
use crate::hot::recorder::Recorder;
use crate::os::memory;
use crate::process::exit::Running;
use crate::shared::lock::lock;
use crate::worker::control::{Control, Flushed, Reach};

/// A run, to be asked and told while it goes on: from any thread, and as many copies as wanted. Made by
/// [`Guard::handle`](crate::Guard::handle); outlives the run.
///
/// ```
/// use stepscope::Level;
///
/// # std::env::set_current_dir(std::env::temp_dir())?;
/// let run = stepscope::builder().level(Level::Basic).install();
/// let handle = run.handle();
/// for number in 0..1_000 {
///     // A look at ten steps.
///     match number {
///         500 => handle.set_level(Level::Detailed),
///         510 => handle.set_level(Level::Basic),
///         _ => {}
///     }
///     let _step = stepscope::step!(number);
/// }
/// assert_eq!(handle.figures().section("step").map(|steps| steps.count), Some(1_000));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Handle {
    /// `None` where nothing is recorded in the first place.
    run: Option<Running>,
    /// What the figures of all handles of the run count from.
    baseline: Arc<Mutex<Option<Arc<Figures>>>>,
    /// Nothing is recorded, and that was not meant.
    has_failed: bool,
}

impl Handle {
    pub(crate) fn new(run: Option<Running>, has_failed: bool) -> Self {
        Self { run, baseline: Arc::default(), has_failed }
    }

    /// The run, unless this is a forked child of its process: locks may be held by threads that are not here.
    fn run(&self) -> Option<(&Recorder, &Control)> {
        let Running { recorder, control } = self.run.as_ref()?;
        (std::process::id() == recorder.process_id).then_some((recorder, control))
    }

    /// How much is recorded at the moment; [`Level::Off`] before and after the run.
    #[must_use]
    pub fn level(&self) -> Level {
        let running = self.run.as_ref().filter(|run| run.recorder.is_current());
        running.map_or(Level::Off, |run| run.recorder.level())
    }

    /// Records at `level` from now on.
    ///
    /// A section goes by the level at which it began: one that is open counts in the sums, and leaves as a span if it
    /// was to, whatever the level is by its end. What begins inside of one that leaves no span leaves none either. At
    /// [`Level::Off`] nothing begins, and no value or event is taken: sums do not know of what ran meanwhile, but as
    /// time of the sections around it. The run goes on, and so does what is recorded at the next change. Best
    /// changed between steps: a step during which the level was lower is not counted among those that have all
    /// their sections.
    ///
    /// Does nothing when the run has ended, or never began because its level was `off`.
    pub fn set_level(&self, level: Level) {
        let _own = memory::own_call();
        if let Some(run) = &self.run {
            run.recorder.set_level(level);
        }
    }

    /// What is recorded of sections beside their times now.
    pub fn track(&self) -> Track {
        self.run.as_ref().map_or_else(Track::default, |run| run.recorder.tracked())
    }

    /// Records `track` of what begins from now on: of a section that is open what was told at its begin, its resident memory
    /// and its CPU time aside, which go by the last word. Change it between steps, as the level.
    ///
    /// Does nothing when the run has ended, or never began because its level was `off`.
    pub fn set_track(&self, track: Track) {
        let _own = memory::own_call();
        if let Some(run) = &self.run {
            run.recorder.set_track(track);
        }
    }

    /// Records the next `steps` that begin at `level`, if that is higher than the level by then, and goes back to that
    /// one with the step after them. At [`Level::Off`] no step begins.
    pub fn capture(&self, steps: u64, level: Level) {
        let _own = memory::own_call();
        if let Some((recorder, _)) = self.run() {
            recorder.captures.request(steps, level);
        }
    }

    /// Figures of everything recorded so far, or since the last [`reset`](Self::reset): every section, the work of the
    /// steps; and the process' memory, and what became of all spans of the run.
    ///
    /// May be called at any time and anywhere, inside of sections, in a panic hook, from many threads, and after the end
    /// of the run; not in a signal's handler. Sections that are open count when they have ended. No recording thread
    /// waits for it; what it takes itself grows with paths and threads, some milliseconds for a few hundred.
    /// Empty where nothing is recorded, and in a forked child.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let _own = memory::own_call();
        let Some((recorder, _)) = self.run() else { return Figures::default() };
        let baseline = lock(&self.baseline).clone();
        let figures = Figures::of(recorder);
        match baseline {
            Some(baseline) => figures.since(&baseline),
            None => figures,
        }
    }

    /// The figures of all handles of the run count from now on. Of what leaves the program, and so of the report,
    /// nothing changes, nor of the account of spans, which is that of the run.
    pub fn reset(&self) {
        let _own = memory::own_call();
        let Some((recorder, _)) = self.run() else { return };
        let figures = Arc::new(Figures::of(recorder));
        // Freed when it is not locked any more.
        let before = lock(&self.baseline).replace(figures);
        drop(before);
    }

    /// Steps that have ended so far, of all modes. Some loads: it may be asked many times a second. 0 where nothing is
    /// recorded, and in a forked child.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.run().map_or(0, |(recorder, _)| recorder.thread_registry.steps())
    }

    /// Tells to how many bytes resident memory may come, beside the limits of control groups, of the address space and of the
    /// machine, which are read. The one with least room leaves with the sums: `stepscope analyze` says when a leak reaches it.
    pub fn set_memory_limit(&self, bytes: u64) {
        if let Some((recorder, _)) = self.run() {
            recorder.set_limit_bytes.store(bytes, Ordering::Relaxed);
        }
    }

    /// Has everything recorded so far written and, where it is sent, acknowledged:
    /// [`Guard::flush`](crate::Guard::flush).
    pub fn flush(&self, timeout: Duration) -> Flushed {
        let _own = memory::own_call();
        match self.run() {
            // A forked child has no background thread, and records nothing.
            Some((_, control)) => control.flush(timeout, Reach::Delivered),
            None if self.has_failed => Flushed::TimedOut,
            None => Flushed::Complete,
        }
    }
}
