//! What machines, GPUs and processes did while steps ran, in stretches of the run.

use serde::Serialize;

/// Everything that was measured while the steps of the primary mode ran.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct MetricsSummary {
    /// The machines of the run, by name.
    pub hosts: Vec<HostFigures>,
    /// The GPUs of these, by (machine, name).
    pub gpus: Vec<GpuFigures>,
    /// Why metrics were read and say nothing of the steps; absent where they do, and where none were read.
    pub not_joined: Option<NotJoined>,
}

/// Why metrics say nothing of the steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", tag = "because")]
pub enum NotJoined {
    /// There are no steps, or none has a number that tells it from others.
    NoSteps,
    /// They are of other machines.
    OtherHosts {
        /// Which ones; empty where they do not say it.
        hosts: Vec<String>,
    },
    /// They are of another time.
    OtherTime {
        /// The first reading.
        first_ns: u64,
        /// The last reading.
        last_ns: u64,
    },
}

/// A stretch of the run from one reading to another. Figures of a stretch are means over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stretch {
    /// Its beginning, nanoseconds since the Unix epoch.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// Number of the first step that began in it; absent where none did.
    pub first_step: Option<u64>,
    /// Steps that began in it, of all processes.
    pub steps: u64,
    /// Their median duration.
    pub step_p50_ns: Option<u64>,
    /// Whether the run was warming up: means of the run leave it out.
    pub is_warmup: bool,
}

/// A figure over the stretches of its machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FigureRow {
    /// What it is; the end of the name is its unit.
    pub figure: &'static str,
    /// What of the machine or the process it is about, where that is not all of it: a mount point, the name of a gauge, an
    /// allocator.
    pub about: Option<String>,
    /// Its mean while steps ran, warm-up apart; of rates everything over the time.
    pub mean: Option<f64>,
    /// Its smallest value.
    pub min: Option<f64>,
    /// Its largest value: of readings where they say it, else of stretches.
    pub max: Option<f64>,
    /// Its means by stretch. Null where nothing was read, or not often enough for a stretch.
    pub values: Vec<Option<f64>>,
}

/// One machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostFigures {
    /// Its name; null where nobody says it.
    pub name: Option<String>,
    /// Who measured: names of services.
    pub sources: Vec<String>,
    /// Usual time between two readings: figures say nothing of what is shorter.
    pub every_ns: u64,
    /// Steps in a stretch, the median.
    pub steps_per_stretch: u64,
    /// Steps that began while it was measured.
    pub steps_measured: u64,
    /// Steps of the run.
    pub steps: u64,
    /// Its stretches, by time.
    pub stretches: Vec<Stretch>,
    /// Its figures.
    pub figures: Vec<FigureRow>,
    /// Its processes of the run, by rank.
    pub processes: Vec<ProcessFigures>,
    /// Gauges of other names.
    pub gauges: Vec<FigureRow>,
}

/// A process, over the stretches of its machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessFigures {
    /// Its rank.
    pub rank: Option<i64>,
    /// Its figures.
    pub figures: Vec<FigureRow>,
}

/// A GPU, over the stretches of its machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GpuFigures {
    /// Place of its machine among `host.hosts`.
    pub host: usize,
    /// Its identity.
    pub id: String,
    /// What it is called, as `gpu0`.
    pub name: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Its figures.
    pub figures: Vec<FigureRow>,
}

impl HostFigures {
    /// A figure of the machine itself.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<&FigureRow> {
        find(&self.figures, name)
    }
}

impl GpuFigures {
    /// One of its figures.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<&FigureRow> {
        find(&self.figures, name)
    }

    /// What it is called.
    #[must_use]
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }
}

fn find<'f>(figures: &'f [FigureRow], name: &str) -> Option<&'f FigureRow> {
    figures.iter().find(|row| row.figure == name)
}

/// The machines of the run while its steps ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hosts {
    /// Each of them that was measured, by name.
    pub hosts: Vec<HostFigures>,
    /// Why metrics were read and say nothing of the steps; null where they do.
    pub not_joined: Option<NotJoined>,
}

/// The GPUs of the run while its steps ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gpus {
    /// Each of them, by (machine, name).
    pub devices: Vec<GpuFigures>,
}

impl MetricsSummary {
    /// The part on machines; absent where nothing was measured.
    #[must_use]
    pub fn of_hosts(&self) -> Option<Hosts> {
        let is_any = !self.hosts.is_empty() || self.not_joined.is_some();
        is_any.then(|| Hosts { hosts: self.hosts.clone(), not_joined: self.not_joined.clone() })
    }

    /// The part on GPUs; absent where none was measured.
    #[must_use]
    pub fn of_gpus(&self) -> Option<Gpus> {
        (!self.gpus.is_empty()).then(|| Gpus { devices: self.gpus.clone() })
    }
}
