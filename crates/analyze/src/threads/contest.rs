//! Whether the threads that wait in a section wait for each other: what a step's looks and the section's CPU time say of it.

use std::collections::BTreeMap;

use stepscope_model::Figure;

use crate::step_view::group::Group;
use crate::threads::rounds::{Rounds, is_meant};

/// Part of the rounds with contention in which only one thread runs where it is a lock that threads wait for: who is let go,
/// and has no processor yet, or tries for a while before it sleeps, is seen running as well. The second is of threads that
/// share no address, which might as well wait for something else.
const ALONE: [(u64, u64); 2] = [(1, 3), (3, 4)];

/// Threads that take turns on one address, and on addresses of their own: some locks give each waiting thread one, and so do
/// channels.
const TURNS: (usize, usize) = (2, 3);

/// Of the rounds in which threads wait in a section, the part in which nobody runs there, at most, where it may be a lock
/// without a shared address: who has a lock runs, and who is late with a message lets all of them wait.
const IDLE: (u64, u64) = (1, 10);

/// Processors that a section uses at most while it is open, in hundredths, where its threads take turns.
const ONE_PROCESSOR: u64 = 130;

/// What a section's looks in one step say of waiting for each other.
#[derive(Debug, Default)]
pub(super) struct Contest {
    /// Rounds in which a thread waited while another ran, and those of them in which only one ran.
    rounds: u64,
    alone: u64,
    /// Rounds in which threads waited and none ran.
    idle: u64,
    /// Rounds in which threads ran, and in which several did.
    running: u64,
    together: u64,
    /// By thread: whether it waited, whether it ran, the address at which it waited last.
    threads: BTreeMap<i64, (bool, bool, u64)>,
    /// CPU time of its calls that tell it, and the time for which any of these was open.
    pub(super) cpu_ns: u64,
    pub(super) open_ns: u64,
    open_until_ns: u64,
}

impl Contest {
    /// How many threads took turns; none where it may be something else that they waited for.
    pub(super) fn turns(&self) -> usize {
        let took: Vec<u64> = self.threads.values().filter(|of| of.0 && of.1).map(|of| of.2).collect();
        let shared = |address: u64| took.iter().filter(|&&other| other == address).count();
        let most = took.iter().filter(|&&address| address != 0).map(|&address| shared(address)).max();
        let is_shared = most.unwrap_or(0) >= TURNS.0;
        let part = |of: u64, all: u64, (part, whole): (u64, u64)| {
            of.saturating_mul(whole) >= all.saturating_mul(part)
        };
        let alone = ALONE[usize::from(!is_shared)];
        let is_alone =
            part(self.alone, self.rounds, alone) && part(self.running - self.together, self.running, alone);
        // Who is woken for a lock that another takes first is seen running, and has next to no CPU time.
        let uses_one = self.open_ns > 0 && self.cpu_ns / self.open_ns.div_ceil(100) <= ONE_PROCESSOR;
        let is_held = !part(self.idle, self.idle + self.rounds, IDLE);
        let is_lock =
            if is_shared { is_alone } else { took.len() >= TURNS.1 && is_held && (is_alone || uses_one) };
        if is_lock { took.len() } else { 0 }
    }

    /// Adds a call of the section; calls come in the order of their starts.
    fn add_call(&mut self, start_ns: u64, end_ns: u64, cpu_ns: u64) {
        self.cpu_ns = self.cpu_ns.saturating_add(cpu_ns);
        self.open_ns = self.open_ns.saturating_add(end_ns.saturating_sub(start_ns.max(self.open_until_ns)));
        self.open_until_ns = self.open_until_ns.max(end_ns);
    }
}

/// The sections of a step in which threads were in a futex while others ran there, by path.
pub(super) fn of(group: &Group<'_>, rounds: &Rounds) -> BTreeMap<u32, Contest> {
    let mut contests: BTreeMap<u32, Contest> = BTreeMap::new();
    for look in rounds.iter().flat_map(|round| round.iter().filter(|look| look.contends(round))) {
        if let Some(path) = look.path {
            contests.entry(path).or_default();
        }
    }
    if contests.is_empty() {
        return contests;
    }
    for round in rounds.iter() {
        for (&path, contest) in &mut contests {
            let here = || round.iter().filter(|look| look.path == Some(path));
            let running = here().filter(|look| look.runs()).count();
            contest.running += u64::from(running > 0);
            contest.together += u64::from(running > 1);
            let is_contended = here().any(|look| look.contends(round));
            contest.rounds += u64::from(is_contended);
            contest.alone += u64::from(is_contended && running == 1);
            contest.idle += u64::from(running == 0 && here().any(|look| look.waits()));
            for look in here() {
                let of = contest.threads.entry(look.thread).or_default();
                of.1 |= look.runs();
                if look.contends(round) {
                    (of.0, of.2) = (true, look.address);
                }
            }
        }
    }
    for (index, node) in (0..).zip(group.view.nodes) {
        let Some(contest) = contests.get_mut(&node.path).filter(|_| is_meant(group, node)) else { continue };
        if let Some(cpu_ns) = group.view.span(index).and_then(|span| span.amount(Figure::CpuNs)) {
            contest.add_call(node.start_ns, node.end_ns, cpu_ns);
        }
    }
    contests
}

#[cfg(test)]
mod tests {
    use super::Contest;

    /// Four threads wait and run, each at an address of its own; of ten rounds with contention one runs alone in four.
    fn contest(addresses: [u64; 4], idle: u64, cpu_ns: u64) -> Contest {
        let threads = (1..).zip(addresses.map(|address| (true, true, address))).collect();
        let mut contest =
            Contest { rounds: 10, alone: 4, idle, running: 12, together: 6, threads, ..Contest::default() };
        contest.add_call(0, 600, cpu_ns);
        contest.add_call(100, 800, 0);
        contest.add_call(900, 1_100, 0);
        contest
    }

    #[test]
    fn threads_that_use_one_processor_and_never_rest_together_take_turns() {
        assert_eq!(contest([1, 2, 3, 4], 0, 1_100).open_ns, 1_000);
        assert_eq!(contest([1, 2, 3, 4], 0, 1_100).turns(), 4);
        // They use more than one, so that they do not wait for each other.
        assert_eq!(contest([1, 2, 3, 4], 0, 1_900).turns(), 0);
        // None runs at times: what they wait for comes from elsewhere.
        assert_eq!(contest([1, 2, 3, 4], 3, 1_100).turns(), 0);
        // On one address a third alone is enough.
        assert_eq!(contest([7, 7, 7, 7], 0, 1_900).turns(), 4);
    }
}
