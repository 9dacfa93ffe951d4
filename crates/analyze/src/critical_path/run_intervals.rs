//! When suspended sections ran, where that is known: their poll intervals. Who ran meanwhile is decided by the walk.

use crate::critical_path::Member;

/// A time in which a member was entered on a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunInterval {
    /// Index of the member.
    pub member: u32,
    /// From, within the member.
    pub start_ns: u64,
    /// To; not before the start, nor after the member's end.
    pub end_ns: u64,
    /// The thread in the member's process; absent where there were several.
    pub thread: Option<i64>,
    /// Whether it was entered all the time, and not several times with pauses between.
    pub is_whole: bool,
}

/// From, to, on which thread.
pub(crate) type Time = (u64, u64, Option<i64>);

/// The stints of a member, of those of all sorted by member.
pub(crate) fn of(all: &[RunInterval], member: u32) -> &[RunInterval] {
    let first = all.partition_point(|stint| stint.member < member);
    let last = all.partition_point(|stint| stint.member <= member);
    all.get(first..last).unwrap_or_default()
}

/// When others may have run on the thread that a suspended member waited for: until it was entered again on that one,
/// and wherever that is not known exactly. `run_intervals` are its own, by their starts.
pub(crate) fn free(member: &Member, run_intervals: &[RunInterval], times: &mut Vec<Time>) {
    times.clear();
    let mut add = |start_ns: u64, end_ns: u64, thread: Option<i64>| match times.last_mut() {
        Some(last) if (last.1, last.2) == (start_ns, thread) => last.1 = end_ns,
        _ => times.push((start_ns, end_ns, thread)),
    };
    let mut point_ns = member.start_ns;
    for stint in run_intervals {
        let until_ns = if stint.is_whole { stint.start_ns } else { stint.end_ns };
        if point_ns < until_ns {
            add(point_ns, until_ns, stint.thread.or(member.thread));
        }
        point_ns = point_ns.max(stint.end_ns);
    }
    if point_ns < member.end_ns || run_intervals.is_empty() {
        add(point_ns, member.end_ns, member.thread);
    }
}

/// When a member held its thread. One that was suspended held none but in the stints that are known exactly.
pub(crate) fn held<'a>(
    member: &'a Member,
    run_intervals: &'a [RunInterval],
) -> impl Iterator<Item = Time> + 'a {
    let whole = (!member.is_suspended).then_some((member.start_ns, member.end_ns, member.thread));
    let parts = run_intervals.iter().filter(|stint| member.is_suspended && stint.is_whole);
    whole.into_iter().chain(parts.map(|stint| (stint.start_ns, stint.end_ns, stint.thread)))
}
