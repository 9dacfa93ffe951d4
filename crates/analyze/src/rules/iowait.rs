//! Rule `iowait`: processors that stand idle because tasks wait for storage.

use super::{Config, Judged, RestsOn, Rule};
use crate::metrics::judged::{absent, hosts, on, within, worst};
use crate::report::finding::{Finding, FindingType, rounded};
use crate::report::units::{byte_rate, percent};
use crate::summary::Summary;

pub(super) const RULE: Rule =
    Rule { rests_on: RestsOn::Readings, ..Rule::new("Waiting for storage", FindingType::Io) };

thresholds! {
    /// Share of all processors' time idle for storage from which a stretch counts.
    max_iowait_share: f64 = 0.2;
    /// Share of the time in such stretches from which it is a finding.
    min_time_share: f64 = 0.05;
    /// Severity where steps are not known to take longer for it.
    severity: f64 = 10.0;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.iowait;
    let hosts = hosts(summary)?;
    let Some((host, row, when)) =
        worst(hosts, "cpu_iowait_share", |share| share > thresholds.max_iowait_share)
    else {
        return Err(absent("what processors did"));
    };
    let most = row.max.unwrap_or(0.0);
    if when.time_share < thresholds.min_time_share {
        let because = format!(
            "processors were idle for storage for at most {}, above {} {} (limit {})",
            percent(most),
            percent(thresholds.max_iowait_share),
            when.time_words(),
            percent(thresholds.min_time_share)
        );
        return within(host, &because);
    }
    let rate = |name: &str| host.figure(name).and_then(|row| row.max);
    let (read, written) = (rate("disk_read_bytes_per_s"), rate("disk_write_bytes_per_s"));
    let moved = read.zip(written).map_or_else(String::new, |(read, written)| {
        format!(" Disks read up to {} and wrote up to {}.", byte_rate(read), byte_rate(written))
    });
    Ok(vec![Finding {
        title: format!(
            "Processors stood idle for storage {} (up to {} of them){}; {}.",
            when.time_words(),
            percent(most),
            on(summary, host),
            when.steps_words()
        ),
        severity: when.severity(thresholds.severity),
        evidence: when
            .evidence()
            .with("iowait_share", rounded(most, 4))
            .with_known("disk_read_bytes_per_s", read)
            .with_known("disk_write_bytes_per_s", written)
            .with_known("busiest_disk_share", rate("busiest_disk_share")),
        recommendation: format!(
            "Keep the data nearer: in memory or on a faster disk, in fewer and larger files, read in longer pieces; write \
             checkpoints from another thread.{moved}"
        ),
        ..Finding::default()
    }])
}
