//! Changes of the step time: from traces to the rows of the summary, in any order and in any parts.

use stepscope_analyze::Summary;
use stepscope_analyze::summary::{ChangeKind, PhaseName};
use stepscope_core::{Mode, Phase};
use stepscope_model::{Figure, Trace};

use crate::build::{Build, fold, summarise};

const US: u64 = 1_000;

/// Step `number` with `preparing_us` of preprocessing, 500 µs of forward and 100 µs without a phase; a little noise.
fn step(number: u64, mode: Mode, preparing_us: u64) -> Trace {
    let noise = number * 7_919 % 13 * US;
    let (start, preparing) = (number * 10_000_000, preparing_us * US);
    let mut build = Build::new(number + 1);
    let end = start + preparing + 600 * US + noise;
    build.step(number as i64, start, end).mode(mode).thread(1);
    build.span(1, "prepare", start, start + preparing).phase(Phase::Preprocessing).thread(1);
    build.span(1, "forward", start + preparing, end - 100 * US).phase(Phase::Forward).thread(1);
    build.trace()
}

/// 300 steps of which those from 181 on prepare for 150 µs longer: 20 % of a step.
fn slower() -> Vec<Trace> {
    (1..=300).map(|number| step(number, Mode::Train, if number < 181 { 150 } else { 300 })).collect()
}

fn told(summary: &Summary) -> Vec<(Mode, ChangeKind, u64, u64, u64)> {
    let changes = summary.changes.iter();
    changes.map(|row| (row.mode, row.kind, row.from_step, row.step, row.to_step)).collect()
}

#[test]
fn a_change_is_told_with_its_levels_and_its_phase() {
    let summary = summarise(&slower());
    assert_eq!(told(&summary), [(Mode::Train, ChangeKind::Sudden, 1, 181, 300)]);
    let change = &summary.changes[0];
    assert_eq!((change.steps_before, change.steps_after, change.step_numbers), (180, 120, 1));
    // The noise takes 13 values, of which the middle one is 6 µs.
    let off = |ns: u64, expected: u64| ns.abs_diff(expected) < US;
    assert!(off(change.before_ns, 756 * US) && off(change.after_ns, 906 * US), "{change:?}");
    let cause = change.cause.as_ref().unwrap();
    assert_eq!(cause.phase, Some(PhaseName::Known(Phase::Preprocessing)));
    assert_eq!((cause.before_ns, cause.after_ns), (150 * US, 300 * US));
    assert!((cause.share() - 1.0).abs() < 0.02, "{cause:?}");
    let section = cause.section.as_ref().unwrap();
    assert_eq!(
        (section.path.as_str(), section.before_ns, section.after_ns),
        ("step/prepare", 150 * US, 300 * US)
    );
}

#[test]
fn a_change_of_periodic_steps_alone_is_told() {
    // Every 4th step updates the weights: for 1 ms, and from the 250th on for 2 ms.
    let step = |number: u64| {
        let (start, noise) = (number * 10_000_000, number * 7_919 % 13 * US);
        let update = match number {
            _ if !number.is_multiple_of(4) => 0,
            0..250 => 1_000 * US,
            _ => 2_000 * US,
        };
        let mut build = Build::new(number + 1);
        build.step(number as i64, start, start + 600 * US + noise + update).thread(1);
        build.span(1, "forward", start, start + 500 * US).phase(Phase::Forward).thread(1);
        if update > 0 {
            build
                .span(1, "update", start + 500 * US, start + 500 * US + update)
                .phase(Phase::Optimizer)
                .thread(1);
        }
        build.trace()
    };
    let summary = summarise(&(0..600).map(step).collect::<Vec<_>>());
    // The first of these steps that is longer.
    assert_eq!(told(&summary), [(Mode::Train, ChangeKind::Sudden, 0, 252, 599)]);
    let change = &summary.changes[0];
    assert_eq!((change.in_every, change.steps_before, change.steps_after), (Some(4), 252, 348));
    let off = |ns: u64, expected: u64| ns.abs_diff(expected) < 2 * US;
    assert!(off(change.before_ns, 856 * US) && off(change.after_ns, 1_106 * US), "{change:?}");
    let cause = change.cause.as_ref().unwrap();
    assert_eq!(cause.phase, Some(PhaseName::Known(Phase::Optimizer)));
    assert_eq!((cause.before_ns, cause.after_ns), (250 * US, 500 * US));
    assert_eq!(cause.section.as_ref().unwrap().path, "step/update");
}

/// Steps of 600 µs, give or take 5 %; one in `every` saves for `saving_us`, give or take 10 %.
fn saving(seed: u64, count: u64, every: u64, saving_us: impl Fn(u64) -> u64) -> Summary {
    let around = |number: u64, of: u64, percent: u64| {
        of * US * (100 - percent) / 100 + random(seed, number, of * US * percent / 50)
    };
    let trace = |number: u64| {
        let (start, working) = (number * 100_000_000, around(number, 600, 5));
        let saving =
            if number % every == every - 1 { around(count + number, saving_us(number), 10) } else { 0 };
        let mut build = Build::new(number + 1);
        build.step(number as i64, start, start + working + saving).thread(1);
        build.span(1, "forward", start, start + working).phase(Phase::Forward).thread(1);
        if saving > 0 {
            build
                .span(1, "save", start + working, start + working + saving)
                .phase(Phase::Checkpoint)
                .thread(1);
        }
        build.trace()
    };
    summarise(&(0..count).map(trace).collect::<Vec<_>>())
}

#[test]
fn a_change_of_a_few_periodic_steps_by_far_is_told() {
    // From 2 to 8 steps' time, and from 1 to 10.
    for (every, rounds, (before, after)) in [
        (10, 24, (480, 1_920)),
        (25, 24, (1_200, 4_800)),
        (25, 40, (1_200, 4_800)),
        (25, 40, (600, 6_000)),
        (50, 68, (2_400, 9_600)),
    ] {
        let (count, middle) = (every * rounds, every * rounds / 2);
        for seed in 0..3 {
            let saves = |number| if number < middle { before } else { after };
            let changes = saving(seed, count, every, saves).changes;
            let found: Vec<_> = changes.iter().map(|row| (row.kind, row.in_every, row.step)).collect();
            let first = middle + every - 1;
            assert_eq!(found, [(ChangeKind::Sudden, Some(every), first)], "{every}, {rounds}, seed {seed}");
            assert_eq!(changes[0].cause.as_ref().unwrap().phase, Some(PhaseName::Known(Phase::Checkpoint)));
        }
    }
}

#[test]
fn periodic_steps_that_vary_are_no_change_however_few_they_are() {
    for seed in 0..50 {
        for (every, count) in [(10, 200), (25, 500), (25, 1_000)] {
            // By as much as it may take, and one in five half as long again.
            let saves = |number| {
                let usual = 1_200 + random(seed + 1, number, 600);
                if random(seed + 2, number, 5) == 0 { usual * 3 / 2 } else { usual }
            };
            let changes = saving(seed, count, every, saves).changes;
            assert!(changes.is_empty(), "{every} of {count}, seed {seed}: {changes:?}");
        }
    }
}

/// As [`slower`]; half of what prepares is in sections inside that, and one of them takes what is more. `others` more
/// sections are in each step.
fn slower_inside(others: usize) -> Vec<Trace> {
    let step = |number: u64| {
        let start = number * 10_000_000;
        let (decode, end) = (if number < 181 { 50 * US } else { 200 * US }, start + 2_000 * US);
        let mut build = Build::new(number + 1);
        build.step(number as i64, start, start + 1_000 * US + decode + number % 7 * US).thread(1);
        build.span(1, "prepare", start, start + 100 * US + decode).phase(Phase::Preprocessing).thread(1);
        build.span(2, "crop", start, start + 50 * US).thread(1);
        build.span(2, "decode", start + 50 * US, start + 50 * US + decode).thread(1);
        for other in 0..others {
            let at = (start + 300 * US + other as u64).min(end);
            build.span(1, &format!("other{other}"), at, at + 1).thread(1);
        }
        build.trace()
    };
    (1..=300).map(step).collect()
}

#[test]
fn the_section_of_the_phase_that_moved_most_is_named() {
    let summary = summarise(&slower_inside(0));
    let cause = summary.changes[0].cause.as_ref().unwrap();
    assert_eq!(cause.phase, Some(PhaseName::Known(Phase::Preprocessing)));
    let section = cause.section.as_ref().unwrap();
    let expected = ("step/prepare/decode", 50 * US, 200 * US);
    assert_eq!((section.path.as_str(), section.before_ns, section.after_ns), expected);
    assert_eq!(cause.section_that_explains(), Some(section));
    // Of more sections than a point tells apart those are known whose hashes are the smallest, in any order.
    let many = slower_inside(100);
    let expected = summarise(&many).changes;
    assert_eq!(summarise(many.iter().rev()).changes, expected);
    let (one, other) = many.split_at(150);
    let mut merged = fold(other);
    merged.merge(&fold(one));
    assert_eq!(merged.finish(None).changes, expected);
}

#[test]
fn order_and_parts_change_nothing() {
    let traces = slower();
    let expected = summarise(&traces).changes;
    assert_eq!(summarise(traces.iter().rev()).changes, expected);
    let (even, odd): (Vec<&Trace>, Vec<&Trace>) = traces.iter().partition(|trace| trace.id[15] % 2 == 0);
    let (mut one, mut other) = (fold(even.iter().copied()), fold(odd.iter().copied()));
    one.merge(&fold(odd.iter().copied()));
    other.merge(&fold(even.iter().copied()));
    assert_eq!((one.finish(None).changes, other.finish(None).changes), (expected.clone(), expected));
}

#[test]
fn modes_are_apart_and_equal_steps_change_nowhere() {
    let mut traces = slower();
    traces.extend((301..=500).map(|number| step(number, Mode::Eval, 2_000)));
    let summary = summarise(&traces);
    assert_eq!(told(&summary), [(Mode::Train, ChangeKind::Sudden, 1, 181, 300)]);
    let steady: Vec<Trace> = (1..=300).map(|number| step(number, Mode::Train, 150)).collect();
    assert_eq!(told(&summarise(&steady)), []);
}

#[test]
fn steps_that_grow_are_a_drift_of_their_phase() {
    let traces: Vec<Trace> = (0..300).map(|number| step(number, Mode::Train, 150 + number)).collect();
    let summary = summarise(&traces);
    assert_eq!(told(&summary), [(Mode::Train, ChangeKind::Gradual, 0, 0, 299)]);
    let change = &summary.changes[0];
    // From 750 to 1,049 µs and the noise; the first and the last third differ by 200 µs.
    assert!(
        change.before_ns.abs_diff(756 * US) < 8 * US && change.after_ns.abs_diff(1_055 * US) < 8 * US,
        "{change:?}"
    );
    let cause = change.cause.as_ref().unwrap();
    assert_eq!(cause.phase, Some(PhaseName::Known(Phase::Preprocessing)));
    assert!((cause.after_ns - cause.before_ns).abs_diff(200 * US) < 2 * US, "{cause:?}");
}

/// Evenly spread from 0 to `below`, at random.
fn random(seed: u64, number: u64, below: u64) -> u64 {
    let mut hash = (number ^ seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^= hash >> 32;
    (hash.wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) % below
}

/// As [`step`]; before it its thread waits for input.
fn fed(number: u64, preparing_us: u64, input_before_ns: u64) -> Trace {
    let mut trace = step(number, Mode::Train, preparing_us);
    let input_before_ns = i64::try_from(input_before_ns).unwrap();
    for span in trace.spans.iter_mut().filter(|span| span.parent.is_none()) {
        span.set_figure(Figure::InputBeforeNs, input_before_ns);
    }
    trace
}

/// 300 steps that wait for 20 µs before they begin, from 181 on for 6 ms.
fn starved() -> Vec<Trace> {
    let input = |number| if number < 181 { 20 * US } else { 6_000 * US } + random(0, number, US);
    (1..=300).map(|number| fed(number, 150, input(number))).collect()
}

#[test]
fn input_that_takes_longer_before_the_steps_is_a_change() {
    let summary = summarise(&starved());
    assert_eq!(told(&summary), [(Mode::Train, ChangeKind::Sudden, 1, 181, 300)]);
    let change = &summary.changes[0];
    let off = |ns: u64, expected: u64| ns.abs_diff(expected) < US;
    assert!(off(change.before_ns, 776 * US) && off(change.after_ns, 6_756 * US), "{change:?}");
    assert!(change.has_input());
    let alone = change.duration_before_ns.zip(change.duration_after_ns).unwrap();
    assert!(off(alone.0, 756 * US) && off(alone.1, 756 * US), "{change:?}");
    assert_eq!(change.of_steps_alone(), None);
    let cause = change.cause.as_ref().unwrap();
    assert_eq!(
        (&cause.phase, cause.is_between, &cause.section),
        (&Some(PhaseName::Known(Phase::DataWait)), true, &None)
    );
    assert!(off(cause.before_ns, 20 * US) && off(cause.after_ns, 6_000 * US), "{cause:?}");
    assert!(off(cause.step_before_ns, 776 * US) && off(cause.step_after_ns, 6_756 * US), "{cause:?}");
    assert!(cause.explains(0.5) && (cause.share() - 1.0).abs() < 0.01, "{cause:?}");
    // In any order and in parts.
    let traces = starved();
    assert_eq!(summarise(traces.iter().rev()).changes, summary.changes);
    let (one, other) = traces.split_at(100);
    let mut merged = fold(other);
    merged.merge(&fold(one));
    let merged = merged.finish(None);
    assert_eq!((&merged.changes, &merged.series), (&summary.changes, &summary.series));
}

#[test]
fn points_say_the_input_before_their_steps_where_a_step_says_it() {
    let mut traces = starved();
    traces.push(step(301, Mode::Train, 150));
    let summary = summarise(&traces);
    let points = &summary.series[0].points;
    assert_eq!(points[0].input_before_ns, Some(20 * US + random(0, 1, US)));
    assert_eq!(points[0].taken_ns(), points[0].duration_sum_ns + 20 * US + random(0, 1, US));
    assert_eq!((points[300].step, points[300].input_before_ns), (301, None));
    assert_eq!(points[300].taken_ns(), points[300].duration_sum_ns);
    let phases = &summary.phase_series[0].points;
    assert_eq!(phases.iter().map(|point| point.steps).sum::<u64>(), 301);
    let of = |inputs: Vec<Option<u64>>| inputs.into_iter().flatten().sum::<u64>();
    assert_eq!(
        of(phases.iter().map(|point| point.input_before_ns).collect()),
        of(points.iter().map(|point| point.input_before_ns).collect())
    );
    let plain = summarise(&slower());
    assert!(!plain.series[0].says_input() && plain.series[0].mean_input_ns(0).is_none());
    assert_eq!((plain.changes[0].duration_before_ns, plain.changes[0].has_input()), (None, false));
}

#[test]
fn input_that_takes_more_and_more_is_a_drift() {
    let traces: Vec<Trace> = (0..300).map(|number| fed(number, 150, number * 10 * US)).collect();
    let summary = summarise(&traces);
    assert_eq!(told(&summary), [(Mode::Train, ChangeKind::Gradual, 0, 0, 299)]);
    let change = &summary.changes[0];
    let alone = change.duration_before_ns.zip(change.duration_after_ns).unwrap();
    assert!(alone.0.abs_diff(756 * US) < 2 * US && alone.1.abs_diff(756 * US) < 2 * US, "{change:?}");
    assert!(change.cause.as_ref().unwrap().is_between, "{change:?}");
}

#[test]
fn waits_in_the_steps_and_before_them_are_two_causes() {
    // Longer in the step by 4 ms, and before it by 3 ms.
    let step = |number: u64| {
        let (start, is_slow) = (number * 20_000_000, number >= 181);
        let waiting = if is_slow { 5_000 * US } else { 1_000 * US };
        let mut build = Build::new(number + 1);
        let before_ns = if is_slow { 3_100_000 } else { 100_000 };
        let end = start + waiting + 600 * US + random(1, number, 13 * US);
        build.step(number as i64, start, end).thread(1).figure(Figure::InputBeforeNs, before_ns);
        build.span(1, "data_wait", start, start + waiting).phase(Phase::DataWait).thread(1);
        build.trace()
    };
    let summary = summarise(&(1..=300).map(step).collect::<Vec<_>>());
    let cause = summary.changes[0].cause.as_ref().unwrap();
    assert_eq!((&cause.phase, cause.is_between), (&Some(PhaseName::Known(Phase::DataWait)), false));
    assert_eq!((cause.before_ns, cause.after_ns), (1_000 * US, 5_000 * US));
    assert!((cause.share() - 4.0 / 7.0).abs() < 0.01, "{cause:?}");
    let alone = summary.changes[0].of_steps_alone().unwrap();
    assert!(alone.after_ns.abs_diff(5_606 * US) < 2 * US, "{alone:?}");
}

#[test]
fn input_that_keeps_its_level_is_no_change_however_it_varies() {
    for seed in 0..50 {
        // Little, as much as the steps, ten times as much.
        let below = [20, 700, 7_000][seed as usize % 3] * US;
        let traces: Vec<Trace> =
            (0..400).map(|number| fed(number, 150, random(seed, number, below))).collect();
        assert_eq!(told(&summarise(&traces)), [], "{seed}");
    }
}

#[test]
fn input_that_varies_hides_no_change_of_the_steps() {
    let mut found = 0;
    for seed in 0..50 {
        let step = |number: u64| {
            fed(number, if number < 181 { 150 } else { 300 }, random(seed, number, 10_000 * US))
        };
        let summary = summarise(&(1..=300).map(step).collect::<Vec<_>>());
        let is_it = |change: &&stepscope_analyze::summary::StepChange| {
            change.step.abs_diff(181) <= 5
                && change.duration_before_ns.is_none()
                && change.before_ns.abs_diff(756 * US) < 2 * US
                && change.cause.as_ref().is_some_and(|cause| {
                    cause.phase == Some(PhaseName::Known(Phase::Preprocessing))
                        && cause.step_after_ns.abs_diff(906 * US) < US
                })
        };
        found += usize::from(summary.changes.iter().find(is_it).is_some());
    }
    assert!(found >= 47, "{found} of 50");
}

#[test]
fn what_the_input_before_the_steps_makes_good_is_no_change() {
    for seed in 0..50 {
        // A loader that makes a batch in 2 ms: the longer a step takes, the less the next one waits.
        let step = |number: u64| {
            let preparing_us = if number < 181 { 150 } else { 300 };
            fed(number, preparing_us, 1_100 * US - preparing_us * US + random(seed, number, 200 * US))
        };
        let summary = summarise(&(1..=300).map(step).collect::<Vec<_>>());
        assert_eq!(told(&summary), [], "{seed}");
    }
}

/// Steps of 756 µs that are fed by so many threads, each of which makes every so many batches, in `making_us` and up to a twentieth
/// more or less, and waits until its last one is taken.
fn loaded(seed: u64, steps: u64, loaders: u64, making_us: impl Fn(u64) -> u64) -> Vec<Trace> {
    let (mut now_ns, mut free_ns) = (0, vec![0; loaders as usize]);
    let step = |number: u64| {
        let loader = (number % loaders) as usize;
        let making_ns = making_us(number) * US;
        let ready_ns =
            free_ns[loader] + making_ns - making_ns / 20 + random(seed, number, making_ns / 10 + 1);
        let begin_ns = ready_ns.max(now_ns);
        let trace = fed(number, 150, begin_ns - now_ns);
        free_ns[loader] = begin_ns;
        now_ns = begin_ns + 756 * US;
        trace
    };
    (0..steps).map(step).collect()
}

/// What steps take with the input before them, on average.
fn mean_taken_ns(traces: &[Trace]) -> u64 {
    let of = |trace: &Trace| {
        let root = trace.spans.iter().find(|span| span.parent.is_none()).unwrap();
        root.end_ns - root.start_ns + root.figure(Figure::InputBeforeNs).unwrap() as u64
    };
    traces.iter().map(of).sum::<u64>() / traces.len() as u64
}

#[test]
fn loaders_that_become_slower_are_found_where_they_do() {
    // A step takes 756 µs, and these so long for a batch: most were behind before, or were not, or are no more after it.
    for (loaders, before_us, after_us) in [
        (2, 3_000, 4_000),
        (4, 6_000, 9_000),
        (4, 2_000, 9_000),
        (4, 9_000, 6_000),
        (5, 3_000, 6_000),
        (8, 12_000, 15_000),
    ] {
        let setup = format!("{loaders} loaders, {before_us} and {after_us} µs");
        let mut found = 0;
        for seed in 0..20 {
            let making = |number| if number < 600 { before_us } else { after_us };
            let traces = loaded(seed, 1_000, loaders, making);
            let summary = summarise(&traces);
            let [change] = &summary.changes[..] else { continue };
            let off = |ns: u64, traces: &[Trace]| ns.abs_diff(mean_taken_ns(traces)) as f64 / ns as f64;
            let (before, after) = traces.split_at(600);
            assert!(off(change.before_ns, before) < 0.03, "{setup}: {change:?}");
            assert!(off(change.after_ns, after) < 0.03, "{setup}: {change:?}");
            let alone = change.duration_before_ns.zip(change.duration_after_ns).unwrap();
            assert!(
                alone.0.abs_diff(756 * US) < US && alone.1.abs_diff(756 * US) < US,
                "{setup}: {change:?}"
            );
            assert!(change.means_over.is_some() && change.cause.as_ref().unwrap().is_between, "{change:?}");
            found += u32::from(change.step.abs_diff(600) <= 5);
        }
        assert!(found >= 19, "{setup}: {found} of 20");
    }
}

/// So long a step waits, beside what it waits anyway: the first one; one in the middle; one in 100; none.
const LONG_WAITS: [fn(u64) -> bool; 4] =
    [|number| number == 0, |number| number == 400, |number| number.is_multiple_of(100), |_| false];

#[test]
fn long_waits_hide_no_change_of_input_and_make_none() {
    for (kind, is_long) in LONG_WAITS.iter().enumerate() {
        for seed in 0..10 {
            let wait = |number: u64| if is_long(number) { 800_000 * US } else { 0 };
            // Input that takes 4 ms, and from 600 on 8 ms.
            let input =
                |number: u64| if number < 600 { 4_000 } else { 8_000 } * US + random(seed, number, 800 * US);
            let starved: Vec<Trace> =
                (0..1_000).map(|number| fed(number, 150, wait(number) + input(number))).collect();
            let summary = summarise(&starved);
            let [change] = &summary.changes[..] else { panic!("{kind} {seed}: {:?}", summary.changes) };
            // The long wait at the step itself is of neither level.
            assert!(
                change.step.abs_diff(600) <= 1 && change.kind == ChangeKind::Sudden,
                "{kind} {seed}: {change:?}"
            );
            let off = |ns: u64, expected: u64| ns.abs_diff(expected) < 100 * US;
            assert!(
                off(change.before_ns, 5_156 * US) && off(change.after_ns, 9_156 * US),
                "{kind} {change:?}"
            );
            // A loader that is always behind, and makes good what steps take more.
            let behind = |number: u64| {
                let preparing_us = if number < 600 { 150 } else { 1_150 };
                fed(
                    number,
                    preparing_us,
                    wait(number) + 3_000 * US - preparing_us * US + random(seed, number, 300 * US),
                )
            };
            assert_eq!(told(&summarise(&(0..1_000).map(behind).collect::<Vec<_>>())), [], "{kind} {seed}");
        }
    }
}

#[test]
fn checkpoints_hide_no_change_of_loaders() {
    for seed in 0..10 {
        let mut traces = loaded(seed, 2_000, 4, |number| if number < 1_210 { 6_000 } else { 9_000 });
        // Every 50th step waits for a checkpoint besides.
        for trace in traces.iter_mut().skip(49).step_by(50) {
            for span in trace.spans.iter_mut().filter(|span| span.parent.is_none()) {
                span.end_ns += 15_000 * US;
            }
        }
        let summary = summarise(&traces);
        let [change] = &summary.changes[..] else { panic!("{seed}: {:?}", summary.changes) };
        assert!(change.step.abs_diff(1_210) <= 5 && change.means_over.is_some(), "{seed}: {change:?}");
    }
}

#[test]
fn loaders_that_stay_as_fast_are_no_change() {
    // Batches that take as long, some of which take 8 times as long, that take anything, and that take longer a few times in a row.
    let kinds: [fn(u64, u64) -> u64; 4] = [
        |_, _| 2_000,
        |seed, number| if random(seed + 100, number, 20) == 0 { 8_000 } else { 1_000 },
        |seed, number| 500 + random(seed + 100, number, 3_000),
        |seed, number| if random(seed + 100, number / 3, 10) == 0 { 4_500 } else { 1_500 },
    ];
    for (kind, making_us) in kinds.iter().enumerate() {
        for seed in 0..50 {
            let (loaders, steps) =
                ([1, 2, 4, 8, 12][seed as usize % 5], [200, 400, 1_000][seed as usize % 3]);
            let traces = loaded(seed, steps, loaders, |number| making_us(seed, number) * loaders);
            assert_eq!(told(&summarise(&traces)), [], "{kind} {loaders} {steps} {seed}");
        }
    }
}
