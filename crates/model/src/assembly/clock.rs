//! Clocks that were set while a process ran, seen between its traces: steps that go back in time, that leap
//! ahead, or that begin before their process did. Inside a trace such jumps are found where it is delivered.
//!
//! Steps come in any order and by way of many readers, so what is kept of a process is a summary that does
//! not depend on it: the earliest and the latest start of neighbouring trace numbers, as many numbers
//! together as fit [`MAX_BUCKETS`]. A jump is seen where it exceeds what such a group lasts.

use std::collections::BTreeMap;
use std::sync::Arc;

use stepscope_core::SectionKind;
use stepscope_core::identity::instance_and_sequence;

use crate::issues::{FileId, Issues};
use crate::{IssueKind, Resource, Trace};

/// Groups of trace numbers kept of one process.
const MAX_BUCKETS: usize = 256;
/// Processes that are watched; those with the smallest ids where there are more.
const MAX_INSTANCES: usize = 4_096;
const SECOND_NS: u64 = 1_000_000_000;
/// Numbers are given to steps as they begin, but threads may be kept from reading the clock for a while.
const BACK_NS: u64 = 60 * SECOND_NS;
/// By so much less steps go back where the clock was set, and not one thread was kept: then all of some do, and not one.
const ALL_BACK_NS: u64 = SECOND_NS / 2;
/// Neighbouring groups that are compared with those after them.
const GROUPS: usize = 2;
/// No process stands still for this long between two steps.
const AHEAD_NS: u64 = 30 * 86_400 * SECOND_NS;
/// How much the time of a process' creation may be off.
const CREATION_NS: u64 = 3_600 * SECOND_NS;

/// Earliest and latest start, in nanoseconds since the Unix epoch.
type Window = (u64, u64);

/// What is kept of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Instance {
    /// The first file by name that holds steps of it.
    file: FileId,
    /// Trace numbers are cut by this many bits.
    shift: u32,
    buckets: BTreeMap<u32, Window>,
}

/// One process as it travels in partials: id, index of the file's name, shift, groups.
pub(crate) type ClockState = (u64, u32, u32, Vec<(u32, u64, u64)>);

/// The clocks of all processes.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    instances: BTreeMap<u64, Instance>,
    /// When the process of the last trace was created.
    created: Option<(Arc<Resource>, Option<u64>)>,
}

impl Instance {
    fn new(file: FileId) -> Self {
        Self { file, shift: 0, buckets: BTreeMap::new() }
    }

    fn put(&mut self, bucket: u32, window: Window) {
        let slot = self.buckets.entry(bucket).or_insert(window);
        *slot = (slot.0.min(window.0), slot.1.max(window.1));
    }

    /// Cuts all numbers by `shift` bits, and by more until few enough are left.
    fn coarsen(&mut self, shift: u32) {
        let mut next = shift.max(self.shift);
        while next > self.shift || self.buckets.len() > MAX_BUCKETS {
            let by = next - self.shift;
            self.shift = next;
            for (bucket, window) in std::mem::take(&mut self.buckets) {
                self.put(cut(bucket, by), window);
            }
            next += u32::from(self.buckets.len() > MAX_BUCKETS);
        }
    }

    /// Number of jumps, and the first in words.
    fn jumps(&self) -> (u64, String) {
        let (long, first) = self.long_jumps();
        if long > 0 { (long, first) } else { self.short_jumps() }
    }

    /// Those back in time that all steps of neighbouring groups make: each of them began later than each of the next ones,
    /// but for the group in which the clock was set.
    fn short_jumps(&self) -> (u64, String) {
        let windows: Vec<Window> = self.buckets.values().copied().collect();
        let by_ns = |before: &[Window], after: &[Window]| {
            let earliest = before.iter().map(|&(earliest, _)| earliest).min()?;
            let latest = after.iter().map(|&(_, latest)| latest).max()?;
            earliest.checked_sub(latest).filter(|&by_ns| by_ns > ALL_BACK_NS)
        };
        let (mut count, mut first, mut next) = (0, String::new(), GROUPS);
        while next < windows.len() {
            let before = windows.get(next.saturating_sub(GROUPS)..next).unwrap_or_default();
            let after = |from: usize| windows.get(from..windows.len().min(from + GROUPS)).unwrap_or_default();
            let found = by_ns(before, after(next)).or_else(|| by_ns(before, after(next + 1)));
            if let Some(by_ns) = found {
                count += 1;
                if first.is_empty() {
                    first = format!("go back in time by {}", time(by_ns));
                }
                next += GROUPS;
            }
            next += 1;
        }
        (count, first)
    }

    fn long_jumps(&self) -> (u64, String) {
        let mut last = self.buckets.values().next().map_or(0, |&(earliest, _)| earliest);
        let (mut count, mut first) = (0, String::new());
        for &(earliest, latest) in self.buckets.values() {
            let text = if last.saturating_sub(earliest) > BACK_NS {
                let text = format!("go back in time by {}", time(last - earliest));
                last = earliest;
                text
            } else if latest.saturating_sub(last) > AHEAD_NS {
                let text = format!("leap ahead by {}", time(latest - last));
                last = latest;
                text
            } else {
                last = last.max(latest);
                continue;
            };
            count += 1;
            if first.is_empty() {
                first = text;
            }
        }
        (count, first)
    }
}

fn cut(bucket: u32, by: u32) -> u32 {
    bucket.checked_shr(by).unwrap_or(0)
}

fn time(ns: u64) -> String {
    let seconds = ns / SECOND_NS;
    match seconds {
        0..2 => format!("{} ms", ns / 1_000_000),
        2..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

impl Clocks {
    /// Takes note of a trace that is delivered.
    pub(crate) fn note(&mut self, trace: &Trace, file: FileId, issues: &mut Issues) {
        let Some(first) = trace.spans.first() else { return };
        if let Some(created_ns) = self.created(&trace.resource)
            && created_ns.saturating_sub(first.start_ns) > CREATION_NS
        {
            issues.add(file, IssueKind::ClockJump, None, 1, || {
                let before = time(created_ns - first.start_ns);
                format!("traces begin {before} before their process did; check the clock of its host")
            });
        }
        let step = trace.spans.iter().find(|span| span.kind == SectionKind::Step);
        if let Some(step) = step.filter(|_| trace.is_ours) {
            let (instance, sequence) = instance_and_sequence(&trace.id);
            let state = (instance, 0, vec![(sequence, step.start_ns, step.start_ns)]);
            self.add(state, file, issues);
        }
    }

    fn created(&mut self, resource: &Arc<Resource>) -> Option<u64> {
        match &self.created {
            Some((last, created)) if Arc::ptr_eq(last, resource) => *created,
            _ => {
                let created = parse(&resource.creation_time);
                self.created = Some((Arc::clone(resource), created));
                created
            }
        }
    }

    fn add(&mut self, (id, shift, buckets): (u64, u32, Vec<(u32, u64, u64)>), file: FileId, issues: &Issues) {
        let instance = self.instances.entry(id).or_insert_with(|| Instance::new(file));
        instance.file = issues.first_of(instance.file, file);
        instance.coarsen(shift);
        let by = instance.shift.saturating_sub(shift);
        for (bucket, earliest, latest) in buckets {
            instance.put(cut(bucket, by), (earliest, latest));
        }
        instance.coarsen(shift);
        if self.instances.len() > MAX_INSTANCES {
            self.instances.pop_last();
        }
    }

    /// Adds what another reader saw; `file` gives the number of a file's name.
    pub(crate) fn absorb(
        &mut self,
        states: Vec<ClockState>,
        issues: &mut Issues,
        mut file: impl FnMut(u32, &mut Issues) -> FileId,
    ) {
        for (id, name, shift, buckets) in states {
            let file = file(name, issues);
            // More would be damage; all numbers are one group then.
            self.add((id, shift.min(32), buckets), file, issues);
        }
    }

    /// Everything, sorted; `name` gives the index of a file's name.
    pub(crate) fn to_states(&self, name: impl Fn(FileId) -> u32) -> Vec<ClockState> {
        let flat = |(&bucket, &(earliest, latest)): (&u32, &Window)| (bucket, earliest, latest);
        self.instances
            .iter()
            .map(|(&id, instance)| {
                let buckets = instance.buckets.iter().map(flat).collect();
                (id, name(instance.file), instance.shift, buckets)
            })
            .collect()
    }

    /// The files that [`Self::to_states`] names.
    pub(crate) fn files(&self) -> impl Iterator<Item = FileId> {
        self.instances.values().map(|instance| instance.file)
    }

    /// Tells of all jumps, once everything has been read.
    pub(crate) fn report(&self, issues: &mut Issues) {
        for instance in self.instances.values() {
            let (count, first) = instance.jumps();
            issues.add(instance.file, IssueKind::ClockJump, None, count, || {
                format!(
                    "the steps of a process {first} while it runs: its clock was set, so times of day and the \
                     length of the run are wrong"
                )
            });
        }
    }
}

/// Nanoseconds since the Unix epoch of a time in RFC 3339; `None` where it is none, or before the epoch.
fn parse(text: &str) -> Option<u64> {
    let number = |range: std::ops::Range<usize>| -> Option<i64> {
        let digits = text.get(range)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let mark = |at: usize, marks: &str| text.get(at..=at).is_some_and(|mark| marks.contains(mark));
    let is_time = mark(4, "-") && mark(7, "-") && mark(10, "Tt ") && mark(13, ":") && mark(16, ":");
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    if !is_time || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let rest = text.get(19..)?;
    let fraction = rest.strip_prefix('.').unwrap_or_default();
    let fraction_len = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let zone = if fraction_len > 0 { fraction.get(fraction_len..)? } else { rest };
    let offset_minutes = match zone.as_bytes() {
        [b'Z' | b'z'] => 0,
        &[sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let digit = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
            let minutes = (digit(h1)? * 10 + digit(h2)?) * 60 + digit(m1)? * 10 + digit(m2)?;
            if sign == b'-' { -minutes } else { minutes }
        }
        _ => return None,
    };
    // Days since 1970-01-01 (H. Hinnant, "chrono-compatible low-level date algorithms", `days_from_civil`).
    let shifted_year = year - i64::from(month <= 2);
    let (era, month_from_march) = (shifted_year.div_euclid(400), (month + 9) % 12);
    let year_of_era = shifted_year.rem_euclid(400);
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let days =
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468;
    let seconds = days * 86_400 + hour * 3_600 + (minute - offset_minutes) * 60 + second;
    u64::try_from(seconds).ok()?.checked_mul(SECOND_NS)
}

#[cfg(test)]
mod tests;
