//! How much of a run's steps is there: as spans at all, and with all their sections.

use serde::{Serialize, Serializer};
use stepscope_core::LossReason;

/// Steps of all modes, warm-up included, by how much of them was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    /// Steps that ended, as the processes' own sums count them; absent where those were not read.
    pub recorded_steps: Option<u64>,
    /// Steps whose span was read: what step times, throughput and the slowest steps rest on.
    pub read_steps: u64,
    /// Steps read with all their sections: what phases and own times rest on.
    pub whole_steps: u64,
    /// Why not all recorded steps were read; absent where they were, or nobody counted them.
    pub unread_because: Option<Shortfall>,
    /// Why not all steps read are whole; absent where they are.
    pub parts_because: Option<Shortfall>,
}

impl Coverage {
    /// Read and recorded steps, where the former are fewer.
    #[must_use]
    pub fn partly_read(&self) -> Option<(u64, u64)> {
        self.recorded_steps.filter(|&all| all > self.read_steps).map(|all| (self.read_steps, all))
    }

    /// Whole and read steps, where the former are fewer, and not by choice of level.
    #[must_use]
    pub fn partly_whole(&self) -> Option<(u64, u64)> {
        let is_chosen = self.parts_because == Some(Shortfall::Level);
        (self.whole_steps < self.read_steps && !is_chosen).then_some((self.whole_steps, self.read_steps))
    }
}

/// Why something of a run is not in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Shortfall {
    /// The level of recording leaves it out.
    Level,
    /// The processes counted it under this reason.
    Lost(LossReason),
    /// They handed it over, and it is not here: sampled on the way, or in files that were not read.
    NotRead,
}

impl Shortfall {
    /// The name in the JSON report: `level`, `not_read`, or that of the loss reason.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Level => "level",
            Self::Lost(reason) => reason.as_str(),
            Self::NotRead => "not_read",
        }
    }
}

#[cfg(feature = "schema")]
crate::schema::string!(Shortfall, "Why something was not read: `level`, `not_read`, or a reason for losses.");

impl Serialize for Shortfall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
