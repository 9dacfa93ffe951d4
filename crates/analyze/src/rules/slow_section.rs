//! Rule `slow_section`: a section that is none of the stages every training step consists of takes a good part of the
//! step. Phases with a rule of their own (input, communication, synchronisation, I/O, checkpoints) are left to it.

use stepscope_core::{Phase, PhaseClass};

use super::{Config, Rule, Same, Steps, ToldBy};
use crate::report::finding::{BottleneckType, Evidence, Finding, Gain, Note, Verdict, rounded};
use crate::report::names;
use crate::report::units::{bytes, count, duration, percent};
use crate::summary::{SectionRow, Summary};

pub(super) const RULE: Rule = Rule {
    id: "slow_section",
    since: "0.1.0",
    name: "Slow section",
    kind: BottleneckType::Compute,
    may_hold_up_ranks: true,
    yields_to: &[
        ToldBy { rule: "slow_calls", same: Same::Section },
        ToldBy { rule: "step_jitter", same: Same::Section },
    ],
    notes,
    page: include_str!("slow_section.md"),
    check,
    ..Rule::PLAIN
};

thresholds! {
    /// Share of the step time from which a section is a finding.
    min_share: f64 = 0.10;
    /// Own time of one call that is long, seconds.
    long_call_s: f64 = 1.0;
    /// Share of the step time from which a section with long calls is a finding.
    long_call_min_share: f64 = 0.05;
    /// Bytes that the section itself allocates in one call, from which there is a note.
    large_alloc_bytes: u64 = 100_000_000;
    /// Share of the step time that phases must cover before sections without a phase are judged: below it,
    /// the regular stages of a step cannot be told from helper code.
    min_phase_share: f64 = 0.5;
    /// Steps after warm-up that are needed.
    min_steps: u64 = 20;
}

fn check(summary: &Summary, config: &Config) -> Verdict {
    let thresholds = &config.slow_section;
    let steps = match Steps::of(summary, thresholds.min_steps).and_then(Steps::with_sections) {
        Ok(steps) => steps,
        Err(verdict) => return verdict,
    };
    let mut candidates: Vec<Cost<'_>> = summary
        .sections
        .iter()
        .filter(|row| is_judged(row) && !is_expected(row, &steps))
        .filter_map(|row| Cost::of(row, &steps))
        .collect();
    // The largest first, of equals the first path.
    candidates.sort_by(|a, b| b.exposed_ns.cmp(&a.exposed_ns).then_with(|| a.row.path.cmp(&b.row.path)));
    let phase_share = match &steps.sums {
        Some(sums) => sums.inside_ns(|_| true) as f64 / sums.steps_ns.max(1) as f64,
        None => 1.0 - steps.mode.unattributed_ns as f64 / steps.mode.whole.total_ns.max(1) as f64,
    };
    let has_phases = phase_share >= thresholds.min_phase_share;
    let findings: Vec<Finding> = candidates
        .iter()
        .filter(|cost| cost.is_slow(thresholds))
        .filter(|cost| has_phases || cost.row.phase.is_some() || cost.is_long(thresholds))
        .filter_map(|cost| cost.finding(&steps))
        .collect();
    if !findings.is_empty() {
        return Verdict::Found(findings);
    }
    let is_unjudged = !has_phases && candidates.iter().any(|cost| cost.is_slow(thresholds));
    if is_unjudged {
        return Verdict::unknown(format!(
            "phases cover only {} of the step time, so that regular stages cannot be told from helper code; give \
             sections their phase",
            percent(phase_share)
        ));
    }
    Verdict::fine(match candidates.first() {
        Some(cost) => {
            format!(
                "the costliest such section, {}, takes {}{}",
                names::path(&cost.row.path),
                percent(cost.share),
                steps.by()
            )
        }
        None => "no section but the regular stages of a step takes time".into(),
    })
}

/// Whether it is code of a step. What a device computes is what the step is for, and nothing that code can leave to others.
fn is_judged(row: &SectionRow) -> bool {
    row.is_part() && !row.is_on_device()
}

/// Stages that every step consists of, and those that other rules look at.
fn is_expected(row: &SectionRow, steps: &Steps<'_>) -> bool {
    // Spans hand their phase down to the sections inside them; the sums do not.
    let inherited = || steps.sums.as_ref().and_then(|sums| sums.phase_around(row));
    row.phase.as_ref().or_else(inherited).is_some_and(|phase| match phase.class() {
        PhaseClass::Input
        | PhaseClass::CpuOperation
        | PhaseClass::Copy
        | PhaseClass::Kernel
        | PhaseClass::Set
        | PhaseClass::Runtime
        | PhaseClass::Communication => true,
        PhaseClass::Other => phase.is(Phase::Checkpoint) || phase.is(Phase::Io),
    })
}

/// How many times as long as the usual call the mean is from which on both are told.
const FAR: f64 = 1.5;

/// What a section costs the steps of the primary mode: after warm-up; by the sums, which know none, in all of them.
struct Cost<'a> {
    row: &'a SectionRow,
    exposed_ns: u64,
    calls: u64,
    /// Steps in which it could run.
    steps: u64,
    share: f64,
}

impl<'a> Cost<'a> {
    fn of(row: &'a SectionRow, steps: &Steps<'_>) -> Option<Self> {
        let (exposed_ns, calls, whole_ns, steps_in) = match &steps.sums {
            Some(sums) => {
                let row = sums.inside.get(row.path.as_str())?;
                (row.self_busy_ns?, row.stats.count, sums.steps_ns, sums.steps)
            }
            None => {
                let part = row.in_mode(steps.mode.mode)?.after_warmup();
                let whole = steps.mode.whole_after_warmup();
                (part.exposed_ns, part.calls, whole.total_ns, whole.steps)
            }
        };
        let share = steps.share_inside(exposed_ns, whole_ns);
        (exposed_ns > 0).then_some(Self {
            row,
            exposed_ns,
            calls: calls.max(1),
            steps: steps_in.max(1),
            share,
        })
    }

    fn per_call_ns(&self) -> u64 {
        self.exposed_ns / self.calls
    }

    fn is_long(&self, thresholds: &Thresholds) -> bool {
        self.per_call_ns() as f64 >= thresholds.long_call_s * 1e9
    }

    fn is_slow(&self, thresholds: &Thresholds) -> bool {
        let is_long = self.is_long(thresholds);
        self.share >= if is_long { thresholds.long_call_min_share } else { thresholds.min_share }
    }

    fn finding(&self, steps: &Steps<'_>) -> Option<Finding> {
        let mean_ns = steps.mean_ns();
        let gain = Gain::upper_bound((self.share * mean_ns as f64).round() as u64, mean_ns)?.of(steps.base());
        let phase = self.row.phase.as_ref().map(|phase| phase.as_str().to_owned());
        Some(Finding {
            title: format!(
                "{} of {} goes into {} itself{}.",
                percent(self.share),
                steps.base().as_str(),
                names::path(&self.row.path),
                steps.by()
            ),
            severity: gain.severity(),
            section: Some(self.row.path.clone()),
            phase,
            rank: None,
            evidence: Evidence::new()
                .with("exposed_share", rounded(self.share, 6))
                .with("exposed_per_step_ns", gain.saved_ns_per_step)
                .with("exposed_per_call_ns", self.per_call_ns())
                .with("calls", self.calls)
                .with("steps", self.steps)
                .with_known("call_p50_ns", self.row.stats.p50)
                .with_known("call_p95_ns", self.row.stats.p95)
                .with_known("self_alloc_bytes", self.row.memory.and_then(|memory| memory.self_alloc_bytes)),
            recommendation: self.advice(steps),
            predicted_gain: Some(gain),
        })
    }

    /// The usual call and the longest one, where the mean is far above what is usual: no call takes that.
    fn usual_and_longest(&self) -> Option<(u64, u64)> {
        let stats = &self.row.stats;
        let (mean, p50, max) = (stats.mean?, stats.p50?, stats.max?);
        (mean >= FAR * p50 as f64).then_some((p50, max))
    }

    fn advice(&self, steps: &Steps<'_>) -> String {
        let calls = self.calls / self.steps;
        let mean = duration(self.per_call_ns());
        let each = self.usual_and_longest().map(|(usual_ns, longest_ns)| {
            format!(
                "{} in the usual call and {} in the longest, {mean} of its own on average",
                duration(usual_ns),
                duration(longest_ns)
            )
        });
        let often = match (calls, each) {
            (0 | 1, None) => {
                format!("It takes {mean} a call: do it less often, in another thread, or cheaper. ")
            }
            (0 | 1, Some(each)) => format!(
                "It takes {each}: look at what it does in the long ones, and do it less often, in another thread, or \
                 cheaper. "
            ),
            (calls, each) => format!(
                "It runs {} times a step, {}: do the work once a step, or less often. ",
                count(calls),
                each.unwrap_or_else(|| format!("{mean} each"))
            ),
        };
        let what = match self.row.phase {
            Some(_) => "",
            None => "If it is a regular stage of the step, give it its phase. ",
        };
        format!("{}{}", format!("{often}{what}").trim_end(), steps.caveat())
    }
}

/// The 90th percentile of a section's calls, where most of their time is its own.
fn tenth_ns(row: &SectionRow) -> Option<u64> {
    row.stats.p90.filter(|_| row.self_ns.is_some_and(|ns| ns >= row.stats.total / 2))
}

/// Absolute limits: sections whose own calls are long or allocate much, whatever their share of the step.
/// Those that the rule found are left out.
fn notes(summary: &Summary, config: &Config, findings: &[Finding]) -> Vec<Note> {
    let thresholds = &config.slow_section;
    let is_found = |row: &SectionRow| findings.iter().any(|found| found.section.as_ref() == Some(&row.path));
    let mut notes = Vec::new();
    for row in summary.sections.iter().filter(|row| is_judged(row) && !is_found(row)) {
        let self_ns = row.self_ns.map(|ns| ns / row.stats.count.max(1));
        if let Some(ns) = self_ns.filter(|&ns| ns as f64 >= thresholds.long_call_s * 1e9) {
            notes.push(Note {
                rule: RULE.id,
                section: Some(row.path.clone()),
                text: format!("{} takes {} of its own a call.", names::path(&row.path), duration(ns)),
            });
        } else if let Some(ns) = tenth_ns(row).filter(|&ns| ns as f64 >= thresholds.long_call_s * 1e9) {
            notes.push(Note {
                rule: RULE.id,
                section: Some(row.path.clone()),
                text: format!(
                    "{} takes {} or longer in one of ten calls.",
                    names::path(&row.path),
                    duration(ns)
                ),
            });
        }
        let alloc = row.memory.and_then(|memory| memory.self_alloc_bytes?.checked_div(memory.spans));
        if let Some(size) = alloc.filter(|&size| size >= thresholds.large_alloc_bytes) {
            notes.push(Note {
                rule: RULE.id,
                section: Some(row.path.clone()),
                text: format!("{} itself allocates {} a call.", names::path(&row.path), bytes(size)),
            });
        }
    }
    notes
}
