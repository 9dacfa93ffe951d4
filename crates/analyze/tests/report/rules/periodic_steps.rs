//! Fixtures of `periodic_steps`.

use stepscope_analyze::summary::{PeriodCause, PeriodicSteps, PhaseName, StepPeriod, Summary};
use stepscope_core::{Mode, Phase};

use super::{fine, found};
use crate::fixture::{MS, Run, healthy, same};

const RULE: &str = "periodic_steps";

/// Every 25th of 400 steps of 5 ms takes `above_ms` more, in `phase`, where `step/measure` runs in those steps alone.
fn run(above_ms: u64, phase: Option<Phase>) -> Summary {
    let length = |step: u64| if step % 25 == 24 { (5 + above_ms) * MS } else { 5 * MS };
    let mut summary = Run::with_durations((0..400).map(length).collect()).untagged("measure", 1, MS).build();
    let measure = summary.sections.iter_mut().find(|row| row.path == "step/measure").unwrap();
    measure.in_steps.iter_mut().for_each(|part| part.steps = 16);
    let cause = PeriodCause { phase: phase.map(PhaseName::Known), usual_ns: 0, periodic_ns: above_ms * MS };
    let period = StepPeriod {
        every: 25,
        first_step: 24,
        steps: 16,
        median_ns: (5 + above_ms) * MS,
        above_ns: 16 * above_ms * MS,
        cause: Some(cause),
    };
    let usual = same(384, 5 * MS);
    summary.periodic = vec![PeriodicSteps { mode: Mode::Train, usual, periods: vec![period] }];
    summary
}

#[test]
fn what_every_so_many_steps_take_more_is_found_with_its_section() {
    let [finding] = found(RULE, &run(75, None)).try_into().unwrap();
    // 16 × 75 ms of 400 × 5 ms and that.
    assert_eq!(
        finding.title,
        "38 % of the step time is what every 25th step takes more: 80.0 ms instead of 5.00 ms."
    );
    assert_eq!((finding.severity, finding.section.as_deref()), (38.0, Some("step/measure")));
}

#[test]
fn little_is_fine_and_so_is_what_another_rule_judges() {
    assert_eq!(
        fine(RULE, &run(10, None)),
        "every 25th step takes longer, which is 7.4 % of the time of 400 steps; limit 10 %"
    );
    assert_eq!(
        fine(RULE, &run(75, Some(Phase::Checkpoint))),
        "every 25th step takes longer for checkpoint, which is judged by itself; 38 % of the time"
    );
    assert_eq!(fine(RULE, &healthy().build()), "in 200 steps there is no period of slow ones");
}
