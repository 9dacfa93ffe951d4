//! Tests of the detector: series whose truth is known by how they are made, one of each verdict, and what is broken.

use super::*;

const MB: f64 = 1e6;

/// Noise that is the same in each run, in [-1, 1): SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
fn rough(step: u64) -> f64 {
    let mut mixed = (step + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / f64::from(1u32 << 31) / f64::from(1u32 << 21) - 1.0
}

fn series(steps: u64, at: impl Fn(f64) -> f64) -> Vec<(u64, f64)> {
    (0..steps).map(|step| (step, 300.0 * MB + at(step as f64))).collect()
}

fn of(live: &Gauge) -> Judgment {
    judge(&Memory { live, ..Memory::default() })
}

#[test]
fn ten_steps_of_a_hundred_megabytes_are_a_leak() {
    let judged = of(&series(10, |step| 100.0 * MB * step + MB * rough(step as u64)));
    assert_eq!((judged.verdict, judged.is_suspected, judged.since_step), (Verdict::Leak, false, Some(0)));
    let (low, high) = judged.interval;
    assert!(low <= 100.0 * MB && high >= 100.0 * MB && high - low < 20.0 * MB, "{judged:?}");
}

#[test]
fn thirty_bytes_a_step_are_a_leak_over_many_steps() {
    let judged = of(&series(100_000, |step| 30.0 * step + 0.05 * MB * rough(step as u64)));
    assert_eq!(judged.verdict, Verdict::Leak);
    assert!((judged.bytes_per_step - 30.0).abs() < 1.0, "{judged:?}");
}

#[test]
fn a_leak_has_the_step_in_which_it_begins_and_the_rate_after_what_comes_at_once() {
    let late = of(&series(1_000, |step| 0.1 * MB * (step - 400.0).max(0.0) + MB * rough(step as u64)));
    let since = late.since_step.unwrap_or(0);
    assert!(late.is_leak() && since.abs_diff(400) <= 40, "{late:?}");
    let jump = of(&series(600, |step| MB * step + if step > 300.0 { 500.0 * MB } else { 0.0 }));
    assert!(jump.is_leak() && (jump.bytes_per_step / MB - 1.0).abs() < 0.1, "{jump:?}");
}

#[test]
fn a_cache_that_is_full_late_is_told_as_such() {
    for at in [0.45, 0.6, 0.85] {
        let judged =
            of(&series(500, |step| 200.0 * MB * (step / 500.0 / at).min(1.0) + MB * rough(step as u64)));
        assert_eq!(judged.verdict, Verdict::CacheFilling, "{at}: {judged:?}");
        assert!(judged.plateau_bytes.is_some_and(|bytes| (bytes / MB - 500.0).abs() < 10.0), "{judged:?}");
    }
}

#[test]
fn growth_that_slows_has_a_plateau() {
    let judged =
        of(&series(800, |step| 100.0 * MB * (1.0 - (-step / 250.0).exp()) + MB * rough(step as u64)));
    assert_eq!(judged.verdict, Verdict::Decelerating);
    assert!(judged.plateau_bytes.is_some_and(|bytes| (bytes / MB - 400.0).abs() < 15.0), "{judged:?}");
}

#[test]
fn growth_that_began_late_and_ended_has_stopped() {
    let judged = of(&series(900, |step| MB * (step.clamp(300.0, 600.0) - 300.0) + MB * rough(step as u64)));
    assert_eq!(judged.verdict, Verdict::Stopped, "{judged:?}");
}

#[test]
fn resident_memory_that_grows_over_a_flat_heap_is_fragmentation() {
    let live = series(400, |step| MB * rough(step as u64));
    let rss = series(400, |step| MB * step);
    let judged = judge(&Memory { live: &live, rss: &rss, ..Memory::default() });
    assert_eq!((judged.verdict, judged.is_suspected), (Verdict::Fragmentation, true));
    let alone = judge(&Memory { rss: &rss, ..Memory::default() });
    assert_eq!((alone.verdict, alone.is_suspected), (Verdict::Leak, true));
}

#[test]
fn healthy_courses_are_no_leaks() {
    let course = |name: &'static str, at: fn(f64) -> f64| {
        (name, series(600, |step| at(step) + MB * rough(step as u64)))
    };
    let all = [
        course("flat", |_| 0.0),
        course("optimizer state", |step| if step > 0.0 { 200.0 * MB } else { 0.0 }),
        course("curriculum", |step| 80.0 * MB * (step / 150.0).floor()),
        course("saw-tooth", |step| MB * (step % 60.0)),
        course("evaluation", |step| if step % 50.0 < 5.0 { 100.0 * MB } else { 0.0 }),
        course("loader", |step| 3.0 * MB * step.min(40.0)),
        course("shrinks", |step| -0.2 * MB * step),
    ];
    for (name, points) in &all {
        assert_ne!(of(points).verdict, Verdict::Leak, "{name}: {:?}", of(points));
    }
    assert_eq!(of(&all[0].1).verdict, Verdict::None);
}

#[test]
fn none_tells_the_smallest_rate_that_would_have_been_seen() {
    let flat = of(&series(500, |step| MB * rough(step as u64)));
    let rises = of(&series(500, |step| 2.0 * flat.least_seen * step + MB * rough(step as u64)));
    assert!(flat.least_seen > 0.0, "{flat:?}");
    assert!(rises.is_leak(), "{flat:?} {rises:?}");
}

#[test]
fn few_points_are_undecided_and_say_how_many_more() {
    for count in [0, 1, 5] {
        let judged = of(&series(count, |step| 100.0 * MB * step));
        assert_eq!(judged.verdict, Verdict::Undecided);
        assert!(judged.more_steps.is_some_and(|more| more > 0) || count == 0, "{judged:?}");
    }
}

#[test]
fn a_leak_that_goes_on_when_a_cache_is_full_is_found_with_its_own_rate() {
    let judged = of(&series(1_000, |step| 0.016 * MB * step + 0.065 * MB * step.min(400.0)));
    assert!(judged.is_leak() && judged.since_step >= Some(390), "{judged:?}");
    assert!((judged.bytes_per_step / MB - 0.016).abs() < 0.002, "{judged:?}");
}

#[test]
fn what_grows_ever_faster_has_the_rate_of_its_end() {
    let judged = of(&series(1_000, |step| 128.0 * step * step));
    // 256 bytes more in each step: 224 kB on average over the last quarter.
    assert!(judged.is_leak() && (judged.bytes_per_step / 224e3 - 1.0).abs() < 0.1, "{judged:?}");
}

#[test]
fn room_that_doubles_as_it_fills_is_no_fragmentation() {
    let live = series(1_000, |step| 0.032 * MB * (step + 1.0).log2().ceil().exp2());
    let rss = series(1_000, |step| 0.032 * MB * step + 0.02 * MB * rough(step as u64));
    let judged = judge(&Memory { live: &live, rss: &rss, ..Memory::default() });
    assert!(judged.is_leak() && (judged.bytes_per_step / MB - 0.032).abs() < 0.004, "{judged:?}");
    assert_eq!(of(&live).verdict, Verdict::Undecided, "{:?}", of(&live));
}

#[test]
fn what_is_cleared_once_and_grows_again_is_undecided_and_told() {
    let judged = of(&series(190, |step| 0.1 * MB * (step % 100.0) + 0.05 * MB * rough(step as u64)));
    assert_eq!(judged.verdict, Verdict::Undecided, "{judged:?}");
    let fell = judged.fell.unwrap();
    assert_eq!((fell.step, judged.more_steps), (100, Some(10)));
    assert!(fell.from_bytes > 309.0 * MB && fell.to_bytes < 301.0 * MB, "{judged:?}");
}

#[test]
fn teeth_on_a_leak_do_not_hide_it() {
    let judged =
        of(&series(1_000, |step| 0.05 * MB * step + MB * (step % 90.0) + 0.1 * MB * rough(step as u64)));
    assert!(judged.is_leak() && (judged.bytes_per_step / MB - 0.05).abs() < 0.01, "{judged:?}");
}

#[test]
fn what_was_missed_shuffled_and_wrong_changes_nothing() {
    let clean = series(400, |step| MB * step + MB * rough(step as u64));
    let mut worn: Vec<(u64, f64)> = clean.iter().copied().filter(|point| point.0 % 7 != 3).collect();
    (0..worn.len() - 1).step_by(9).for_each(|at| worn.swap(at, at + 1));
    worn[40].1 = f64::NAN;
    worn[90].1 = 1.8e19;
    worn[150].1 = 0.0;
    let judged = of(&worn);
    assert!(judged.is_leak() && (judged.bytes_per_step / MB - 1.0).abs() < 0.05, "{judged:?}");
}

#[test]
fn attempts_are_judged_each_by_itself() {
    // One process that begins anew at step 200, from its checkpoint: twice the same leak.
    let grows =
        |from: u64, to: u64| (from..to).map(move |step| (step, 300.0 * MB + MB * (step - from) as f64));
    let resumed: Vec<(u64, f64)> = grows(0, 300).chain(grows(200, 520)).collect();
    let judged = of(&resumed);
    assert!(judged.is_leak() && judged.steps == (200, 519), "{judged:?}");
    assert!((judged.bytes_per_step / MB - 1.0).abs() < 0.01, "{judged:?}");
}

#[test]
fn old_bytes_decide_where_young_ones_hide_the_growth_or_make_it() {
    let noisy = series(300, |step| 0.1 * MB * step + 200.0 * MB * rough(step as u64));
    let mature = series(300, |step| 0.1 * MB * step);
    let hidden = judge(&Memory { live: &noisy, mature: &mature, ..Memory::default() });
    assert!(hidden.is_leak(), "{hidden:?}");
    let batches = series(300, |step| 0.5 * MB * step);
    let kept = series(300, |step| 0.1 * MB * rough(step as u64));
    let young = judge(&Memory { live: &batches, mature: &kept, ..Memory::default() });
    assert_eq!(young.verdict, Verdict::Undecided, "{young:?}");
}

#[test]
fn a_limit_is_reached_after_what_is_left_at_the_rate() {
    let left = |bytes: f64, rate: f64| steps_left(rate, (rate / 2.0, rate * 2.0), bytes, 1_400.0);
    let expected = Left { steps: 200.0, at_least: 100.0, at_most: Some(400.0) };
    assert_eq!(left(1_000.0, 2.0), Some(expected));
    assert_eq!(left(2_000.0, 2.0).map(|left| left.steps), Some(0.0));
    assert_eq!(left(0.0, 0.0), None);
}
