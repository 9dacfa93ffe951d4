//! Names that others give, made such that every view takes them: OpenTelemetry's rules for instruments, and bounds.

use metrics::Unit;

/// OpenTelemetry takes no longer ones.
const MAX_NAME: usize = 200;
/// Longer values of labels are cut.
const MAX_VALUE: usize = 256;

/// The name of a metric: letters, digits, `_`, `.`, `-`, `/`, a letter first. Others become `_`.
pub(super) fn metric(name: &str) -> String {
    let is_fine = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-' | '/');
    let mut text: String =
        name.chars().take(MAX_NAME).map(|letter| if is_fine(letter) { letter } else { '_' }).collect();
    if !text.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
        text.insert_str(0, "m_");
    }
    text
}

/// The name of a label: as long as it may be, and not empty.
pub(super) fn label(name: &str) -> String {
    if name.is_empty() { "_".to_owned() } else { name.chars().take(MAX_NAME).collect() }
}

/// The value of a label.
pub(super) fn value(text: &str) -> &str {
    text.char_indices().nth(MAX_VALUE).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// A unit as OpenTelemetry writes it.
pub(super) const fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "",
        Unit::Percent => "%",
        Unit::Seconds => "s",
        Unit::Milliseconds => "ms",
        Unit::Microseconds => "us",
        Unit::Nanoseconds => "ns",
        Unit::Tebibytes => "TiBy",
        Unit::Gibibytes => "GiBy",
        Unit::Mebibytes => "MiBy",
        Unit::Kibibytes => "KiBy",
        Unit::Bytes => "By",
        Unit::TerabitsPerSecond => "Tbit/s",
        Unit::GigabitsPerSecond => "Gbit/s",
        Unit::MegabitsPerSecond => "Mbit/s",
        Unit::KilobitsPerSecond => "kbit/s",
        Unit::BitsPerSecond => "bit/s",
        Unit::CountPerSecond => "{count}/s",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_such_as_every_view_takes() {
        for (name, taken) in [
            ("http.requests/total-x", "http.requests/total-x"),
            ("größe in m", "gr__e_in_m"),
            ("9lives", "m_9lives"),
            ("", "m_"),
            ("a\nb\"", "a_b_"),
        ] {
            assert_eq!(metric(name), taken);
        }
        assert_eq!(metric(&"x".repeat(9_999)).len(), MAX_NAME);
        assert_eq!((label(""), label("a b")), ("_".into(), "a b".into()));
        assert_eq!((value("kurz"), value(&"ü".repeat(999)).len()), ("kurz", 2 * MAX_VALUE));
    }
}
