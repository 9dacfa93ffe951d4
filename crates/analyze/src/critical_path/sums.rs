//! What is summed of critical paths: by section and by kind of window. The walk itself is in the module above.

use serde::{Deserialize, Serialize};
use stepscope_core::Mode;

use crate::accumulate::{accumulate, earliest};

/// Kinds of windows: steps by mode, then whole traces of programs that have no steps.
pub(crate) const WINDOWS: usize = Mode::ALL.len() + 1;

/// The kind of windows that are no steps.
pub(crate) const TRACES: usize = Mode::ALL.len();

/// A section's part in the critical paths of one kind of window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct CriticalAcc {
    /// Time for which it held up the window's end.
    pub(crate) on_path_ns: u128,
    /// Calls on a path.
    pub(crate) on_path_calls: u64,
    /// Calls beside one.
    pub(crate) beside_calls: u64,
    /// By how much these could have ended later.
    pub(crate) slack_ns: u128,
    pub(crate) min_slack_ns: Option<u64>,
    /// Of the time on the path, that of waits that link to their batch.
    pub(crate) linked_ns: u128,
}

impl CriticalAcc {
    /// Adds time on the path, and the call that it is of.
    #[inline]
    pub(crate) fn on_path(&mut self, own_ns: u64, calls: u64) {
        self.on_path_ns = self.on_path_ns.saturating_add(own_ns.into());
        self.on_path_calls = self.on_path_calls.saturating_add(calls);
    }

    /// Says that so much of the time on the path was a wait that links to its batch.
    pub(crate) fn linked(&mut self, waited_ns: u64) {
        self.linked_ns = self.linked_ns.saturating_add(waited_ns.into());
    }

    /// Adds a call beside the path.
    pub(crate) fn beside(&mut self, slack_ns: u64) {
        self.beside_calls = self.beside_calls.saturating_add(1);
        self.slack_ns = self.slack_ns.saturating_add(slack_ns.into());
        self.min_slack_ns = earliest(self.min_slack_ns, Some(slack_ns));
    }
}

accumulate!(CriticalAcc { sum: on_path_ns, on_path_calls, beside_calls, slack_ns, linked_ns; least: min_slack_ns; });

/// The windows of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct WindowSums {
    pub(crate) count: u64,
    pub(crate) total_ns: u128,
    /// Time for which no section inside held up the window's end. Of a whole trace its root's section has it, too.
    pub(crate) other_ns: u128,
}

accumulate!(WindowSums { sum: count, total_ns, other_ns; });
