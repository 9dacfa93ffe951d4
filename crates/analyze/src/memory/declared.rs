//! What of a growth sections and lines hold that are declared caches. Whether the rest leaks is judged in `growth`.

use crate::live_memory::Culprit;
use crate::report::finding::rounded;
use crate::report::units::{bytes, listed};
use crate::summary::Trend;

/// A part of a growth below which the rest is nothing to tell.
const REST: f64 = 0.2;

/// Declared caches that hold a part of a growth.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Declared {
    /// Sections and lines as they are declared.
    caches: Vec<String>,
    /// Of those, what holds a part.
    pub(crate) names: Vec<String>,
    /// Bytes a step that they hold.
    pub(crate) bytes_per_step: f64,
}

impl Declared {
    /// Of a growth by `slope` bytes a step: of its lines where samples tell any, else of what sections leave behind.
    pub(super) fn of(caches: &[String], lines: &[Culprit], candidates: &[(String, i64)], slope: f64) -> Self {
        let of_lines =
            lines.iter().map(|line| (line.section.as_deref(), line.place.as_str(), line.bytes_per_step));
        let of_sections = candidates.iter().map(|(path, net)| (Some(path.as_str()), "", *net as f64));
        let held: Vec<(Option<&str>, &str, f64)> =
            if lines.is_empty() { of_sections.collect() } else { of_lines.collect() };
        let mut declared = Self { caches: caches.to_vec(), ..Self::default() };
        for (section, place, bytes) in held {
            let Some(name) = by_name(caches, section, place) else { continue };
            declared.bytes_per_step += bytes;
            if !declared.names.contains(name) {
                declared.names.push(name.clone());
            }
        }
        declared.bytes_per_step = declared.bytes_per_step.min(slope);
        declared
    }

    /// Whether they hold all of a growth that is worth telling.
    pub(super) fn explain(&self, slope: f64, lines: &[Culprit]) -> bool {
        let is_declared =
            |line: &Culprit| by_name(&self.caches, line.section.as_deref(), &line.place).is_some();
        // What lines hold is an estimate: where all are declared, nothing is known of a rest.
        !lines.is_empty() && lines.iter().all(is_declared) || slope - self.bytes_per_step < REST * slope
    }

    /// What they hold: the end of a sentence that begins with memory.
    pub(crate) fn words(&self) -> String {
        let names = listed(self.names.iter().map(|name| format!("`{name}`")));
        let are = if self.names.len() == 1 { "declared a cache" } else { "declared caches" };
        format!("grows by {} a step in {names}, {are}", bytes(self.bytes_per_step.round() as u64))
    }

    /// A growth without what they hold.
    pub(super) fn rest(&self, trend: Trend) -> Trend {
        let (low, high) = trend.confidence_interval;
        Trend {
            slope_per_step: trend.slope_per_step - self.bytes_per_step,
            confidence_interval: (low - self.bytes_per_step, high - self.bytes_per_step),
            ..trend
        }
    }

    /// Lines that are none of them, whose shares are of the rest: `by` times as large.
    pub(super) fn others(&self, lines: Vec<Culprit>, by: f64) -> Vec<Culprit> {
        let is_other = |line: &Culprit| by_name(&self.caches, line.section.as_deref(), &line.place).is_none();
        let share = |line: Culprit| Culprit { share: rounded((line.share * by).min(1.0), 6), ..line };
        lines.into_iter().filter(is_other).map(share).collect()
    }

    /// Sections that are none of them.
    pub(super) fn other_sections(&self, candidates: Vec<(String, i64)>) -> Vec<(String, i64)> {
        candidates.into_iter().filter(|(path, _)| by_name(&self.caches, Some(path), "").is_none()).collect()
    }
}

/// The declared cache that a section or a line of it belongs to: by the section or one around it, by its file, or its line.
fn by_name<'c>(caches: &'c [String], section: Option<&str>, place: &str) -> Option<&'c String> {
    let is_below = |whole: &str, part: &str, separator: char| {
        whole.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with(separator))
    };
    caches.iter().filter(|cache| !cache.is_empty()).find(|cache| {
        section.is_some_and(|section| is_below(section, cache, '/')) || is_below(place, cache, ':')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_meant_with_what_is_inside_and_files_with_their_lines() {
        let caches = ["step/cache".to_owned(), "src/cache.rs".to_owned(), "src/map.rs:8".to_owned()];
        let found = |section: Option<&str>, place: &str| by_name(&caches, section, place).map(String::as_str);
        assert_eq!(found(Some("step/cache/insert"), ""), Some("step/cache"));
        assert_eq!(found(Some("step/cached"), "src/cache.rs:19"), Some("src/cache.rs"));
        assert_eq!(found(None, "src/map.rs:8"), Some("src/map.rs:8"));
        assert_eq!(found(Some("step"), "src/map.rs:88"), None);
    }
}
