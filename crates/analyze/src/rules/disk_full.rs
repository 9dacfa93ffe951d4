//! Rule `disk_full`: a file system that is nearly full.

use super::{Config, Judged, RestsOn, Rule};
use crate::metrics::judged::{absent, hosts, on, within};
use crate::report::finding::{Evidence, Finding, FindingType, rounded, severity};
use crate::report::units::percent;
use crate::summary::{FigureRow, HostFigures, Summary};

pub(super) const RULE: Rule =
    Rule { rests_on: RestsOn::State, ..Rule::new("Disk nearly full", FindingType::Io) };

thresholds! {
    /// Share of a file system in use from which it is a finding.
    max_used_share: f64 = 0.8;
    /// Severity at the limit.
    min_severity: f64 = 5.0;
    /// Severity of a full one that did not fill meanwhile: it took no step time.
    still_severity: f64 = 9.0;
    /// Severity where as much again does not fit.
    max_severity: f64 = 30.0;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.disk_full;
    let hosts = hosts(summary)?;
    let rows = hosts.iter().flat_map(|host| host.figures.iter().map(move |row| (host, row)));
    let known = rows.filter(|(_, row)| row.figure == "filesystem_used_share");
    let known: Vec<_> = known.filter_map(|(host, row)| Some((host, row, row.max?))).collect();
    let Some(&(host, row, share)) = known.iter().max_by(|a, b| a.2.total_cmp(&b.2)) else {
        return Err(absent("how full a file system was"));
    };
    if share <= thresholds.max_used_share {
        let limit = percent(thresholds.max_used_share);
        let mount = row.about.as_deref().unwrap_or_default();
        let because =
            format!("the fullest file system, `{mount}`, was at {} (limit {limit})", percent(share));
        return within(host, &because);
    }
    // One that fills is worse than a fuller one that does not.
    let full = known.into_iter().filter(|(.., share)| *share > thresholds.max_used_share);
    let judged = full.map(|(host, row, share)| (host, row, share, thresholds.severity(row, share)));
    let worst = judged.max_by(|a, b| a.3.total_cmp(&b.3).then_with(|| a.2.total_cmp(&b.2)));
    Ok(worst.into_iter().map(|(host, row, share, severe)| found(summary, host, row, share, severe)).collect())
}

/// By how much it filled from the first stretch to the last; absent where it did not, or nobody read often enough.
fn grown(row: &FigureRow) -> Option<f64> {
    let mut known = row.values.iter().flatten();
    let (first, last) = (known.next()?, known.next_back()?);
    Some(rounded(last - first, 4)).filter(|&grown| grown > 0.0)
}

impl Thresholds {
    fn severity(&self, row: &FigureRow, share: f64) -> f64 {
        let of = |largest: f64, part: f64| {
            self.min_severity + (largest - self.min_severity).max(0.0) * part.clamp(0.0, 1.0)
        };
        let room = (1.0 - self.max_used_share).max(f64::MIN_POSITIVE);
        let still = of(self.still_severity, (share - self.max_used_share) / room);
        let left = (1.0 - share).max(f64::MIN_POSITIVE);
        let fills = grown(row).map_or(0.0, |grown| of(self.max_severity, grown / left));
        severity(still.max(fills))
    }
}

fn found(summary: &Summary, host: &HostFigures, row: &FigureRow, share: f64, severity: f64) -> Finding {
    let mount = row.about.as_deref().unwrap_or_default();
    let grown = grown(row);
    let growth =
        grown.map_or_else(String::new, |grown| format!(" It filled by {} during the run.", percent(grown)));
    Finding {
        title: format!("The file system `{mount}` was full to {}{}.", percent(share), on(summary, host)),
        severity,
        evidence: Evidence::new().with("used_share", rounded(share, 4)).with_known("grown_share", grown),
        recommendation: format!(
            "A checkpoint that does not fit is lost, and often the run with it: remove old ones, or write elsewhere.{growth}"
        ),
        ..Finding::default()
    }
}
