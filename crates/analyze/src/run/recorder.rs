//! What recorded a program: advice is about means that it has.

use stepscope_core::{SectionKind, attr};

use crate::summary::{SectionRow, Summary};

/// Names of sections begin so in PyTorch's profiles, and nowhere else.
const PYTORCH: [&str; 2] = ["aten::", "ProfilerStep"];

/// What recorded it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recorder {
    /// This library.
    Stepscope,
    /// PyTorch's profiler.
    Pytorch,
    /// Another library.
    Other,
}

impl Recorder {
    pub(crate) fn of(summary: &Summary) -> Self {
        let is_pytorch = |row: &SectionRow| PYTORCH.iter().any(|prefix| row.name.starts_with(prefix));
        match summary.state.is_ours {
            true => Self::Stepscope,
            false if summary.sections.iter().any(is_pytorch) => Self::Pytorch,
            false => Self::Other,
        }
    }

    /// How it marks steps, from "mark" on.
    pub(crate) fn mark_steps(self) -> String {
        match self {
            Self::Stepscope => "mark them with `step!`, or name their span in STEPSCOPE_STEP_SPAN".into(),
            Self::Pytorch => {
                "mark them by calling the profiler's `step()` after each step, with a `schedule` of some \
                              active steps, so that the trace holds `ProfilerStep#` annotations"
                    .into()
            }
            Self::Other => format!(
                "mark their spans with the attribute `{}` = `{}`, or with their number as `{}`",
                attr::SECTION_KIND,
                SectionKind::Step,
                attr::STEP
            ),
        }
    }

    /// What to do about a loader of which nothing is known but the waits.
    pub(crate) const fn unknown_loader(self) -> &'static str {
        match self {
            Self::Stepscope => {
                "Wrap the loader with `stepscope::Loader` to see how long batches take to make; until then: more loader \
                 threads, a deeper queue, cheaper decoding."
            }
            Self::Pytorch => {
                "How long batches take to make is not in the trace. Raise the loader's `num_workers` (with 0 the training \
                 thread makes them itself) and `prefetch_factor`, or make decoding cheaper."
            }
            Self::Other => {
                "How long batches take to make is not recorded. Make them in threads of their own that hand them over \
                 through a queue, or in more of them; deepen the queue, or make decoding cheaper."
            }
        }
    }
}
