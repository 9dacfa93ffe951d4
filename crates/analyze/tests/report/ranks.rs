//! What a finding says where ranks wait for each other: its bound holds, and who has most of the cause is named. The truth
//! is a simulation of ranks that meet at the end of each step.

use stepscope_analyze::report::{FindingRow, Reading, build};
use stepscope_analyze::rules::Config;
use stepscope_analyze::summary::{PhaseName, PhaseTime};
use stepscope_core::Phase;

use crate::fixture::{MS, Run, same};

const STEPS: u64 = 100;
const EXCHANGE_NS: u64 = MS;

/// What ranks do: `work(rank, step)` and `wait(rank, step)` for data, both in milliseconds.
struct Case {
    ranks: u64,
    work: fn(u64, u64) -> u64,
    wait: fn(u64, u64) -> u64,
}

impl Case {
    /// Time of a step, the ranks' `busy` part and the exchange after the last of them.
    fn step_ns(&self, step: u64, busy: impl Fn(u64, u64) -> u64) -> u64 {
        (0..self.ranks).map(|rank| busy(rank, step) * MS).max().unwrap_or(0) + EXCHANGE_NS
    }

    fn with_ns(&self, step: u64) -> u64 {
        self.step_ns(step, |rank, step| (self.work)(rank, step) + (self.wait)(rank, step))
    }

    /// What a step takes less on average if no rank waits for data.
    fn gain_ns(&self) -> u64 {
        let saved = |step| self.with_ns(step) - self.step_ns(step, self.work);
        (0..STEPS).map(saved).sum::<u64>() / STEPS
    }

    /// The finding `input_bound` of the report on such a run.
    fn finding(&self) -> FindingRow {
        self.finding_of(Phase::Communication)
    }

    /// The same where ranks exchange in a section of this phase.
    fn finding_of(&self, exchange: Phase) -> FindingRow {
        let mean = |of: &dyn Fn(u64) -> u64| (0..STEPS).map(of).sum::<u64>() / STEPS;
        let step_ns = mean(&|step| self.with_ns(step));
        let all = |of: fn(u64, u64) -> u64| {
            mean(&|step| (0..self.ranks).map(|rank| of(rank, step) * MS).sum()) / self.ranks
        };
        let (wait_ns, work_ns) = (all(self.wait), all(self.work));
        let mut summary = Run::of(STEPS, step_ns)
            .phase(Phase::DataWait, "data_wait", wait_ns)
            .phase(Phase::Forward, "forward", work_ns)
            .phase(exchange, "all_reduce", step_ns - wait_ns - work_ns)
            .build();
        summary.modes[0].all = same(STEPS * self.ranks, step_ns);
        // The quicker steps of a run that always waits know nothing of steps without.
        summary.modes[0].quick_without_waiting_ns = None;
        let first = summary.instances.remove(0);
        for rank in 0..self.ranks {
            let mut row = first.clone();
            row.resource.rank = i64::try_from(rank).ok();
            row.steps = same(STEPS, step_ns);
            let own = |of: fn(u64, u64) -> u64| mean(&|step| of(rank, step) * MS);
            let (wait_ns, work_ns) = (own(self.wait), own(self.work));
            let time = |(phase, exposed_ns)| PhaseTime { phase: PhaseName::Known(phase), exposed_ns };
            let times = [
                (Phase::DataWait, wait_ns),
                (Phase::Forward, work_ns),
                (exchange, step_ns - wait_ns - work_ns),
            ];
            row.phases_per_step = times.map(time).into();
            summary.instances.push(row);
        }
        let report = build(&summary, Reading::default(), &Config::default());
        let found = report.findings.into_iter().find(|found| found.rule == "input_bound");
        found.expect("waits for data")
    }
}

#[test]
fn what_others_wait_for_is_gained_as_well() {
    let one = Case { ranks: 4, work: |_, _| 10, wait: |rank, _| if rank == 2 { 8 } else { 0 } };
    let by_turns =
        Case { ranks: 4, work: |_, _| 10, wait: |rank, step| if step % 4 == rank { 8 } else { 0 } };
    let all = Case { ranks: 4, work: |_, _| 10, wait: |_, _| 8 };
    let beside_a_slow_one = Case {
        ranks: 4,
        work: |rank, _| if rank == 1 { 15 } else { 10 },
        wait: |rank, _| if rank == 2 { 8 } else { 0 },
    };
    let uneven = Case {
        ranks: 3,
        work: |rank, step| 5 + (rank * 7 + step * 3) % 6,
        wait: |rank, step| (rank + step * 5) % 7,
    };
    for (name, case, of_step_ns) in [
        ("one", one, 8 * MS),
        ("by turns", by_turns, 8 * MS),
        ("all", all, 8 * MS),
        ("beside a slow one", beside_a_slow_one, 3 * MS),
    ] {
        assert_eq!(case.gain_ns(), of_step_ns, "{name}");
        let gain = case.finding().predicted_gain.unwrap();
        assert!(gain.saved_ns_per_step >= of_step_ns, "{name}: {gain:?}");
        let step_ns = (0..STEPS).map(|step| case.with_ns(step)).sum::<u64>() / STEPS;
        assert_eq!(gain.saved_ns_per_step + gain.step_time_ns, step_ns, "{name}");
    }
    assert!(uneven.finding().predicted_gain.unwrap().saved_ns_per_step >= uneven.gain_ns());
}
