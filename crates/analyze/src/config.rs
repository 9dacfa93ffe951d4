//! What can be set: what is ranked, and bounds of memory. Thresholds of judgements are their subjects' and rules'.

/// Settings of an analysis. Thresholds act in [`crate::Partial::finish`]; bounds act while folding, so that
/// partials which are to be merged must have the same ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Calls that a section needs to be ranked among the most variable.
    pub min_calls: u64,
    /// Bounds of memory.
    pub bounds: Bounds,
}

impl Default for Config {
    fn default() -> Self {
        Self { min_calls: 20, bounds: Bounds::default() }
    }
}

/// Steps at the start of each (instance, mode) that are kept singly, so that warm-up can be told at the end.
pub const WARMUP_STEPS: usize = 256;

/// Slow steps that are kept singly.
pub const SLOWEST_STEPS: usize = 10;

/// Spans that are kept of a step that is kept as an example: the longest of it.
pub const EXAMPLE_SPANS: usize = 256;

/// Bytes that those may take together; fewer are kept where names are long. At most 86 steps of a mode are kept.
pub const EXAMPLE_BYTES: usize = 32 * 1024;

/// What grows with the input, and how far. Each bound keeps the result independent of order: it keeps the
/// smallest (or largest) keys of all that were seen, or cuts all keys alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Runs; those with the largest (id, attempt) are kept, since ids mostly begin with the time.
    pub runs: usize,
    /// Process instances of all runs; those of the largest (run, resource) are kept.
    pub instances: usize,
    /// Call paths of a run; beyond, all paths are cut at one depth.
    pub paths: usize,
    /// Points of a series over steps; beyond, points hold twice as many steps.
    pub points: usize,
    /// Points of the series of a process' memory over steps; beyond, points hold twice as many steps.
    pub process_points: usize,
    /// Points of the series of phases over steps; beyond, points hold twice as many steps.
    pub phase_points: usize,
    /// Call paths of a run of which is kept what they left allocated over the steps; those with the smallest hashes are
    /// kept, the others counted together.
    pub memory_sections: usize,
    /// Those call paths times the points of one of their series, of which there are as many as of the series of phases
    /// at most; beyond, points hold twice as many steps.
    pub memory_cells: usize,
    /// User values of a run; the smallest names are kept.
    pub values: usize,
    /// User phases of a table; the largest names are counted together.
    pub custom_phases: usize,
    /// Threads of an instance or a loader; the smallest ids are kept.
    pub threads: usize,
    /// Loaders of a run; the smallest names are kept.
    pub loaders: usize,
    /// Aggregated paths of an instance; the smallest are kept.
    pub aggregates: usize,
    /// Sinks and reasons of losses of an instance; the smallest are kept.
    pub losses: usize,
    /// Series of metrics: of machines, of processes, and of gauges that are not known. Sources with the smallest hashes are
    /// kept.
    pub metric_series: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            runs: 256,
            instances: 65_536,
            paths: 65_536,
            points: 65_536,
            process_points: 512,
            phase_points: 1_024,
            memory_sections: 2_048,
            memory_cells: 131_072,
            values: 32,
            custom_phases: 64,
            threads: 1_024,
            loaders: 256,
            aggregates: 16_384,
            losses: 256,
            metric_series: 1_024,
        }
    }
}
