//! Fixtures of `memory_growth`.

use serde_json::json;
use stepscope_analyze::Summary;
use stepscope_analyze::memory::{LeakVerdict, Thresholds, leaks};
use stepscope_analyze::report::Verdict;
use stepscope_analyze::rules::{Config, find};
use stepscope_analyze::summary::{LateGrowth, StepNumbers, StepSeries, Trend};
use stepscope_core::{Mode, Phase};

use super::{fine, found, notes, unknown};
use crate::fixture::{MS, Run, healthy, point};

const RULE: &str = "memory_growth";

/// 500 steps of 10 ms, two sections.
fn run() -> Run {
    Run::of(500, 10 * MS).phase(Phase::Forward, "forward", 5 * MS).phase(Phase::Other, "history", MS / 10)
}

#[test]
fn growth_is_found_with_its_section() {
    let summary = run()
        .live(3_000_000, 134_000.0, 133_000.0, 1e-12)
        .leaves("step/forward", 20_000)
        .leaves("step/history", 133_632)
        .build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "Memory grows by 131 KiB a step, 63.9 MiB in 500 steps.");
    assert_eq!(finding.section.as_deref(), Some("step/history"));
    assert_eq!(finding.evidence.get("section_net_per_step_bytes"), Some(&json!(133_632)));
    let others = json!([{ "section": "step/forward", "net_per_step_bytes": 20_000 }]);
    assert_eq!(finding.evidence.get("other_candidates"), Some(&others));
    // 134 kB × 100 steps/s × 3600 s = 48 GB an hour.
    assert_eq!(finding.severity, 60.0);
    assert_eq!(finding.predicted_gain, None);
    let [leak] = leaks(&summary, &Thresholds::default()).try_into().unwrap();
    assert_eq!((leak.verdict, leak.live_bytes), (LeakVerdict::Growing, 70_000_000));
}

#[test]
fn an_hour_to_the_limit_is_the_worst() {
    let summary = run().live(3_000_000, 134_000.0, 134_000.0, 1e-12).build();
    let mut config = Config::default();
    let severity = |config: &Config| match (find(RULE).unwrap().check)(&summary, config) {
        Verdict::Found(findings) => findings[0].severity,
        other => panic!("{other:?}"),
    };
    config.memory_growth.limit_bytes = 40_000_000_000;
    assert_eq!(severity(&config), 100.0);
    config.memory_growth.limit_bytes = 400_000_000_000;
    assert_eq!(severity(&config), 70.0);
}

#[test]
fn resident_memory_alone_is_a_suspicion() {
    let summary = run().rss(50_000_000, 134_000.0, 134_000.0, 1e-12).build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert!(finding.title.starts_with("Resident memory grows (a leak is suspected)"), "{}", finding.title);
    assert_eq!(finding.severity, 30.0);
    assert_eq!(leaks(&summary, &Thresholds::default())[0].verdict, LeakVerdict::Suspected);
    assert!(finding.recommendation.starts_with("Nobody counts the heap: install"), "{finding:?}");
    let counted = run().rss(50_000_000, 134_000.0, 134_000.0, 1e-12).live(30_000_000, 0.0, 0.0, 1.0).build();
    let [finding] = found(RULE, &counted).try_into().unwrap();
    assert!(finding.recommendation.starts_with("The counting allocator does not see"), "{finding:?}");
}

#[test]
fn growth_that_ends_is_fine() {
    // Levels off, by chance, too little in all, too little a step.
    let cases = [
        run().live(0, 134_000.0, 60_000.0, 1e-12),
        run().live(0, 134_000.0, 134_000.0, 0.02),
        run().live(0, 1_900.0, 1_900.0, 1e-12),
        Run::of(50_000, MS).live(0, 60.0, 60.0, 1e-12),
    ];
    for (case, run) in cases.into_iter().enumerate() {
        assert!(fine(RULE, &run.build()).starts_with("live memory changed by"), "{case}");
    }
    assert!(leaks(&healthy().build(), &Thresholds::default()).is_empty());
}

/// 20 kB a step from step 300 on, of which `section` keeps all, in a run that is flat as a whole.
fn late(freed_bytes: u64) -> Summary {
    let mut summary = run().live(3_000_000, 0.0, 0.0, 1.0).leaves("step/history", 8_000).build();
    let live = summary.memory.live.as_mut().unwrap();
    let growth = Trend {
        n: 200,
        from_step: 300,
        to_step: 499,
        first_bytes: 3_020_000,
        last_bytes: 7_000_000,
        slope_per_step: 20_000.0,
        confidence_interval: (19_990.0, 20_010.0),
        p_value: 1e-6,
    };
    live.last_bytes = 7_123_456;
    live.late = Some(LateGrowth { growth, tail: growth, freed_bytes });
    summary
}

#[test]
fn growth_that_begins_late_is_found_from_its_step_on() {
    let [finding] = found(RULE, &late(0)).try_into().unwrap();
    assert_eq!(finding.title, "Memory grows by 19.5 KiB a step since step 300, 3.80 MiB in 200 steps.");
    let figure = |name: &str| finding.evidence.get(name).and_then(serde_json::Value::as_u64);
    assert_eq!((figure("from_step"), figure("steps")), (Some(300), Some(200)));
    // The line's ends, apart by the growth.
    let ends = (figure("first_bytes"), figure("last_bytes"), figure("growth_bytes"));
    assert_eq!(ends, (Some(3_020_000), Some(7_000_000), Some(3_980_000)));
    // 8 kB a step of 500 is as much as 20 kB a step of 200.
    assert_eq!(
        (finding.section.as_deref(), figure("section_net_per_step_bytes")),
        (Some("step/history"), Some(20_000))
    );
    assert_eq!(leaks(&late(0), &Thresholds::default())[0].live_bytes, 7_123_456);
}

#[test]
fn growth_after_as_much_was_freed_is_fine() {
    assert_eq!(found(RULE, &late(1_990_000)).len(), 1);
    assert!(fine(RULE, &late(1_990_001)).starts_with("live memory changed by +3.93 MiB"));
    let mut config = Config::default();
    config.memory_growth.min_freed_ratio = 1.9;
    assert_eq!(leaks(&late(1_990_001), &config.memory_growth).len(), 1);
}

#[test]
fn short_runs_and_runs_without_figures_are_not_judged() {
    let short = Run::of(99, MS).live(0, 134_000.0, 134_000.0, 1e-12).build();
    assert!(unknown(RULE, &short).contains("99 steps"));
    assert!(unknown(RULE, &run().build()).contains("stepscope::Alloc"));
}

#[test]
fn numbers_that_begin_anew_are_counted_on_or_not_judged() {
    let with = |numbers: StepNumbers| {
        let mut summary = run().live(3_000_000, 134_000.0, 133_000.0, 1e-12).build();
        summary.modes[0].numbers = numbers;
        summary.modes[0].step_range = Some((0, 9));
        let points = vec![point(0), point(499)];
        summary.series = vec![StepSeries { mode: Mode::Train, shift: 0, points }];
        summary
    };
    // The points of the series say how many steps there are, not the largest number.
    assert_eq!(found(RULE, &with(StepNumbers::ByEpoch))[0].evidence.get("steps"), Some(&json!(500)));
    assert!(unknown(RULE, &with(StepNumbers::Repeated)).contains("stepscope::epoch!"));
    assert!(leaks(&with(StepNumbers::Repeated), &Thresholds::default()).is_empty());
    let [note] = notes(RULE, &with(StepNumbers::Repeated), &Config::default()).try_into().unwrap();
    assert!(note.text.starts_with("500 steps share the numbers 0 to 9: "), "{}", note.text);
    assert!(notes(RULE, &with(StepNumbers::ByEpoch), &Config::default()).is_empty());
}
