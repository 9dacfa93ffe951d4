//! Runs that warm up, or that are slow now and then, from traces to findings: what warm-up takes is told by `long_warmup`
//! and by no other rule, and what a section does after it is told whatever it did before.

use stepscope_analyze::Summary;
use stepscope_analyze::report::{Finding, Verdict};
use stepscope_analyze::rules::{self, Config};
use stepscope_analyze::summary::WholeSteps;
use stepscope_core::Phase;
use stepscope_model::{PhaseTag, Trace};

use crate::build::{Build, fold, summarise};

const MS: u64 = 1_000_000;

/// A section of a step: name, milliseconds, and what is inside it at its beginning.
struct Section(&'static str, f64, Vec<Section>);

fn section(name: &'static str, ms: f64) -> Section {
    Section(name, ms, Vec::new())
}

/// The stages of a step of 10 ms, so many times as long.
fn stages(times: f64) -> Vec<Section> {
    vec![section("forward", 3.0 * times), section("backward", 6.0 * times), section("optimizer", times)]
}

fn put(build: &mut Build, around: u64, sections: &[Section], mut start_ns: u64) -> u64 {
    for Section(name, ms, inside) in sections {
        let end_ns = start_ns + (ms * MS as f64) as u64;
        build.span(around, name, start_ns, end_ns).thread(1);
        let id = build.0.spans.len() as u64;
        let phase = match *name {
            "wait" => Some(Phase::Synchronization),
            "write" => Some(Phase::Io),
            _ => None,
        };
        if let Some(phase) = phase {
            build.0.spans.last_mut().unwrap().phase = PhaseTag::Known(phase);
        }
        put(build, id, inside, start_ns);
        start_ns = end_ns;
    }
    start_ns
}

/// Steps that follow each other, each with code of its own at its end for so many milliseconds.
fn run(steps: u64, of: impl Fn(u64) -> (Vec<Section>, f64)) -> Vec<Trace> {
    let mut start_ns = 0;
    let step = |number: u64| {
        let (sections, own_ms) = of(number);
        let mut build = Build::new(number + 1);
        build.step(number as i64, start_ns, start_ns).thread(1);
        let end_ns = put(&mut build, 1, &sections, start_ns) + (own_ms * MS as f64) as u64;
        build.0.spans[0].end_ns = end_ns;
        start_ns = end_ns;
        build.trace()
    };
    (0..steps).map(step).collect()
}

fn check(rule: &str, summary: &Summary) -> Verdict {
    (rules::find(rule).unwrap().check)(summary, &Config::default())
}

fn found(rule: &str, summary: &Summary) -> Finding {
    match check(rule, summary) {
        Verdict::Found(findings) => findings.into_iter().next().unwrap(),
        other => panic!("{rule}: {other:?}"),
    }
}

fn assert_fine(rule: &str, summary: &Summary) {
    let verdict = check(rule, summary);
    assert!(matches!(verdict, Verdict::Fine { .. }), "{rule}: {verdict:?}");
}

/// Few steps, irregularly apart.
const NOW_AND_THEN: [u64; 8] = [40, 77, 130, 166, 190, 222, 240, 290];

#[test]
fn what_sections_take_in_warm_up_is_known_apart() {
    // Step 0 compiles for 3 s; then sections take 10 ms.
    let traces = run(300, |step| {
        let compiling = (step == 0).then(|| section("jit", 3_000.0));
        (compiling.into_iter().chain(stages(1.0)).collect(), 0.0)
    });
    let summary = summarise(&traces);
    assert_eq!(summary.modes[0].whole_warmup, WholeSteps { steps: 1, total_ns: 3_010 * MS });
    assert_eq!(summary.modes[0].whole_after_warmup(), WholeSteps { steps: 299, total_ns: 2_990 * MS });
    let part = |path: &str| summary.section(path).unwrap().in_steps[0];
    let (jit, backward) = (part("step/jit"), part("step/backward"));
    assert_eq!((jit.warmup_calls, jit.warmup_total_ns, jit.warmup_exposed_ns), (1, 3_000 * MS, 3_000 * MS));
    assert_eq!(
        (jit.after_warmup().calls, jit.after_warmup().driving_ns, jit.longest_steady_ns),
        (0, 0, None)
    );
    assert_eq!((backward.warmup_calls, backward.warmup_driving_ns), (1, 6 * MS));
    assert_eq!(
        (backward.after_warmup().exposed_ns, backward.longest_steady_ns),
        (299 * 6 * MS, Some(6 * MS))
    );
    // Whatever the order, and in parts.
    let (odd, even): (Vec<_>, Vec<_>) = traces.iter().rev().partition(|trace| trace.id[15] % 2 == 1);
    let mut parts = fold(odd);
    parts.merge(&fold(even));
    assert_eq!(parts.finish(None), summary);
    assert_eq!(parts.to_bytes().unwrap(), fold(&traces).to_bytes().unwrap());
}

#[test]
fn warm_up_is_told_by_its_own_rule_only() {
    // 3 s in the first step or 2.5 s in the first five, of 3 s in all besides.
    for (warm, ms) in [(1, 3_000.0), (5, 500.0)] {
        let compiling = summarise(&run(300, |step| {
            let jit = section("jit", if step < warm { ms } else { 0.1 });
            (std::iter::once(jit).chain(stages(1.0)).collect(), 0.0)
        }));
        assert_eq!(found("long_warmup", &compiling).section.as_deref(), Some("step/jit"));
        let own = summarise(&run(300, |step| (stages(1.0), if step < warm { ms } else { 0.01 })));
        assert_eq!(found("long_warmup", &own).section, None);
        for summary in [&compiling, &own] {
            for rule in ["slow_section", "host_bound", "slow_calls"] {
                assert_fine(rule, summary);
            }
        }
    }
}

#[test]
fn slow_calls_after_a_warm_up_are_found_with_all_that_they_take() {
    // 8 calls of 100 ms more in 299 steps of 10.2 ms: 800 of 3,849.8 ms. Before them something compiles for 900 ms, or the
    // section itself takes 3 s.
    for (compile_ms, first_ms) in [(900.0, 0.0), (0.0, 3_000.0), (0.0, 0.0)] {
        let summary = summarise(&run(300, |step| {
            let slow_ms = if NOW_AND_THEN.contains(&step) { 100.0 } else { 0.0 };
            let first_ms = if step == 0 { first_ms } else { 0.0 };
            let mut sections = stages(1.0);
            sections.push(section("log", 0.2 + slow_ms + first_ms));
            if step == 0 && compile_ms > 0.0 {
                sections.push(section("jit", compile_ms));
            }
            (sections, 0.0)
        }));
        let slow = found("slow_calls", &summary);
        assert_eq!((slow.severity, slow.section.as_deref()), (21.0, Some("step/log")), "{}", slow.title);
        // The longest call after warm-up: of the median the place in the histogram is known.
        let ratio = slow.evidence.get("max_to_p50_ratio").unwrap().as_f64().unwrap();
        assert!((ratio - 501.0).abs() < 0.01 * 501.0, "{ratio}");
        let saved_ns = slow.predicted_gain.unwrap().saved_ns_per_step;
        // Within twice the error of a place in the histogram.
        assert!(saved_ns.abs_diff(800 * MS / 299) < 800 * MS / 299 / 50, "{saved_ns}");
        let jitter = found("step_jitter", &summary);
        assert_eq!(jitter.section.as_deref(), Some("step/log"), "{}", jitter.recommendation);
    }
}

#[test]
fn calls_that_are_slow_for_what_is_inside_them_are_left_to_that() {
    let of = |name, is_slow: &dyn Fn(u64) -> bool| {
        summarise(&run(300, |step| {
            let mut sections = stages(1.0);
            if is_slow(step) {
                sections[0] = Section("forward", 103.0, vec![section(name, 100.0)]);
            }
            (sections, 0.0)
        }))
    };
    // Told by its own rule: 800 of 3,800 ms.
    let waiting = of("wait", &|step| NOW_AND_THEN.contains(&step));
    assert_eq!(found("sync_waits", &waiting).severity, 21.0);
    assert_fine("slow_calls", &waiting);
    // No rule asks for compilation: 1,200 of 4,200 ms.
    let compiling = found("slow_calls", &of("compile", &|step| step % 25 == 7));
    assert_eq!((compiling.severity, compiling.section.as_deref()), (29.0, Some("step/forward")));
    // What it does itself is still its own.
    let itself = summarise(&run(300, |step| {
        let mut sections = stages(1.0);
        if NOW_AND_THEN.contains(&step) {
            sections[0] = Section("forward", 103.0, vec![section("wait", 20.0)]);
        }
        (sections, 0.0)
    }));
    // 80 of 100 ms: 640 of 3,800 ms.
    let slow = found("slow_calls", &itself);
    assert_eq!((slow.severity, slow.section.as_deref()), (17.0, Some("step/forward")));
}

#[test]
fn steps_that_are_slower_as_a_whole_are_no_matter_of_their_longest_section() {
    // 30 of 500 steps take four times as long, in every section.
    let slow = |step: u64| (step * 7_919 + step * step * 31 + 250) % 500 < 30;
    let summary = summarise(&run(500, |step| (stages(if slow(step) { 4.0 } else { 1.0 }), 0.0)));
    let jitter = found("step_jitter", &summary);
    assert_eq!((jitter.section, jitter.phase), (None, None), "{}", jitter.recommendation);
    assert!(jitter.recommendation.starts_with("No phase explains"), "{}", jitter.recommendation);
}
