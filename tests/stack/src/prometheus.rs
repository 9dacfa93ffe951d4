//! Asking the real Prometheus, as Grafana does: over HTTP, for a time range or for now. What is asked is in `boards`.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::http;
use crate::program::parse;

/// The time range that a board shows, seconds back from now; `$__range`.
pub const RANGE_S: u64 = 1_800;
/// Grafana's step for that range where the data source says that is scraped every 10 s; `$__interval`.
pub const STEP_S: u64 = 10;

/// A running Prometheus.
#[derive(Debug, Clone, Copy)]
pub struct Prometheus<'a> {
    /// Host and port.
    pub address: &'a str,
}

/// Text as a part of an address.
#[must_use]
pub fn encoded(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Seconds since the Unix epoch.
#[must_use]
pub fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// The time range that ends now, as parameters have it.
fn range() -> (String, String) {
    let end = now_s();
    (format!("{:.3}", end - RANGE_S as f64), format!("{end:.3}"))
}

impl Prometheus<'_> {
    /// The `data` of an answer.
    ///
    /// # Errors
    /// When it does not answer, or with an error.
    pub fn ask(&self, path: &str, parameters: &[(&str, &str)]) -> Result<Value, String> {
        let query: Vec<String> =
            parameters.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        let answer = http::get(self.address, &format!("/api/v1/{path}?{}", query.join("&")))?;
        Ok(parse(&answer)?["data"].take())
    }

    /// Series of a query over the time range, or now; those without a number are left out, as in a panel.
    ///
    /// # Errors
    /// As of [`ask`](Self::ask).
    pub fn series(&self, query: &str, is_range: bool) -> Result<Vec<Value>, String> {
        let ((start, end), step) = (range(), STEP_S.to_string());
        let mut answer = if is_range {
            self.ask("query_range", &[("query", query), ("start", &start), ("end", &end), ("step", &step)])?
        } else {
            self.ask("query", &[("query", query), ("time", &end)])?
        };
        let Value::Array(series) = answer["result"].take() else {
            return Err(format!("{query}: no series but {answer}"));
        };
        let is_number = |point: &Value| point[1].as_str().is_some_and(|text| text != "NaN");
        let has_numbers = |one: &Value| {
            let points = one["values"].as_array().into_iter().flatten();
            points.chain([&one["value"]]).any(is_number)
        };
        Ok(series.into_iter().filter(has_numbers).collect())
    }

    /// The exemplars of the series of a query over the time range.
    ///
    /// # Errors
    /// As of [`ask`](Self::ask).
    pub fn exemplars(&self, query: &str) -> Result<Vec<Value>, String> {
        let (start, end) = range();
        let answer = self.ask("query_exemplars", &[("query", query), ("start", &start), ("end", &end)])?;
        let series = answer.as_array().into_iter().flatten();
        Ok(series.filter_map(|one| one["exemplars"].as_array()).flatten().cloned().collect())
    }

    /// The values of a label of series in the time range.
    ///
    /// # Errors
    /// As of [`ask`](Self::ask).
    pub fn values(&self, series: &str, label: &str) -> Result<Vec<String>, String> {
        let (start, end) = range();
        let path = format!("label/{label}/values");
        let answer = self.ask(&path, &[("match[]", series), ("start", &start), ("end", &end)])?;
        let values = answer.as_array().ok_or_else(|| format!("{series}: no values but {answer}"))?;
        Ok(values.iter().filter_map(|value| value.as_str().map(str::to_owned)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_plain_is_encoded() {
        assert_eq!(encoded("a_b{c=~\".*\"}é"), "a_b%7Bc%3D~%22.%2A%22%7D%C3%A9");
    }
}
