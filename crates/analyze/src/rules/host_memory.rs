//! Rule `host_memory`: memory of a machine, or of the container on it, that is nearly used up.

use super::{Config, Judged, RestsOn, Rule};
use crate::metrics::judged::{Beyond, absent, hosts, on, within};
use crate::report::finding::{Finding, FindingType, rounded};
use crate::report::units::{bytes, percent};
use crate::summary::{HostFigures, Summary};

pub(super) const RULE: Rule =
    Rule { rests_on: RestsOn::State, ..Rule::new("Memory of the host nearly full", FindingType::Memory) };

thresholds! {
    /// Share of the effective limit in use from which it is a finding.
    max_used_share: f64 = 0.85;
    /// Severity where steps are not known to take longer for it.
    severity: f64 = 15.0;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.host_memory;
    let hosts = hosts(summary)?;
    let most = |host: &HostFigures| host.figure("memory_used_share").and_then(|row| row.max);
    let known = hosts.iter().filter_map(|host| Some((host, most(host)?)));
    let Some((host, share)) = known.max_by(|a, b| a.1.total_cmp(&b.1)) else {
        return Err(absent("the memory of the host"));
    };
    let limit = host.figure("memory_limit_bytes").and_then(|row| row.mean).map(|limit| limit as u64);
    let of = limit.map_or_else(|| "its limit".into(), bytes);
    if share <= thresholds.max_used_share {
        let limit = percent(thresholds.max_used_share);
        return within(host, &format!("at most {} of {of} was in use (limit {limit})", percent(share)));
    }
    let row = host.figure("memory_used_share");
    let when = row.and_then(|row| Beyond::of(host, row, |share| share > thresholds.max_used_share));
    let when = when.unwrap_or_default();
    let pressure = host.figure("memory_pressure_share").and_then(|row| row.max);
    Ok(vec![Finding {
        title: format!("Memory was in use for up to {} of {of}{}.", percent(share), on(summary, host)),
        severity: when.severity(thresholds.severity),
        evidence: when
            .evidence()
            .with("used_share", rounded(share, 4))
            .with_known("limit_bytes", limit)
            .with_known("pressure_share", pressure),
        recommendation: "When it is used up the kernel ends the largest process, mostly the training. Use fewer workers, shorter \
                         queues or smaller batches, read files as they are needed instead of all at once, or raise the \
                         container's limit."
            .into(),
        ..Finding::default()
    }])
}
