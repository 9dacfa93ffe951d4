//! The input verdict: its share, its thresholds' meaning, and its part of the report's first sentence.

use serde::Serialize;
use stepscope_core::Phase;

use super::Thresholds;
use crate::report::coverage;
use crate::report::units::percent;
use crate::steps::judged::Steps;
use crate::summary::{FigureSource, InputFigures, ModeSummary, Summary};

/// Whether the run waits for its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum InputVerdict {
    /// Too little is known to say.
    #[default]
    Unknown,
    /// Less than `moderate_share`, and with all time in no phase less than `high_share`.
    No,
    /// From `moderate_share` on.
    Moderate,
    /// From `high_share` on.
    High,
}

impl InputVerdict {
    /// The beginning of a sentence about it; absent where the run does not wait, or nobody knows.
    #[must_use]
    pub const fn words(self) -> Option<&'static str> {
        match self {
            Self::High => Some("Input bound"),
            Self::Moderate => Some("Moderately input bound"),
            Self::No | Self::Unknown => None,
        }
    }
}

/// Share of the time that goes into input on driving threads, warm-up excluded, and the verdict on it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InputShare {
    /// The verdict.
    pub verdict: InputVerdict,
    /// What tells it.
    pub source: FigureSource,
    /// The share; absent where it is not known.
    pub share: Option<f64>,
    /// As [`InputFigures::in_steps_ns`].
    pub in_steps_ns: u64,
    /// As [`InputFigures::between_ns`].
    pub between_ns: u64,
    /// Time of the steps.
    pub steps_ns: u64,
    /// As [`InputFigures::unknown_ns`].
    pub unknown_ns: u64,
    /// Number of steps it rests on.
    pub steps: u64,
}

impl InputShare {
    /// The verdict on these figures.
    #[must_use]
    pub fn of(figures: InputFigures, thresholds: &Thresholds) -> Self {
        let verdict = match figures.share {
            Some(share) if figures.steps > 0 => {
                if share >= thresholds.high_share {
                    InputVerdict::High
                } else if share >= thresholds.moderate_share {
                    InputVerdict::Moderate
                } else if share + figures.unknown_share() >= thresholds.high_share {
                    InputVerdict::Unknown
                } else {
                    InputVerdict::No
                }
            }
            _ => InputVerdict::Unknown,
        };
        let InputFigures { source, share, in_steps_ns, between_ns, steps_ns, unknown_ns, steps } = figures;
        Self { verdict, source, share, in_steps_ns, between_ns, steps_ns, unknown_ns, steps }
    }
}

/// Why the input could not be judged.
pub(crate) fn unjudged(summary: &Summary, mode: &ModeSummary) -> String {
    let input = &summary.input;
    if mode.whole.steps == 0 && input.source == FigureSource::Spans {
        return format!(
            "The steps {}, so it is not known whether they wait for input: {}.",
            coverage::parts_because(&summary.coverage),
            coverage::parts_advice(&summary.coverage)
        );
    }
    if !mode.has_phases() && summary.between_steps.iter().all(|row| row.phase.is_none()) {
        return "No section names a phase, so it is not known whether steps wait for input: give sections a phase, or a name \
                that implies one, such as `data_wait`."
            .into();
    }
    if input.share.is_some() {
        return format!(
            "Only {} of the step time has a phase, and {} is known to be input; what the rest is, no section says.",
            percent(1.0 - input.unknown_share()),
            percent(input.share.unwrap_or(0.0))
        );
    }
    "The steps take no time: nothing to judge.".into()
}

/// Share of the input time from which one part of it is said to be all.
const NEARLY_ALL: f64 = 0.9;

/// What most of the input time is: `47 % of the step time is spent waiting for batches`.
pub(crate) fn goes_into(summary: &Summary) -> String {
    const KINDS: [(&[Phase], &str, &str); 3] = [
        (&[Phase::DataWait], "is spent waiting for batches", "waiting for batches"),
        (&[Phase::DataLoading], "goes into loading data", "loading data"),
        (
            &[Phase::Preprocessing, Phase::Augmentation, Phase::Collate],
            "goes into preparing data",
            "preparing data",
        ),
    ];
    let share = percent(summary.input.share.unwrap_or(0.0));
    let Ok(steps) = Steps::of(summary) else { return format!("{share} of the time is input") };
    let (of, by) = (steps.base().as_str(), steps.by());
    let costs = KINDS.map(|(phases, verb, noun)| (steps.exposed_ns(phases), verb, noun));
    let all = costs.iter().fold(0, |sum: u64, &(ns, ..)| sum.saturating_add(ns));
    // Of equals the first.
    match costs.into_iter().rev().max_by_key(|&(ns, ..)| ns) {
        Some((ns, verb, _)) if ns as f64 >= NEARLY_ALL * all as f64 => {
            format!("{} of {of} {verb}{by}", percent(steps.share(ns)))
        }
        Some((ns, _, noun)) => format!("{share} of {of} is input, {} {noun}{by}", percent(steps.share(ns))),
        None => format!("{share} of {of} is input{by}"),
    }
}
