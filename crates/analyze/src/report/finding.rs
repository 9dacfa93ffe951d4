//! What a rule can say: findings with evidence, advice and predicted gain; or that all is well; or that the
//! data do not suffice. How each is found out is the business of the rules.

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::units::{duration, percent};
use crate::summary::SectionRow;

/// What a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FindingType {
    /// Computation takes the time.
    Compute,
    /// Memory grows or runs out.
    Memory,
    /// Reading and writing other than of training data.
    Io,
    /// The step waits for its data.
    DataLoading,
    /// Preparing the data holds the step up.
    Preprocessing,
    /// Exchange between ranks.
    Communication,
    /// Waiting for threads, locks or devices.
    Synchronization,
    /// A device that could do more.
    GpuUnderutilization,
    /// Steps that should be alike are not.
    Variability,
    /// The recording itself is incomplete.
    Recording,
}

impl FindingType {
    /// The name in the JSON report.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Memory => "memory",
            Self::Io => "io",
            Self::DataLoading => "data_loading",
            Self::Preprocessing => "preprocessing",
            Self::Communication => "communication",
            Self::Synchronization => "synchronization",
            Self::GpuUnderutilization => "gpu_underutilization",
            Self::Variability => "variability",
            Self::Recording => "recording",
        }
    }
}

/// The figures that led to a finding, in the order in which they are told. The end of a key is its unit
/// (`_ns`, `_bytes`, `_share`, `_per_s`, `_ratio`); keys without one are counts or names.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evidence(Vec<(&'static str, Value)>);

impl Evidence {
    /// No figures yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a figure.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.0.push((key, value.into()));
        self
    }

    /// Adds a figure where it is known.
    #[must_use]
    pub fn with_known(self, key: &'static str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// The figures.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }

    /// One figure.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Evidence {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Evidence".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "The figures that led to a finding: the end of a key is the unit of its value.",
            "type": "object"
        })
    }
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// How a gain was predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum GainMethod {
    /// As if the cause took no time at all: no change can gain more.
    UpperBound,
    /// As far as the figures go: a change may gain less, or more.
    Estimate,
}

impl GainMethod {
    /// The words that go before the figure.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UpperBound => "at most",
            Self::Estimate => "about",
        }
    }
}

/// The time that shares of a finding refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TimeBase {
    /// The steps.
    #[default]
    StepTime,
    /// The steps, and the input on their threads between them.
    StepsAndInput,
    /// The steps, and what else of the training the finding is about: what lies between them, or their warm-up.
    TrainingTime,
}

impl TimeBase {
    /// As the end of `… of`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StepTime => "the step time",
            Self::StepsAndInput => "the time of steps and the input between them",
            Self::TrainingTime => "the training time",
        }
    }

    /// How much of it was looked at: `3.20 s of steps`.
    pub(crate) fn looked_at(self, ns: u64) -> String {
        let what = match self {
            Self::StepTime => "steps",
            Self::StepsAndInput => "steps and the input between them",
            Self::TrainingTime => "training",
        };
        format!("{} of {what}", duration(ns))
    }
}

/// What removing the cause would bring.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gain {
    /// How it was predicted.
    pub method: GainMethod,
    /// Time that is looked at; all figures are about it.
    pub of: TimeBase,
    /// Time saved a step on average, nanoseconds.
    pub saved_ns_per_step: u64,
    /// Mean time a step with the cause removed, nanoseconds.
    pub step_time_ns: u64,
    /// Share of the time that is saved, 0 to 1.
    pub share: f64,
    /// The part of `share` that the cause itself takes. The rest is what it may cost everything else: it raises
    /// no severity and no place.
    pub direct_share: f64,
    /// What makes up the rest, a sentence's part; null where there is none.
    pub because: Option<String>,
    /// What the cause itself takes of a step on average.
    #[serde(skip)]
    pub(crate) direct_ns: u64,
}

impl Gain {
    /// The bound that follows from a cause that takes `saved_ns` out of steps that take `step_ns` on average
    /// (the time between steps included). Absent while no step has a duration.
    #[must_use]
    pub fn upper_bound(saved_ns: u64, step_ns: u64) -> Option<Self> {
        Self::with_side_effects(saved_ns, saved_ns, step_ns)
    }

    /// The bound of a cause that takes `direct_ns` itself, and `saved_ns` with what it may cost everything else.
    #[must_use]
    pub fn with_side_effects(direct_ns: u64, saved_ns: u64, step_ns: u64) -> Option<Self> {
        if step_ns == 0 {
            return None;
        }
        let saved_ns_per_step = saved_ns.max(direct_ns).min(step_ns);
        let share = |ns: u64| rounded(ns.min(step_ns) as f64 / step_ns as f64, 6);
        Some(Self {
            method: GainMethod::UpperBound,
            of: TimeBase::StepTime,
            saved_ns_per_step,
            step_time_ns: step_ns - saved_ns_per_step,
            share: share(saved_ns_per_step),
            direct_share: share(direct_ns),
            because: None,
            direct_ns: direct_ns.min(step_ns),
        })
    }

    /// Adds time that is saved besides; `what` goes on the sentence's part that begins with its share.
    pub(crate) fn extend(&mut self, by_ns: u64, what: &str) {
        let whole_ns = self.saved_ns_per_step.saturating_add(self.step_time_ns);
        let by_ns = by_ns.min(self.step_time_ns);
        if by_ns == 0 {
            return;
        }
        let share = |ns: u64| ns as f64 / whole_ns as f64;
        self.saved_ns_per_step = self.saved_ns_per_step.saturating_add(by_ns);
        self.step_time_ns -= by_ns;
        self.share = rounded(share(self.saved_ns_per_step), 6);
        let part = format!("{} {what}", percent(share(by_ns)));
        self.because = Some(match self.because.take() {
            Some(because) => format!("{because}; {part}"),
            None => format!("{} is the cause itself; {part}", percent(self.direct_share)),
        });
    }

    /// The same as an estimate, where more than this may be gained.
    #[must_use]
    pub fn estimated(self) -> Self {
        Self { method: GainMethod::Estimate, ..self }
    }

    /// The same bound, of another time.
    #[must_use]
    pub fn of(self, of: TimeBase) -> Self {
        Self { of, ..self }
    }

    /// Severity of a time finding: 100 × (1 − step time without the cause / observed).
    #[must_use]
    pub fn severity(&self) -> f64 {
        severity(100.0 * self.direct_share)
    }
}

/// A severity: 0 to 100, whole, so that what is shown is what limits are compared with.
#[must_use]
pub fn severity(value: f64) -> f64 {
    if value.is_finite() { rounded(value.clamp(0.0, 100.0), 0) } else { 0.0 }
}

/// A figure rounded to some decimals, so that the JSON report carries no digits without meaning.
#[must_use]
pub fn rounded(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    let scaled = (value * scale).round();
    // Beyond 2^53 there is nothing to round; adding 0.0 turns −0 into 0.
    if scaled.is_finite() { scaled / scale + 0.0 } else { value }
}

/// One thing that a rule found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Finding {
    /// One sentence, the figure that matters in it.
    pub title: String,
    /// 0 to 100: what share of the step time is at stake, or how soon memory runs out.
    pub severity: f64,
    /// Section it is about.
    pub section: Option<String>,
    /// Phase it is about.
    pub phase: Option<String>,
    /// Rank it is about.
    pub rank: Option<i64>,
    /// The figures that led to it.
    pub evidence: Evidence,
    /// What to do, complete sentences.
    pub recommendation: String,
    /// What doing it can bring.
    pub predicted_gain: Option<Gain>,
}

impl Finding {
    /// One about a section and its phase, which costs this much.
    pub(crate) fn about(section: Option<&SectionRow>, gain: Gain) -> Self {
        Self {
            severity: gain.severity(),
            section: section.map(|row| row.path.clone()),
            phase: section.and_then(|row| row.phase.as_ref()).map(|phase| phase.as_str().to_owned()),
            predicted_gain: Some(gain),
            ..Self::default()
        }
    }
}

/// Worth knowing, and not a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Note {
    /// The rule it comes from.
    pub rule: &'static str,
    /// Section it is about.
    pub section: Option<String>,
    /// A sentence.
    pub text: String,
}

/// What a rule says about a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It found something, most severe first.
    Found(Vec<Finding>),
    /// There was enough to look at, and nothing to find.
    Fine {
        /// The figure that shows it, without a full stop.
        because: String,
    },
    /// It cannot know.
    Unknown {
        /// What is missing, and how to get it.
        because: String,
    },
}

impl Verdict {
    /// `found`, `fine` or `unknown`.
    #[must_use]
    pub const fn state(&self) -> &'static str {
        match self {
            Self::Found(_) => "found",
            Self::Fine { .. } => "fine",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// [`Self::Fine`].
    #[must_use]
    pub fn fine(because: impl Into<String>) -> Self {
        Self::Fine { because: because.into() }
    }

    /// [`Self::Unknown`].
    #[must_use]
    pub fn unknown(because: impl Into<String>) -> Self {
        Self::Unknown { because: because.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gain_is_never_more_than_the_step() {
        let gain = Gain::upper_bound(30, 20).unwrap();
        assert_eq!((gain.step_time_ns, gain.share, gain.severity()), (0, 1.0, 100.0));
        assert_eq!(Gain::upper_bound(30, 0), None);
        assert_eq!(Gain::upper_bound(5, 20).unwrap().severity(), 25.0);
    }

    #[test]
    fn severities_are_bounded() {
        assert_eq!(severity(f64::NAN), 0.0);
        assert_eq!(severity(1e300), 100.0);
        assert_eq!(severity(-1.0), 0.0);
        assert_eq!(severity(12.5), 13.0);
    }

    #[test]
    fn evidence_keeps_its_order() {
        let evidence = Evidence::new().with("b_ns", 1).with_known("absent", None::<u64>).with("a_share", 0.5);
        assert_eq!(serde_json::to_string(&evidence).unwrap(), r#"{"b_ns":1,"a_share":0.5}"#);
    }
}
