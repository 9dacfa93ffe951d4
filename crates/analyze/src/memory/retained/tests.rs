//! Bounds of what is kept, and that nothing is lost by them.

use crate::accumulate::step_series::StepSeries;
use crate::memory::retained::*;

fn bounds(memory_sections: usize, memory_cells: usize, phase_points: usize) -> Bounds {
    Bounds { memory_sections, memory_cells, phase_points, ..Bounds::default() }
}

/// Paths `s0` to `s19`.
fn tree() -> (PathTree, Vec<u32>) {
    let mut tree = PathTree::default();
    let paths = (0..20).map(|n| tree.child(None, &format!("s{n}")).path).collect();
    (tree, paths)
}

fn put(retained: &mut RetainedMemory, step: u64, nets: &[(u32, i128)], tree: &PathTree, bounds: &Bounds) {
    let mut sums = NetAllocations::default();
    nets.iter().for_each(|&(path, net)| sums.add(path, net));
    retained.add(Some((0, StepIndex { epoch: None, step })), step * 10, &mut sums, tree, bounds);
    assert!(sums.is_empty());
}

/// Every net by (step of the point, identity; 0 for the others).
fn content(retained: &RetainedMemory) -> BTreeMap<(u64, u64), i128> {
    let columns = retained.columns();
    let points: &StepSeries<RetainedPoint> = &retained.steps[0];
    let of = |&(_, key): &(u64, u64), point: &RetainedPoint| {
        let nets: Vec<_> = point.nets().collect();
        let named = nets
            .into_iter()
            .map(|(column, net)| ((key << points.shift, columns.get(&column).copied().unwrap_or(0)), net));
        named.collect::<Vec<_>>()
    };
    points.points.iter().flat_map(|(key, point)| of(key, point)).collect()
}

#[test]
fn those_with_the_smallest_hashes_are_kept_and_the_sum_is_of_all() {
    let (tree, paths) = tree();
    let few = bounds(3, 1_000, 100);
    let mut ids: Vec<u64> = paths.iter().map(|&path| tree.id(path)).collect();
    ids.sort_unstable();
    let orders: [Vec<usize>; 3] =
        [(0..20).collect(), (0..20).rev().collect(), (0..20).map(|n| n * 7 % 20).collect()];
    let mut seen = Vec::new();
    for order in orders {
        let mut retained = RetainedMemory::default();
        for at in order {
            put(&mut retained, 4, &[(paths[at], 1 << at)], &tree, &few);
            put(&mut retained, 5, &[(paths[at], -1), (paths[19 - at], 3)], &tree, &few);
        }
        let kept: Vec<u64> = retained.columns.keys().copied().collect();
        assert_eq!(kept, ids[..3]);
        let content = content(&retained);
        let sum = |step| content.iter().filter(|((at, _), _)| *at == step).map(|(_, net)| net).sum::<i128>();
        assert_eq!((sum(4), sum(5)), ((1 << 20) - 1, 40));
        seen.push(content);
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[2]);
}

#[test]
fn more_sections_make_fewer_points() {
    let (tree, paths) = tree();
    let bounds = bounds(100, 40, 16);
    let mut retained = RetainedMemory::default();
    for step in 0..16 {
        put(&mut retained, step, &[(paths[0], 1)], &tree, &bounds);
    }
    assert_eq!((retained.steps[0].shift, retained.steps[0].points.len()), (0, 16));
    let mut other = RetainedMemory::default();
    let all: Vec<(u32, i128)> = paths.iter().map(|&path| (path, 1)).collect();
    put(&mut other, 3, &all, &tree, &bounds);
    let mut merged = other.clone();
    merged.merge(&retained, &bounds);
    retained.merge(&other, &bounds);
    // 20 sections leave room for two points.
    for retained in [&retained, &merged] {
        assert_eq!((retained.steps[0].shift, retained.steps[0].points.len()), (3, 2));
    }
    assert_eq!(content(&retained), content(&merged));
    assert_eq!(content(&retained)[&(0, tree.id(paths[0]))], 9);
}

#[test]
fn what_is_written_is_read_and_knows_no_order() {
    let (tree, paths) = tree();
    let bounds = bounds(100, 1_000, 100);
    let (mut first, mut second) = (RetainedMemory::default(), RetainedMemory::default());
    let nets = [(paths[2], 5), (paths[9], -7), (paths[4], 1 << 90)];
    for at in [0, 1, 2] {
        put(&mut first, at, &[nets[at as usize]], &tree, &bounds);
        put(&mut second, 2 - at, &[nets[2 - at as usize]], &tree, &bounds);
    }
    let bytes = postcard::to_allocvec(&first).unwrap();
    assert_eq!(bytes, postcard::to_allocvec(&second).unwrap());
    let read: RetainedMemory = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(content(&read), content(&first));
    assert_eq!(postcard::to_allocvec(&read).unwrap(), bytes);
}

#[test]
fn sums_that_come_back_to_zero_are_nothing() {
    let (tree, paths) = tree();
    let bounds = bounds(100, 1_000, 100);
    let mut retained = RetainedMemory::default();
    put(
        &mut retained,
        1,
        &[(paths[0], 5), (paths[0], -5), (paths[0], 2), (paths[1], 3), (paths[1], -3)],
        &tree,
        &bounds,
    );
    assert_eq!(content(&retained), BTreeMap::from([((1, tree.id(paths[0])), 2)]));
    assert_eq!(retained.columns.len(), 1);
}

/// The shape in which it is written.
#[derive(Default, serde::Serialize)]
struct Raw {
    ids: Vec<u64>,
    steps: [StepSeries<RawPoint>; 3],
    elsewhere: StepSeries<RawPoint>,
}

type RawPoint = (u64, Vec<(u32, i128)>);

#[test]
fn bytes_cost_no_more_than_they_are_long() {
    let ids: Vec<u64> = (0..50_000).map(|n| n / 2 * 7).collect();
    let point = (7, vec![(50_000, 1), (u32::MAX, 2), (50_000, 4)]);
    let points = (0..5_000).map(|step| ((0, step), Box::new(point.clone()))).collect();
    let series = || {
        let mut series = StepSeries::default();
        BTreeMap::clone_into(&points, &mut series.points);
        series
    };
    let raw = Raw { ids, steps: [series(), series(), series()], elsewhere: series() };
    let read: RetainedMemory = postcard::from_bytes(&postcard::to_allocvec(&raw).unwrap()).unwrap();
    assert_eq!(read.columns.len(), 25_000);
    assert_eq!(content(&read)[&(0, 0)], 2);
    assert_eq!(content(&read)[&(0, 24_999 * 7)], 5);
    assert!(read.steps[0].points.values().all(|point| point.nets.capacity() <= 8));
    // Within the bounds from then on, and nothing is lost.
    let mut retained = RetainedMemory::default();
    retained.merge(&read, &Bounds::default());
    assert_eq!((retained.columns.len(), retained.columns.last_key_value().unwrap().0), (2_048, &(2_047 * 7)));
    assert!(retained.steps.iter().all(|series| series.points.len() <= 128));
    let sum: i128 = content(&retained).values().sum();
    assert_eq!(sum, 5_000 * 7);
}
