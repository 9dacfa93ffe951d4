//! What a program can ask of its run and tell it while it goes on. How the run ends is in `exit`.

use std::sync::Arc;

use stepscope_core::Level;

use crate::memory;
use crate::recorder::Recorder;

/// A run, to be asked and told while it goes on: from any thread, and as many copies as wanted. Made by
/// [`Guard::handle`](crate::Guard::handle); outlives the run, and does nothing then.
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
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Handle {
    /// `None` where nothing is recorded in the first place.
    recorder: Option<Arc<Recorder>>,
}

impl Handle {
    pub(crate) fn new(recorder: Option<Arc<Recorder>>) -> Self {
        Self { recorder }
    }

    /// How much is recorded at the moment; [`Level::Off`] before and after the run.
    #[must_use]
    pub fn level(&self) -> Level {
        let running = self.recorder.as_ref().filter(|recorder| recorder.is_current());
        running.map_or(Level::Off, |recorder| recorder.level())
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
        if let Some(recorder) = &self.recorder {
            recorder.set_level(level);
        }
    }
}
