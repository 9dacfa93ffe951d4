//! Figures in the units people read: times, bytes, shares, counts, rates. For sentences and tables only;
//! the JSON report carries plain integers.

use super::rounded;

/// A duration, three significant digits: `812 ns`, `3.42 µs`, `47.1 ms`, `1.25 s`, `2 min 05 s`, `3 h 20 min`.
#[must_use]
pub fn duration(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => scaled(ns, 1_000, "µs", duration),
        1_000_000..1_000_000_000 => scaled(ns, 1_000_000, "ms", duration),
        1_000_000_000..60_000_000_000 => scaled(ns, 1_000_000_000, "s", duration),
        _ => {
            let seconds = ns.saturating_add(500_000_000) / 1_000_000_000;
            match seconds {
                0..3_600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
                3_600..86_400 => format!("{} h {:02} min", seconds / 3_600, seconds % 3_600 / 60),
                _ => format!("{} d {:02} h", seconds / 86_400, seconds % 86_400 / 3_600),
            }
        }
    }
}

/// A duration in at most seven columns, without blanks: `812ns`, `3.42µs`, `47.1ms`, `59.9s`, `2m05s`, `12h20m`,
/// `3d07h`, `1234d`.
#[must_use]
pub fn short_duration(ns: u64) -> String {
    if ns < 60_000_000_000 {
        return duration(ns).replace(' ', "");
    }
    let seconds = ns.saturating_add(500_000_000) / 1_000_000_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match days {
        0 if hours == 0 => format!("{minutes}m{:02}s", seconds % 60),
        0 => format!("{hours}h{:02}m", minutes % 60),
        1..1_000 => format!("{days}d{:02}h", hours % 24),
        _ => format!("{days}d"),
    }
}

/// When something was, in a run that began at `first_ns`: `1 min 00 s, 2.40 s into the run`.
pub(crate) fn when(first_ns: Option<u64>, start_ns: u64, took_ns: u64) -> String {
    let into_ns = start_ns.saturating_sub(first_ns.unwrap_or(start_ns));
    format!("{}, {} into the run", duration(took_ns), duration(into_ns))
}

/// A number of bytes in binary units: `512 B`, `1.50 KiB`, `100 MiB`.
#[must_use]
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1_024 {
        return format!("{count} B");
    }
    let mut value = count as f64;
    let mut name = "B";
    for unit in UNITS {
        // What would print as 1024 of a unit is 1.00 of the next.
        if value < 1_023.5 {
            break;
        }
        value /= 1_024.0;
        name = unit;
    }
    format!("{} {name}", significant(value))
}

/// Bytes a second: `1.50 KiB/s`.
#[must_use]
pub fn byte_rate(per_second: f64) -> String {
    format!("{}/s", bytes(per_second.max(0.0).round() as u64))
}

/// A change in bytes, with its sign.
#[must_use]
pub fn signed_bytes(change: i64) -> String {
    let sign = if change < 0 { "−" } else { "+" };
    format!("{sign}{}", bytes(change.unsigned_abs()))
}

/// A share of one: `47 %`, `4.2 %`, `0.31 %`, `< 0.01 %`, `0 %`. Shares of the JSON report have six decimals: with more,
/// the same share reads the same.
#[must_use]
pub fn percent(share: f64) -> String {
    let value = rounded(share, 6) * 100.0;
    if !value.is_finite() {
        "?".into()
    } else if value == 0.0 {
        "0 %".into()
    } else if value.abs() < 0.005 {
        "< 0.01 %".into()
    } else if value.abs() < 0.995 {
        decimals(value, 2) + " %"
    } else if value.abs() < 9.95 {
        decimals(value, 1) + " %"
    } else {
        decimals(value, 0) + " %"
    }
}

/// With so many decimals; halves away from zero, as people and the page's script round.
fn decimals(value: f64, digits: u8) -> String {
    format!("{:.*}", usize::from(digits), rounded(value, digits.into()))
}

/// A count with its thousands marked: `1,234,567`.
#[must_use]
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count in at most six columns: `9,999`, `12.3k`, `4.56M`.
#[must_use]
pub fn short_count(value: u64) -> String {
    if value < 10_000 { count(value) } else { abbreviated(value as f64, "") }
}

/// What is rare is told by a longer time: its unit, its seconds, and the least rate that is told by it.
const RARE: [(&str, f64, f64); 3] = [("s", 1.0, 0.1), ("min", 60.0, 1.0), ("h", 3_600.0, 1.0)];

/// A rate: `812 steps/s`, `12.3 k samples/s`, `4.56 M tokens/s`, `2.50 steps/min`, `1.50 steps/h`, `3.00 steps/d`.
#[must_use]
pub fn rate(per_second: f64, what: &str) -> String {
    if !per_second.is_finite() {
        return format!("? {what}/s");
    }
    if per_second == 0.0 {
        return format!("0 {what}/s");
    }
    // What reads as the least rate is told by it.
    let told = RARE.iter().find(|(_, seconds, least)| per_second * seconds >= least * 0.9995);
    let (unit, seconds) = told.map_or(("d", 86_400.0), |&(unit, seconds, _)| (unit, seconds));
    if unit != "s" {
        return format!("{} {what}/{unit}", significant(per_second * seconds));
    }
    let number = if per_second < 999.5 { significant(per_second) } else { abbreviated(per_second, " ") };
    format!("{number} {what}/s")
}

/// Which of the steps: `every 50th step`.
#[must_use]
pub fn every_step(every: u64) -> String {
    let ending = match (every % 10, every % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("every {}{ending} step", count(every))
}

/// A number of things: `1 worker`, `2 workers`, `1,000 batches`.
#[must_use]
pub fn things(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

fn abbreviated(mut value: f64, gap: &str) -> String {
    let mut name = "";
    for unit in ["k", "M", "G", "T", "P", "E"] {
        if value < 999.5 {
            break;
        }
        value /= 1_000.0;
        name = unit;
    }
    format!("{}{gap}{name}", significant(value))
}

/// `value` in `unit` of `size`, or whatever `carry` makes of the rounded value where rounding reaches the
/// next unit (999.9 µs is 1.00 ms).
fn scaled(value: u64, size: u64, unit: &str, carry: fn(u64) -> String) -> String {
    let scaled = value as f64 / size as f64;
    if scaled >= 999.5 { carry(size * 1_000) } else { format!("{} {unit}", significant(scaled)) }
}

/// Three significant digits without an exponent, for values below 1,000.
fn significant(value: f64) -> String {
    if value < 9.995 {
        decimals(value, 2)
    } else if value < 99.95 {
        decimals(value, 1)
    } else {
        decimals(value, 0)
    }
}

/// `a`, `a and b`, `a, b and c`.
#[must_use]
pub fn listed(items: impl IntoIterator<Item = String>) -> String {
    let mut items: Vec<String> = items.into_iter().collect();
    match (items.pop(), items.is_empty()) {
        (Some(last), false) => format!("{} and {last}", items.join(", ")),
        (last, _) => last.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (12_345, "12.3 µs"),
            (999_900, "1.00 ms"),
            (47_100_000, "47.1 ms"),
            (999_600_000, "1.00 s"),
            (59_900_000_000, "59.9 s"),
            (125_000_000_000, "2 min 05 s"),
            (12_000_000_000_000, "3 h 20 min"),
            (u64::MAX, "213503 d 23 h"),
        ];
        for (ns, text) in cases {
            assert_eq!(duration(ns), text, "{ns}");
        }
    }

    #[test]
    fn bytes_read_well() {
        let cases = [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_536, "1.50 KiB"),
            (1_048_575, "1.00 MiB"),
            (104_857_600, "100 MiB"),
            (u64::MAX, "16.0 EiB"),
        ];
        for (value, text) in cases {
            assert_eq!(bytes(value), text, "{value}");
        }
        assert_eq!(signed_bytes(-2_048), "−2.00 KiB");
        assert_eq!(signed_bytes(i64::MIN), "−8.00 EiB");
    }

    #[test]
    fn shares_read_well() {
        let cases =
            [(0.0, "0 %"), (0.000_01, "< 0.01 %"), (0.003_1, "0.31 %"), (0.042, "4.2 %"), (0.468, "47 %")];
        for (share, text) in cases {
            assert_eq!(percent(share), text, "{share}");
        }
        assert_eq!(percent(f64::NAN), "?");
        assert_eq!(percent(0.099_6), "10 %");
    }

    #[test]
    fn counts_and_rates_read_well() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(12), "12");
        assert_eq!(short_count(9_999), "9,999");
        assert_eq!(short_count(12_345), "12.3k");
        assert_eq!(short_count(u64::MAX), "18.4E");
        assert_eq!(rate(812.4, "steps"), "812 steps/s");
        assert_eq!(rate(999.7, "steps"), "1.00 k steps/s");
        assert_eq!(rate(4_560_000.0, "tokens"), "4.56 M tokens/s");
        assert_eq!(rate(0.0, "steps"), "0 steps/s");
        assert_eq!(rate(0.25, "steps"), "0.25 steps/s");
        assert_eq!(rate(0.05, "steps"), "3.00 steps/min");
        assert_eq!(rate(1.0 / 60.0, "steps"), "1.00 steps/min");
        assert_eq!(rate(1.0 / 120.0, "steps"), "30.0 steps/h");
        assert_eq!(rate(1.0 / 3_600.0, "steps"), "1.00 steps/h");
        // Steps of two hours, and of a week.
        assert_eq!(rate(1.0 / 7_200.0, "steps"), "12.0 steps/d");
        assert_eq!(rate(1.0 / 604_800.0, "steps"), "0.14 steps/d");
        assert_eq!(things(1, "batch", "batches"), "1 batch");
        assert_eq!(things(1_000, "batch", "batches"), "1,000 batches");
    }
}
