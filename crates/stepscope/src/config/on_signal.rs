//! What SIGUSR2 asks for. Who answers it is in `worker`.

/// What a SIGUSR2 does: for [`Builder::on_sigusr2`](crate::Builder::on_sigusr2) and `STEPSCOPE_SIGUSR2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnSignal {
    /// The next higher level, `basic`, `detailed`, `comprehensive`; after that the one that the run began with (`level`).
    RaiseLevel,
    /// Captures the next ten steps, or as many and at the level that [`Builder::capture`](crate::Builder::capture) says
    /// (`capture`).
    Capture,
}

impl OnSignal {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        match text {
            "level" => Some(Self::RaiseLevel),
            "capture" => Some(Self::Capture),
            _ => None,
        }
    }
}
