//! Rule `cpu_contention`: the step's thread could run, and others have the processors. What loaders beside the step may cost it
//! at most, where this is not known, is a part of the advice on input.

use stepscope_core::SectionKind;

use super::{Config, Judged, RestsOn, Rule, fine, unknown};
use crate::report::finding::{Evidence, Finding, FindingType, Gain, rounded, severity};
use crate::report::units::percent;
use crate::steps::run_queue_delay::{self, capped};
use crate::summary::{ModeThreads, SectionRow, Summary};
use crate::threads::judged::StepThreads;

pub(super) const RULE: Rule =
    Rule { rests_on: RestsOn::ReadSteps, ..Rule::new("Processor contention", FindingType::Compute) };

thresholds! {
    /// Share of the step time for which its thread could run and had no processor, from which it is a finding.
    min_share: f64 = 0.05;
}

/// Processors, or threads that compute, from which it is said whose they are.
const SOME: f64 = 0.5;

/// Share of the rounds of looks in which the step waits for threads in sections outside of it, from which what these do is its own
/// work; and share of the looks at such threads that find them in no section, below which they begin and end with it.
const WAITS: f64 = 0.02;
const STRADDLES: f64 = 0.03;

/// The highest severity where threads of the program have the processors, and may do the step's own work.
const MOST_OF_UNSEEN: f64 = 19.0;

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.cpu_contention;
    let threads = StepThreads::of(summary)?;
    let Some(run_queue_ns) = threads.shares.run_queue_ns else {
        return unknown(
            "needs the run-queue delay of steps, which this system does not tell (Linux does, with schedstat)",
        );
    };
    let share = threads.shares.share(run_queue_ns);
    if share < thresholds.min_share {
        return fine(format!("{} runnable without a processor", threads.of_steps(share)));
    }
    let deep = summary.threads.of(threads.steps.mode.mode).filter(|deep| deep.looks > 0);
    let used = Used::of(summary, &threads, deep);
    let gain = threads.gain(share)?;
    let processors = &summary.threads.processors;
    Ok(vec![Finding {
        title: format!("{} of the step time is waiting for a processor{}.", percent(share), used.title()),
        severity: used.severity(&gain),
        section: used.section.map(|row| row.path.clone()),
        evidence: Evidence::new()
            .with("run_queue_share", rounded(share, 6))
            .with_known("processors", processors.cpus)
            .with_known("used_by_other_processes", processors.others.map(|used| rounded(used, 2)))
            .with_known("used_by_the_process", processors.own.map(|used| rounded(used, 2)))
            .with_known("threads_beside_the_step", used.beside.map(|threads| rounded(threads, 2)))
            .with_known("threads_of_the_step", used.inside.map(|threads| rounded(threads, 2))),
        recommendation: used.advice(),
        predicted_gain: Some(gain),
        ..Finding::default()
    }])
}

/// Who used the processors, as far as it is known.
struct Used<'a> {
    cpus: Option<u64>,
    /// Processors that other programs used.
    others: Option<f64>,
    /// Threads of the process that could run, and do no work of the step.
    beside: Option<f64>,
    /// Threads that could run and do, beyond its own.
    inside: Option<f64>,
    /// Processors that threads of the process used beyond the step's own and those above.
    unseen: Option<f64>,
    /// The section outside of steps that was on a CPU for longest.
    section: Option<&'a SectionRow>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Who {
    Others,
    Beside,
    Inside,
    Unseen,
    NotKnown,
}

impl<'a> Used<'a> {
    fn of(summary: &'a Summary, threads: &StepThreads<'_>, deep: Option<&ModeThreads>) -> Self {
        let cpu_ns = |row: &SectionRow| row.cpu_ns.map_or(0, |cpu| cpu.sum);
        let is_beside = |row: &&SectionRow| {
            let is_work = row.is_part() || matches!(row.kind, SectionKind::Batch | SectionKind::Request);
            is_work && row.depth == 1 && row.in_steps.is_empty() && cpu_ns(row) > 0
        };
        let beside = summary.sections.iter().filter(is_beside);
        let longest = beside.max_by(|a, b| cpu_ns(a).cmp(&cpu_ns(b)).then_with(|| b.path.cmp(&a.path)));
        let processors = &summary.threads.processors;
        // Sections that nobody told what they are part of, of threads that work for the step.
        let borrowed = deep.map_or(0.0, |deep| {
            let all = deep.running_elsewhere + deep.running_beside;
            let is_own = deep.waiting_share() >= WAITS || deep.running_elsewhere < STRADDLES * all;
            if is_own { 0.0 } else { deep.running_beside }
        });
        let beside = deep.map(|deep| deep.running_elsewhere + borrowed);
        let inside = deep.map(|deep| deep.running_beside_own() - borrowed);
        let seen =
            threads.shares.share(threads.shares.cpu_ns) + beside.unwrap_or(0.0) + inside.unwrap_or(0.0);
        let mut used = Self {
            cpus: processors.cpus,
            others: processors.others,
            beside,
            inside,
            unseen: processors.own.map(|own| own - seen),
            section: None,
        };
        used.section = longest.filter(|_| matches!(used.who(), Who::Beside | Who::NotKnown));
        used
    }

    /// Who used most.
    fn who(&self) -> Who {
        let most = [
            (self.others, Who::Others),
            (self.beside, Who::Beside),
            (self.inside, Who::Inside),
            (self.unseen, Who::Unseen),
        ];
        let known = most.into_iter().filter_map(|(used, who)| Some((used?, who)));
        let most = known.filter(|&(used, _)| used >= SOME).max_by(|a, b| a.0.total_cmp(&b.0));
        most.map_or(Who::NotKnown, |(_, who)| who)
    }

    /// What other programs take is no fault of this one. Threads of the step that outnumber the processors make it no longer: it
    /// would wait for their work instead.
    fn severity(&self, gain: &Gain) -> f64 {
        let of = |used: Option<f64>| used.unwrap_or(0.0).max(0.0);
        let (ours, most) = match self.who() {
            Who::Beside => (of(self.beside), f64::MAX),
            Who::Unseen => (of(self.unseen), MOST_OF_UNSEEN),
            Who::Others | Who::Inside | Who::NotKnown => (0.0, 0.0),
        };
        let all = ours + of(self.others) + of(self.inside);
        let share = gain.direct_share * ours / all.max(SOME);
        severity(100.0 * share).min(most).max(capped(gain, true))
    }

    fn title(&self) -> String {
        let of = |used: Option<f64>| used.unwrap_or(0.0);
        let share = of(self.others) / self.cpus.unwrap_or(1).max(1) as f64;
        let others = format!("other programs take {} of the processors", percent(share.min(1.0)));
        let who = match (self.who(), self.section) {
            (Who::Others, _) => return format!(": {others}"),
            (Who::Beside, Some(row)) => {
                format!(": {:.1} threads compute beside it, most in `{}`", of(self.beside), row.path)
            }
            (Who::Beside, None) => {
                format!(": {:.1} threads of the program compute beside it", of(self.beside))
            }
            (Who::Inside, _) => format!(": {:.1} more threads compute in the step", of(self.inside)),
            (Who::Unseen, _) => {
                format!(": threads of the program without sections use {:.1} processors", of(self.unseen))
            }
            (Who::NotKnown, _) => return String::new(),
        };
        if of(self.others) >= SOME { format!("{who}; {others}") } else { who }
    }

    fn advice(&self) -> String {
        match self.who() {
            Who::Beside => "Use fewer threads beside the step than there are processors left, give them less to do, or let \
                            them run at a lower priority (`nice`)."
                .into(),
            Who::Inside => "Use no more threads in the step than there are processors: more of them gain nothing.".into(),
            Who::Unseen => "Give these threads sections, to see whether the step waits for their work. Use no more threads \
                            than there are processors."
                .into(),
            Who::Others | Who::NotKnown => {
                let mut advice = run_queue_delay::ADVICE.to_owned();
                advice.replace_range(..1, "T");
                advice
            }
        }
    }
}
