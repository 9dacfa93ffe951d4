//! Work that one thread submits and another one does: what it allocates counts, where live memory is told by section, for the
//! section that submitted it. No sections begin here, and nothing is timed.

#[cfg(feature = "mem")]
use crate::hot::live_context;

/// The section that was current somewhere, for work that is done elsewhere.
///
/// ```
/// let section = stepscope::Submitter::here();
/// let worker = std::thread::spawn(move || section.run(|| vec![0_u8; 64]));
/// # assert_eq!(worker.join().ok(), Some(vec![0; 64]));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Submitter {
    #[cfg(feature = "mem")]
    section: u32,
}

impl Submitter {
    /// The section that the calling thread is in, or works for.
    #[must_use]
    pub fn here() -> Self {
        Self {
            #[cfg(feature = "mem")]
            section: live_context::section(),
        }
    }

    /// Does the work; memory that it allocates outside of sections of its own is the submitter's.
    pub fn run<R>(self, work: impl FnOnce() -> R) -> R {
        #[cfg(feature = "mem")]
        {
            live_context::working_for(self.section, work)
        }
        #[cfg(not(feature = "mem"))]
        {
            work()
        }
    }
}

/// The work, for the section that is current now: where live memory is told by section, what another thread allocates for it
/// is found there.
///
/// ```
/// let mut sums = [0; 2];
/// std::thread::scope(|scope| {
///     for (sum, numbers) in sums.iter_mut().zip([[1, 2], [3, 4]]) {
///         scope.spawn(stepscope::in_section(move || *sum = numbers.iter().sum()));
///     }
/// });
/// assert_eq!(sums, [3, 7]);
/// ```
pub fn in_section<R>(work: impl FnOnce() -> R) -> impl FnOnce() -> R {
    let section = Submitter::here();
    move || section.run(work)
}
