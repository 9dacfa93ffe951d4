//! Memory as a profile of pprof (`profile.proto`), not packed: what is live, a sample for each section, stack and age, with the
//! section and the age in steps as labels; and what was allocated since sampling began, by section and stack.

use std::collections::HashMap;

use super::lines::{self, address};
use super::symbols::plain_function;
use crate::summary::{LiveMemory, SymbolState};

/// Fields of a message in protobuf.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7F) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.varint(field << 3);
            self.varint(value);
        }
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u64, fill: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        fill(&mut inner);
        self.bytes(field, &inner.0);
    }

    fn packed(&mut self, field: u64, values: impl IntoIterator<Item = u64>) {
        self.message(field, |inner| values.into_iter().for_each(|value| inner.varint(value)));
    }
}

/// Texts by number; number 0 is the empty one.
struct Texts {
    all: Vec<String>,
    by_text: HashMap<String, u64>,
}

impl Texts {
    fn of(&mut self, text: &str) -> u64 {
        if let Some(&number) = self.by_text.get(text) {
            return number;
        }
        let number = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.by_text.insert(text.to_owned(), number);
        number
    }
}

/// The profile, as `go tool pprof` reads it, in protobuf.
#[must_use]
pub fn encode(memory: &LiveMemory) -> Vec<u8> {
    profile(memory).0
}

/// Numbers of fields are those of `profile.proto`.
fn profile(memory: &LiveMemory) -> Message {
    let mut texts = Texts { all: vec![String::new()], by_text: HashMap::from([(String::new(), 0)]) };
    let mut profile = Message::default();
    let mut kinds = |texts: &mut Texts, field: u64, kind: &str, unit: &str| {
        let (kind, unit) = (texts.of(kind), texts.of(unit));
        profile.message(field, |value| {
            value.number(1, kind);
            value.number(2, unit);
        });
    };
    kinds(&mut texts, 1, "alloc_objects", "count");
    kinds(&mut texts, 1, "alloc_space", "bytes");
    kinds(&mut texts, 1, "inuse_objects", "count");
    kinds(&mut texts, 1, "inuse_space", "bytes");
    kinds(&mut texts, 11, "space", "bytes");
    let rest = (memory.other_bytes > 0).then_some((None, None, None, [0, 0, 0, memory.other_bytes]));
    let live = memory
        .rows
        .iter()
        .map(|row| (row.section.as_deref(), row.stack, Some(row.age_steps), [0, 0, row.blocks, row.bytes]));
    let allocated = memory
        .allocated_rows
        .iter()
        .map(|row| (row.section.as_deref(), row.stack, None, [row.blocks, row.bytes, 0, 0]));
    for (section, stack, age, figures) in live.chain(rest).chain(allocated) {
        let stack = stack.map(|stack| callers(memory, stack)).unwrap_or_default();
        let labels = (texts.of("section"), texts.of(section.unwrap_or("outside of sections")));
        let ages = (texts.of("age"), texts.of("steps"));
        profile.message(2, |sample| {
            // A location is a frame; its number is one more than its place.
            sample.packed(1, stack.iter().map(|&frame| frame as u64 + 1));
            sample.packed(2, figures);
            sample.message(3, |label| {
                label.number(1, labels.0);
                label.number(2, labels.1);
            });
            if let Some(age) = age {
                sample.message(3, |label| {
                    label.number(1, ages.0);
                    label.number(3, age);
                    label.number(4, ages.1);
                });
            }
        });
    }
    for (at, module) in memory.modules.iter().enumerate() {
        let (path, build_id) =
            (texts.of(&module.path), texts.of(module.build_id.as_deref().unwrap_or_default()));
        let has_lines = u64::from(module.symbols == SymbolState::Lines);
        let has_functions = u64::from(has_lines == 1 || module.symbols == SymbolState::NoLines);
        // Addresses are those of files, of which several would lie on each other: each has a place of its own.
        let start = base(at);
        profile.message(3, |mapping| {
            mapping.number(1, at as u64 + 1);
            mapping.number(2, start);
            mapping.number(3, start + SPAN);
            mapping.number(5, path);
            mapping.number(6, build_id);
            mapping.number(7, has_functions);
            mapping.number(8, has_lines);
            mapping.number(9, has_lines);
            mapping.number(10, has_lines);
        });
    }
    let mut functions: Vec<(u64, u64, u64)> = Vec::new();
    let mut by_function: HashMap<(u64, u64, u64), u64> = HashMap::new();
    for (at, frame) in memory.frames.iter().enumerate() {
        let mut places: Vec<(u64, u64)> = Vec::new();
        for line in frame.lines.iter().skip(lines::own(memory, frame).unwrap_or(0)) {
            let whole = line.function.clone().unwrap_or_else(|| address(memory, frame));
            let name = texts.of(&plain_function(&whole));
            let key = (name, texts.of(&whole), texts.of(line.file.as_deref().unwrap_or_default()));
            let function = *by_function.entry(key).or_insert_with(|| {
                functions.push(key);
                functions.len() as u64
            });
            places.push((function, line.line.map_or(0, u64::from)));
        }
        profile.message(4, |location| {
            location.number(1, at as u64 + 1);
            location.number(2, frame.module.map_or(0, |module| module as u64 + 1));
            location.number(3, frame.module.map_or(0, base).wrapping_add(frame.offset));
            for (function, number) in places {
                location.message(4, |line| {
                    line.number(1, function);
                    line.number(2, number);
                });
            }
        });
    }
    for (at, &(name, whole, file)) in functions.iter().enumerate() {
        profile.message(5, |function| {
            function.number(1, at as u64 + 1);
            function.number(2, name);
            function.number(3, whole);
            function.number(4, file);
        });
    }
    let default = texts.of("inuse_space");
    profile.number(9, memory.time_ns);
    profile.number(12, memory.period_bytes);
    profile.number(14, default);
    texts.all.iter().for_each(|text| profile.bytes(6, text.as_bytes()));
    profile
}

/// The frames of a stack without those that allocate for their callers, so that figures are of the callers.
fn callers(memory: &LiveMemory, stack: usize) -> &[usize] {
    let all = memory.stacks.get(stack).map(Vec::as_slice).unwrap_or_default();
    let is_own = |at: &usize| memory.frames.get(*at).is_some_and(|frame| lines::own(memory, frame).is_some());
    let inside = lines::inside(memory, all);
    let first = all.iter().skip(inside).position(is_own).map_or(0, |at| inside + at);
    all.get(first..).unwrap_or_default()
}

/// Addresses of one module lie within so many.
const SPAN: u64 = 1 << 40;

fn base(module: usize) -> u64 {
    (module as u64 + 1).saturating_mul(SPAN)
}
