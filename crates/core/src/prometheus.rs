//! From OpenTelemetry's names to Prometheus': the rules of OpenTelemetry's compatibility specification, as the collector
//! and Prometheus' own OTLP receiver apply them. Dots become underscores, the unit is a suffix in full words, counters end
//! in `_total`, shares in `_ratio`. What is scraped and what is asked for have their names from here.

use crate::vocabulary::{Instrument, Metric};

/// Units and their words.
const UNITS: [(&str, &str); 12] = [
    ("s", "seconds"),
    ("ms", "milliseconds"),
    ("us", "microseconds"),
    ("ns", "nanoseconds"),
    ("By", "bytes"),
    ("Cel", "celsius"),
    ("Hz", "hertz"),
    ("J", "joules"),
    ("W", "watts"),
    ("V", "volts"),
    ("%", "percent"),
    ("m", "meters"),
];

/// What counters end in.
const TOTAL: &str = "total";

/// Name of the family, without what counters have at its end.
#[must_use]
pub fn family(row: &Metric) -> String {
    let mut name = sanitized(row.name);
    if row.instrument == Instrument::Counter {
        // The word comes at the end, and there only.
        name = name.split('_').filter(|token| *token != TOTAL).collect::<Vec<_>>().join("_");
    }
    if let Some(unit) = unit(row).filter(|unit| !name.split('_').any(|token| token == unit)) {
        name.push('_');
        name.push_str(&unit);
    }
    name
}

/// What samples of the family are called.
#[must_use]
pub fn sample(row: &Metric) -> String {
    let mut name = family(row);
    if row.instrument == Instrument::Counter {
        name.push('_');
        name.push_str(TOTAL);
    }
    name
}

/// The unit's words, where it has any: those in braces are remarks.
#[must_use]
pub fn unit(row: &Metric) -> Option<String> {
    if row.unit == "1" {
        return (row.instrument == Instrument::Gauge).then(|| "ratio".to_owned());
    }
    let (amount, per) = match row.unit.split_once('/') {
        Some((amount, per)) => (amount, Some(per)),
        None => (row.unit, None),
    };
    let word = |unit: &str| -> Option<String> {
        if unit.is_empty() || unit.starts_with('{') {
            return None;
        }
        let known = UNITS.iter().find(|(short, _)| *short == unit);
        Some(known.map_or_else(|| sanitized(unit), |(_, word)| (*word).to_owned()))
    };
    let per = per.and_then(word).map(|per| per.strip_suffix('s').map_or_else(|| per.clone(), str::to_owned));
    match (word(amount), per) {
        (Some(amount), Some(per)) => Some(format!("{amount}_per_{per}")),
        (None, Some(per)) => Some(format!("per_{per}")),
        (amount, None) => amount,
    }
}

/// A label's or a metric's name: other characters than letters, digits and underscores become these.
#[must_use]
pub fn sanitized(name: &str) -> String {
    let mut text: String =
        name.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
    if text.starts_with(|letter: char| letter.is_ascii_digit()) || text.is_empty() {
        text.insert(0, '_');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::{self, device, host, program, run};
    use std::collections::{HashMap, HashSet};

    #[test]
    fn names_follow_the_translation_rules() {
        let cases = [
            (&host::row::CPU_TIME, "system_cpu_time_seconds_total"),
            (&host::row::CPU_UTILIZATION, "system_cpu_utilization_ratio"),
            (&host::row::CPU_COUNT, "system_cpu_logical_count"),
            (&host::row::MEMORY_USAGE, "system_memory_usage_bytes"),
            (&host::row::DISK_IO, "system_disk_io_bytes_total"),
            (&host::row::NETWORK_PACKETS, "system_network_packet_count_total"),
            (&device::row::HW_STATUS, "hw_status"),
            (&device::row::HW_TEMPERATURE, "hw_temperature_celsius"),
            (&device::row::HW_ENERGY, "hw_energy_joules_total"),
            (&device::row::GPU_CLOCK, "stepscope_gpu_clock_frequency_hertz"),
            (&program::row::ALLOCATION_RATE, "stepscope_allocation_rate_bytes_per_second"),
            (&program::row::SAMPLE_RATE, "stepscope_sample_rate_per_second"),
            (&metric::row::SECTION_TOTAL, "stepscope_section_nanoseconds_total"),
            (&metric::row::SECTION_DURATION, "stepscope_section_duration_nanoseconds"),
            (&run::row::RUN_INFO, "stepscope_run_info"),
            (&run::row::FINDING_SEVERITY, "stepscope_finding_severity"),
        ];
        for (row, name) in cases {
            assert_eq!(sample(row), name);
        }
        assert_eq!(sanitized("9.a-b"), "_9_a_b");
    }

    #[test]
    fn no_two_metrics_have_one_name() {
        let mut seen = HashMap::new();
        for row in metric::all() {
            for name in [sample(row), family(row)].into_iter().collect::<HashSet<_>>() {
                assert_eq!(seen.insert(name.clone(), row.name), None, "{name}");
            }
        }
    }
}
