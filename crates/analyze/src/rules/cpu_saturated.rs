//! Rule `cpu_saturated`: all processors of a machine busy while steps run.

use super::{Config, Judged, RestsOn, Rule, Same, ToldBy};
use crate::metrics::judged::{absent, hosts, on, within, worst};
use crate::report::finding::{Finding, FindingType, rounded};
use crate::report::units::percent;
use crate::summary::Summary;

pub(super) const RULE: Rule = Rule {
    // What threads waited for a processor says what it cost.
    yields_to: &[ToldBy { rule: "cpu_contention", same: Same::Phase }],
    rests_on: RestsOn::Readings,
    ..Rule::new("Processors saturated", FindingType::Compute)
};

thresholds! {
    /// Share of all processors' time from which a stretch counts.
    max_busy_share: f64 = 0.95;
    /// Share of the time in such stretches from which it is a finding.
    min_time_share: f64 = 0.1;
    /// Severity where steps are not known to take longer for it.
    severity: f64 = 10.0;
}

pub(super) fn check(summary: &Summary, config: &Config) -> Judged {
    let thresholds = &config.cpu_saturated;
    let hosts = hosts(summary)?;
    let Some((host, row, when)) = worst(hosts, "cpu_busy_share", |share| share > thresholds.max_busy_share)
    else {
        return Err(absent("how busy processors were"));
    };
    let most = row.max.unwrap_or(0.0);
    if when.time_share < thresholds.min_time_share {
        let because = format!(
            "processors were busy for at most {}, above {} {} (limit {})",
            percent(most),
            percent(thresholds.max_busy_share),
            when.time_words(),
            percent(thresholds.min_time_share)
        );
        return within(host, &because);
    }
    let pressure = host.figure("cpu_pressure_share").and_then(|row| row.max);
    let short = pressure.map_or_else(String::new, |share| {
        format!(" Tasks were short of a processor for up to {} of the time.", percent(share))
    });
    Ok(vec![Finding {
        title: format!(
            "All processors were busy (above {}) {}{}; {}.",
            percent(thresholds.max_busy_share),
            when.time_words(),
            on(summary, host),
            when.steps_words()
        ),
        severity: when.severity(thresholds.severity),
        evidence: when
            .evidence()
            .with("busy_share", rounded(most, 4))
            .with_known("mean_busy_share", row.mean)
            .with_known("pressure_share", pressure),
        recommendation: format!(
            "Threads take processors from each other: use as many loader workers and threads of libraries as there are \
             processors left, and see what else runs on the machine.{short}"
        ),
        ..Finding::default()
    }])
}
