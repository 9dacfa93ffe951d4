//! What the owner and other threads add to a section comes together, in order and within the bounds.

use super::*;
use crate::shared::aggregate::MemorySums;
use crate::shared::attrs::{Entries, Entry, FieldValue, LeftOut, MAX_ENTRIES};

const OWNER: u64 = 3;

fn open() -> Open {
    let open = Open::default();
    open.reset(OWNER, 7);
    open
}

/// All entries as they would leave.
fn entries(open: &Open) -> Vec<(String, f64)> {
    let mut words: Vec<u64> = open.words().iter().map(RelaxedU64::get).collect();
    words.extend(open.rest().attrs.words());
    let mut bytes = Vec::new();
    crate::shared::attrs::unpack(&words, &mut bytes);
    Entries::new(&bytes, &[])
        .map(|entry| match entry {
            Entry::UserValue(name, value) => (name.to_owned(), value),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn entries_beyond_the_words_keep_their_order_and_their_bound() {
    let open = open();
    let names: Vec<String> = (0..200).map(|number| format!("{number:0>9}")).collect();
    for (number, name) in (0..200).zip(&names) {
        open.push(true, Entry::UserValue(name, f64::from(number)));
        // Short ones that would still fit do not overtake.
        assert!(open.words().len() <= WORDS);
    }
    let kept = entries(&open);
    assert_eq!(kept.len(), usize::from(MAX_ENTRIES));
    for (number, (name, value)) in kept.iter().enumerate() {
        assert_eq!((name, *value), (&names[number], number as f64));
    }
    assert_eq!(open.rest().attrs.left_out().attributes, 200 - MAX_ENTRIES);
    open.reset(OWNER, 7);
    assert!(entries(&open).is_empty());
    assert_eq!(open.rest().attrs.left_out(), LeftOut::default());
}

#[test]
fn what_is_told_again_is_the_last_word_however_much_there_is() {
    // Whose the second round is.
    for owned in [true, false] {
        let open = open();
        let names: Vec<String> = (0..MAX_ENTRIES).map(|number| format!("{number}")).collect();
        for round in 0..3 {
            for (number, name) in (0..).zip(&names) {
                let value = f64::from(1_000 * round + number);
                open.push(owned || round != 1, Entry::UserValue(name, value));
            }
        }
        let last: std::collections::HashMap<_, _> = entries(&open).into_iter().collect();
        assert_eq!(last.len(), names.len());
        for (number, name) in (0..).zip(&names) {
            assert_eq!(last.get(name), Some(&f64::from(2_000 + number)), "{name}, {owned}");
        }
        assert_eq!(open.rest().attrs.left_out(), LeftOut::default());
        open.push(true, Entry::UserValue("one more", 0.0));
        assert_eq!(open.rest().attrs.left_out().attributes, 1);
    }
}

#[test]
fn declared_fields_are_as_any_others() {
    let (one, other) = (open(), open());
    let values = [
        FieldValue::Int(-1),
        FieldValue::Uint(u64::MAX),
        FieldValue::Double(0.5),
        FieldValue::Bool(true),
        FieldValue::Str("more than eight"),
    ];
    for number in 0..60 {
        one.push_declared(number, values[number % 5]);
        other.push(true, Declared(number, values[number % 5]));
    }
    let words = |open: &Open| -> Vec<u64> { open.words().iter().map(RelaxedU64::get).collect() };
    assert_eq!(words(&one), words(&other));
    assert_eq!(one.rest().attrs.words(), other.rest().attrs.words());
    assert!(!one.rest().attrs.words().is_empty());
}

#[test]
fn the_last_word_counts_whichever_thread_says_it() {
    let open = open();
    for (number, owned) in [true, false, true, false, true, true].into_iter().enumerate() {
        open.push(owned, Entry::UserValue("value", number as f64));
        open.set_error(owned, number % 2 == 0);
        open.set_phase(owned, Phase::from_index(number as u8));
    }
    let values: Vec<_> = entries(&open).into_iter().map(|(_, value)| value).collect();
    assert_eq!(values, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    open.fold_rest();
    assert_eq!((open.has(flag::IS_ERROR), open.phase()), (false, Phase::from_index(5)));
}

fn stay(number: u64) -> Stay {
    let memory = MemorySums::from_words([number, number + 1, 1, 2, 3, 4]);
    Stay {
        enters: 1,
        exit_ns: 100 * number,
        busy_ns: 10 * number,
        self_busy_ns: number,
        by_panic: false,
        memory: number.is_multiple_of(2).then_some(memory),
        peak_bytes: number.is_multiple_of(3).then_some(number),
        cpu_ns: number.is_multiple_of(5).then_some(number),
    }
}

#[test]
fn a_peak_is_above_what_is_left_on_other_threads() {
    let stay = |begin_ns: u64, words: [u64; 2], peak_bytes: u64| Stay {
        enters: 1,
        exit_ns: begin_ns + 10,
        busy_ns: 10,
        memory: Some(MemorySums::from_words([words[0], words[1], 1, 1, 0, 0])),
        peak_bytes: Some(peak_bytes),
        ..Stay::default()
    };
    let total = |stays: &[(bool, Stay)]| {
        let open = open();
        stays.iter().for_each(|(owned, stay)| open.add(*owned, stay));
        open.fold_rest();
        open.total().peak_bytes
    };
    let (first, second) = (stay(0, [1_000_001, 0], 1_000_001), stay(20, [2_000_003, 0], 2_000_003));
    for owned in [[true, false], [false, true], [false, false], [true, true]] {
        assert_eq!(total(&[(owned[0], first), (owned[1], second)]), Some(3_000_004), "{owned:?}");
    }
    // What is freed elsewhere is not there any more; a peak that has been stays.
    let freed = stay(40, [0, 3_000_000], 0);
    let moved = [(true, first), (false, second), (true, freed)];
    assert_eq!(total(&moved), Some(3_000_004));
    for (bytes, expected) in [(2_999_999, 3_000_004), (3_000_001, 3_000_005)] {
        let last = stay(60, [bytes, 0], bytes);
        assert_eq!(total(&[moved.as_slice(), &[(false, last)]].concat()), Some(expected));
    }
    // Entered again while it is: what it has is in both stays.
    let outer = Stay { busy_ns: 40, exit_ns: 40, ..stay(0, [1_000, 0], 1_000) };
    assert_eq!(total(&[(true, stay(20, [900, 0], 900)), (true, outer)]), Some(1_000));
    // It frees what was there before.
    assert_eq!(total(&[(true, stay(0, [0, 5_000], 0)), (true, stay(20, [4_000, 0], 4_000))]), Some(0));
}

#[test]
fn stays_on_all_threads_add_up() {
    let open = open();
    assert!(open.is_owned_by(OWNER) && !open.is_owned_by(OWNER + 1));
    assert_eq!(open.total().enters, 0);
    // The last exit is another thread's.
    for number in [7, 2, 6, 10, 11] {
        open.add(number % 2 == 0, &stay(number));
    }
    open.set_error(false, true);
    open.set_phase(false, Some(Phase::Forward));
    assert_eq!(open.fold_rest(), None);
    let stay = open.total();
    assert_eq!((stay.enters, stay.exit_ns, stay.busy_ns, stay.self_busy_ns), (5, 1_100, 360, 36));
    assert_eq!(stay.memory, Some(MemorySums::from_words([18, 21, 3, 6, 9, 12])));
    // CPU time of one stay of five is not that of all. The stay before the one with a peak has freed a byte more than it allocated.
    assert_eq!((stay.peak_bytes, open.is_timed()), (Some(5), false));
    assert!(open.has(flag::IS_ERROR));
    assert_eq!(open.phase(), Some(Phase::Forward));
    open.reset(OWNER, 7);
    for number in [5, 10, 15] {
        open.add(number % 2 == 0, &self::stay(number));
    }
    open.fold_rest();
    assert_eq!((open.total().cpu_ns, open.is_timed()), (Some(30), true));
    open.add(false, &self::stay(1));
    open.add(false, &self::stay(5));
    open.fold_rest();
    assert!(!open.is_timed());
    // The next one in its place has nothing of it.
    open.reset(OWNER, 7);
    open.add(true, &Stay { enters: 1, busy_ns: 1, ..Stay::default() });
    let total = open.total();
    assert_eq!((total.enters, total.busy_ns, total.exit_ns), (1, 1, 0));
    assert_eq!((total.memory, total.peak_bytes, total.cpu_ns), (None, None, None));
    assert!(!open.has(flag::IS_ERROR) && open.phase().is_none() && open.fold_rest().is_none());
}
