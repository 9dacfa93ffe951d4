//! Alerts: rules on the points of a snapshot, watched at every pass. What fires is a gauge of the snapshot, and a callback
//! is told of each change. Nothing is sent anywhere from here.

mod rules;

use std::fmt::{self, Write as _};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stepscope_core::vocabulary::Metric;

pub use self::rules::{Measure, PROGRAM_RULES, RULES, Rule, Severity};
use crate::notes::Notes;
use crate::points::{Label, Value, Visitor, visit};
use crate::snapshot::{AlertState, Snapshot};

/// The callback.
type OnChange = Arc<dyn Fn(&Change<'_>) + Send + Sync>;

/// Which rules are watched, and who is told; the default is [`RULES`] and nobody.
#[derive(Clone)]
#[must_use]
pub struct Alerts {
    rules: Vec<Rule>,
    on_change: Option<OnChange>,
}

impl Default for Alerts {
    fn default() -> Self {
        Self { rules: RULES.to_vec(), on_change: None }
    }
}

impl fmt::Debug for Alerts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alerts").field("rules", &self.rules).finish_non_exhaustive()
    }
}

impl Alerts {
    /// No rules.
    pub const fn none() -> Self {
        Self { rules: Vec::new(), on_change: None }
    }

    /// The [`PROGRAM_RULES`] more, for a program that tells of itself.
    pub fn of_program(self) -> Self {
        PROGRAM_RULES.iter().fold(self, |alerts, rule| alerts.rule(*rule))
    }

    /// One rule more, in place of one of its name.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.retain(|other| other.name != rule.name);
        self.rules.push(rule);
        self
    }

    /// Calls this when an alert begins or ends to fire, on the thread of the passes, which waits for it.
    pub fn on_change(mut self, callback: impl Fn(&Change<'_>) + Send + Sync + 'static) -> Self {
        self.on_change = Some(Arc::new(callback));
        self
    }
}

/// An alert that begins or ends to fire.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// Its rule.
    pub rule: &'a Rule,
    /// Whether it fires now.
    pub firing: bool,
    /// What was compared with the bound; absent where it is not known any more.
    pub value: Option<f64>,
    /// The labels of that point, as `key=value, …`; empty where there are none.
    pub labels: &'a str,
}

impl fmt::Display for Change<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, firing, value, labels } = self;
        let hold = match rule.hold {
            Duration::ZERO => String::new(),
            hold => format!(" for {} s", hold.as_secs_f64()),
        };
        let side = |fires: bool| if fires == rule.is_below() { "below" } else { "above" };
        write!(f, "alert {} {}", rule.name, if *firing { "fires" } else { "is over" })?;
        match value {
            Some(value) if *firing => write!(f, ": {value:.3} is {} {}{hold}", side(true), rule.above)?,
            Some(value) => write!(f, ": {value:.3} is {} {}{hold}", side(false), rule.clear)?,
            None => f.write_str(": nothing is known of it any more")?,
        }
        if labels.is_empty() { Ok(()) } else { write!(f, " ({labels})") }
    }
}

/// The rules and where they stand.
pub(crate) struct Watcher {
    alerts: Alerts,
    watches: Vec<Watch>,
    /// Those that have changed at this pass.
    changed: Vec<usize>,
}

/// A rule and where it stands.
#[derive(Debug)]
struct Watch {
    rule: Rule,
    firing: bool,
    /// Since when it is otherwise.
    since: Option<Instant>,
    found: Found,
}

/// What this pass has of a rule.
#[derive(Debug, Default)]
struct Found {
    value: Option<f64>,
    whole: Option<f64>,
    labels: String,
}

impl Watcher {
    pub(crate) fn new(alerts: Alerts) -> Self {
        let watch = |rule: &Rule| Watch { rule: *rule, firing: false, since: None, found: Found::default() };
        let watches = alerts.rules.iter().map(watch).collect();
        Self { alerts, watches, changed: Vec::new() }
    }

    /// Looks at the snapshot and writes into it what fires.
    pub(crate) fn look(&mut self, snapshot: &mut Snapshot, now: Instant) {
        for found in self.watches.iter_mut().map(|watch| &mut watch.found) {
            (found.value, found.whole) = (None, None);
            found.labels.clear();
        }
        visit(snapshot, usize::MAX, &mut Looks { watches: &mut self.watches, row: None });
        self.changed.clear();
        for (index, watch) in self.watches.iter_mut().enumerate() {
            if watch.step(now) {
                self.changed.push(index);
            }
            let state = |watch: &Watch| AlertState {
                rule: watch.rule.name.into(),
                severity: watch.rule.severity.as_str(),
                firing: watch.firing,
            };
            match snapshot.alerts.get_mut(index) {
                Some(known) => known.firing = watch.firing,
                None => snapshot.alerts.push(state(watch)),
            }
        }
    }

    /// Tells what has changed; after the snapshot was published, so that both say the same.
    pub(crate) fn tell(&mut self, notes: &Notes) {
        let Some(callback) = self.alerts.on_change.as_ref().filter(|_| !self.changed.is_empty()) else {
            return;
        };
        let all = || {
            for watch in self.changed.iter().filter_map(|index| self.watches.get(*index)) {
                let Watch { rule, firing, found, .. } = watch;
                callback(&Change {
                    rule,
                    firing: *firing,
                    value: found.measure(rule),
                    labels: &found.labels,
                });
            }
        };
        if std::panic::catch_unwind(AssertUnwindSafe(all)).is_err() {
            notes.tell("alerts", "the callback of the alerts has panicked: it is not called any more");
            self.alerts.on_change = None;
        }
    }
}

impl Found {
    fn measure(&self, rule: &Rule) -> Option<f64> {
        let value = match rule.measure {
            Measure::Share(..) => self.value? / self.whole.filter(|whole| *whole > 0.0)?,
            Measure::Greatest(_) | Measure::Least(_) | Measure::SumWithout { .. } => self.value?,
        };
        value.is_finite().then_some(value)
    }
}

impl Watch {
    /// Whether it has changed. What is not known fires nothing, and does not go on firing.
    fn step(&mut self, now: Instant) -> bool {
        let value = self.found.measure(&self.rule);
        let fires = value.is_some_and(|value| self.rule.holds(value, self.firing));
        if fires == self.firing {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert(now);
        if now.saturating_duration_since(since) < self.rule.hold {
            return false;
        }
        self.since = None;
        self.firing = !self.firing;
        true
    }
}

struct Looks<'w> {
    watches: &'w mut [Watch],
    row: Option<&'static Metric>,
}

impl Visitor for Looks<'_> {
    fn metric(&mut self, row: &'static Metric) {
        self.row = Some(row);
    }

    fn point(&mut self, labels: &[Label<'_>], value: Value) {
        let Some(row) = self.row else { return };
        let value = match value {
            Value::Int(value) => value as f64,
            Value::Double(value) => value,
        };
        for Watch { rule, found, .. } in &mut *self.watches {
            match rule.measure {
                Measure::Greatest(name) | Measure::Least(name)
                    if name == row.name
                        && found.value.is_none_or(|known| {
                            if rule.is_below() { value < known } else { value > known }
                        }) =>
                {
                    found.value = Some(value);
                    found.labels.clear();
                    for (index, (key, text)) in labels.iter().enumerate() {
                        let comma = if index == 0 { "" } else { ", " };
                        let _ = write!(found.labels, "{comma}{key}={text}");
                    }
                }
                Measure::SumWithout { metric, attribute, values } if metric == row.name => {
                    let is_left_out = |(key, text): &Label<'_>| *key == attribute && values.contains(text);
                    if !labels.iter().any(is_left_out) {
                        *found.value.get_or_insert(0.0) += value;
                    }
                }
                Measure::Share(part, _) if part == row.name => found.value = Some(value),
                Measure::Share(_, whole) if whole == row.name => found.whole = Some(value),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests;
