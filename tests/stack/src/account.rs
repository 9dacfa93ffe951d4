//! What became of a program's spans on the way to the collector, as the report on the program's own directory says, and
//! which spans there are in files of OTLP JSON, by their ids. The two know nothing of each other, so a test can hold one
//! against the other.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde_json::Value;
use stepscope_testkit::folder::files_below;

use crate::traces;

/// Spans by what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fate {
    /// Those that were to leave.
    pub emitted: u64,
    /// Those that the collector has said it has.
    pub acknowledged: u64,
    /// Those that the collector has taken with their request, and said that it does not want.
    pub rejected: u64,
    /// Those that were given up, none of which the collector has.
    pub dropped: u64,
    /// Those that were sent, and of which nobody knows.
    pub unknown: u64,
}

impl Fate {
    /// The sum over the reasons for which spans were lost anywhere but in the directory, as far as `is_counted`.
    fn lost(losses: &Value, is_counted: impl Fn(&str) -> bool) -> Result<u64, String> {
        let entries = losses["dropped"].as_array().ok_or("the report has no list of losses")?;
        let mut spans = 0;
        for entry in entries.iter().filter(|entry| entry["sink"] != "directory") {
            if is_counted(entry["reason"].as_str().unwrap_or_default()) {
                spans += number(&entry["spans"])?;
            }
        }
        Ok(spans)
    }

    /// As the JSON report says.
    ///
    /// # Errors
    /// When the report is not one of a program that sent to a collector.
    pub fn of(report: &Value) -> Result<Self, String> {
        let losses = &report["losses"];
        let exported = losses["exported"].as_array().ok_or("the report has no list of places")?;
        let acknowledged = match exported.iter().find(|entry| entry["sink"] == "otlp") {
            Some(entry) => number(&entry["spans"])?,
            None => return Err(format!("nothing was to be sent: {losses}")),
        };
        Ok(Self {
            emitted: number(&losses["emitted"])?,
            acknowledged,
            rejected: Self::lost(losses, |reason| reason == "export_rejected")?,
            dropped: Self::lost(losses, |reason| !["export_rejected", "export_unknown"].contains(&reason))?,
            unknown: Self::lost(losses, |reason| reason == "export_unknown")?,
        })
    }

    /// Whether each span has one fate, and `arrived`, the number of those that the collector has, is as they say.
    ///
    /// # Errors
    /// When not, with the figures.
    pub fn check(&self, arrived: u64) -> Result<(), String> {
        if self.emitted != self.acknowledged + self.rejected + self.dropped + self.unknown {
            return Err(format!("spans without a fate, or with two: {self}"));
        }
        if !(self.acknowledged..=self.acknowledged + self.unknown).contains(&arrived) {
            return Err(format!("{arrived} arrived, which is not what is said: {self}"));
        }
        Ok(())
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} emitted = {} acknowledged + {} rejected + {} dropped + {} unknown",
            self.emitted, self.acknowledged, self.rejected, self.dropped, self.unknown
        )
    }
}

fn number(value: &Value) -> Result<u64, String> {
    value.as_u64().ok_or_else(|| format!("{value} is no number of spans"))
}

/// The ids of spans in the files of JSON lines below `folder` whose names begin with `traces`: trace and span, each once.
///
/// # Errors
/// When there is no such folder, a line is no JSON, or a span is there twice: what was perhaps taken is not sent again.
pub fn ids_below(folder: &Path) -> Result<BTreeSet<(String, String)>, String> {
    let failed = |what: &Path, error: std::io::Error| format!("failed to read {}: {error}", what.display());
    let mut ids = BTreeSet::new();
    for file in files_below(folder).map_err(|error| failed(folder, error))? {
        if !file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("traces")) {
            continue;
        }
        let text = std::fs::read(&file).map_err(|error| failed(&file, error))?;
        for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let message: Value = serde_json::from_slice(line)
                .map_err(|error| format!("{}: not JSON: {error}", file.display()))?;
            for span in traces::spans(&message) {
                let id = |field: &str| span[field].as_str().unwrap_or_default().to_owned();
                let id = (id("traceId"), id("spanId"));
                if ids.contains(&id) {
                    return Err(format!("{}: {id:?} is there twice", file.display()));
                }
                ids.insert(id);
            }
        }
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use stepscope_testkit::TempFolder;

    use super::*;

    #[test]
    fn the_report_is_read_and_a_wrong_account_is_noticed() {
        let entry =
            |sink: Value, reason: &str, spans: u64| json!({"sink": sink, "reason": reason, "spans": spans});
        let report = json!({"losses": {
            "emitted": 100,
            "exported": [{"sink": "directory", "spans": 99}, {"sink": "otlp", "spans": 60}],
            "dropped": [
                entry(Value::Null, "ring_full", 1),
                entry("directory".into(), "write_failed", 1000),
                entry("otlp".into(), "export_failed", 19),
                entry("otlp".into(), "export_rejected", 7),
                entry("otlp".into(), "export_unknown", 13),
            ],
        }});
        let fate = Fate::of(&report).unwrap();
        let expected = Fate { emitted: 100, acknowledged: 60, rejected: 7, dropped: 20, unknown: 13 };
        assert_eq!(fate, expected);
        assert_eq!((fate.check(60), fate.check(73)), (Ok(()), Ok(())));
        assert!(fate.check(59).is_err() && fate.check(74).is_err());
        assert!(Fate { dropped: 21, ..fate }.check(60).is_err());
        assert!(Fate::of(&json!({"losses": {"emitted": 1, "exported": [], "dropped": []}})).is_err());
    }

    #[test]
    fn ids_are_those_of_the_files_of_traces_and_none_is_there_twice() {
        let folder = TempFolder::new("ids").unwrap();
        let line = |span: &str| {
            let spans = json!([{"traceId": "a", "spanId": span}]);
            format!("{}\n", json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
        };
        std::fs::write(folder.join("traces-1.jsonl"), line("1") + &line("2")).unwrap();
        std::fs::write(folder.join("metrics-1.jsonl"), line("3")).unwrap();
        let ids = ids_below(folder.path()).unwrap();
        assert_eq!(ids.into_iter().map(|(_, span)| span).collect::<Vec<_>>(), ["1", "2"]);
        std::fs::write(folder.join("traces-2.jsonl"), line("1")).unwrap();
        assert!(ids_below(folder.path()).unwrap_err().contains("twice"));
        std::fs::write(folder.join("traces-2.jsonl"), "{\"torn").unwrap();
        assert!(ids_below(folder.path()).unwrap_err().contains("not JSON"));
    }
}
