//! What happens at each bound.

use stepscope_analyze::summary::Limit;
use stepscope_analyze::{Bounds, Config, Partial};
use stepscope_core::Mode;

use crate::build::{Build, bare_step, process};

fn with(bounds: Bounds) -> Partial {
    Partial::new(Config { bounds, ..Config::default() })
}

#[test]
fn too_many_paths_are_cut_and_it_is_said() {
    let mut partial = with(Bounds { paths: 4, ..Bounds::default() });
    for i in 0..6u64 {
        let mut build = Build::new(i);
        build.step(i as i64, i * 100, i * 100 + 90);
        build.span(1, "forward", i * 100, i * 100 + 50);
        build.span(2, &format!("layer{i}"), i * 100, i * 100 + 20);
        partial.add(&build.trace());
    }
    let summary = partial.finish(None);
    assert_eq!(summary.limits, [Limit::PathsCut { depth: 2 }]);
    let paths: Vec<&str> = summary.sections.iter().map(|row| row.path.as_str()).collect();
    assert_eq!(paths, ["step", "step/forward"]);
    let row = summary.section("step/forward").unwrap();
    assert_eq!((row.stats.count, row.collapsed_calls), (6, 6));
    // Its own 30 ns and the 20 ns of what is inside it now.
    assert_eq!((row.stats.total, row.self_ns), (300, Some(300)));
    assert_eq!(row.in_mode(Mode::Train).unwrap().exposed_ns, 300);
}

#[test]
fn instances_that_are_left_out_are_in_the_sections_only() {
    let mut partial = with(Bounds { instances: 2, ..Bounds::default() });
    for rank in [1, 2, 0, 3] {
        let mut build = Build::of(1, &process(rank));
        build.step(0, 0, 10);
        partial.add(&build.trace());
    }
    let summary = partial.finish(None);
    assert_eq!(summary.limits, [Limit::InstancesLeftOut]);
    assert_eq!(summary.section("step").unwrap().stats.count, 4);
    assert_eq!(summary.mode(Mode::Train).unwrap().all.count, 2);
    let ranks: Vec<Option<i64>> = summary.instances.iter().map(|row| row.resource.rank).collect();
    assert_eq!(ranks, [Some(2), Some(3)]);
}

#[test]
fn a_partial_does_not_grow_with_the_number_of_steps() {
    let size = |count: u64| {
        let mut partial = with(Bounds { points: 256, ..Bounds::default() });
        for i in 0..count {
            partial.add(&bare_step(i, i as i64, i * 1_000, i * 1_000 + 500 + i % 97));
        }
        partial.to_bytes().unwrap().len()
    };
    let (some, many) = (size(5_000), size(50_000));
    assert!(many < some + some / 4, "{some} {many}");
}
