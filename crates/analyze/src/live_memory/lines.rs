//! Rows by section and line: which line of a stack is the program's own, and how that is said.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::births::Births;
use super::symbols::{Origin, is_allocator, is_unknown, origin, short_function};
use crate::summary::{LiveAge, LiveBirths, LiveFrame, LiveLine, LiveMemory, LiveMoment, SourceLine};

impl LiveLine {
    /// File and line; without them the address; without that file and line of where the section begins.
    #[must_use]
    pub fn told_place(&self) -> (&str, Option<u32>) {
        let begins = self.section_place.as_deref().filter(|_| self.place == UNKNOWN);
        let begins = begins.and_then(|place| place.rsplit_once(':'));
        match (&self.file, begins) {
            (Some(file), _) => (file, self.line),
            (None, Some((file, line))) => (file, line.parse().ok()),
            (None, None) => (&self.place, None),
        }
    }
}

/// How memory can be asked for: as it is, zeroed, and more of it.
const KINDS: usize = 3;
/// Steps from which on what is live is old.
const OLD_STEPS: u64 = 2;

/// The lines of a memory, largest old bytes first.
pub(super) fn of(memory: &LiveMemory) -> Vec<LiveLine> {
    // By section and place; where only an address is known, by stack as well: the innermost one can be of any allocation.
    let mut lines: BTreeMap<(Option<&str>, String, Option<usize>), LiveLine> = BTreeMap::new();
    for row in &memory.rows {
        let (place, source) = row.stack.map_or_else(unknown, |stack| place(memory, stack));
        let stack = if source.file.is_none() { row.stack } else { None };
        let SourceLine { function, file, line: number } = source;
        let line = lines.entry((row.section.as_deref(), place, stack)).or_default();
        (line.file, line.line) = (file, number);
        // Of one function names can be whole and short.
        let length = |name: &Option<String>| name.as_ref().map_or(0, String::len);
        if length(&function) > length(&line.function) {
            line.function = function;
        }
        line.bytes = line.bytes.saturating_add(row.bytes);
        line.blocks = line.blocks.saturating_add(row.blocks);
        if row.age_steps >= OLD_STEPS {
            line.old_bytes = line.old_bytes.saturating_add(row.bytes);
        }
        match line.ages.iter_mut().find(|age| age.age_steps == row.age_steps) {
            Some(age) => {
                age.bytes = age.bytes.saturating_add(row.bytes);
                age.blocks = age.blocks.saturating_add(row.blocks);
            }
            None => {
                line.ages.push(LiveAge { age_steps: row.age_steps, bytes: row.bytes, blocks: row.blocks });
            }
        }
        line.stacks.extend(row.stack.filter(|stack| !line.stacks.contains(stack)));
    }
    let mut lines: Vec<LiveLine> = lines
        .into_iter()
        .map(|((section, place, _), mut line)| {
            line.ages.sort_by_key(|age| age.age_steps);
            line.stacks.sort_unstable();
            let births = Births::of(&line.ages, memory.period_bytes, memory.steps, memory.steady_steps);
            // What came last found no room.
            let is_cut = memory.samples_dropped > 0 && births.kind() == LiveBirths::Early;
            LiveLine {
                section: section.map(str::to_owned),
                section_place: section.and_then(|section| memory.sections.get(section).cloned()),
                place,
                births: if is_cut { LiveBirths::Unknown } else { births.kind() },
                bytes_per_step: births.bytes_per_step(),
                ..line
            }
        })
        .collect();
    name_callers(memory, &mut lines);
    lines.sort_by(|a, b| {
        let key = |line: &LiveLine| (Reverse(line.old_bytes), Reverse(line.bytes));
        key(a).cmp(&key(b)).then_with(|| (&a.section, &a.place).cmp(&(&b.section, &b.place)))
    });
    lines
}

/// Names the callers of lines at which several sections allocate: helpers that tell nothing by themselves.
fn name_callers(memory: &LiveMemory, lines: &mut [LiveLine]) {
    let mut sections: BTreeMap<&str, u32> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.file.is_some()) {
        *sections.entry(&line.place).or_default() += 1;
    }
    let callers: Vec<Option<String>> = lines
        .iter()
        .map(|line| {
            let is_helper = sections.get(line.place.as_str()).is_some_and(|&count| count > 1);
            if is_helper { calls(memory, line).into_iter().nth(1) } else { None }
        })
        .collect();
    lines.iter_mut().zip(callers).for_each(|(line, caller)| line.caller = caller);
}

/// The calls of the stack of a line with most bytes, in words, innermost first.
pub(super) fn calls(memory: &LiveMemory, line: &LiveLine) -> Vec<String> {
    let bytes = |stack: usize| {
        let own = memory.rows.iter().filter(|row| row.stack == Some(stack) && row.section == line.section);
        own.fold(0u64, |sum, row| sum.saturating_add(row.bytes))
    };
    // Of equals the first.
    let most = line.stacks.iter().rev().copied().max_by_key(|&stack| bytes(stack));
    let mut calls = most.map(|stack| memory.calls(stack)).unwrap_or_default();
    calls.reverse();
    calls
}

/// The place of what has no stack.
pub(crate) const UNKNOWN: &str = "unknown";

fn unknown() -> (String, SourceLine) {
    (UNKNOWN.into(), SourceLine::default())
}

/// The line of a stack: the innermost one of the program's own, else of a library, else the innermost address.
pub(super) fn place(memory: &LiveMemory, stack: usize) -> (String, SourceLine) {
    let places = memory.stacks.get(stack).map(Vec::as_slice).unwrap_or_default();
    let all: Vec<&LiveFrame> = places.iter().filter_map(|&at| memory.frames.get(at)).collect();
    let is_shim = |at: &usize| memory.shims.contains(at);
    let inside = inside(memory, places).max(places.iter().take(1).filter(|at| is_shim(at)).count());
    let module = |frame: &LiveFrame| frame.module.and_then(|at| memory.modules.get(at));
    // Beyond calls of which nothing is known a line would be that of somebody who called them.
    let is_told = |frame: &&LiveFrame| !module(frame).is_some_and(is_unknown);
    let frames = || all.iter().skip(inside).copied().take_while(is_told);
    let lines = || frames().flat_map(|frame| beyond(frame).iter().map(move |line| (frame, line)));
    let first = |wanted: Origin| lines().find(|(frame, line)| origin(line, module(frame)) == wanted);
    match first(Origin::Own).or_else(|| first(Origin::Library)) {
        Some((frame, line)) => (written(memory, frame, line), line.clone()),
        // Code in no file is that of nobody.
        None => all.get(inside).filter(|frame| frame.module.is_some()).map_or_else(unknown, |frame| {
            let line = frame.lines.last().cloned().unwrap_or_default();
            (address(memory, frame), SourceLine { file: None, line: None, ..line })
        }),
    }
}

/// With which frames all stacks begin, where nothing is known of these: they are the allocator's, of which there are three kinds.
pub(super) fn shims(memory: &LiveMemory) -> BTreeSet<usize> {
    let known = memory.stacks.iter().filter(|stack| !stack.is_empty());
    let first: BTreeSet<usize> = known.clone().filter_map(|stack| stack.first().copied()).collect();
    let is_unknown = |at: &usize| memory.frames.get(*at).is_some_and(|frame| frame.lines.is_empty());
    let all = first.len() <= KINDS && known.count() > KINDS * first.len() && first.iter().all(is_unknown);
    if all { first } else { BTreeSet::new() }
}

/// How many frames of a stack are inside of the allocator: what that calls is not the program's, whatever it is called.
pub(super) fn inside(memory: &LiveMemory, stack: &[usize]) -> usize {
    let is_inside = |frame: &LiveFrame| !frame.lines.is_empty() && beyond(frame).is_empty();
    let frame = |at: &usize| memory.frames.get(*at);
    let allocates = |at: &usize| frame(at).is_some_and(|frame| frame.lines.iter().any(is_allocator));
    let last = stack.iter().rposition(allocates);
    last.map_or(0, |at| at + usize::from(stack.get(at).and_then(frame).is_some_and(is_inside)))
}

/// How many of a frame's lines are the allocator's, which was inlined into what comes then.
fn inlined(frame: &LiveFrame) -> usize {
    frame.lines.iter().rposition(is_allocator).map_or(0, |at| at + 1)
}

/// The lines of a frame beyond the allocator's.
fn beyond(frame: &LiveFrame) -> &[SourceLine] {
    frame.lines.get(inlined(frame)..).unwrap_or_default()
}

/// The innermost line of a frame that is neither the allocator's nor the standard library's.
pub(super) fn own(memory: &LiveMemory, frame: &LiveFrame) -> Option<usize> {
    let module = frame.module.and_then(|at| memory.modules.get(at));
    let own = beyond(frame).iter().position(|line| origin(line, module) != Origin::Runtime);
    own.map(|at| inlined(frame) + at)
}

/// A call in words: its function and its place.
pub(super) fn call(memory: &LiveMemory, frame: &LiveFrame, line: &SourceLine) -> String {
    let place = written(memory, frame, line);
    match line.function.as_deref().map(short_function) {
        Some(function) => format!("{function} ({place})"),
        None => place,
    }
}

impl LiveMemory {
    /// Whether a moment is one at the end of the run, when the program had given back what it held: of no step.
    pub(crate) const fn gave_back(&self, moment: &LiveMoment) -> bool {
        moment.time_ns > self.time_ns && moment.bytes < self.bytes / 2
    }

    /// Whether the program was built without frame pointers, so that no line can be known.
    #[must_use]
    pub fn has_no_frame_pointers(&self) -> bool {
        self.stacks_truncated > 0 && self.stacks.iter().all(Vec::is_empty)
    }

    /// The calls of a stack in words, outermost first, down to the first that only allocates for its caller.
    pub(crate) fn calls(&self, stack: usize) -> Vec<String> {
        let frames: Vec<&LiveFrame> =
            self.stacks.get(stack).into_iter().flatten().filter_map(|&at| self.frames.get(at)).collect();
        // What starts the program has no lines: addresses are told only where they are all there is.
        let has_lines = frames.iter().any(|frame| !frame.lines.is_empty());
        let mut calls = Vec::new();
        for frame in frames.into_iter().rev() {
            let module = frame.module.and_then(|at| self.modules.get(at));
            if frame.lines.is_empty() && !has_lines {
                calls.push(address(self, frame));
            }
            for line in frame.lines.iter().rev() {
                if is_allocator(line) {
                    return calls;
                }
                // Of the standard library only what holds memory is told: not what starts threads and calls closures.
                if origin(line, module) != Origin::Runtime {
                    calls.push(call(self, frame, line));
                }
            }
        }
        calls
    }
}

fn written(memory: &LiveMemory, frame: &LiveFrame, line: &SourceLine) -> String {
    let Some(file) = line.file.as_deref() else { return address(memory, frame) };
    // What cargo fetched lies below the name of a registry.
    let below = file.split_once("/registry/src/").and_then(|(_, below)| Some(below.split_once('/')?.1));
    let file = below.unwrap_or(file);
    line.line.map_or_else(|| file.to_owned(), |number| format!("{file}:{number}"))
}

/// `module+0xoffset`.
pub(super) fn address(memory: &LiveMemory, frame: &LiveFrame) -> String {
    let module = frame.module.and_then(|at| memory.modules.get(at));
    format!("{}+{:#x}", module.map_or("?", |module| module.name.as_str()), frame.offset)
}
