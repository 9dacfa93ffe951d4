//! How sure shares of the steps' time are where the steps are few, and how severe a finding may be that rests on them. Rules
//! judge what they see, from one step on: this qualifies all of them, at one place.

use stepscope_core::Mode;

use crate::context::Context;
use crate::memory::detector::student;
use crate::phases::PhaseKey;
use crate::phases::section_time::id_of;
use crate::report::finding::{Finding, FindingType, TimeBase, rounded};
use crate::report::units::things;
use crate::rules::{RestsOn, Rule};
use crate::summary::{FewSteps, ModeSummary, SectionRow, Summary};

/// Steps from which on shares are taken as they are.
const MANY: u64 = 20;

/// The highest severity of what is found in fewer.
const MOST_OF_FEW: f64 = 19.0;

/// Share of the time from which on that is not so, if it is certain.
const CERTAIN_SHARE: f64 = 0.2;

/// Probability that a share lies outside of its interval.
const OUTSIDE: f64 = 0.05;

impl FewSteps {
    /// Of the modes with few steps.
    pub(crate) fn all(context: &Context<'_>, modes: &[ModeSummary], sections: &[SectionRow]) -> Vec<Self> {
        let few = modes.iter().filter(|row| row.steady.count < MANY);
        few.map(|row| Self::of_mode(context, row, sections)).collect()
    }

    fn of_mode(context: &Context<'_>, row: &ModeSummary, sections: &[SectionRow]) -> Self {
        let mode = row.mode;
        let first = context.steps.first_step(mode).unwrap_or(0);
        let numbering = context.steps.numbers.of_mode(mode);
        let series = context.run.phase_series.get(mode as usize);
        let points = series
            .map_or_else(Vec::new, |series| numbering.told(series, |step, point| (step, point.clone())));
        let points: Vec<_> =
            points.into_iter().filter(|&(step, _)| step >= first).map(|(_, point)| point).collect();
        let before =
            |point: &crate::phases::phase_point::PhasePoint| point.input_before_ns.unwrap_or(0) as f64;
        let error = |part: &dyn Fn(usize) -> Option<f64>| {
            let pairs = points.iter().enumerate();
            let pairs = pairs.map(|(at, point)| Some((part(at)?, point.total_ns as f64 + before(point))));
            half_width(&pairs.collect::<Option<Vec<(f64, f64)>>>()?)
        };
        let exposed = |at: usize, key: &PhaseKey| {
            let time = points.get(at)?.exposed.iter().find(|(name, _)| *name == key);
            Some(time.map_or(0.0, |(_, time)| time.0 as f64))
        };
        let keys = points.iter().flat_map(|point| point.exposed.iter().map(|(key, _)| key));
        let keys: std::collections::BTreeSet<&PhaseKey> = keys.collect();
        let by_phase = keys.iter().filter_map(|key| {
            let name = key.name()?;
            let waits = |at: usize| if name.is_input() { points.get(at).map_or(0.0, before) } else { 0.0 };
            Some((name.as_str().to_owned(), error(&|at| Some(exposed(at, key)? + waits(at)))?))
        });
        let none = error(&|at| {
            let point = points.get(at)?;
            let known: u128 = point.exposed.iter().map(|(_, time)| time.0).sum();
            Some(point.total_ns.saturating_sub(known) as f64)
        });
        let inside = sections.iter().filter(|row| row.in_mode(mode).is_some());
        let by_section = inside.filter_map(|row| {
            let id = id_of(&row.path);
            let error = error(&|at| Some(points.get(at)?.section_time.of(id)? as f64))?;
            Some((row.path.clone(), error))
        });
        Self {
            mode,
            steps: row.steady.count,
            by_phase: by_phase.chain(none.map(|error| (String::new(), error))).collect(),
            by_section: by_section.collect(),
            has_input_before: points.iter().any(|point| point.input_before_ns.is_some()),
        }
    }

    /// Of the steps that a rule judges; absent where they are many, or it judges none.
    pub(crate) fn of<'a>(summary: &'a Summary, rule: &Rule) -> Option<&'a Self> {
        let of_mode = |mode| summary.few_steps.iter().find(|few| few.mode == mode);
        match rule.rests_on {
            RestsOn::Steps => Self::of_verdict(summary),
            RestsOn::ReadSteps | RestsOn::Readings => of_mode(summary.primary()?.mode),
            RestsOn::Evaluation => of_mode(Mode::Eval),
            RestsOn::State => None,
        }
    }

    /// Of the steps that the report's first sentence judges; absent where they are many.
    pub(crate) fn of_verdict(summary: &Summary) -> Option<&Self> {
        let mode = summary.primary()?.mode;
        summary.few_steps.iter().find(|few| few.mode == mode).filter(|_| summary.input.steps < MANY)
    }

    /// Half of the interval of a finding's share, in parts of one: that of its phase or, where larger, its section; of what
    /// none of these tells, [`bound`].
    fn error_of(&self, finding: &Finding, kind: FindingType) -> f64 {
        let base = finding.predicted_gain.as_ref().map_or(TimeBase::TrainingTime, |gain| gain.of);
        let is_told = base == TimeBase::StepTime || base == TimeBase::StepsAndInput && self.has_input_before;
        let phase = finding.phase.as_ref().and_then(|phase| self.by_phase.get(phase));
        let section = finding.section.as_ref().and_then(|path| self.by_section.get(path));
        let known = phase.into_iter().chain(section).copied().reduce(f64::max);
        known.filter(|_| is_told && kind != FindingType::Variability).unwrap_or_else(|| bound(self.steps))
    }

    /// The finding with the interval of its share, as severe as that allows.
    pub(crate) fn qualify(&self, finding: Finding, kind: FindingType) -> Finding {
        let share = finding.predicted_gain.as_ref().map(|gain| gain.direct_share);
        let error = self.error_of(&finding, kind);
        let least = share.map_or(0.0, |share| (share - error).max(0.0));
        let evidence = match share {
            Some(share) => finding
                .evidence
                .with("at_least_share", rounded(least, 4))
                .with("at_most_share", rounded((share + error).min(1.0), 4))
                .with("after_warmup_steps", self.steps),
            None => finding.evidence,
        };
        let most = if least >= CERTAIN_SHARE { 100.0 } else { MOST_OF_FEW };
        Finding { severity: finding.severity.min(most), evidence, ..finding }
    }

    /// Half of the interval of the least certain phase, or section where nothing has a phase, and whether that is only a bound;
    /// absent of one step.
    fn largest(&self) -> Option<(f64, bool)> {
        let phases = self.by_phase.values().filter(|_| self.by_phase.len() > 1);
        let known =
            phases.copied().reduce(f64::max).or_else(|| self.by_section.values().copied().reduce(f64::max));
        (self.steps > 1).then(|| known.map_or_else(|| (bound(self.steps), true), |error| (error, false)))
    }

    /// Half of the 95 % interval of shares of the steps, at most, in parts of one; absent of one step.
    pub(crate) fn share_error(&self) -> Option<f64> {
        self.largest().map(|(error, _)| rounded(error, 4))
    }

    /// `6 steps: shares ± 8 points`.
    pub(crate) fn words(&self) -> String {
        let Some((error, is_bound)) = self.largest() else { return "1 step: others may differ".into() };
        let points = (100.0 * error).ceil().clamp(1.0, 100.0) as u64;
        let at_most = if is_bound { " at most" } else { "" };
        format!("{} steps: shares ± {}{at_most}", self.steps, things(points, "point", "points"))
    }
}

/// Half of the confidence interval of a ratio of sums, Σx / Σt, over a sample of pairs (x, t): Student's t times the standard
/// error √(Σ(x − R t)² / (n (n − 1))) / mean t. W. G. Cochran, "Sampling Techniques", 3rd edition (1977), sections 2.11 and
/// 6.4. Absent below two pairs.
fn half_width(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len() as f64;
    let (x, t) = pairs.iter().fold((0.0, 0.0), |sums, pair| (sums.0 + pair.0, sums.1 + pair.1));
    if pairs.len() < 2 || t <= 0.0 {
        return None;
    }
    let squares: f64 = pairs.iter().map(|pair| (pair.0 - x / t * pair.1).powi(2)).sum();
    let error = (squares / (n * (n - 1.0))).sqrt() / (t / n);
    Some((student::quantile(OUTSIDE, pairs.len() - 1) * error).min(1.0))
}

/// The same whatever the shares of single steps are, if these weigh alike: √(ln(2 / 0.05) / 2n). W. Hoeffding, "Probability
/// inequalities for sums of bounded random variables", Journal of the American Statistical Association 58 (1963), theorem 1.
fn bound(steps: u64) -> f64 {
    ((2.0 / OUTSIDE).ln() / (2.0 * steps.max(1) as f64)).sqrt().min(1.0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn an_interval_is_that_of_the_ratio_by_hand() {
        // x 1, 2, 3 of t 10 each: R 0.2, squares 1 + 0 + 1, error √(2 / 6) / 10 = 0.0577, t of two degrees 4.303.
        let alike = half_width(&[(1.0, 10.0), (2.0, 10.0), (3.0, 10.0)]).unwrap();
        assert!((alike - 0.2484).abs() < 1e-4, "{alike}");
        // Steps of other lengths with the same share are certain.
        assert_eq!(half_width(&[(1.0, 4.0), (2.0, 8.0), (3.0, 12.0)]), Some(0.0));
        assert_eq!((half_width(&[(1.0, 2.0)]), half_width(&[(0.0, 0.0); 3])), (None, None));
    }

    #[test]
    fn the_bound_is_that_of_the_formula_and_never_more_than_all() {
        // ln 40 = 3.6889.
        assert!((bound(6) - 0.5544).abs() < 1e-4 && (bound(19) - 0.3116).abs() < 1e-4);
        assert_eq!(bound(1), 1.0);
    }

    fn few(steps: u64, error: f64) -> FewSteps {
        FewSteps {
            mode: Mode::Train,
            steps,
            by_phase: [("io".to_owned(), error), (String::new(), 0.01)].into(),
            by_section: BTreeMap::new(),
            has_input_before: false,
        }
    }

    fn finding(share_percent: u64, phase: &str) -> Finding {
        let gain = crate::report::finding::Gain::upper_bound(share_percent, 100).unwrap();
        Finding {
            phase: Some(phase.into()),
            severity: gain.severity(),
            predicted_gain: Some(gain),
            ..Finding::default()
        }
    }

    #[test]
    fn only_what_is_certain_is_severe() {
        let severity =
            |share, phase, error| few(6, error).qualify(finding(share, phase), FindingType::Io).severity;
        assert_eq!(severity(50, "io", 0.3), 50.0);
        assert_eq!((severity(50, "io", 0.31), severity(19, "io", 0.0)), (19.0, 19.0));
        // Of a phase of which nothing is known: ± 55 points.
        assert_eq!((severity(70, "forward", 0.0), severity(80, "forward", 0.0)), (19.0, 80.0));
        assert_eq!(
            few(6, 0.0).qualify(Finding { severity: 30.0, ..Finding::default() }, FindingType::Io).severity,
            19.0
        );
    }

    #[test]
    fn a_share_comes_with_its_interval() {
        let found = few(6, 0.1).qualify(finding(15, "io"), FindingType::Io);
        let figure = |name| found.evidence.get(name).and_then(serde_json::Value::as_f64);
        assert_eq!((figure("at_least_share"), figure("at_most_share")), (Some(0.05), Some(0.25)));
        // How steps vary is no share of each.
        let varies = few(6, 0.1).qualify(finding(15, "io"), FindingType::Variability);
        assert_eq!(varies.evidence.get("at_least_share"), Some(&0.0.into()));
    }

    #[test]
    fn words_name_the_least_certain_share() {
        assert_eq!(few(6, 0.073).words(), "6 steps: shares ± 8 points");
        assert_eq!(few(1, 0.0).words(), "1 step: others may differ");
        assert_eq!(
            FewSteps { by_phase: BTreeMap::new(), ..few(6, 0.0) }.words(),
            "6 steps: shares ± 56 points at most"
        );
    }
}
