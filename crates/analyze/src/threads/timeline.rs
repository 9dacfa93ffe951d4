//! The last deep step, thread by thread: what each was seen doing, and the sections of its own thread beside it. To be looked
//! at; nothing is concluded from it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use stepscope_core::ThreadState;

use crate::sections::paths::shorten;
use crate::step_view::group::Group;
use crate::threads::rounds::Look;
use crate::threads::summary::{ThreadLine, ThreadTimeline, TimedSection, TimedState};

/// Threads, intervals of each and sections that are kept.
const THREADS: usize = 16;
const INTERVALS: usize = 160;
const SECTIONS: usize = 64;

/// One thread: its id, its name, from when on it was in which state, and when it was seen last.
type Line = (i64, Box<str>, Vec<(u64, u8)>, u64);

/// A thread that was there from the start to the end is not seen for so many times what lies between looks.
const UNSEEN: u64 = 3;

/// A deep step; the order is that of time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Timeline {
    start_ns: u64,
    step: Option<u64>,
    duration_ns: u64,
    /// The step's own first, then in the order in which they were seen.
    threads: Vec<Line>,
    /// Directly in the step, on its thread: name, start after that of the step, length.
    sections: Vec<(Box<str>, u64, u64)>,
}

impl Timeline {
    /// Whether a step would be kept instead of the one that is.
    pub(super) fn wants(kept: Option<&Self>, group: &Group<'_>) -> bool {
        kept.is_none_or(|kept| kept.start_ns <= group.window.start_ns)
    }

    /// Cut out of a step whose looks are joined to the samples, one each.
    pub(super) fn of(group: &Group<'_>, looks: &[Look]) -> Self {
        let Group { view, window, root, .. } = *group;
        let name = |thread: i64| {
            let on = |(span, node): (&stepscope_model::Span, &crate::step_view::place::Node)| {
                (node.thread == Some(thread))
                    .then(|| shorten(view.trace.text(span.thread_name)))
                    .filter(|name| !name.is_empty())
            };
            view.trace.spans.iter().zip(view.nodes).find_map(on).unwrap_or_default().into()
        };
        let mut threads: Vec<Line> =
            window.thread.map(|own| (own, name(own), Vec::new(), 0)).into_iter().collect();
        let mut most = BTreeMap::<i64, u64>::new();
        looks.iter().for_each(|look| *most.entry(look.thread).or_default() += 1);
        let apart_ns = window.duration_ns() / most.into_values().max().unwrap_or(1) * UNSEEN;
        for (sample, look) in view.trace.samples.iter().zip(looks) {
            let at = threads.iter().position(|&(thread, ..)| thread == look.thread).unwrap_or(threads.len());
            if at == THREADS {
                continue;
            }
            if at == threads.len() {
                threads.push((look.thread, name(look.thread), Vec::new(), 0));
            }
            let Some((_, _, states, until_ns)) = threads.get_mut(at) else { continue };
            let (state, after_ns) = (look.state as u8, sample.time_ns.saturating_sub(window.start_ns));
            *until_ns =
                if after_ns + apart_ns < window.duration_ns() { after_ns } else { window.duration_ns() };
            if states.len() < INTERVALS && states.last().is_none_or(|&(_, last)| last != state) {
                // What it did right before the first look is taken to be the same.
                let is_first = states.is_empty() && after_ns <= apart_ns;
                states.push((if is_first { 0 } else { after_ns }, state));
            }
        }
        let sections =
            group.spans().filter(|(_, _, node)| node.parent == group.anchor && node.thread == window.thread);
        let sections = sections.map(|(_, span, node)| {
            let name = shorten(view.trace.text(span.name)).into();
            (name, node.start_ns.saturating_sub(window.start_ns), node.duration_ns())
        });
        Self {
            start_ns: window.start_ns,
            step: root.amount(stepscope_model::Figure::Step),
            duration_ns: window.duration_ns(),
            threads,
            sections: sections.take(SECTIONS).collect(),
        }
    }

    /// Whether it is within the bounds: bytes may say anything.
    pub(super) fn is_bounded(&self) -> bool {
        self.threads.len() <= THREADS
            && self.sections.len() <= SECTIONS
            && self.threads.iter().all(|(_, _, states, _)| states.len() <= INTERVALS)
    }

    /// As it is shown.
    pub(super) fn told(&self) -> ThreadTimeline {
        let states = |states: &[(u64, u8)], until_ns: u64| {
            let ends = states.iter().skip(1).map(|&(from, _)| from).chain([until_ns]);
            let timed = states.iter().zip(ends).map(|(&(offset_ns, state), end_ns)| TimedState {
                state: ThreadState::from_index(state).unwrap_or(ThreadState::Other),
                offset_ns,
                duration_ns: end_ns.saturating_sub(offset_ns),
            });
            timed.collect()
        };
        let seen = self.threads.iter().filter(|(_, _, states, _)| !states.is_empty());
        ThreadTimeline {
            step: self.step,
            duration_ns: self.duration_ns,
            threads: seen
                .map(|(thread, name, of, until_ns)| ThreadLine {
                    thread_id: *thread,
                    thread_name: (!name.is_empty()).then(|| name.to_string()),
                    states: states(of, *until_ns),
                })
                .collect(),
            sections: self
                .sections
                .iter()
                .map(|(name, offset_ns, duration_ns)| TimedSection {
                    name: name.to_string(),
                    offset_ns: *offset_ns,
                    duration_ns: *duration_ns,
                })
                .collect(),
        }
    }
}
