//! What a JSON file is that holds no spans, in words, and what to give instead. Told from the names in its beginning.

use crate::json_cursor::Cursor;

/// Names that are shown of a file of another kind.
const SHOWN: usize = 4;

/// Names of the members of an object, or of the first object of a list; one inside of it is looked at for a few.
#[derive(Default)]
struct Names<'a> {
    is_list: bool,
    is_object: bool,
    /// With the beginning of each value.
    members: Vec<(&'a [u8], &'a [u8])>,
}

impl<'a> Names<'a> {
    fn of(text: &'a [u8]) -> Self {
        let mut names = Self { is_list: text.first() == Some(&b'['), ..Self::default() };
        let mut cursor = Cursor::new(text);
        // That a beginning ends early is expected.
        if names.is_list {
            let _ = cursor.elements(|cursor| {
                names.walk(cursor, text);
                None
            });
        } else {
            names.walk(&mut cursor, text);
        }
        names
    }

    fn walk(&mut self, cursor: &mut Cursor<'a>, text: &'a [u8]) {
        self.is_object = cursor.peek() == Some(b'{');
        let _ = cursor.members(|cursor, key| {
            self.members.push((key, text.get(cursor.pos()..).unwrap_or_default()));
            cursor.value().map(drop)
        });
    }

    fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.members.iter().find(|(key, _)| *key == name.as_bytes()).map(|(_, value)| *value)
    }

    fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The names in the first object of a list among the members.
    fn first_in(&self, name: &str) -> Names<'a> {
        self.get(name).filter(|value| value.first() == Some(&b'[')).map(Names::of).unwrap_or_default()
    }
}

/// Members whose presence tells what a file is, and what to say of it.
const BY_NAME: &[(&str, &str)] = &[
    ("traceEvents", "Chrome trace events without a slice in them; check that something was recorded"),
    ("resourceLogs", "OTLP logs, which hold no spans; export traces, too"),
    ("resourceMetrics", "OTLP metrics, none of which are read, and no spans; export traces, too"),
    ("resourceProfiles", "OTLP profiles, which hold no spans; export traces, too"),
    ("resourceSpans", "OTLP traces without a span in them; check that the program ran and flushed its spans"),
    ("batches", "OTLP traces without a span in them; fetch the trace again by its id"),
    ("shared", "a profile of speedscope, which holds no spans; record spans instead"),
    ("nodes", "a CPU profile, which holds no spans; record spans instead"),
];

/// A file in which nothing is damaged, and that nothing more is known of.
pub(crate) const SOUND: &str = "a valid file that holds no spans";

/// Whether this was said of another signal of OpenTelemetry.
pub(crate) fn is_signal(said: &str) -> bool {
    let signals = ["resourceLogs", "resourceMetrics", "resourceProfiles"];
    said == SOUND || BY_NAME.iter().any(|(name, of)| signals.contains(name) && *of == said)
}

/// What the file that begins with `text`, without blanks, is; `None` where that is no JSON.
pub(crate) fn what(text: &[u8]) -> Option<String> {
    let names = Names::of(text);
    let traces = names.first_in("traces");
    let known = if !names.is_list && !names.is_object {
        return None;
    } else if names.members.is_empty() {
        let is_empty =
            |close: u8| text.get(1..).is_some_and(|rest| rest.trim_ascii_start().first() == Some(&close));
        match names.is_list {
            true if is_empty(b']') => "an empty JSON list",
            false if is_empty(b'}') => "an empty JSON object",
            true => "a JSON list of something else than objects",
            false => return None,
        }
    } else if traces.has("rootServiceName") || traces.has("rootTraceName") || traces.has("durationMs") {
        "an answer of Tempo's search, which holds no spans; fetch each trace by its id (`/api/traces/ID`) instead"
    } else if names.has("traceID") && names.has("spans") {
        "a trace of Jaeger without a span in it; fetch the trace again by its id"
    } else if names.has("traceID") && names.has("spanID") {
        "spans of Jaeger without a trace around them, which are not read; export whole traces (`/api/traces/ID`) instead"
    } else if names.has("traceId")
        && names.has("id")
        && (names.has("timestamp") || names.has("localEndpoint"))
    {
        "spans of Zipkin, which are not read; export OTLP or Jaeger JSON instead"
    } else if let Some(data) = names.get("data") {
        match data.trim_ascii_start() {
            [b'[', rest @ ..] if rest.trim_ascii_start().first() == Some(&b'"') => {
                "an answer of Jaeger that lists names; fetch traces (`/api/traces?service=NAME`) instead"
            }
            _ => "an answer of Jaeger without a trace in it; widen the query, or check the id of the trace",
        }
    } else if names.has("traces") {
        "an answer without a trace in it; widen the query, or check the id of the trace"
    } else {
        let known = BY_NAME.iter().find(|(name, _)| names.has(name));
        let Some((_, said)) = known else { return Some(other(&names)) };
        said
    };
    Some(known.to_owned())
}

fn other(names: &Names<'_>) -> String {
    let shown: Vec<String> = names
        .members
        .iter()
        .take(SHOWN)
        .map(|(name, _)| String::from_utf8_lossy(name.get(..40).unwrap_or(name)).into_owned())
        .collect();
    let more = if names.members.len() > SHOWN { ", …" } else { "" };
    format!("JSON of another kind (with {}{more}), which holds no spans", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_something_else_is_named_with_what_to_give_instead() {
        for (text, said) in [
            (
                r#"{"traces":[{"traceID":"2f","rootServiceName":"a","durationMs":3}],"metrics":{}}"#,
                "Tempo's search",
            ),
            (r#"{"traceID":"abc","spans":[]}"#, "a trace of Jaeger without a span"),
            (r#"{"traceID":"1","spanID":"2","operationName":"x"}"#, "spans of Jaeger without a trace"),
            (r#"{"data":["frontend","driver"],"total":2}"#, "lists names"),
            (r#"{"data":[],"total":0}"#, "without a trace in it; widen"),
            (r#"{"resourceLogs":[{"scopeLogs":[]}]}"#, "OTLP logs"),
            (r#"{"resourceSpans":[]}"#, "OTLP traces without a span"),
            (r#"{"resourceProfiles":[{"#, "OTLP profiles"),
            (r#"[{"traceId":"1","id":"2","timestamp":3}]"#, "Zipkin"),
            (r#"{"traceEvents":[]}"#, "Chrome trace events without a slice"),
            ("{}", "an empty JSON object"),
            ("[ ]", "an empty JSON list"),
            ("[1,2]", "something else than objects"),
            (r#"{"a":1,"b":2,"c":3,"d":4,"e":5}"#, "of another kind (with a, b, c, d, …)"),
        ] {
            let what = what(text.as_bytes()).unwrap();
            assert!(what.contains(said), "{text}: {what}");
        }
        assert_eq!((what(b"hello"), what(b"\0\0"), what(b"")), (None, None, None));
    }
}
