//! Entries come back as they went in, in bounded number and size, and of what is told again the last is there.

use super::*;

const NOTHING: Before<'_> = Before { entries: 0, words: &[] };

#[test]
fn entries_come_back_as_they_went_in() {
    let entries = [
        Entry::Field("a", FieldValue::Int(-1)),
        Entry::Field("b", FieldValue::Uint(u64::MAX)),
        Entry::Field("", FieldValue::Double(-0.5)),
        Entry::Own("own", FieldValue::Uint(7)),
        Entry::Own("own text", FieldValue::Str("more than eight")),
        Entry::UserValue("loss", 1e300),
        Entry::Field("flag", FieldValue::Bool(true)),
        Entry::Field("text", FieldValue::Str("é")),
        Entry::Event(7, true, "went wrong"),
        Entry::Link([9; 16], 5),
        Entry::Polls(&[7; 32]),
    ];
    for count in 0..=entries.len() {
        let mut attrs = Attrs::default();
        entries[..count].iter().for_each(|&entry| attrs.push(NOTHING, entry));
        let mut bytes = Vec::new();
        unpack(attrs.words(), &mut bytes);
        assert_eq!(Entries::new(&bytes, &[]).collect::<Vec<_>>(), entries[..count]);
    }
}

#[test]
fn names_that_come_again_are_found_behind_anything() {
    let entries = [
        Entry::Field("a", FieldValue::Int(-1)),
        Entry::Own("own", FieldValue::Uint(7)),
        Entry::Own("own text", FieldValue::Str("more than eight")),
        Entry::UserValue("loss", 1.0),
        Entry::Event(7, true, "a longer text"),
        Entry::Link([9; 16], 5),
        Entry::Polls(&[7; 32]),
        Entry::Field("text", FieldValue::Str("more than eight")),
        Entry::Field("é", FieldValue::Bool(true)),
    ];
    let mut attrs = Attrs::default();
    entries.iter().for_each(|&entry| attrs.push(NOTHING, entry));
    attrs.push(NOTHING, Declared(1, FieldValue::Str("text")));
    attrs.push(NOTHING, Declared(9, FieldValue::Int(1)));
    let mut bytes = Vec::new();
    unpack(attrs.words(), &mut bytes);
    let mut rest = Entries::new(&bytes, &["first", "second"]);
    for at in 0..=entries.len() {
        let names =
            ["a", "own", "text", "own text", "é", "second", "unknown", "loss", "first", "a longer text", ""];
        let is_there = |name: &&str| rest.clone().has_field(name);
        let later = entries[at..].iter().filter_map(|entry| match entry {
            Entry::Field(name, _) => Some(*name),
            _ => None,
        });
        let expected: Vec<&str> = later.chain(["second", "unknown"]).collect();
        assert_eq!(names.into_iter().filter(is_there).collect::<Vec<_>>(), expected, "{at}");
        rest.next();
    }
}

#[test]
fn declared_fields_get_their_names_back() {
    let values = [
        FieldValue::Int(-1),
        FieldValue::Uint(u64::MAX),
        FieldValue::Double(0.5),
        FieldValue::Bool(true),
        FieldValue::Str(""),
        FieldValue::Str("exactly8"),
        FieldValue::Str("more than eight"),
    ];
    let mut attrs = Attrs::default();
    values.iter().enumerate().for_each(|(number, &value)| attrs.push(NOTHING, Declared(number % 3, value)));
    let names = ["first", "second", "unknown"];
    let expected: Vec<_> =
        values.iter().enumerate().map(|(number, &value)| Entry::Field(names[number % 3], value)).collect();
    let mut bytes = Vec::new();
    unpack(attrs.words(), &mut bytes);
    assert_eq!(Entries::new(&bytes, &["first", "second"]).collect::<Vec<_>>(), expected);
}

#[test]
fn texts_of_every_length_are_whole_and_end_in_zeros() {
    let text = "abcdefghijklmnopqrst";
    for len in 0..=text.len() {
        let mut expected = text.as_bytes()[..len].to_vec();
        expected.resize(len.next_multiple_of(8), 0);
        let words: [RelaxedU64; 4] = std::array::from_fn(|_| RelaxedU64::default());
        let count = Declared(2, FieldValue::Str(&text[..len])).write(&words).unwrap();
        let found: Vec<u8> = words[1..count].iter().flat_map(|word| word.get().to_le_bytes()).collect();
        assert_eq!((found, words[0].get()), (expected, 0x85 | 2 << 16 | (len as u64) << 32));
        // Not without room for all of it.
        assert_eq!(Declared(2, FieldValue::Str(&text[..len])).write(&words[..count - 1]), None);
    }
}

#[test]
fn what_is_told_again_takes_the_place_of_what_was_told_before() {
    let random = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    // Of how many names, and how many entries come before: of the same names.
    for (names, first) in [(1, 0), (5, 6), (100, 20), (126, 0), (128, 24), (128, 48), (150, 3)] {
        let (mut attrs, mut before, mut words) = (Attrs::default(), 0, Vec::new());
        let (mut expected, mut left_out) = (Vec::<(String, u64)>::new(), 0);
        for number in 0..2_000 {
            let key = random(number + 1) % names;
            let (kind, name) = (key % 4, format!("{key:0width$}", width = 1 + key as usize % 17));
            let text = number.to_string();
            let entry = match kind {
                0 => Ok(Entry::Field(&name, FieldValue::Uint(number))),
                1 => Ok(Entry::UserValue(&name, number as f64)),
                2 => Ok(Entry::Field(&name, FieldValue::Str(&text))),
                _ => Err(Declared(key as usize, FieldValue::Int(number as i64))),
            };
            if before < first {
                before += 1;
                let put = |word| {
                    let slot = RelaxedU64::default();
                    slot.set(word);
                    words.push(slot);
                };
                match entry {
                    Ok(entry) => entry.encode(put),
                    Err(declared) => declared.encode(put),
                }
            } else {
                let before = Before { entries: before, words: &words };
                match entry {
                    Ok(entry) => attrs.push(before, entry),
                    Err(declared) => attrs.push(before, declared),
                }
            }
            let known = expected.iter().position(|(known, _)| *known == format!("{kind} {name}"));
            if let Some(known) = known {
                expected.remove(known);
            }
            if expected.len() < usize::from(MAX_ENTRIES) {
                expected.push((format!("{kind} {name}"), number));
            } else {
                left_out += 1;
            }
        }
        let before = Before { entries: before, words: &words };
        // Events are kept where names leave room.
        (0..3).for_each(|time_ns| attrs.push(before, Entry::Event(time_ns, true, "again")));
        let room = usize::from(MAX_ENTRIES) - expected.len();
        let LeftOut { attributes, events: lost, links } = attrs.left_out();
        assert_eq!((usize::from(attributes), links), (left_out, 0), "{names}");
        assert_eq!(usize::from(lost), 3_usize.saturating_sub(room), "{names}");
        let declared: Vec<String> =
            (0..150).map(|key| format!("{key:0width$}", width = 1 + key % 17)).collect();
        let declared: Vec<&'static str> =
            declared.into_iter().map(|name| &*Box::leak(name.into_boxed_str())).collect();
        let mut bytes = Vec::new();
        let all: Vec<u64> = words.iter().map(RelaxedU64::get).chain(attrs.words().iter().copied()).collect();
        unpack(&all, &mut bytes);
        // The last of each name.
        let mut found = std::collections::BTreeMap::new();
        let mut events = 0;
        for entry in Entries::new(&bytes, &declared) {
            match entry {
                Entry::Field(name, FieldValue::Uint(value)) => found.insert(format!("0 {name}"), value),
                Entry::UserValue(name, value) => found.insert(format!("1 {name}"), value as u64),
                Entry::Field(name, FieldValue::Str(text)) => {
                    found.insert(format!("2 {name}"), text.parse().unwrap())
                }
                Entry::Field(name, FieldValue::Int(value)) => found.insert(format!("3 {name}"), value as u64),
                _ => {
                    events += 1;
                    None
                }
            };
        }
        assert_eq!(found, expected.into_iter().collect(), "{names}");
        assert_eq!(events, room.min(3), "{names}");
    }
}

#[test]
fn text_and_number_of_entries_are_bounded() {
    let mut attrs = Attrs::default();
    let long = "é".repeat(1_000);
    for number in 0..200 {
        attrs.push(NOTHING, Entry::Field(&format!("key{number}"), FieldValue::Str(&long)));
    }
    attrs.push(NOTHING, Entry::Event(1, true, "late"));
    attrs.push(NOTHING, Entry::Link([1; 16], 2));
    attrs.push(NOTHING, Entry::Link([1; 16], 3));
    let left_out = LeftOut { attributes: 72, events: 1, links: 2 };
    assert_eq!(attrs.left_out(), left_out);
    assert_eq!(LeftOut::from_word(left_out.to_word()), left_out);
    let mut bytes = Vec::new();
    unpack(attrs.words(), &mut bytes);
    assert_eq!(Entries::new(&bytes, &[]).count(), usize::from(MAX_ENTRIES));
    assert_eq!(truncate(&format!("x{long}")).len(), 255);
}
