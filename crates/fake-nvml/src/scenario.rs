//! What the library answers. A line is a word and its arguments:
//!
//! | line | effect |
//! |---|---|
//! | `devices 8` | how many there are; 1 where it is not said |
//! | `init driver_not_loaded`, `init no_permission` | the first call fails |
//! | `ramp` | utilization grows by 1 % with every reading of it, up to 100 % |
//! | `leak` | memory in use grows by 1 GiB with every reading |
//! | `lost 1 after 40` | device 1 is lost from its 41st call on |
//! | `back 1 after 60` | and is there again from its 61st call on |
//! | `slow 50` | every call takes 50 ms |
//! | `hang after 100` | from the 101st call on, none ends |
//! | `deny power` | these calls are not permitted |
//! | `xid 0 79` | device 0 reports this error once |
//! | `mig 0 2` | device 0 is cut into two parts |
//! | `throttled 0 thermal` | the clocks of device 0 are low: `thermal`, `power_cap` |
//!
//! Device `i` uses 10 × (`i` + 1) % of its time, `i` + 1 GiB of 80, takes 100 + `i` W and has 40 + `i` °C.

/// A scenario.
#[derive(Debug, Default)]
pub struct Scenario {
    lines: Vec<Vec<String>>,
}

impl Scenario {
    /// Reads one; what is not understood has no effect.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        Self { lines: text.lines().map(words).collect() }
    }

    /// The arguments of every line that begins with `word`.
    pub fn all<'s>(&'s self, word: &'s str) -> impl Iterator<Item = &'s [String]> {
        self.lines
            .iter()
            .filter_map(move |line| line.split_first().filter(|(first, _)| *first == word))
            .map(|(_, rest)| rest)
    }

    /// Whether there is such a line.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.all(word).next().is_some()
    }

    /// The number of a line `word 8`.
    #[must_use]
    pub fn number(&self, word: &str) -> Option<u64> {
        self.all(word).find_map(|rest| rest.first()?.parse().ok())
    }

    /// The number at the end of a line `word 1 after 40` of that device.
    #[must_use]
    pub fn after(&self, word: &str, device: usize) -> Option<u64> {
        let of = |rest: &&[String]| rest.first().and_then(|text| text.parse().ok()) == Some(device);
        self.all(word).find(of)?.last()?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_words_and_arguments() {
        let scenario = Scenario::parse("devices 8\n\nlost 1 after 40\nhang after 7\ndeny power\n");
        assert_eq!(scenario.number("devices"), Some(8));
        assert_eq!(scenario.after("lost", 1), Some(40));
        assert_eq!(scenario.after("lost", 0), None);
        assert!(scenario.has("deny") && !scenario.has("ramp"));
    }
}
