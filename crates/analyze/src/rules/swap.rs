//! Rule `swap`: memory that is moved to and from swap space while steps run.

use super::{Config, Judged, RestsOn, Rule};
use crate::metrics::judged::{absent, hosts, on, within, worst};
use crate::report::finding::{Finding, FindingType};
use crate::report::units::{bytes, percent};
use crate::summary::{FigureRow, Summary};

pub(super) const RULE: Rule =
    Rule { rests_on: RestsOn::Readings, ..Rule::new("Swapping", FindingType::Memory) };

thresholds! {
    /// Pages a second that are swapped in or out from which a stretch counts.
    min_per_s: f64 = 1.0;
    /// Share of the time in such stretches from which it is a finding.
    min_time_share: f64 = 0.01;
    /// Severity where steps are not known to take longer for it.
    severity: f64 = 15.0;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.swap;
    let hosts = hosts(summary)?;
    let directions = ["swap_in_per_s", "swap_out_per_s"];
    let known = directions.iter().filter_map(|name| worst(hosts, name, |rate| rate >= thresholds.min_per_s));
    let Some((host, row, when)) = known.max_by(|a, b| a.2.time_share.total_cmp(&b.2.time_share)) else {
        return Err(absent("what was swapped"));
    };
    if when.time_share < thresholds.min_time_share {
        let because = format!(
            "at most {:.0} pages a second were swapped, any {} (limit {})",
            row.max.unwrap_or(0.0),
            when.time_words(),
            percent(thresholds.min_time_share)
        );
        return within(host, &because);
    }
    let most = |name: &str| host.figure(name).and_then(|row: &FigureRow| row.max);
    let used = most("swap_used_bytes").map(|used| used as u64);
    let in_use = used.map_or_else(String::new, |used| format!(" Up to {} of it was in use.", bytes(used)));
    Ok(vec![Finding {
        title: format!(
            "Memory went to and from swap space {}{}; {}.",
            when.time_words(),
            on(summary, host),
            when.steps_words()
        ),
        severity: when.severity(thresholds.severity),
        evidence: when
            .evidence()
            .with_known("swapped_in_per_s", most("swap_in_per_s"))
            .with_known("swapped_out_per_s", most("swap_out_per_s"))
            .with_known("swap_used_bytes", used),
        recommendation: format!(
            "Memory is short: use fewer workers, shorter queues or smaller batches, or a machine with more of it. What waits for \
             a page from swap space waits thousands of times as long as for memory.{in_use}"
        ),
        ..Finding::default()
    }])
}
