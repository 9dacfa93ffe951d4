//! Samples of a planned run: a leak, a cache as large that is full, and what is in use, from points to lines and culprits.

use std::sync::Arc;

use stepscope_core::SectionKind;
use stepscope_model::{Figure, LivePoint, LiveRow, MetricPoint, Module, Resource, Span, Trace};

use super::summary::Held;
use super::{Culprit, LiveSamples, Resolved, culprits, pprof};
use crate::accumulate::Merge;
use crate::summary::{LiveAge, LiveBirths, LiveMemory, SourceLine, SymbolState};
use crate::{Config, Partial};

const S: u64 = 1_000_000_000;
const STEPS: u64 = 400;
const MIB: u64 = 1 << 20;

fn process() -> Arc<Resource> {
    Arc::new(Resource { run_id: "run".into(), rank: Some(0), ..Resource::default() })
}

/// A step a second.
fn step(number: u64, resource: &Arc<Resource>) -> Trace {
    let mut id = [0; 16];
    id[8..].copy_from_slice(&number.to_be_bytes());
    let mut trace = Trace::new(id, Arc::clone(resource));
    let name = trace.push_text("step");
    let mut span = Span::default();
    (span.id, span.name, span.kind) = (1, name, SectionKind::Step);
    (span.start_ns, span.end_ns) = (number * S + S, number * S + S + S / 2);
    span.set_figure(Figure::Step, number as i64);
    trace.spans.push(span);
    trace
}

const LEAK: u64 = 1;
const CACHE: u64 = 2;
const GROWING: u64 = 3;
const IN_USE: u64 = 4;
const ONCE: u64 = 5;

/// What is live after so many steps: bytes by section, stack and age.
fn live(begun: u64) -> Vec<(&'static str, u64, u64, u64)> {
    let mut rows = Vec::new();
    let class = |age: u64| if age == 0 { 0 } else { 1 << age.ilog2() };
    let mut add = |path, stack, age: u64, bytes| match rows
        .iter_mut()
        .find(|row: &&mut (&str, u64, u64, u64)| (row.0, row.1, row.2) == (path, stack, class(age)))
    {
        Some(row) => row.3 += bytes,
        None => rows.push((path, stack, class(age), bytes)),
    };
    for step in 0..begun {
        let age = begun - 1 - step;
        add("step/lookup", LEAK, age, 64 << 10);
        if step < 25 {
            add("step/warm_up", CACHE, age, MIB);
        }
    }
    // A vector that doubles its room where it lies.
    add("step/report", GROWING, begun - 1, (begun.next_power_of_two() << 10) * 32);
    add("step/forward", IN_USE, 0, 20 * MIB);
    if begun == 100 {
        add("step/start", ONCE, 0, MIB);
    }
    rows
}

/// Points of a moment after so many steps.
fn points(begun: u64) -> Vec<MetricPoint> {
    let mut points = Vec::new();
    for (path, stack, age, bytes) in live(begun) {
        let row = |amount| LiveRow { path: path.into(), stack: Some(stack), age_steps: Some(age), amount };
        points.push(LivePoint::Bytes(row(bytes)));
        points.push(LivePoint::Blocks(row(bytes / 1_024)));
    }
    let rest = LiveRow { path: String::new(), stack: None, age_steps: None, amount: 1_000 };
    points.push(LivePoint::Bytes(rest));
    let allocated =
        |amount| LiveRow { path: "step/forward".into(), stack: Some(IN_USE), age_steps: None, amount };
    points.push(LivePoint::AllocatedBytes(allocated(begun * 20 * MIB)));
    points.push(LivePoint::AllocatedBlocks(allocated(begun * 20)));
    let rest = LiveRow { path: String::new(), stack: None, age_steps: None, amount: 5_000 };
    points.push(LivePoint::AllocatedBytes(rest));
    points.push(LivePoint::PeriodBytes(64 << 10));
    for stack in [LEAK, CACHE, GROWING, IN_USE, ONCE] {
        let frames = format!("trainer+0x10 trainer+{:#x} trainer+0x9000", stack * 0x100);
        points.push(LivePoint::Stack { id: stack, frames });
    }
    let (name, build_id, path) = ("trainer".into(), "ab01".into(), "/bin/trainer".into());
    points.push(LivePoint::Module(Module { name, build_id, path }));
    points.into_iter().map(MetricPoint::Live).collect()
}

fn memory(moments: &[u64]) -> LiveMemory {
    let resource = process();
    let mut partial = Partial::new(Config::default());
    (0..STEPS).for_each(|number| partial.add(&step(number, &resource)));
    for &begun in moments {
        points(begun).iter().for_each(|point| partial.metric(&resource, 1, begun * S + S / 4 * 3, point));
    }
    partial.finish(None).live_memory.unwrap()
}

/// Lines that are not those of any file, but could be.
fn resolved() -> LiveMemory {
    let mut memory = memory(&[100, 200, 300, STEPS]);
    let line = |function: &str, file: &str, line: u32| SourceLine {
        function: Some(function.into()),
        file: Some(file.into()),
        line: Some(line),
    };
    memory.resolve(|module, offsets| {
        assert_eq!((module.name.as_str(), module.build_id.as_deref()), ("trainer", Some("ab01")));
        let at = |&offset: &u64| match offset {
            0x10 => vec![line("__rustc::__rust_alloc", "src/main.rs", 3)],
            0x100 => vec![
                line("alloc::vec::Vec<T>::with_capacity", "/rustc/1/library/alloc/src/vec/mod.rs", 9),
                line("trainer::CacheMap::insert", "src/cache.rs", 88),
            ],
            0x200 => vec![line("trainer::warm_up", "src/cache.rs", 120)],
            // The allocator was inlined into what it is called by.
            0x300 => vec![
                line("<stepscope_mem::alloc::Alloc>::alloc", "/deps/mem/src/alloc.rs", 5),
                line("__rustc::__rust_alloc", "src/main.rs", 3),
                line("alloc::boxed::Box<T>::new", "/rustc/1/library/alloc/src/boxed.rs", 9),
                line("trainer::History::push", "src/history.rs", 34),
            ],
            0x400 => vec![line("trainer::forward", "src/model.rs", 7)],
            _ => vec![line("trainer::main", "src/main.rs", 20)],
        };
        Resolved { state: SymbolState::Lines, lines: offsets.iter().map(at).collect() }
    });
    memory
}

#[test]
fn lines_are_those_of_the_program_with_what_each_holds() {
    let memory = resolved();
    assert_eq!((memory.step, memory.steps, memory.rank), (Some(STEPS - 1), STEPS, Some(0)));
    let told: Vec<_> =
        memory.lines.iter().map(|line| (line.place.as_str(), line.bytes, line.births)).collect();
    assert_eq!(
        told,
        [
            ("src/cache.rs:120", 25 * MIB, LiveBirths::Early),
            ("src/cache.rs:88", STEPS * (64 << 10), LiveBirths::Throughout),
            ("src/history.rs:34", 16 * MIB, LiveBirths::Early),
            ("src/model.rs:7", 20 * MIB, LiveBirths::Recent),
        ]
    );
    assert_eq!(memory.bytes, told.iter().map(|line| line.1).sum::<u64>() + 1_000);
    assert_eq!(memory.other_bytes, 1_000);
}

#[test]
fn what_grows_is_held_by_the_leak_and_the_vector_and_not_by_the_cache() {
    let memory = resolved();
    let found = culprits(Some(&memory), 20, 128.0 * 1_024.0);
    let words: Vec<String> = found.iter().map(Culprit::words).collect();
    assert_eq!(
        words,
        [
            "in `step/lookup`, allocated at src/cache.rs:88 (CacheMap::insert)",
            "in `step/report`, allocated at src/history.rs:34 (History::push)",
        ]
    );
    assert!((found[0].share - 0.5).abs() < 0.02, "{found:?}");
    assert_eq!(found[0].stack, "CacheMap::insert (src/cache.rs:88) < trainer::main (src/main.rs:20)");
}

#[test]
fn what_is_renewed_in_one_place_and_was_filled_in_another_does_not_grow() {
    let mut memory = resolved();
    // The cache loses in each moment what the leak's line gains.
    let sizes = memory.lines[1].bytes / memory.lines[1].blocks;
    let cache = memory.lines[0].clone();
    assert_eq!((cache.place.as_str(), cache.bytes / cache.blocks), ("src/cache.rs:120", sizes));
    for (course, bytes) in memory.courses.iter_mut().filter(|((section, _), _)| *section == cache.section) {
        assert_eq!(course.1, cache.stacks[0]);
        let held = |hundred: u64| 25 * MIB + (4 - hundred) * 100 * (64 << 10);
        *bytes = (1..=4).map(held).map(|bytes| Held { bytes, stayed_bytes: bytes }).collect();
    }
    let found = culprits(Some(&memory), 20, 128.0 * 1_024.0);
    assert_eq!(found.iter().map(|one| one.place.as_str()).collect::<Vec<_>>(), ["src/history.rs:34"]);
}

#[test]
fn what_grew_between_two_steps_is_that_of_the_nearest_moments() {
    let mut memory = resolved();
    memory.compare(90, 310).unwrap();
    let between = memory.between.clone().unwrap();
    assert_eq!((between.from.step, between.to.step, between.other_change_bytes), (99, 299, 0));
    let told: Vec<_> = between.lines.iter().map(|line| (line.place.as_str(), line.change_bytes)).collect();
    let mib = MIB as i64;
    assert_eq!(
        told,
        [("src/cache.rs:88", 25 * mib / 2), ("src/history.rs:34", 12 * mib), ("src/main.rs:20", -mib)]
    );
    assert!(memory.compare(95, 110).unwrap_err().ends_with("those of steps 99, 199, 299, 399"));
}

#[test]
fn of_a_helper_of_several_sections_its_caller_is_told() {
    let mut memory = memory(&[STEPS]);
    memory.resolve(|_, offsets| {
        let (helper, caller) = ("trainer::tensor", "trainer::embed");
        let at = |&offset: &u64| match offset {
            0x10 => (Some("__rustc::__rust_alloc"), "src/main.rs", 3),
            0x100 | 0x400 => (Some(helper), "src/train.rs", 13),
            0x200 | 0x300 => (Some("trainer::other"), "src/other.rs", offset as u32),
            _ => (Some(caller), "src/train.rs", 49),
        };
        let line = |(function, file, line): (Option<&str>, &str, u32)| {
            vec![SourceLine { function: function.map(Into::into), file: Some(file.into()), line: Some(line) }]
        };
        Resolved { state: SymbolState::Lines, lines: offsets.iter().map(at).map(line).collect() }
    });
    let callers = |place: &str| -> Vec<_> {
        let own = memory.lines.iter().filter(|line| line.place == place);
        own.map(|line| line.caller.as_deref()).collect()
    };
    assert_eq!(callers("src/train.rs:13"), [Some("trainer::embed (src/train.rs:49)"); 2]);
    assert_eq!(callers("src/other.rs:512"), [None]);
    let found = culprits(Some(&memory), 20, 64.0 * 1_024.0);
    let words = found[0].words();
    assert!(
        words.ends_with("src/train.rs:13 (trainer::tensor), called by trainer::embed (src/train.rs:49)"),
        "{words}"
    );
}

#[test]
fn what_samples_alone_make_grow_or_is_in_use_at_the_moment_does_not() {
    let grows = |held: fn(u64) -> Held, blocks: u64| {
        let mut memory = resolved();
        let cache = memory.lines[0].clone();
        assert_eq!(cache.place, "src/cache.rs:120");
        memory.lines[0].blocks = blocks;
        // All of it comes and goes.
        memory.lines[0].ages = vec![LiveAge { age_steps: 1, bytes: 100 * MIB, blocks: 0 }];
        let own = memory.courses.iter_mut().filter(|((section, _), _)| *section == cache.section);
        own.for_each(|(_, course)| *course = [0, 0, 0, 1].map(held).to_vec());
        let found = culprits(Some(&memory), 20, 16.0 * 1_024.0);
        found.iter().any(|one| one.place == "src/cache.rs:120")
    };
    let all = |late| Held { bytes: 10 * MIB + late * 4 * MIB, stayed_bytes: 10 * MIB + late * 4 * MIB };
    // Blocks that are all there, and such of which one in 64 KiB is: 24 MiB of them are known within 1.2 MiB.
    assert!(grows(all, 25) && grows(all, 25 << 10));
    let few = |late| Held { bytes: 10 * MIB + late * MIB, stayed_bytes: 10 * MIB + late * MIB };
    assert!(grows(few, 25) && !grows(few, 25 << 10));
    assert!(!grows(|late| Held { bytes: 10 * MIB + late * 4 * MIB, stayed_bytes: 10 * MIB }, 25));
}

#[test]
fn without_lines_stacks_stand_for_themselves() {
    let memory = memory(&[STEPS]);
    // Without what all begin with.
    let places: Vec<&str> = memory.lines.iter().map(|line| line.place.as_str()).collect();
    assert_eq!(places, ["trainer+0x200", "trainer+0x100", "trainer+0x300", "trainer+0x400"]);
    assert!(memory.lines.iter().all(|line| line.file.is_none()));
}

#[test]
fn without_frame_pointers_the_place_of_the_section_stands_in() {
    let resource = process();
    let mut partial = Partial::new(Config::default());
    (0..STEPS).for_each(|number| partial.add(&step(number, &resource)));
    let section =
        |path: &str, line| LivePoint::Section { path: path.into(), file: "src/train.rs".into(), line };
    let begin = [section("step/lookup", 149), section("step/warm_up", 90)].map(MetricPoint::Live);
    for mut point in points(STEPS).into_iter().chain(begin) {
        if let MetricPoint::Live(LivePoint::Stack { frames, .. }) = &mut point {
            frames.clear();
        }
        partial.metric(&resource, 1, STEPS * S + S, &point);
    }
    let memory = partial.finish(None).live_memory.unwrap();
    let places: Vec<_> = memory.lines.iter().map(crate::summary::LiveLine::told_place).collect();
    assert_eq!(places[..2], [("src/train.rs", Some(90)), ("src/train.rs", Some(149))]);
    let found = culprits(Some(&memory), 20, 64.0 * 1_024.0);
    assert_eq!(found[0].words(), "in `step/lookup` (src/train.rs:149)");
}

#[test]
fn a_moment_after_the_program_gave_its_memory_back_is_not_the_one_that_is_told() {
    let resource = process();
    let mut partial = Partial::new(Config::default());
    (0..STEPS).for_each(|number| partial.add(&step(number, &resource)));
    points(STEPS).iter().for_each(|point| partial.metric(&resource, 1, STEPS * S + 1, point));
    let row = LiveRow { path: String::new(), stack: None, age_steps: Some(1), amount: 5 };
    partial.metric(&resource, 1, STEPS * S + S, &MetricPoint::Live(LivePoint::Bytes(row)));
    let memory = partial.finish(None).live_memory.unwrap();
    assert_eq!(memory.time_ns, STEPS * S + 1);
    assert_eq!(memory.moments.iter().map(|moment| moment.bytes).collect::<Vec<_>>(), [memory.bytes, 5]);
}

#[test]
fn a_short_peak_is_told_and_is_not_what_the_lines_are_of() {
    let resource = process();
    let mut partial = Partial::new(Config::default());
    (0..STEPS).for_each(|number| partial.add(&step(number, &resource)));
    // 60 moments of what is always there; at one of them 800 MiB more, by the stack of `forward`; at last it is given back.
    for at in 0..60 {
        let time_ns = S + at * (STEPS - 2) * S / 60;
        points(100).iter().for_each(|point| partial.metric(&resource, 1, time_ns, point));
        if at == 7 {
            let row = LiveRow {
                path: "step/forward".into(),
                stack: Some(IN_USE),
                age_steps: Some(0),
                amount: 820 * MIB,
            };
            partial.metric(&resource, 1, time_ns, &MetricPoint::Live(LivePoint::Bytes(row)));
        }
    }
    let row = LiveRow { path: String::new(), stack: None, age_steps: Some(1), amount: 5 };
    partial.metric(&resource, 1, STEPS * S + S, &MetricPoint::Live(LivePoint::Bytes(row)));
    let mut memory = partial.finish(None).live_memory.unwrap();
    assert_eq!(memory.step, Some(59 * (STEPS - 2) / 60));
    let peak = memory.peak.clone().unwrap();
    assert_eq!(peak.step, Some(7 * (STEPS - 2) / 60));
    assert_eq!((peak.bytes, peak.line_bytes), (memory.bytes + 800 * MIB, 820 * MIB));
    assert_eq!(peak.section.as_deref(), Some("step/forward"));
    // What was there at last is of no step.
    memory.compare(10, STEPS - 1).unwrap();
    assert_eq!(memory.between.as_ref().map(|between| between.to.bytes), Some(memory.bytes));
    assert!(memory.compare(20, 10).is_err());
}

#[test]
fn which_moments_stay_does_not_depend_on_their_order() {
    let row =
        |amount| LivePoint::Bytes(LiveRow { path: "a".into(), stack: None, age_steps: Some(0), amount });
    let times: Vec<u64> = (1..=500).map(|time| time * time * 1_000).collect();
    let bytes = |samples: &LiveSamples| postcard::to_stdvec(samples).unwrap();
    let of = |times: &mut dyn Iterator<Item = &u64>| {
        let mut samples = LiveSamples::default();
        // One in the middle has most.
        let amount = |time| if time == 90_000_000 { u64::MAX / 1_000 } else { time };
        times.for_each(|&time| samples.add(time, &row(amount(time))));
        samples
    };
    let forward = of(&mut times.iter());
    assert!(forward.moments.len() <= super::MOMENTS && forward.moments.len() > super::MOMENTS / 4);
    assert_eq!(forward.moments.keys().last(), times.last());
    assert!(forward.moments.contains_key(&90_000_000));
    assert_eq!(bytes(&of(&mut times.iter().rev())), bytes(&forward));
    let mut halves = of(&mut times.iter().skip(1).step_by(2));
    halves.absorb(&of(&mut times.iter().step_by(2)));
    assert_eq!(bytes(&halves), bytes(&forward));
}

#[test]
fn a_profile_holds_all_bytes() {
    let memory = resolved();
    let profile = pprof::encode(&memory);
    // Field 2 of the profile is a sample, whose field 2 has blocks and bytes, allocated and live; all fields here are of length.
    let mut sums = [0; 4];
    for (field, sample) in fields(&profile) {
        if field == 2 {
            let (_, mut values) = fields(sample).find(|(inner, _)| *inner == 2).unwrap();
            sums.iter_mut().for_each(|sum| *sum += varint(&mut values));
        }
    }
    assert_eq!(sums[3], memory.bytes);
    // The last moment counts alone: the one before had half of it.
    assert_eq!(sums[..2], [STEPS * 20, STEPS * 20 * MIB + 5_000]);
}

#[test]
fn lines_that_allocate_most_are_told_freed_or_not() {
    let memory = resolved();
    let told: Vec<_> = memory.allocated.iter().map(|line| (line.words(), line.bytes, line.blocks)).collect();
    assert_eq!(told, [("src/model.rs:7 (trainer::forward)".to_owned(), STEPS * 20 * MIB, STEPS * 20)]);
    let most = memory.allocates_most("step/forward", |line| line.bytes).unwrap();
    assert_eq!((most.0.place.as_str(), most.1), ("src/model.rs:7", 1.0));
    assert_eq!(memory.allocates_most("step/lookup", |line| line.bytes), None);
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

/// Fields with a length; numbers are left out.
fn fields(mut bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    std::iter::from_fn(move || {
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let value = varint(&mut bytes);
            if tag & 7 == 2 {
                let (field, rest) = bytes.split_at(value as usize);
                bytes = rest;
                return Some((tag >> 3, field));
            }
        }
        None
    })
}
