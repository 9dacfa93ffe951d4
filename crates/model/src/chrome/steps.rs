//! The steps of a file: slices `ProfilerStep#N` of Kineto, or those that say their number as JAX and TensorFlow do, each of
//! a process, into which everything falls that begins within them.

use std::collections::HashMap;

use stepscope_core::identity::{TraceId, hash_parts, mix};

use super::document::Document;
use super::event::{Event, is_of_device, is_on_host, step_number};
use super::hosts::{self, Hosts};
use super::names::PROFILER_STEP;

/// Steps of one file that are told apart.
const MAX_STEPS: usize = 1 << 20;

/// A step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    pub(super) start_ns: i128,
    pub(super) end_ns: i128,
    pub(super) number: i64,
    /// The thread that went through it.
    pub(super) lane: u64,
    /// Hash of the name of its slice.
    name: u64,
    pub(super) span: u64,
    pub(super) trace: TraceId,
}

/// All of a file's, by process.
#[derive(Debug, Default)]
pub(super) struct Steps {
    by_process: HashMap<String, Vec<Step>>,
    /// The processes in the order of the file.
    order: Vec<String>,
    pub(super) hosts: Hosts,
    /// Which rank each of several processes is.
    ranks: HashMap<String, i64>,
    count: usize,
    /// Whether the steps found are Kineto's, which count before all others.
    are_kinetos: bool,
    /// Whether a slice that an event of its own ends may be a step.
    pub(super) has_begun: bool,
    /// Steps without an end, and the number of the first.
    pub(super) unfinished: Option<(u64, i64)>,
    /// Whether ranks are numbers in the order of the file.
    pub(super) are_ranks_counted: bool,
    /// The step's own span, by trace.
    roots: HashMap<TraceId, u64>,
}

/// Sixteen bytes of a hash; never all zeros.
pub(super) fn trace_id(hash: u64) -> TraceId {
    (u128::from(hash) << 64 | u128::from(mix(hash) | 1)).to_be_bytes()
}

/// The id of a slice: the same whenever the file is read.
pub(super) fn span_id(seed: u64, lane: u64, at_ns: i128, name: &str, repeated: u64) -> u64 {
    let (at, repeated) = (at_ns.to_le_bytes(), repeated.to_le_bytes());
    hash_parts(&[&seed.to_le_bytes(), &lane.to_le_bytes(), &at, name.as_bytes(), &repeated]).max(1)
}

/// The number of a step, by the name of its slice.
pub(super) fn number(name: &str) -> Option<i64> {
    name.strip_prefix(PROFILER_STEP)?.strip_prefix('#')?.trim().parse().ok()
}

/// Whether a name says that its slice is a step, with a number beyond 64 bits.
pub(super) fn is_beyond(name: &str) -> bool {
    let digits =
        name.strip_prefix(PROFILER_STEP).and_then(|rest| rest.strip_prefix('#')).unwrap_or("").trim();
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit()) && number(name).is_none()
}

fn hash(name: &str) -> u64 {
    hash_parts(&[name.as_bytes()])
}

impl Steps {
    /// Takes a slice if it is a step. What runs on a device for it has the same name, and is none.
    pub(super) fn note(&mut self, event: &Event<'_>, lane: u64, start_ns: i128, end_ns: i128) {
        self.hosts.note(event);
        if event.category.starts_with("gpu") || event.owner.is_some() {
            return;
        }
        let own = number(&event.name);
        let said = || if self.are_kinetos { None } else { step_number(&event.category, event.args) };
        let Some(number) = own.or_else(said) else { return };
        self.found(own.is_some());
        if end_ns > start_ns {
            self.add(&event.pid, &event.name, (number, lane), start_ns, end_ns);
        } else if own.is_some() {
            self.note_unfinished(number);
        }
    }

    /// Notes that a slice begins which an event of its own ends.
    pub(super) fn note_begin(&mut self, event: &Event<'_>) {
        self.hosts.note(event);
        let is_step =
            number(&event.name).is_some() && !is_of_device(&event.category) && event.owner.is_none();
        self.has_begun |= is_step;
    }

    /// Takes a step that two events are.
    pub(super) fn note_ended(&mut self, process: &str, number: i64, lane: u64, start_ns: i128, end_ns: i128) {
        self.found(true);
        self.add(process, &format!("{PROFILER_STEP}#{number}"), (number, lane), start_ns, end_ns);
    }

    pub(super) fn note_unfinished(&mut self, number: i64) {
        let (count, first) = self.unfinished.unwrap_or((0, number));
        self.unfinished = Some((count + 1, first));
    }

    /// Forgets what others than Kineto call steps once it has some.
    fn found(&mut self, is_kinetos: bool) {
        if is_kinetos && !self.are_kinetos {
            self.by_process.clear();
            self.order.clear();
            (self.are_kinetos, self.count) = (true, 0);
        }
    }

    fn add(&mut self, process: &str, name: &str, (number, lane): (i64, u64), start_ns: i128, end_ns: i128) {
        if self.count >= MAX_STEPS {
            return;
        }
        self.count += 1;
        let step = Step { start_ns, end_ns, number, lane, name: hash(name), span: 0, trace: [0; 16] };
        if let Some(steps) = self.by_process.get_mut(process) {
            steps.push(step);
        } else {
            self.order.push(process.to_owned());
            self.by_process.insert(process.to_owned(), vec![step]);
        }
    }

    /// Sorts them and gives them their ids, and processes their ranks.
    pub(super) fn finish(&mut self, document: &Document) {
        let seed = document.seed();
        if !self.are_kinetos {
            // What a device calls a step lies where its work does, not where the program's step does.
            self.by_process.retain(|process, _| !document.is_device(process));
            self.order.retain(|process| !document.is_device(process));
        }
        for (process, steps) in &mut self.by_process {
            steps.sort_unstable();
            steps.dedup();
            if !self.are_kinetos {
                let mut last: Option<(u64, i128)> = None;
                steps.retain(|step| {
                    let is_inside =
                        last.is_some_and(|(lane, end_ns)| lane == step.lane && step.end_ns <= end_ns);
                    if !is_inside {
                        last = Some((step.lane, step.end_ns));
                    }
                    !is_inside
                });
            }
            for step in steps {
                let name =
                    if self.are_kinetos { format!("{PROFILER_STEP}#{}", step.number) } else { String::new() };
                step.span = span_id(seed, step.lane, step.start_ns, &name, 0);
                step.trace = trace_id(hash_parts(&[&step.span.to_le_bytes(), process.as_bytes()]));
                self.roots.insert(step.trace, step.span);
            }
        }
        self.find_ranks(document);
    }

    /// Which rank each process is, where several have steps: as their names say, else in the order of the file, if they
    /// do the same steps.
    fn find_ranks(&mut self, document: &Document) {
        if !self.are_several() {
            return;
        }
        let said = |process: &String| {
            let name = document.processes.get(process).map_or("", |process| process.name.as_str());
            Some((process.clone(), hosts::rank(process).or_else(|| hosts::rank(name))?))
        };
        let said: Option<HashMap<String, i64>> = self.order.iter().map(said).collect();
        let are_different = |ranks: &HashMap<String, i64>| {
            let mut numbers: Vec<i64> = ranks.values().copied().collect();
            numbers.sort_unstable();
            numbers.windows(2).all(|pair| matches!(pair, [a, b] if a != b))
        };
        self.ranks = match said.filter(are_different) {
            Some(ranks) => ranks,
            None if self.are_steps_shared() => {
                self.are_ranks_counted = true;
                self.order.iter().cloned().zip(0..).collect()
            }
            None => HashMap::new(),
        };
    }

    /// Whether each process does steps of numbers that the first one does as well.
    fn are_steps_shared(&self) -> bool {
        let range = |process: &String| {
            let numbers = self.by_process.get(process)?.iter().map(|step| step.number);
            Some((numbers.clone().min()?, numbers.max()?))
        };
        let ranges: Vec<(i64, i64)> = self.order.iter().filter_map(range).collect();
        let Some(&(from, to)) = ranges.first() else { return false };
        ranges.iter().all(|&(first, last)| first <= to && from <= last)
    }

    /// Whether there are steps.
    pub(super) fn are_some(&self) -> bool {
        !self.by_process.is_empty()
    }

    /// Whether several processes have steps.
    pub(super) fn are_several(&self) -> bool {
        self.by_process.len() > 1
    }

    /// How many processes have steps.
    pub(super) fn processes(&self) -> usize {
        self.by_process.len()
    }

    /// The process whose steps are found first in the file.
    pub(super) fn process(&self) -> Option<&str> {
        self.order.first().map(String::as_str)
    }

    /// Which of several ranks a process is, or the one that a device works for.
    pub(super) fn rank(&self, host: &str) -> Option<i64> {
        self.ranks.get(host).copied()
    }

    /// The span that is the step of a trace.
    pub(super) fn root(&self, trace: &TraceId) -> Option<u64> {
        self.roots.get(trace).copied()
    }

    /// The process with steps that one belongs to: devices are processes of their own here. Nothing for the threads of
    /// others, such as those that load data.
    pub(super) fn home<'s>(&'s self, process: &'s str, category: &str) -> Option<&'s str> {
        if self.by_process.contains_key(process) {
            return Some(process);
        }
        if is_on_host(category) {
            return None;
        }
        if self.are_several() { self.hosts.of_device(process, &self.order) } else { self.process() }
    }

    /// The step in which something begins that ends at `end_ns`, at `home`. What begins with a step on its thread and ends
    /// after it, or lasts all through the next one, is around steps: the frame of a function that goes on, of which the
    /// writer says no earlier start than that of the recording.
    pub(super) fn at(&self, home: &str, lane: u64, at_ns: i128, end_ns: i128) -> Option<&Step> {
        let steps = self.by_process.get(home)?;
        let after = steps.partition_point(|step| step.start_ns <= at_ns);
        let step = steps.get(after.checked_sub(1)?).filter(|step| at_ns < step.end_ns)?;
        let is_next_inside =
            || steps.get(after).is_some_and(|next| next.lane == lane && next.end_ns <= end_ns);
        let is_around =
            step.lane == lane && end_ns > step.end_ns && (at_ns == step.start_ns || is_next_inside());
        (!is_around).then_some(step)
    }
}

impl Step {
    /// Whether a slice of this step's process is the step.
    pub(super) fn is(&self, lane: u64, at_ns: i128, name_hash: u64) -> bool {
        self.lane == lane && self.start_ns == at_ns && self.name == name_hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_longer_than_its_step_and_the_next_is_around_them() {
        let mut steps = Steps::default();
        for number in 0..4 {
            let start_ns = i128::from(number) * 100;
            steps.note_ended("7", number, 1, start_ns, start_ns + 100);
        }
        steps.finish(&Document::default());
        let number = |lane, at_ns, end_ns| steps.at("7", lane, at_ns, end_ns).map(|step| step.number);
        assert_eq!(number(1, 110, 190), Some(1));
        // A call that ends a step and begins the next one.
        assert_eq!(number(1, 195, 205), Some(1));
        assert_eq!((number(1, 110, 300), number(1, 110, 350)), (None, None));
        assert_eq!((number(1, 100, 200), number(1, 100, 201)), (Some(1), None));
        // Other threads go on for as long as they like.
        assert_eq!(number(2, 110, 350), Some(1));
    }
}
