//! From the samples of processes to live memory of the one that held most.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use stepscope_core::Mode;
use stepscope_model::Resource;

use super::summary::Held;
use super::{LiveSamples, Moment, allocated, lines, peak};
use crate::context::Context;
use crate::metrics::stretches::StepTimes;
use crate::summary::{
    AllocatedRow, LiveFrame, LiveMemory, LiveModule, LiveMoment, LiveRow, LiveSection, ProcessMemory,
    SymbolState,
};

/// Sections that are told over the moments.
const SECTIONS: usize = 8;

/// What was live in the process that held most, or in the one that leaks fastest of several; absent where none took samples.
pub(crate) fn of(
    context: &Context<'_>,
    primary: Option<Mode>,
    leaks: Option<&ProcessMemory>,
) -> Option<LiveMemory> {
    let processes = context.run.instances.iter();
    let known = processes.filter(|(_, acc)| !acc.live_memory.moments.is_empty());
    let most = |samples: &LiveSamples| samples.moments.values().map(|moment| moment.bytes).max().unwrap_or(0);
    let is_meant = |key: &Resource| leaks.is_some_and(|process| process.is(key));
    // Of equals the first.
    let (instance, acc) = known
        .clone()
        .rev()
        .max_by_key(|(key, acc)| (is_meant(&key.0), most(&acc.live_memory)))
        .map(|(key, acc)| (&key.0, acc))?;
    let samples = &acc.live_memory;
    let clock = Clock::of(context, primary);
    let mut memory = at_last(samples, &clock)?;
    memory.rank = instance.rank;
    memory.processes = known.count() as u64;
    over_moments(samples, &clock, &mut memory);
    memory.shims = lines::shims(&memory);
    memory.lines = lines::of(&memory);
    memory.peak = peak::of(&memory);
    memory.allocated = allocated::lines(&memory);
    Some(memory)
}

/// Which steps had begun by a time.
struct Clock {
    /// Of the primary mode.
    primary: Option<StepTimes>,
    /// Of all modes.
    all: Vec<StepTimes>,
    processes: u64,
    warm_until_ns: u64,
}

impl Clock {
    fn of(context: &Context<'_>, primary: Option<Mode>) -> Self {
        let warm_until_ns = context.steps.warm_until_ns(primary);
        let of =
            |mode: Mode| StepTimes::of(context.run, mode, context.steps.numbers.of_mode(mode), warm_until_ns);
        Self {
            primary: primary.filter(|&mode| context.steps.numbers.tell_apart(mode)).and_then(of),
            all: Mode::ALL.iter().filter_map(|&mode| of(mode)).collect(),
            processes: context.run.instances.len() as u64,
            warm_until_ns,
        }
    }

    fn first_step(&self) -> Option<u64> {
        let steps = self.primary.as_ref()?;
        Some(steps.begun_by(steps.window.from_ns)?.0)
    }

    fn step(&self, time_ns: u64) -> Option<u64> {
        Some(self.primary.as_ref()?.begun_by(time_ns)?.0)
    }

    /// Steps of one process.
    fn begun(&self, time_ns: u64) -> u64 {
        let begun = self.all.iter().filter_map(|steps| Some(steps.begun_by(time_ns)?.1));
        begun.fold(0, u64::saturating_add).div_ceil(self.processes.max(1))
    }
}

/// What was live for half of the time at least, the last moment left out: between two moments the lower one counts, so that a
/// short peak does not stand for the time behind it.
fn usual_bytes(samples: &LiveSamples) -> u64 {
    let known: Vec<(u64, u64)> = samples.moments.iter().map(|(&ns, moment)| (ns, moment.bytes)).collect();
    let pairs = known.iter().zip(known.iter().skip(1)).take(known.len().saturating_sub(2));
    let mut all: Vec<(u64, u64)> =
        pairs.map(|(from, to)| (from.1.min(to.1), to.0.saturating_sub(from.0))).collect();
    all.sort_unstable();
    let half_ns = all.iter().map(|(_, ns)| ns).sum::<u64>() / 2;
    let mut passed_ns = 0;
    let usual = all.iter().find(|(_, ns)| {
        passed_ns += ns;
        passed_ns >= half_ns
    });
    let most = || known.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    usual.map_or_else(most, |(bytes, _)| *bytes)
}

/// The last moment with at least half of what was usual: at the end of a run programs give back what they held.
fn at_last(samples: &LiveSamples, clock: &Clock) -> Option<LiveMemory> {
    let least = usual_bytes(samples) / 2;
    let (&time_ns, moment) = samples.moments.iter().rev().find(|(_, moment)| moment.bytes >= least)?;
    let oldest = moment.rows.keys().filter_map(|key| key.age_steps).max().unwrap_or(0);
    // Ages are counted by the process, and steps may be missing here.
    let (first_step, step) = (clock.first_step(), clock.step(time_ns));
    let numbers =
        first_step.zip(step).map_or(0, |(first, last)| last.saturating_sub(first).saturating_add(1));
    let steps = clock.begun(time_ns).max(oldest).max(numbers);
    let mut memory = LiveMemory {
        period_bytes: moment.period_bytes,
        time_ns,
        step,
        first_step,
        steps,
        steady_steps: steps.saturating_sub(clock.begun(clock.warm_until_ns.saturating_sub(1))),
        samples_dropped: samples.dropped.samples,
        stacks_dropped: samples.dropped.stacks,
        stacks_truncated: samples.dropped.truncated,
        ..LiveMemory::default()
    };
    let mut names = Names::default();
    let mut courses: BTreeMap<(u64, u64), (Option<String>, usize)> = BTreeMap::new();
    for (key, row) in &moment.rows {
        memory.bytes = memory.bytes.saturating_add(row.bytes);
        memory.blocks = memory.blocks.saturating_add(row.blocks);
        let Some(age_steps) = key.age_steps else {
            memory.other_bytes = memory.other_bytes.saturating_add(row.bytes);
            continue;
        };
        let stack = key.stack.and_then(|number| names.stack(samples, number, &mut memory));
        let section = section(samples, key.path);
        place_section(samples, key.path, section.as_ref(), &mut memory);
        if let Some((stack, number)) = stack.zip(key.stack) {
            courses.insert((key.path, number), (section.clone(), stack));
        }
        memory.rows.push(LiveRow { section, stack, age_steps, bytes: row.bytes, blocks: row.blocks });
    }
    // Those of other moments alone, for what changed in between.
    for key in samples.moments.values().flat_map(|moment| moment.rows.keys()) {
        if let Some(number) = key.stack
            && !courses.contains_key(&(key.path, number))
            && let Some(stack) = names.stack(samples, number, &mut memory)
        {
            let section = section(samples, key.path);
            place_section(samples, key.path, section.as_ref(), &mut memory);
            courses.insert((key.path, number), (section, stack));
        }
    }
    for (&(path, stack), row) in &samples.allocated.rows {
        let stack = stack.and_then(|number| names.stack(samples, number, &mut memory));
        let section = section(samples, path);
        place_section(samples, path, section.as_ref(), &mut memory);
        memory.allocated_rows.push(AllocatedRow { section, stack, bytes: row.bytes, blocks: row.blocks });
    }
    memory.rows.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.section.cmp(&b.section)));
    for (at, moment) in samples.moments.values().enumerate() {
        for (key, row) in &moment.rows {
            let course = key.stack.and_then(|number| courses.get(&(key.path, number)));
            let Some(course) = course else { continue };
            let course = memory
                .courses
                .entry(course.clone())
                .or_insert_with(|| vec![Held::default(); samples.moments.len()]);
            if let Some(held) = course.get_mut(at) {
                held.bytes = held.bytes.saturating_add(row.bytes);
                if key.age_steps.is_some_and(|age| age > 0) {
                    held.stayed_bytes = held.stayed_bytes.saturating_add(row.bytes);
                }
            }
        }
    }
    Some(memory)
}

/// Notes where a section begins.
fn place_section(samples: &LiveSamples, path: u64, section: Option<&String>, memory: &mut LiveMemory) {
    if let Some((section, place)) = section.zip(samples.sections.get(&path)) {
        memory.sections.insert(section.clone(), place.0.to_string());
    }
}

/// The section of a path's hash; none outside of sections.
fn section(samples: &LiveSamples, path: u64) -> Option<String> {
    samples.paths.get(&path).filter(|path| !path.0.is_empty()).map(|path| path.0.to_string())
}

/// Places of what rows name.
#[derive(Default)]
struct Names {
    stacks: BTreeMap<u64, usize>,
    frames: BTreeMap<(Option<usize>, u64), usize>,
    modules: BTreeMap<String, usize>,
}

impl Names {
    fn stack(&mut self, samples: &LiveSamples, number: u64, memory: &mut LiveMemory) -> Option<usize> {
        if let Some(&at) = self.stacks.get(&number) {
            return Some(at);
        }
        let text = &samples.stacks.get(&number)?.0;
        let frames: Vec<usize> =
            text.split(' ').filter_map(|frame| self.frame(samples, frame, memory)).collect();
        let at = memory.stacks.len();
        memory.stacks.push(frames);
        self.stacks.insert(number, at);
        Some(at)
    }

    /// The place of `module+0xoffset`.
    fn frame(&mut self, samples: &LiveSamples, frame: &str, memory: &mut LiveMemory) -> Option<usize> {
        let (name, offset) = frame.rsplit_once("+0x")?;
        let offset = u64::from_str_radix(offset, 16).ok()?;
        let module = (name != "?").then(|| self.module(samples, name, memory));
        Some(*self.frames.entry((module, offset)).or_insert_with(|| {
            memory.frames.push(LiveFrame { module, offset, lines: Vec::new() });
            memory.frames.len() - 1
        }))
    }

    fn module(&mut self, samples: &LiveSamples, name: &str, memory: &mut LiveMemory) -> usize {
        if let Some(&at) = self.modules.get(name) {
            return at;
        }
        let file = samples.modules.get(name).cloned().unwrap_or_default();
        let build_id = Some(file.build_id.to_string()).filter(|id| !id.is_empty());
        let (path, symbols) = (file.path.to_string(), SymbolState::default());
        memory.modules.push(LiveModule { name: name.into(), path, build_id, symbols });
        self.modules.insert(name.into(), memory.modules.len() - 1);
        memory.modules.len() - 1
    }
}

/// What sections held at each moment.
fn over_moments(samples: &LiveSamples, clock: &Clock, memory: &mut LiveMemory) {
    let sums = |moment: &Moment| {
        let mut sums: BTreeMap<u64, u64> = BTreeMap::new();
        for (key, row) in moment.rows.iter().filter(|(key, _)| key.age_steps.is_some()) {
            let sum = sums.entry(key.path).or_default();
            *sum = sum.saturating_add(row.bytes);
        }
        sums
    };
    let moments: Vec<(u64, u64, BTreeMap<u64, u64>)> =
        samples.moments.iter().map(|(&time_ns, moment)| (time_ns, moment.bytes, sums(moment))).collect();
    let mut peaks: BTreeMap<u64, u64> = BTreeMap::new();
    for (&path, &bytes) in moments.iter().flat_map(|(.., sums)| sums) {
        let peak = peaks.entry(path).or_default();
        *peak = bytes.max(*peak);
    }
    let mut largest: Vec<(u64, Option<String>, u64)> =
        peaks.into_iter().map(|(path, bytes)| (path, section(samples, path), bytes)).collect();
    largest.sort_by_key(|(_, section, bytes)| (Reverse(*bytes), section.clone()));
    largest.truncate(SECTIONS);
    memory.moments = moments
        .into_iter()
        .map(|(time_ns, bytes, sums)| {
            let sections = largest.iter().map(|(path, section, _)| LiveSection {
                section: section.clone(),
                bytes: sums.get(path).copied().unwrap_or(0),
            });
            let sections: Vec<LiveSection> = sections.collect();
            let told = sections.iter().fold(0u64, |sum, section| sum.saturating_add(section.bytes));
            let other_bytes = bytes.saturating_sub(told);
            LiveMoment { time_ns, step: clock.step(time_ns), bytes, sections, other_bytes }
        })
        .collect();
}
