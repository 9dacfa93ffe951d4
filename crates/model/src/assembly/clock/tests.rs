//! Tests of the summary of steps' starts: jumps seen, order and partition without effect, bounds held.

use super::*;
use crate::issues::Issues;

const HOUR: u64 = 3_600 * SECOND_NS;

/// Starts of `steps` steps that begin a second apart, moved by `jump_ns` from step `at` on.
fn starts(steps: u32, at: u32, jump_ns: i64) -> Vec<(u32, u64)> {
    (0..steps)
        .map(|n| {
            let start = 1_000_000 * SECOND_NS + u64::from(n) * SECOND_NS;
            (n, if n < at { start } else { start.saturating_add_signed(jump_ns) })
        })
        .collect()
}

fn clocks(starts: &[(u32, u64)], issues: &Issues) -> Clocks {
    let mut clocks = Clocks::default();
    for &(number, start) in starts {
        clocks.add((7, 0, vec![(number, start, start)]), FileId::NONE, issues);
    }
    clocks
}

fn counted(clocks: &Clocks) -> Vec<(u64, String)> {
    let mut issues = Issues::default();
    clocks.report(&mut issues);
    issues.to_vec().into_iter().map(|issue| (issue.count, issue.reason)).collect()
}

#[test]
fn jumps_are_seen_and_small_disorder_is_not() {
    let issues = Issues::default();
    for steps in [3, 200, 20_000] {
        for at in [1, steps / 2, steps - 1] {
            let found = |jump_ns| counted(&clocks(&starts(steps, at, jump_ns), &issues));
            assert_eq!(found(0), []);
            assert_eq!(found(-(SECOND_NS as i64 / 2)), []);
            assert_eq!(found(HOUR as i64), [], "a pause");
            let back = found(-(3 * HOUR as i64));
            assert_eq!(back.len(), 1, "{steps} {at}");
            assert_eq!(back[0].0, 1, "{steps} {at}");
            assert!(back[0].1.contains("go back in time by "), "{}", back[0].1);
            let ahead = found(50 * 365 * 24 * HOUR as i64);
            assert_eq!(ahead[0].0, 1, "{steps} {at}");
            assert!(ahead[0].1.contains("leap ahead by 18250 days"), "{}", ahead[0].1);
        }
    }
}

#[test]
fn a_clock_that_is_set_back_a_little_is_seen() {
    let issues = Issues::default();
    // A hundred steps a second; the clock goes back by as many milliseconds.
    let found = |steps: u32, at: u32, back_ms: u64| {
        let start = |n: u32| 1_000_000 * SECOND_NS + u64::from(n) * SECOND_NS / 100;
        let back = |n: u32| if n < at { 0 } else { back_ms * 1_000_000 };
        let starts: Vec<(u32, u64)> = (0..steps).map(|n| (n, start(n) - back(n))).collect();
        counted(&clocks(&starts, &issues))
    };
    for (steps, at) in [(300, 150), (300, 151), (300, 4), (300, 298), (200, 77), (5_000, 2_501)] {
        assert_eq!(found(steps, at, 0), []);
        for back_ms in [30_000, 55_000] {
            let told = found(steps, at, back_ms);
            assert_eq!(told.len(), 1, "{steps} {at} {back_ms}");
            assert_eq!(told[0].0, 1, "{steps} {at} {back_ms}");
            // By no more than it was, nor by more than what four groups last less.
            let words = told[0].1.split("go back in time by ").nth(1).unwrap().split(' ').next().unwrap();
            let seconds: u64 = words.parse().unwrap();
            assert!((back_ms / 1_000 - 2..=back_ms / 1_000).contains(&seconds), "{seconds} {back_ms}");
        }
    }
    assert_eq!(found(300, 150, 1_000).len(), 1);
    // The run goes on for longer than it was set back, but not for much longer.
    assert_eq!(found(5_000, 2_500, 10_000).len(), 1);
    assert_eq!(found(50_000, 25_000, 1_000), []);
}

#[test]
fn threads_that_drive_steps_side_by_side_set_no_clock_back() {
    let issues = Issues::default();
    for threads in [2u64, 8, 64] {
        for seed in 0..20u64 {
            // Each thread takes the next number, then reads the clock: at once, or, one thread at a time, after up to 50 s.
            let mut free: Vec<u64> = (0..threads).map(|thread| 1_000_000 * SECOND_NS + thread).collect();
            let (mut kept_until, mut starts) = (0, Vec::new());
            for number in 0..3_000u32 {
                let random =
                    |of: u64| stepscope_core::identity::mix(seed << 40 | u64::from(number) << 8 | of);
                let thread = (0..free.len()).min_by_key(|&thread| free[thread]).unwrap();
                let now = free[thread];
                let is_kept = now >= kept_until && random(0) % 40 == 0;
                let start = now + if is_kept { random(1) % (50 * SECOND_NS) } else { random(1) % 1_000 };
                if is_kept {
                    kept_until = start;
                }
                starts.push((number, start));
                // Steps of 1 ms to 20 s.
                free[thread] = start + 1_000_000 + random(2) % ((20 * SECOND_NS) >> (random(3) % 14));
            }
            assert_eq!(counted(&clocks(&starts, &issues)), [], "{threads} {seed}");
        }
    }
}

#[test]
fn neither_order_nor_partition_matters() {
    let mut issues = Issues::default();
    let all = starts(5_000, 2_500, -(9 * HOUR as i64));
    let whole = clocks(&all, &issues).to_states(|_| 0);
    let mut shuffled = all.clone();
    shuffled.sort_by_key(|&(number, _)| stepscope_core::identity::mix(u64::from(number)));
    assert_eq!(clocks(&shuffled, &issues).to_states(|_| 0), whole);
    for parts in [2, 3, 7] {
        let mut merged = Clocks::default();
        for part in 0..parts {
            let some: Vec<_> = shuffled.iter().copied().skip(part).step_by(parts).collect();
            let states = clocks(&some, &issues).to_states(|_| 0);
            merged.absorb(states, &mut issues, |_, _| FileId::NONE);
        }
        assert_eq!(merged.to_states(|_| 0), whole, "{parts}");
    }
    assert!(whole[0].3.len() <= MAX_BUCKETS && whole[0].3.len() > MAX_BUCKETS / 4);
}

#[test]
fn sparse_numbers_and_damaged_states_are_bounded() {
    let mut issues = Issues::default();
    let sparse: Vec<(u32, u64)> = (0..1_000u32).map(|n| (n << 22, u64::from(n))).collect();
    let mut clocks = clocks(&sparse, &issues);
    assert!(clocks.instances[&7].buckets.len() <= MAX_BUCKETS);
    let damaged = (0..9_000u32).map(|n| (n.wrapping_mul(0x9e37_79b9), u64::MAX, 0)).collect();
    clocks.absorb(vec![(7, 0, u32::MAX, damaged)], &mut issues, |_, _| FileId::NONE);
    assert!(clocks.instances[&7].buckets.len() <= MAX_BUCKETS);
    for id in (0..2 * MAX_INSTANCES as u64).rev() {
        clocks.add((id, 0, Vec::new()), FileId::NONE, &issues);
    }
    assert_eq!(clocks.instances.len(), MAX_INSTANCES);
    assert_eq!(clocks.instances.last_key_value().map(|(&id, _)| id), Some(MAX_INSTANCES as u64 - 1));
}

#[test]
fn times_are_read_as_rfc_3339_has_them() {
    // date -u -d @1709210096
    let ns = 1_709_210_096 * SECOND_NS;
    for text in [
        "2024-02-29T12:34:56Z",
        "2024-02-29T12:34:56.123456789Z",
        "2024-02-29t12:34:56z",
        "2024-02-29T14:04:56+01:30",
        "2024-02-29T07:34:56.5-05:00",
    ] {
        assert_eq!(parse(text), Some(ns), "{text}");
    }
    assert_eq!(parse("1970-01-01T00:00:00Z"), Some(0));
    assert_eq!(parse("2000-03-01T00:00:00Z"), Some(951_868_800 * SECOND_NS));
    for text in [
        "",
        "yesterday",
        "2024-02-29",
        "2024-02-29T12:34:56",
        "2024-13-29T12:34:56Z",
        "1969-12-31T23:59:59Z",
        "9999-12-31T23:59:59Z",
        "2024-02-29T12:34:5éZ",
        "2024-02-29T12:34:56.Z",
        "2024-02-29T12:34:56+0130",
    ] {
        assert_eq!(parse(text), None, "{text}");
    }
}
