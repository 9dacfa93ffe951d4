//! The registry of rules and what every rule consists of. Each rule lives in two files beside this one: `NAME.rs` holds
//! its thresholds and its check, `NAME.md` its page. A new rule is these two, its lines here, and a fixture.

use serde::{Deserialize, Serialize};

pub(crate) use self::common::steps::{NUMBERS_REPEAT, Steps, TOLD};
use crate::report::{BottleneckType, Verdict};
use crate::summary::Summary;

/// Declares the thresholds of a rule: a field, its documentation and its default at one place, from which
/// the configuration, the built-in help and its tests are made.
macro_rules! thresholds {
    ($($(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr;)+) => {
        /// The thresholds of this rule.
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Thresholds { $($(#[doc = $doc])+ pub $name: $type),+ }

        impl Default for Thresholds {
            fn default() -> Self {
                Self { $($name: $default),+ }
            }
        }

        impl Thresholds {
            /// Every threshold with its value.
            #[must_use]
            pub fn table(&self) -> Vec<$crate::rules::Threshold> {
                vec![$($crate::rules::Threshold {
                    key: stringify!($name),
                    value: self.$name.to_string(),
                    doc: concat!($($doc),+).trim(),
                }),+]
            }
        }
    };
}

/// The rules, in the order in which they are listed. The name of a rule is that of its file.
macro_rules! registry {
    ($($rule:ident),+ $(,)?) => {
        /// Every rule.
        pub const RULES: &[Rule] = &[$($rule::RULE),+];

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
                    let fault = self.thresholds(rule.id).iter().find_map(common::range::fault)?;
                    Some(format!("[rules.{}] {fault}", rule.id))
                };
                RULES.iter().find_map(of)
            }
        }
    };
}

pub(crate) mod common;

pub mod between_steps;
pub mod checkpoint_stalls;
pub mod communication_waits;
pub mod deep_prefetch;
pub mod evaluation_stalls;
pub mod host_bound;
pub mod input_bound;
pub mod io_stalls;
pub mod loader_bound;
pub mod long_warmup;
pub mod memory_growth;
pub mod slow_calls;
pub mod slow_preprocessing;
pub mod slow_rank;
pub mod slow_section;
pub mod slower_since;
pub mod spans_lost;
pub mod step_jitter;
pub mod sync_waits;
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
    slow_calls,
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
    pub kind: BottleneckType,
    /// Whether what it finds is time of a rank that others may wait for meanwhile: not where it is such waiting, or time of
    /// whole steps, which waiting is part of.
    pub may_hold_up_ranks: bool,
    /// What a user can read about it, in Markdown: the file of its name beside its code.
    pub page: &'static str,
    /// Looks at a run.
    pub check: fn(&Summary, &Config) -> Verdict,
}

impl Rule {
    /// The parts of its page, each a heading and running text: what it finds, how it judges, what to do, its limits.
    pub fn parts(&self) -> impl Iterator<Item = (&'static str, String)> {
        let parts = self.page.split("## ").filter_map(|part| part.split_once('\n'));
        parts.map(|(heading, text)| (heading, text.split_whitespace().collect::<Vec<_>>().join(" ")))
    }
}

/// A threshold as the help shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Threshold {
    /// Its key in the rule's table of `stepscope.toml`.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// What it does.
    pub doc: &'static str,
}

/// The rule of this name.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}
