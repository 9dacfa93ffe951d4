//! Fixtures of `memory_growth`.

use serde_json::json;
use stepscope_analyze::Summary;
use stepscope_analyze::memory::{LeakVerdict, Thresholds, leaks};
use stepscope_analyze::report::Verdict;
use stepscope_analyze::rules::{Config, Names, find};
use stepscope_analyze::summary::{CourseVerdict, MemoryCourse, MemoryFall, StepNumbers, StepSeries, Trend};
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
        .live(3_000_000, 134_000.0)
        .leaves("step/forward", 20_000)
        .leaves("step/history", 133_632)
        .build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "Memory grows by 131 KiB a step, 63.8 MiB in 500 steps.");
    assert_eq!(finding.section.as_deref(), Some("step/history"));
    assert_eq!(finding.evidence.get("section_net_per_step_bytes"), Some(&json!(133_632)));
    assert_eq!(finding.evidence.get("other_candidates"), Some(&json!([])));
    // 134 kB × 100 steps/s × 3600 s = 48 GB an hour.
    assert_eq!(finding.severity, 60.0);
    assert_eq!(finding.predicted_gain, None);
    let [leak] = leaks(&summary, &Thresholds::default()).try_into().unwrap();
    assert_eq!((leak.verdict, leak.live_bytes), (LeakVerdict::Growing, 70_000_000));
}

#[test]
fn what_grows_in_declared_caches_is_told_and_no_leak() {
    let summary = run().live(3_000_000, 134_000.0).leaves("step/history", 100_000).build();
    let check = |caches: &[&str]| {
        let mut config = Config::default();
        config.memory_growth.caches = Names(caches.iter().map(|name| (*name).to_owned()).collect());
        (find(RULE).unwrap().check)(&summary, &config)
    };
    let Verdict::Found(findings) = check(&["step/history"]) else { panic!("not found") };
    assert_eq!(findings[0].title, "Memory grows by 33.2 KiB a step, 16.2 MiB in 500 steps.");
    let beside = "Beside this, memory grows by 97.7 KiB a step in `step/history`, declared a cache. ";
    assert!(findings[0].recommendation.starts_with(beside), "{}", findings[0].recommendation);
    let all = run().live(3_000_000, 134_000.0).leaves("step/history", 133_000).build();
    let mut config = Config::default();
    config.memory_growth.caches = Names(vec!["step/history".into()]);
    let Verdict::Fine { because } = (find(RULE).unwrap().check)(&all, &config) else { panic!("found") };
    assert_eq!(because, "memory grows by 130 KiB a step in `step/history`, declared a cache: no leak");
    assert!(leaks(&all, &config.memory_growth).is_empty());
    assert!(matches!(check(&["step/other"]), Verdict::Found(findings) if findings[0].section.is_some()));
}

#[test]
fn a_jump_back_is_told() {
    let mut summary = does(CourseVerdict::Undecided, None, Some(40));
    let course = summary.memory.course.as_mut().unwrap();
    course.fell = Some(MemoryFall { step: 300, from_bytes: 8 << 30, to_bytes: 1 << 30 });
    let [note] = notes(RULE, &summary, &Config::default()).try_into().unwrap();
    assert!(
        note.text.starts_with("Live memory falls from 8.00 GiB to 1.00 GiB at step 300"),
        "{}",
        note.text
    );
}

#[test]
fn an_hour_to_the_limit_is_the_worst() {
    let summary = run().live(3_000_000, 134_000.0).build();
    let mut config = Config::default();
    let severity = |config: &Config| match (find(RULE).unwrap().check)(&summary, config) {
        Verdict::Found(findings) => findings[0].severity,
        other => panic!("{other:?}"),
    };
    config.memory_growth.limit_bytes = 40_000_000_000;
    assert_eq!(severity(&config), 100.0);
    let Verdict::Found(findings) = (find(RULE).unwrap().check)(&summary, &config) else {
        panic!("not found")
    };
    // (40 GB - 70 MB) / (134 kB × 100 steps/s) = 2,980 s, of a rate that is known to a hundredth.
    let said = "It reaches 37.3 GiB in 49 min 40 s (49 min 10 s to 50 min 10 s).";
    assert!(findings[0].recommendation.ends_with(said), "{}", findings[0].recommendation);
    config.memory_growth.limit_bytes = 400_000_000_000;
    assert_eq!(severity(&config), 70.0);
}

#[test]
fn the_limit_that_a_process_says_counts_with_what_others_use_of_it() {
    let mut summary = run().live(3_000_000, 134_000.0).build();
    let mut deadline = |used_bytes| {
        summary.instances[0].memory_limit = Some((40_000_000_000, used_bytes));
        let [finding] = found(RULE, &summary).try_into().unwrap();
        finding.recommendation
    };
    // 10 GB / (134 kB × 100 steps/s) = 746 s.
    let said = deadline(30_000_000_000);
    assert!(said.contains(" It reaches 37.3 GiB in 12 min 26 s ("), "{said}");
    let said = deadline(50_000_000_000);
    assert!(said.ends_with(" It has reached 37.3 GiB."), "{said}");
}

#[test]
fn resident_memory_alone_is_a_suspicion() {
    let summary = run().rss(50_000_000, 134_000.0).build();
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert!(finding.title.starts_with("Resident memory grows (a leak is suspected)"), "{}", finding.title);
    assert_eq!(finding.severity, 30.0);
    assert_eq!(leaks(&summary, &Thresholds::default())[0].verdict, LeakVerdict::Suspected);
    assert!(finding.recommendation.starts_with("Nobody counts the heap: install"), "{finding:?}");
    let counted = run().live(30_000_000, 0.0).rss(50_000_000, 134_000.0).build();
    let [finding] = found(RULE, &counted).try_into().unwrap();
    assert!(
        finding.title.contains("the heap does not (native code, fragmentation or retention)"),
        "{}",
        finding.title
    );
    assert!(finding.recommendation.starts_with("The counting allocator does not see"), "{finding:?}");
}

/// 500 steps whose live memory does this.
fn does(verdict: CourseVerdict, plateau_bytes: Option<u64>, more_steps: Option<u64>) -> Summary {
    let mut summary = run().live(3_000_000, 0.0).build();
    let course = summary.memory.course.as_mut().unwrap();
    *course = MemoryCourse { verdict, plateau_bytes, more_steps, ..*course };
    summary
}

#[test]
fn each_verdict_has_its_sentence() {
    let said = [
        (
            CourseVerdict::Decelerating,
            Some(400 << 20),
            "live memory grows ever more slowly, to about 400 MiB",
        ),
        (CourseVerdict::Decelerating, None, "live memory grows ever more slowly; it came to 2.86 MiB"),
        (
            CourseVerdict::CacheFilling,
            Some(500 << 20),
            "live memory filled up to about 500 MiB, as a cache does, and stays there",
        ),
        (
            CourseVerdict::Stopped,
            Some(600 << 20),
            "live memory grew for a while and stopped at about 600 MiB",
        ),
        (CourseVerdict::None, None, "live memory does not grow on; 2.00 KiB a step would have been seen"),
    ];
    for (verdict, plateau, sentence) in said {
        assert_eq!(fine(RULE, &does(verdict, plateau, None)), sentence);
    }
    let undecided = unknown(RULE, &does(CourseVerdict::Undecided, None, Some(200)));
    assert_eq!(undecided, "undecided whether memory grows on: needs about 200 more steps");
    assert!(leaks(&healthy().build(), &Thresholds::default()).is_empty());
}

#[test]
fn growth_that_begins_late_is_found_from_its_step_on() {
    let mut summary = does(CourseVerdict::Leak, None, None);
    summary = Summary { sections: run().leaves("step/history", 8_000).build().sections, ..summary };
    let course = summary.memory.course.as_mut().unwrap();
    course.trend = course.trend.map(|trend| Trend { from_step: 300, slope_per_step: 20_000.0, ..trend });
    let [finding] = found(RULE, &summary).try_into().unwrap();
    assert_eq!(finding.title, "Memory grows by 19.5 KiB a step since step 300, 3.80 MiB in 200 steps.");
    let figure = |name: &str| finding.evidence.get(name).and_then(serde_json::Value::as_u64);
    assert_eq!((figure("from_step"), figure("steps")), (Some(300), Some(200)));
    // 8 kB a step of 500 is as much as 20 kB a step of 200.
    assert_eq!(
        (finding.section.as_deref(), figure("section_net_per_step_bytes")),
        (Some("step/history"), Some(20_000))
    );
}

#[test]
fn runs_without_figures_are_not_judged() {
    assert!(unknown(RULE, &run().build()).contains("stepscope::Alloc"));
}

#[test]
fn numbers_that_begin_anew_are_counted_on_or_not_judged() {
    let with = |numbers: StepNumbers| {
        let mut summary = run().live(3_000_000, 134_000.0).build();
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
