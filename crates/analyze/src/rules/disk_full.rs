//! Rule `disk_full`: a file system that is nearly full.

use super::{Config, Judged, RestsOn, Rule};
use crate::metrics::judged::{absent, hosts, on, within};
use crate::report::finding::{Evidence, Finding, FindingType, rounded, severity};
use crate::report::units::percent;
use crate::summary::Summary;

pub(super) const RULE: Rule =
    Rule { rests_on: RestsOn::State, ..Rule::new("Disk nearly full", FindingType::Io) };

thresholds! {
    /// Share of a file system in use from which it is a finding.
    max_used_share: f64 = 0.8;
    /// Severity at the limit.
    min_severity: f64 = 5.0;
    /// Severity of a full one.
    max_severity: f64 = 30.0;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.disk_full;
    let hosts = hosts(summary)?;
    let rows = hosts.iter().flat_map(|host| host.figures.iter().map(move |row| (host, row)));
    let known = rows.filter(|(_, row)| row.figure == "filesystem_used_share");
    let known = known.filter_map(|(host, row)| Some((host, row, row.max?)));
    let Some((host, row, share)) = known.max_by(|a, b| a.2.total_cmp(&b.2)) else {
        return Err(absent("how full a file system was"));
    };
    let mount = row.about.as_deref().unwrap_or_default();
    if share <= thresholds.max_used_share {
        let limit = percent(thresholds.max_used_share);
        let because =
            format!("the fullest file system, `{mount}`, was at {} (limit {limit})", percent(share));
        return within(host, &because);
    }
    let part = (share - thresholds.max_used_share) / (1.0 - thresholds.max_used_share).max(f64::MIN_POSITIVE);
    let (least, largest) = (thresholds.min_severity, thresholds.max_severity);
    let grown = row.min.map(|min| rounded(share - min, 4)).filter(|&grown| grown > 0.0);
    let growth =
        grown.map_or_else(String::new, |grown| format!(" It filled by {} during the run.", percent(grown)));
    Ok(vec![Finding {
        title: format!("The file system `{mount}` was full to {}{}.", percent(share), on(summary, host)),
        severity: severity(least + (largest - least).max(0.0) * part.min(1.0)),
        evidence: Evidence::new().with("used_share", rounded(share, 4)).with_known("grown_share", grown),
        recommendation: format!(
            "A checkpoint that does not fit is lost, and often the run with it: remove old ones, or write elsewhere.{growth}"
        ),
        ..Finding::default()
    }])
}
