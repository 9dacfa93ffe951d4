//! Tests of the module above.

use crate::sections::paths::*;

fn insert(tree: &mut PathTree, names: &[&str]) -> PathSlot {
    let mut place = None::<PathSlot>;
    for name in names {
        place = Some(tree.child(place.map(|place| place.path), name));
    }
    place.unwrap()
}

#[test]
fn the_same_names_are_the_same_path() {
    let mut tree = PathTree::default();
    let a = insert(&mut tree, &["step", "forward"]);
    assert_eq!(insert(&mut tree, &["step", "forward"]), a);
    assert_ne!(insert(&mut tree, &["forward"]).path, a.path);
    assert_eq!(tree.names(a.path), ["step", "forward"]);
    assert_eq!(tree.len(), 3);
    assert_eq!(tree.inferred(a.path), Some(Phase::Forward));
}

#[test]
fn depth_is_bounded_as_in_the_core() {
    let mut tree = PathTree::default();
    let names = vec!["f"; usize::from(MAX_DEPTH) + 1];
    let deepest = insert(&mut tree, &names);
    assert_eq!(tree.names(deepest.path).last(), Some(&DEEPER));
    assert!(!deepest.is_collapsed);
    let deeper = tree.child(Some(deepest.path), "g");
    assert_eq!(deeper, PathSlot { path: deepest.path, is_collapsed: true });
}

#[test]
fn too_many_paths_are_cut_at_the_largest_depth_that_fits() {
    let mut tree = PathTree::default();
    for i in 0..10 {
        insert(&mut tree, &["a", &format!("b{}", i % 3), &format!("c{i}")]);
    }
    // 1 + 3 + 10 paths.
    assert_eq!(tree.fitting_depth(14), None);
    assert_eq!(tree.fitting_depth(13), Some(2));
    assert_eq!(tree.fitting_depth(4), Some(2));
    assert_eq!(tree.fitting_depth(3), Some(1));
    assert_eq!(tree.fitting_depth(0), Some(0));
    let places = tree.cut_to(2);
    assert_eq!(tree.len(), 4);
    assert_eq!(places.iter().filter(|place| place.is_collapsed).count(), 10);
    let place = insert(&mut tree, &["a", "b1", "new"]);
    assert_eq!(tree.names(place.path), ["a", "b1"]);
    assert!(place.is_collapsed);
}

#[test]
fn at_depth_0_everything_is_one_path() {
    let mut tree = PathTree::default();
    insert(&mut tree, &["a", "b"]);
    let places = tree.cut_to(0);
    assert_eq!(places.iter().map(|place| place.is_collapsed).collect::<Vec<_>>(), [false, false, true]);
    assert_eq!(insert(&mut tree, &["x"]), PathSlot { path: ROOT, is_collapsed: false });
    assert_eq!(insert(&mut tree, &["x", "y"]), PathSlot { path: ROOT, is_collapsed: true });
    assert_eq!(tree.names(ROOT), [OTHER]);
}

#[test]
fn long_names_are_cut_between_characters() {
    let name = "é".repeat(MAX_NAME_BYTES);
    assert_eq!(shorten(&name).len(), MAX_NAME_BYTES);
    let name = format!("x{name}");
    assert_eq!(shorten(&name).len(), MAX_NAME_BYTES - 1);
}
