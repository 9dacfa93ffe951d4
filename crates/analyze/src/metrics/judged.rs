//! What rules ask of the figures: whether there are any, when they were beyond a limit, and what steps took then.

use crate::report::finding::{Evidence, Verdict, rounded};
use crate::report::units::{count, duration, listed, percent, things};
use crate::summary::{FigureRow, GpuFigures, HostFigures, MetricsSummary, NotJoined, Summary};

/// How to get what a rule needs.
const HOW: &str = "run `stepscope monitor --otlp …` beside the run, or record with the feature `metrics`";

/// The machines of a run with what was measured.
///
/// # Errors
/// With the verdict to give where nothing was: the same for all rules, so that it is said once.
pub(crate) fn hosts(summary: &Summary) -> Result<&[HostFigures], Verdict> {
    let MetricsSummary { hosts, not_joined, .. } = &summary.metrics;
    if !hosts.is_empty() {
        return Ok(hosts);
    }
    Err(Verdict::unknown(match not_joined {
        Some(because) => format!("{}; {HOW}", words(because)),
        None => format!("needs metrics of the host and its GPUs: {HOW}"),
    }))
}

/// Why metrics were read and say nothing of the steps.
pub(crate) fn words(because: &NotJoined) -> String {
    match because {
        NotJoined::NoSteps => "there are metrics, and no numbered steps that they could be of".into(),
        NotJoined::OtherHosts { hosts } if hosts.is_empty() => {
            "the metrics do not say which of the run's machines they are of".into()
        }
        NotJoined::OtherHosts { hosts } => {
            format!("the metrics are of {}, where no process of the run was", listed(hosts.iter().cloned()))
        }
        NotJoined::OtherTime { .. } => "the metrics are of another time than the steps".into(),
    }
}

/// What a rule says where no machine has a figure.
pub(crate) fn absent(what: &str) -> Verdict {
    Verdict::unknown(format!("nobody measured {what}: {HOW}"))
}

/// What a rule says where figures of a machine stay within its limit: fine, if most steps were measured.
pub(crate) fn within<T>(host: &HostFigures, because: &str) -> Result<T, Verdict> {
    let (measured, all) = (count(host.steps_measured), things(host.steps, "step", "steps"));
    Err(if host.steps_measured.saturating_mul(2) < host.steps {
        Verdict::unknown(format!("only {measured} of {all} were measured; in these {because}"))
    } else {
        Verdict::fine(format!("{because}; measured in {measured} of {all}"))
    })
}

/// What rules on GPUs say where no GPU has a figure.
pub(crate) fn no_gpu() -> Verdict {
    Verdict::unknown("no GPU was measured: the machine has none, or its driver was not found")
}

/// The stretches in which a figure was beyond a limit, and the others, while steps ran.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Beyond {
    /// Share of the time; 1 where it was so at some time, and nobody read often enough to say when.
    pub(crate) time_share: f64,
    /// Whether it was read often enough.
    pub(crate) is_timed: bool,
    /// What a step took meanwhile: the mean of the stretches' medians, by steps; absent where no step began.
    pub(crate) step_ns: Option<u64>,
    /// What it took in the other stretches.
    pub(crate) other_step_ns: Option<u64>,
}

impl Beyond {
    /// Of a figure; absent where nothing is known of it.
    pub(crate) fn of(host: &HostFigures, row: &FigureRow, is_beyond: impl Fn(f64) -> bool) -> Option<Self> {
        let (mut times, mut steps) = ([0u64; 2], [(0u128, 0u64); 2]);
        let known = host.stretches.iter().zip(&row.values).filter(|(stretch, _)| !stretch.is_warmup);
        for (stretch, value) in known {
            let Some(value) = value else { continue };
            let at = usize::from(is_beyond(*value));
            let (Some(time), Some((sum_ns, count))) = (times.get_mut(at), steps.get_mut(at)) else {
                continue;
            };
            *time = time.saturating_add(stretch.to_ns.saturating_sub(stretch.from_ns));
            if let Some(p50_ns) = stretch.step_p50_ns {
                *sum_ns = sum_ns.saturating_add(u128::from(p50_ns) * u128::from(stretch.steps));
                *count = count.saturating_add(stretch.steps);
            }
        }
        let whole = times.iter().fold(0u64, |sum, time| sum.saturating_add(*time));
        let [others, beyond] = steps.map(|(sum_ns, count)| {
            let mean = sum_ns.checked_div(u128::from(count));
            mean.and_then(|mean| u64::try_from(mean).ok())
        });
        let time_share = times.last().map_or(0.0, |&beyond| beyond as f64 / whole.max(1) as f64);
        if whole > 0 {
            return Some(Self { time_share, is_timed: true, step_ns: beyond, other_step_ns: others });
        }
        let time_share = if is_beyond(row.max?) { 1.0 } else { 0.0 };
        Some(Self { time_share, ..Self::default() })
    }

    /// By which part steps were longer meanwhile; 0 where they were not, or that is not known.
    pub(crate) fn slowed(&self) -> f64 {
        match (self.step_ns, self.other_step_ns) {
            (Some(then), Some(other)) if then > 0 => (1.0 - other as f64 / then as f64).max(0.0),
            _ => 0.0,
        }
    }

    /// A sentence's part on what steps took: `steps took 31.0 ms then, 22.0 ms else`.
    pub(crate) fn steps_words(&self) -> String {
        match (self.step_ns, self.other_step_ns) {
            (Some(then), Some(other)) => {
                format!("steps took {} meanwhile, {} else", duration(then), duration(other))
            }
            (Some(then), None) => format!("steps took {}, all the while", duration(then)),
            _ if !self.is_timed => "in which steps is not known".into(),
            _ => "no step began meanwhile".into(),
        }
    }

    /// Its figures.
    pub(crate) fn evidence(&self) -> Evidence {
        let time_share = self.is_timed.then(|| rounded(self.time_share, 4));
        Evidence::new()
            .with_known("beyond_limit_share", time_share)
            .with_known("step_time_meanwhile_ns", self.step_ns)
            .with_known("step_time_else_ns", self.other_step_ns)
    }

    /// How severe it is: by how much longer steps were, over the time that it was so; no less than `least`.
    pub(crate) fn severity(&self, least: f64) -> f64 {
        crate::report::finding::severity((100.0 * self.slowed() * self.time_share).max(least))
    }

    /// How long it was so: `for 40 % of the time`.
    pub(crate) fn time_words(&self) -> String {
        if self.is_timed {
            format!("for {} of the time", percent(self.time_share))
        } else if self.time_share <= 0.0 {
            "at no time".into()
        } else {
            "at times".into()
        }
    }
}

/// The machine on which a figure was beyond a limit for most of the time; of several the one that reached most. Absent where nobody
/// measured it.
pub(crate) fn worst<'a>(
    hosts: &'a [HostFigures],
    name: &str,
    is_beyond: impl Fn(f64) -> bool + Copy,
) -> Option<(&'a HostFigures, &'a FigureRow, Beyond)> {
    let known = hosts.iter().filter_map(|host| {
        let row = host.figure(name)?;
        Some((host, row, Beyond::of(host, row, is_beyond)?))
    });
    known.max_by(|a, b| {
        let by_time = a.2.time_share.total_cmp(&b.2.time_share);
        by_time.then_with(|| a.1.max.unwrap_or(0.0).total_cmp(&b.1.max.unwrap_or(0.0)))
    })
}

/// ` on host-a`, where a run has several machines.
pub(crate) fn on(summary: &Summary, host: &HostFigures) -> String {
    let is_one = summary.metrics.hosts.len() < 2;
    let name = host.name.as_deref().filter(|_| !is_one);
    name.map_or_else(String::new, |name| format!(" on {name}"))
}

/// The machine of a GPU.
///
/// # Errors
/// With the verdict to give where it is not known.
pub(crate) fn host_of<'a>(hosts: &'a [HostFigures], gpu: &GpuFigures) -> Result<&'a HostFigures, Verdict> {
    hosts.get(gpu.host).ok_or_else(no_gpu)
}

/// A GPU by its name, with its machine where a run has several.
pub(crate) fn named(summary: &Summary, gpu: &GpuFigures) -> String {
    let host = summary.metrics.hosts.get(gpu.host);
    format!("`{}`{}", gpu.title(), host.map_or_else(String::new, |host| on(summary, host)))
}
