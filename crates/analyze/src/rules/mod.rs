//! The registry of rules and what every rule consists of. Each rule lives in two files beside this one: `NAME.rs` holds
//! its thresholds and its check, `NAME.md` its page. A new rule is these two, its lines here, and a fixture.

use serde::{Deserialize, Serialize};

use crate::report::finding::{Finding, FindingType, Note, Verdict};
use crate::steps::judged::{Steps, TOLD};
use crate::summary::Summary;
use crate::thresholds;
pub use crate::thresholds::{Names, Threshold};

/// The rules, in the order in which they are listed. The name of a rule is that of its file.
macro_rules! registry {
    ($($rule:ident),+ $(,)?) => {
        /// Every rule.
        pub const RULES: &[Rule] = &[$(Rule {
            id: stringify!($rule),
            page: include_str!(concat!(stringify!($rule), ".md")),
            check: |summary, config| $rule::check(summary, config).map_or_else(|verdict| verdict, Verdict::Found),
            ..$rule::RULE
        }),+];

        /// Thresholds of every rule; a table of `stepscope.toml` each.
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Config {
            $(
                #[doc = concat!("Thresholds of `", stringify!($rule), "`.")]
                pub $rule: $rule::Thresholds,
            )+
        }

        impl Config {
            /// The thresholds of the rule `id`; empty for unknown rules.
            #[must_use]
            pub fn thresholds(&self, id: &str) -> Vec<Threshold> {
                match id {
                    $(stringify!($rule) => self.$rule.table(),)+
                    _ => Vec::new(),
                }
            }

            /// What is wrong with a threshold that lies where none can, with its rule; absent where all can be. Shares and
            /// probabilities lie within 0 and 1, severities within 0 and 100, all others are finite and not negative.
            #[must_use]
            pub fn fault(&self) -> Option<String> {
                let of = |rule: &Rule| {
                    let fault = self.thresholds(rule.id).iter().find_map(thresholds::fault)?;
                    Some(format!("[rules.{}] {fault}", rule.id))
                };
                RULES.iter().find_map(of).or_else(|| self.input_bound.disorder())
            }
        }
    };
}

pub mod between_steps;
pub mod checkpoint_stalls;
pub mod communication_waits;
pub mod cpu_contention;
pub mod cpu_saturated;
pub mod deep_prefetch;
pub mod disk_full;
pub mod evaluation_stalls;
pub mod gpu_memory;
pub mod gpu_underutilised;
pub mod host_bound;
pub mod host_memory;
pub mod input_bound;
pub mod io_stalls;
pub mod iowait;
pub mod loader_bound;
pub mod lock_contention;
pub mod long_warmup;
pub mod low_parallelism;
pub mod memory_churn;
pub mod memory_growth;
pub mod off_cpu;
pub mod periodic_steps;
pub mod slow_calls;
pub mod slow_preprocessing;
pub mod slow_rank;
pub mod slow_section;
pub mod slower_since;
pub mod spans_lost;
pub mod step_jitter;
pub mod swap;
pub mod sync_waits;
pub mod throttling;
pub mod tiny_sections;

registry! {
    input_bound,
    loader_bound,
    slow_preprocessing,
    slow_section,
    host_bound,
    communication_waits,
    sync_waits,
    io_stalls,
    off_cpu,
    lock_contention,
    low_parallelism,
    cpu_contention,
    memory_churn,
    slow_calls,
    periodic_steps,
    step_jitter,
    slow_rank,
    long_warmup,
    slower_since,
    between_steps,
    checkpoint_stalls,
    evaluation_stalls,
    memory_growth,
    deep_prefetch,
    tiny_sections,
    gpu_underutilised,
    gpu_memory,
    throttling,
    cpu_saturated,
    host_memory,
    swap,
    iowait,
    disk_full,
    spans_lost,
}

/// One rule.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Stable identity, also the name of its file and of its table in `stepscope.toml`.
    pub id: &'static str,
    /// Version of stepscope that brought it.
    pub since: &'static str,
    /// What it is called in headings.
    pub name: &'static str,
    /// What its findings are about.
    pub kind: FindingType,
    /// Whether what it finds is time of a rank that others may wait for meanwhile: not where it is such waiting, or time of
    /// whole steps, which waiting is part of.
    pub may_hold_up_ranks: bool,
    /// Whether it needs to know how long the run took, which nobody does where a clock was set meanwhile.
    pub needs_steady_clock: bool,
    /// What its findings are figures of.
    pub rests_on: RestsOn,
    /// Findings of other rules that say what its own would, where they are most of it.
    pub yields_to: &'static [ToldBy],
    /// What a user can read about it, in Markdown: the file of its name beside its code.
    pub page: &'static str,
    /// Looks at a run.
    pub check: fn(&Summary, &Config) -> Verdict,
    /// What is worth knowing and no finding; gets what the check found.
    pub notes: fn(&Summary, &Config, &[Finding]) -> Vec<Note>,
}

/// What findings are figures of. What rests on few steps is as sure as these allow ([`crate::summary::FewSteps`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestsOn {
    /// The steps that verdicts are about; of steps that were not read their sums.
    Steps,
    /// Those of them that were read.
    ReadSteps,
    /// The steps of evaluation.
    Evaluation,
    /// Readings of a machine while steps ran.
    Readings,
    /// What is so, however many steps there are.
    State,
}

/// What a rule finds; else why it finds nothing.
pub(crate) type Judged<T = Vec<Finding>> = Result<T, Verdict>;

fn fine<T>(because: impl Into<String>) -> Judged<T> {
    Err(Verdict::fine(because))
}

fn unknown<T>(because: impl Into<String>) -> Judged<T> {
    Err(Verdict::unknown(because))
}

/// Where there is no gain to tell.
fn no_duration() -> Verdict {
    Verdict::unknown("steps have no duration")
}

/// Findings that explain those of another rule.
#[derive(Debug, Clone, Copy)]
pub struct ToldBy {
    /// The rule that they are of.
    pub rule: &'static str,
    /// What both have to be about.
    pub same: Same,
}

/// What a finding and its cause have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Same {
    /// The phase, of what takes its time inside the steps.
    Phase,
    /// The section.
    Section,
}

/// Keys of `stepscope.toml` that have another name now: rule, old key, new one.
pub const RENAMED: &[(&str, &str, &str)] = &[("input_bound", "min_share", "moderate_share")];

impl Rule {
    /// A rule without exceptions; the registry adds its identity, page and check.
    const fn new(name: &'static str, kind: FindingType) -> Self {
        Self {
            id: "",
            since: "0.1.0",
            name,
            kind,
            may_hold_up_ranks: false,
            needs_steady_clock: false,
            rests_on: RestsOn::Steps,
            yields_to: &[],
            page: "",
            check: |_, _| Verdict::Found(Vec::new()),
            notes: |_, _, _| Vec::new(),
        }
    }

    /// The parts of its page, each a heading and running text: what it finds, how it judges, what to do, its limits.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, String)> {
        let parts = self.page.split("## ").filter_map(|part| part.split_once('\n'));
        parts.map(|(heading, text)| (heading, text.split_whitespace().collect::<Vec<_>>().join(" ")))
    }
}

/// The rule of this name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}
