//! `stepscope leak-check`: the verdict of the leak detector on a series from standard input, as JSON. Not in the help: it is
//! how the detector is judged on series from elsewhere. What it decides lives in `stepscope_analyze::memory::detector`.

use std::io::Read;

use serde::{Deserialize, Serialize};
use stepscope_analyze::memory::detector::{Judgment, Memory, Verdict, judge};

use crate::error::CliError;
use crate::{exit, output};

/// Bytes at steps; a gauge that is not known is null, and so is a value that is not.
type Values = Option<Vec<Option<f64>>>;

/// What is read.
#[derive(Debug, Deserialize)]
struct Question {
    steps: Vec<u64>,
    #[serde(default)]
    live_bytes: Values,
    #[serde(default)]
    mature_bytes: Values,
    #[serde(default)]
    rss_bytes: Values,
    #[serde(default)]
    reserved_bytes: Values,
    /// Accepted for those who ask; a verdict does not depend on it.
    #[serde(default, rename = "limit_bytes")]
    _limit_bytes: Option<f64>,
}

/// What is printed.
#[derive(Debug, PartialEq, Serialize)]
struct Answer {
    verdict: &'static str,
    suspected: bool,
    bytes_per_step: Option<f64>,
    interval: Option<(f64, f64)>,
    since_step: Option<u64>,
}

/// Reads a series, prints the verdict.
///
/// # Errors
/// With what is wrong with the series.
pub(crate) fn run() -> Result<u8, CliError> {
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text).map_err(|error| {
        CliError::Usage(format!("failed to read the series from standard input: {error}"))
    })?;
    let answer = answer(&text).map_err(CliError::Usage)?;
    let text = serde_json::to_string(&answer).map_err(|error| CliError::Internal(error.to_string()))?;
    output::stdout(format!("{text}\n").as_bytes())?;
    Ok(exit::FINE)
}

fn answer(text: &str) -> Result<Answer, String> {
    if text.trim().is_empty() {
        return Err("standard input is empty; give the series as JSON".into());
    }
    let question: Question = serde_json::from_str(text)
        .map_err(|error| format!("standard input is no series of memory: {error}"))?;
    let steps = &question.steps;
    if steps.is_empty() {
        return Err("`steps` is empty; give the number of a step for each value".into());
    }
    let live = gauge("live_bytes", steps, &question.live_bytes)?;
    let mature = gauge("mature_bytes", steps, &question.mature_bytes)?;
    let rss = gauge("rss_bytes", steps, &question.rss_bytes)?;
    let reserved = gauge("reserved_bytes", steps, &question.reserved_bytes)?;
    Ok(told(&judge(&Memory { live: &live, mature: &mature, rss: &rss, reserved: &reserved })))
}

/// The values of a gauge that are known, with their steps.
fn gauge(name: &str, steps: &[u64], values: &Values) -> Result<Vec<(u64, f64)>, String> {
    let Some(values) = values else { return Ok(Vec::new()) };
    if values.len() != steps.len() {
        return Err(format!(
            "`{name}` has {} values for {} steps; give one for each, null where it is not known",
            values.len(),
            steps.len()
        ));
    }
    if let Some(below) = values.iter().flatten().find(|value| **value < 0.0) {
        return Err(format!(
            "`{name}` has {below}; memory is at least 0 bytes, give null where it is not known"
        ));
    }
    Ok(steps.iter().zip(values).filter_map(|(&step, &value)| Some((step, value?))).collect())
}

fn told(judged: &Judgment) -> Answer {
    let is_rated = judged.since_step.is_some();
    let grows = matches!(judged.verdict, Verdict::Leak | Verdict::Fragmentation);
    Answer {
        verdict: judged.verdict.name(),
        suspected: judged.is_suspected,
        bytes_per_step: is_rated.then_some(judged.bytes_per_step),
        interval: is_rated.then_some(judged.interval),
        since_step: judged.since_step.filter(|_| grows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_leak_with_rate_and_step() {
        let values: Vec<u64> = (0..40).map(|step| 50_000_000 + 1_000_000 * step).collect();
        let steps: Vec<u64> = (100..140).collect();
        let text = format!(r#"{{"steps":{steps:?},"live_bytes":{values:?},"rss_bytes":null}}"#);
        let expected = Answer {
            verdict: "leak",
            suspected: false,
            bytes_per_step: Some(1_000_000.0),
            interval: None,
            since_step: Some(100),
        };
        let told = answer(&text).unwrap();
        let (low, high) = told.interval.unwrap();
        assert!(low <= 1_000_000.0 && 1_000_000.0 <= high && high - low < 50_000.0, "{told:?}");
        assert_eq!(
            Answer { interval: None, bytes_per_step: told.bytes_per_step.map(f64::round), ..told },
            expected
        );
    }

    #[test]
    fn nothing_known_is_undecided() {
        for text in [
            r#"{"steps":[1,2,3],"live_bytes":null,"mature_bytes":null,"rss_bytes":null,"limit_bytes":null}"#,
            r#"{"steps":[1,2,3],"live_bytes":[null,null,null],"rss_bytes":[5,null,6]}"#,
        ] {
            let told = answer(text).unwrap();
            assert_eq!((told.verdict, told.bytes_per_step), ("undecided", None), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |text: &str| answer(text).unwrap_err();
        assert!(said("").contains("is empty"));
        assert!(said(r#"{"steps":[]}"#).contains("`steps` is empty"));
        assert!(said(r#"{"steps":[1,2],"live_bytes":[1]}"#).contains("1 values for 2 steps"));
        assert!(said(r#"{"steps":[1],"live_bytes":[NaN]}"#).contains("no series of memory"));
        assert!(said(r#"{"steps":[1],"rss_bytes":[-1]}"#).contains("at least 0 bytes"));
    }
}
