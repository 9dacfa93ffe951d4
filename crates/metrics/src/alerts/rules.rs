//! The rules that are watched unless others are given: data, and nothing else.

use std::time::Duration;

use stepscope_core::attr;
use stepscope_core::metric::{device, host, program};

/// How severe an alert is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Something is about to be short.
    Warning,
    /// The program is about to be killed or to stop.
    Critical,
}

impl Severity {
    /// Its value in `stepscope.alert.severity`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// What is compared with the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// The greatest of a metric's points.
    Greatest(&'static str),
    /// The least of a metric's points: it fires below the bound.
    Least(&'static str),
    /// The sum of a metric's points, without those whose attribute has one of these values.
    SumWithout {
        /// The metric.
        metric: &'static str,
        /// Its attribute.
        attribute: &'static str,
        /// Values that do not count.
        values: &'static [&'static str],
    },
    /// The first metric over the second; both have one point.
    Share(&'static str, &'static str),
}

/// When an alert fires, and when it does not any more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Its name, in `stepscope.alert.rule`.
    pub name: &'static str,
    /// What is looked at.
    pub measure: Measure,
    /// It fires above this ([`Measure::Least`]: below)…
    pub above: f64,
    /// …and stops below this, which is less, so that it does not flap (above this, which is more).
    pub clear: f64,
    /// For so long it has to be so, both ways.
    pub hold: Duration,
    /// How severe it is.
    pub severity: Severity,
}

impl Rule {
    /// Whether it fires below its bound.
    #[must_use]
    pub const fn is_below(&self) -> bool {
        matches!(self.measure, Measure::Least(_))
    }

    /// Whether it fires at this value, or, where it does already, goes on.
    pub(super) fn holds(&self, value: f64, is_firing: bool) -> bool {
        let bound = if is_firing { self.clear } else { self.above };
        match (self.is_below(), is_firing) {
            (false, false) => value > bound,
            (false, true) => value >= bound,
            (true, false) => value < bound,
            (true, true) => value <= bound,
        }
    }
}

const fn rule(
    name: &'static str,
    measure: Measure,
    (above, clear): (f64, f64),
    hold_s: u64,
    severity: Severity,
) -> Rule {
    Rule { name, measure, above, clear, hold: Duration::from_secs(hold_s), severity }
}

/// Of a machine, and of a container in it. The effective limit of memory is the lower of the container's and the machine's: a rule each.
pub const RULES: &[Rule] = &[
    rule(
        "cpu",
        Measure::SumWithout {
            metric: host::CPU_UTILIZATION,
            attribute: attr::CPU_MODE,
            values: &["idle", "iowait"],
        },
        (0.90, 0.85),
        60,
        Severity::Warning,
    ),
    rule(
        "container_memory",
        Measure::Share(host::CONTAINER_MEMORY_WORKING_SET, host::CONTAINER_MEMORY_LIMIT),
        (0.85, 0.80),
        10,
        Severity::Critical,
    ),
    rule("host_memory", Measure::Greatest(host::MEMORY_UTILIZATION), (0.85, 0.80), 10, Severity::Critical),
    rule("disk", Measure::Greatest(host::FILESYSTEM_UTILIZATION), (0.80, 0.78), 60, Severity::Warning),
    rule(
        "gpu_memory",
        Measure::Greatest(device::GPU_MEMORY_UTILIZATION),
        (0.90, 0.85),
        60,
        Severity::Warning,
    ),
];

/// Of a program that tells of its steps and sections. Readings are further apart than most calls: a long one is seen when it
/// has ended, in the reading behind that.
pub const PROGRAM_RULES: &[Rule] = &[
    rule("section", Measure::Greatest(program::SECTION_LONGEST), (5.0, 4.0), 0, Severity::Warning),
    rule("memory_leak", Measure::Greatest(program::LEAK_RATE), (1.0, 0.5), 0, Severity::Warning),
    rule(
        "memory_deadline",
        Measure::Least(program::LEAK_TIME_LEFT),
        (3_600.0, 3_900.0),
        0,
        Severity::Critical,
    ),
    rule("no_step", Measure::Greatest(program::STEP_OVERDUE), (10.0, 5.0), 10, Severity::Critical),
];
