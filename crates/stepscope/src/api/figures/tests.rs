//! Figures of steps, of which some are deep.

use stepscope_core::SectionKind;

use super::SectionFigures;
use crate::shared::aggregate::{Ended, Sums};

fn sums(durations_ns: impl IntoIterator<Item = u64>) -> Sums {
    let mut sums = Sums::default();
    for duration_ns in durations_ns {
        sums.record(&Ended { duration_ns, ..Ended::default() }, None);
    }
    sums
}

#[test]
fn deep_steps_count_and_are_in_no_percentile() {
    let (ordinary, deep) = ((0..90).map(|number| 1_000 + number % 2), [4_000; 10]);
    let figures = |deep_steps| {
        let all = sums(ordinary.clone().chain(deep));
        SectionFigures::new("step".into(), SectionKind::Step, None, all, deep_steps)
    };
    let with = figures(Some(sums(deep)));
    assert_eq!((with.count, with.total_ns, with.max_ns), (100, 90_045 + 40_000, 4_000));
    // Within 0.55 %.
    assert!((995..=1_006).contains(&with.p95_ns) && (995..=1_006).contains(&with.p99_ns), "{with:?}");
    assert!(with.std_ns.is_some_and(|std_ns| std_ns < 1.0), "{with:?}");
    assert!((3_978..=4_022).contains(&figures(None).p95_ns));
}

#[test]
fn where_all_steps_are_deep_their_percentiles_are_theirs() {
    let all = || sums([4_000; 3]);
    let figures = SectionFigures::new("step".into(), SectionKind::Step, None, all(), Some(all()));
    assert!((3_978..=4_022).contains(&figures.p50_ns), "{figures:?}");
}
