//! Packed or not, integers are what a plain array of the latest ones would be.

use proptest::prelude::*;

use crate::sections::aggregates::integers::*;

/// Few times and positions, so that values meet; values of every length.
fn said() -> impl Strategy<Value = Vec<(usize, Latest<i64>)>> {
    let value = prop_oneof![Just(0), Just(i64::MIN), Just(i64::MAX), -3..3i64, any::<i64>()];
    let latest =
        (0..3u64, 0..2u64, value).prop_map(|(time_ns, start_ns, value)| Latest { time_ns, start_ns, value });
    proptest::collection::vec((0..INTEGERS.len(), latest), 0..60)
}

fn plain(said: &[(usize, Latest<i64>)]) -> Each {
    let mut each = Each::default();
    for (at, latest) in said {
        if each[*at].as_ref().is_none_or(|mine| mine < latest) {
            each[*at] = Some(latest.clone());
        }
    }
    each
}

fn packed(said: &[(usize, Latest<i64>)]) -> Integers {
    let mut integers = Integers::default();
    said.iter().for_each(|(at, latest)| integers.add(*at, latest.clone()));
    integers
}

proptest! {
    #[test]
    fn they_are_the_latest_of_each(said in said()) {
        let (integers, each) = (packed(&said), plain(&said));
        for (at, latest) in each.iter().enumerate() {
            prop_assert_eq!(integers.value(at), latest.as_ref().map(|latest| latest.value));
        }
        prop_assert_eq!(integers.value(INTEGERS.len()), None);
        prop_assert_eq!(Each::from(integers), each);
    }

    #[test]
    fn merging_is_taking_in_both(one in said(), other in said()) {
        let mut merged = packed(&one);
        merged.absorb(&packed(&other));
        prop_assert_eq!(Each::from(merged), plain(&[one, other].concat()));
    }

    #[test]
    fn bytes_give_them_back(said in said()) {
        let bytes = postcard::to_allocvec(&packed(&said)).unwrap();
        let read: Integers = postcard::from_bytes(&bytes).unwrap();
        prop_assert_eq!(Each::from(read), plain(&said));
    }
}

#[test]
fn what_is_said_together_is_packed() {
    let message = |time_ns: u64| -> Vec<(usize, Latest<i64>)> {
        (0..INTEGERS.len()).map(|at| (at, Latest { time_ns, start_ns: 1, value: at as i64 })).collect()
    };
    let mut integers = packed(&message(5));
    assert!(matches!(&integers, Integers::Together { time_ns: 5, .. }), "{integers:?}");
    for (at, latest) in message(6) {
        integers.add(at, latest);
        let is_packed = matches!(integers, Integers::Together { .. });
        assert_eq!(is_packed, at + 1 == INTEGERS.len(), "after {at}");
    }
}
