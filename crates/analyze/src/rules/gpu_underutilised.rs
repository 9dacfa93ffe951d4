//! Rule `gpu_underutilised`: GPUs that stand idle for much of the time while steps run.

use super::{Config, Judged, RestsOn, Rule};
use crate::metrics::judged::{Beyond, host_of, hosts, named, no_gpu, within};
use crate::report::finding::{Finding, FindingType, rounded, severity};
use crate::report::units::{percent, things};
use crate::summary::{FigureRow, GpuFigures, Summary};

pub(super) const RULE: Rule =
    Rule { rests_on: RestsOn::Readings, ..Rule::new("GPU under-utilised", FindingType::GpuUnderutilization) };

thresholds! {
    /// Share of the time in which a GPU has to be busy while steps run.
    min_busy_share: f64 = 0.7;
    /// Share of its memory below which a GPU has room for larger batches.
    roomy_memory_share: f64 = 0.5;
    /// Severity of a GPU that is never busy.
    max_severity: f64 = 40.0;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.gpu_underutilised;
    let hosts = hosts(summary)?;
    let busy = |gpu: &GpuFigures| gpu.figure("utilization_share").and_then(|row| row.mean);
    let known = summary.metrics.gpus.iter().filter_map(|gpu| Some((gpu, busy(gpu)?)));
    let known: Vec<(&GpuFigures, f64)> = known.collect();
    let Some(&(least, share)) = known.iter().min_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Err(no_gpu());
    };
    if share >= thresholds.min_busy_share {
        let limit = percent(thresholds.min_busy_share);
        let because = format!(
            "the least busy of {} was busy for {} of the time while steps ran (limit {limit})",
            things(known.len() as u64, "GPU", "GPUs"),
            percent(share)
        );
        return within(host_of(hosts, least)?, &because);
    }
    let idle: Vec<&str> = known
        .iter()
        .filter(|(_, share)| *share < thresholds.min_busy_share)
        .map(|(gpu, _)| gpu.title())
        .collect();
    let row = least.figure("utilization_share");
    let host = summary.metrics.hosts.get(least.host);
    let when = host
        .zip(row)
        .and_then(|(host, row)| Beyond::of(host, row, |share| share < thresholds.min_busy_share));
    let evidence = when.unwrap_or_default().evidence();
    let memory = least.figure("memory_used_share").and_then(|row: &FigureRow| row.max);
    let missing = (thresholds.min_busy_share - share) / thresholds.min_busy_share.max(f64::MIN_POSITIVE);
    Ok(vec![Finding {
        title: format!(
            "GPU {} was busy for {} of the time while steps ran{}.",
            named(summary, least),
            percent(share),
            match idle.len() {
                0 | 1 => String::new(),
                all => format!("; {all} GPUs were for less than {}", percent(thresholds.min_busy_share)),
            }
        ),
        severity: severity(thresholds.max_severity * missing),
        evidence: evidence
            .with("busy_share", rounded(share, 4))
            .with_known("memory_used_share", memory)
            .with_known("input_share", summary.input.share.map(|share| rounded(share, 4)))
            .with("gpus", idle),
        recommendation: advice(summary, memory, thresholds),
        ..Finding::default()
    }])
}

fn advice(summary: &Summary, memory: Option<f64>, thresholds: &Thresholds) -> String {
    let input = summary
        .input
        .share
        .filter(|&share| share >= 0.1)
        .map(|share| format!("Steps wait for input for {} of their time: begin there. ", percent(share)));
    let room = memory.filter(|&share| share < thresholds.roomy_memory_share).map(|share| {
        format!(
            " At most {} of its memory was in use: a larger batch gives it more to do at once.",
            percent(share)
        )
    });
    format!(
        "{}Look at what the host does while the GPU has nothing to do: the phases of the step say it.{}",
        input.unwrap_or_default(),
        room.unwrap_or_default()
    )
}
