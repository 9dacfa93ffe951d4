//! Tests of the module above.

use crate::step_view::forest::*;

fn span(id: u64, parent: Option<u64>) -> Span {
    let mut span = Span::default();
    (span.id, span.parent) = (id, parent);
    span
}

fn build(spans: &[Span]) -> Forest {
    let mut forest = Forest::default();
    forest.build(spans);
    forest
}

fn parents_come_first(forest: &Forest) {
    let mut seen = vec![false; forest.parents.len()];
    for &at in &forest.order {
        let parent = forest.parents[at as usize];
        assert!(parent == NONE || seen[parent as usize], "{at} before {parent}: {:?}", forest.order);
        assert!(!std::mem::replace(&mut seen[at as usize], true), "{at} twice");
    }
    assert!(seen.iter().all(|&seen| seen));
}

#[test]
fn far_and_missing_parents_are_searched() {
    let mut spans = vec![span(1, None), span(2, Some(1))];
    spans.extend((3..40).map(|id| span(id, Some(id - 1))));
    spans.push(span(100, Some(2)));
    spans.push(span(101, Some(999)));
    let forest = build(&spans);
    assert_eq!(forest.parents[39], 1);
    assert_eq!(forest.parents[40], NONE);
    parents_come_first(&forest);
}

#[test]
fn children_that_start_before_their_parents_come_after_them() {
    let forest = build(&[span(3, Some(2)), span(2, Some(1)), span(1, None), span(4, Some(3))]);
    assert_eq!(forest.parents, [1, 2, NONE, 0]);
    parents_come_first(&forest);
}

#[test]
fn cycles_are_cut_at_their_smallest_id() {
    // 9 → 8 → (5 → 6 → 3 → 7 → 5)
    let spans = [
        span(9, Some(8)),
        span(8, Some(5)),
        span(5, Some(6)),
        span(6, Some(3)),
        span(3, Some(7)),
        span(7, Some(5)),
        span(4, Some(4)),
    ];
    for rotation in 0..spans.len() {
        let mut spans = spans.to_vec();
        spans.rotate_left(rotation);
        let forest = build(&spans);
        let roots: Vec<u64> =
            (0..spans.len()).filter(|&i| forest.parents[i] == NONE).map(|i| spans[i].id).collect();
        assert_eq!(roots.iter().copied().min(), Some(3), "{roots:?}");
        assert_eq!(roots.len(), 2);
        parents_come_first(&forest);
    }
}

#[test]
fn a_forest_is_reused() {
    let mut forest = build(&[span(1, None), span(2, Some(1)), span(3, Some(77))]);
    forest.build(&[span(5, Some(2)), span(2, None)]);
    assert_eq!(forest.parents, [1, NONE]);
    assert_eq!((forest.index_of(2), forest.index_of(1)), (Some(1), None));
}
