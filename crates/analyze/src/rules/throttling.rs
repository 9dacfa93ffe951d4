//! Rule `throttling`: GPUs whose clocks were lowered for heat or power while steps ran.

use super::{Config, Judged, RestsOn, Rule};
use crate::metrics::judged::{Beyond, host_of, hosts, named, no_gpu, within};
use crate::report::finding::{Finding, FindingType, rounded};
use crate::report::units::percent;
use crate::summary::{GpuFigures, Summary};

pub(super) const RULE: Rule =
    Rule { rests_on: RestsOn::Readings, ..Rule::new("Throttled GPU", FindingType::Compute) };

thresholds! {
    /// Share of the time with lowered clocks from which it is a finding.
    min_time_share: f64 = 0.01;
    /// Share of a stretch with lowered clocks from which its steps count as throttled.
    min_stretch_share: f64 = 0.05;
    /// Severity where steps are not known to take longer for it.
    severity: f64 = 10.0;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.throttling;
    let hosts = hosts(summary)?;
    let mean = |gpu: &GpuFigures, name: &str| gpu.figure(name).and_then(|row| row.mean);
    let known = summary.metrics.gpus.iter().filter_map(|gpu| Some((gpu, mean(gpu, "throttled_share")?)));
    let Some((gpu, share)) = known.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Err(no_gpu());
    };
    if share < thresholds.min_time_share {
        let limit = percent(thresholds.min_time_share);
        let because =
            format!("clocks of GPUs were lowered for {} of the time (limit {limit})", percent(share));
        return within(host_of(hosts, gpu)?, &because);
    }
    let row = gpu.figure("throttled_share");
    let host = hosts.get(gpu.host);
    let when = host.zip(row);
    let when =
        when.and_then(|(host, row)| Beyond::of(host, row, |share| share >= thresholds.min_stretch_share));
    let when = when.unwrap_or_default();
    let (heat, power) = (mean(gpu, "throttled_by_heat_share"), mean(gpu, "throttled_by_power_share"));
    let is_heat = heat.unwrap_or(0.0) > power.unwrap_or(0.0);
    Ok(vec![Finding {
        title: format!(
            "Clocks of GPU {} were lowered for {} of the time, mostly for {}; {}.",
            named(summary, gpu),
            percent(share),
            if is_heat { "heat" } else { "want of power" },
            when.steps_words()
        ),
        severity: when.severity(thresholds.severity),
        evidence: when
            .evidence()
            .with("throttled_share", rounded(share, 4))
            .with_known("by_heat_share", heat)
            .with_known("by_power_share", power)
            .with_known("temperature_celsius", gpu.figure("temperature_celsius").and_then(|row| row.max))
            .with_known("power_w", gpu.figure("power_w").and_then(|row| row.mean)),
        recommendation: if is_heat {
            "Look at cooling: fans, dust, the temperature of the room, neighbours in the rack.".into()
        } else {
            "The GPU takes all the power that it may: that is usual under full load. Where the limit is set lower than it need \
             be, `nvidia-smi --power-limit` raises it."
                .into()
        },
        ..Finding::default()
    }])
}
