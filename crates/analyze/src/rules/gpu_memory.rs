//! Rule `gpu_memory`: GPUs whose memory is nearly used up.

use super::{Config, Judged, RestsOn, Rule};
use crate::metrics::judged::{host_of, hosts, named, no_gpu, within};
use crate::report::finding::{Evidence, Finding, FindingType, rounded, severity};
use crate::report::units::{bytes, percent};
use crate::summary::{GpuFigures, Summary};

pub(super) const RULE: Rule =
    Rule { rests_on: RestsOn::State, ..Rule::new("GPU memory nearly full", FindingType::Memory) };

thresholds! {
    /// Share of a GPU's memory in use from which it is a finding.
    max_used_share: f64 = 0.9;
    /// Severity at the limit, and where all memory is in use.
    min_severity: f64 = 10.0;
    /// Severity where all memory is in use.
    max_severity: f64 = 30.0;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.gpu_memory;
    let hosts = hosts(summary)?;
    let most = |gpu: &GpuFigures| gpu.figure("memory_used_share").and_then(|row| row.max);
    let known = summary.metrics.gpus.iter().filter_map(|gpu| Some((gpu, most(gpu)?)));
    let Some((gpu, share)) = known.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Err(no_gpu());
    };
    let used = gpu.figure("memory_used_bytes").and_then(|row| row.max).map(|used| used as u64);
    let words = used.map_or_else(String::new, |used| format!(" ({})", bytes(used)));
    if share <= thresholds.max_used_share {
        let limit = percent(thresholds.max_used_share);
        let because =
            format!("at most {} of a GPU's memory was in use{words} (limit {limit})", percent(share));
        return within(host_of(hosts, gpu)?, &because);
    }
    let part = (share - thresholds.max_used_share) / (1.0 - thresholds.max_used_share).max(f64::MIN_POSITIVE);
    let (least, largest) = (thresholds.min_severity, thresholds.max_severity);
    Ok(vec![Finding {
        title: format!("Memory of GPU {} was in use for up to {}{words}.", named(summary, gpu), percent(share)),
        severity: severity(least + (largest - least).max(0.0) * part.min(1.0)),
        evidence: Evidence::new().with("used_share", rounded(share, 4)).with_known("used_bytes", used),
        recommendation: "What comes on top ends the run: a longer sequence, a last batch of evaluation, another process on the \
                         GPU. Use a smaller batch with gradient accumulation, checkpointing of activations, or a lower \
                         precision, or give the allocator of your framework a limit."
            .into(),
        ..Finding::default()
    }])
}
