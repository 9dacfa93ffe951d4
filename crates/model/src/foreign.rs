//! What a JSON file is that holds no spans, in words, and what to give instead. Told from the names in its beginning.

use crate::json_cursor::Cursor;

/// Names that are shown of a file of another kind.
const SHOWN: usize = 4;
/// Bytes at the end of an answer in which its status is looked for.
const MAX_STATUS: usize = 1_024;
/// Bytes that are shown of what a server says.
const MAX_ERROR: usize = 200;

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

/// Files that are no JSON, by their first bytes, and what to say of them.
const BY_MAGIC: &[(&[u8], &str)] = &[
    (b"\xff\xfe", "text in UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16; save it as UTF-8"),
    (b"PK\x03\x04", "a zip archive; unpack it"),
    (b"\xfd7zXZ\0", "packed with xz; unpack it"),
    (b"BZh", "packed with bzip2; unpack it"),
    (b"SQLite format 3\0", "a database; export it as JSON"),
    (b"version https://git-lfs", "a pointer of Git LFS; fetch the file itself (`git lfs pull`)"),
    (b"<", "HTML or XML, such as an error page; fetch the trace again"),
    (&[0; 16], "zeros at the beginning, as a crash leaves them"),
];
/// Where a tar archive says what it is.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// What is said of spans of OTLP that were taken out of their document.
const BARE_SPANS: &str = "spans of OTLP without `resourceSpans` around them, which are not read; give the document as it was exported";

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
        let is_tar = text.get(TAR.0..).is_some_and(|rest| rest.starts_with(TAR.1));
        let known = BY_MAGIC.iter().find(|(magic, _)| text.starts_with(magic)).map(|(_, said)| *said);
        return known.or(is_tar.then_some("a tar archive; unpack it")).map(str::to_owned);
    } else if let Some(error) = error(&names) {
        return Some(error);
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
    } else if names.has("traceId") && names.has("spanId")
        || names.has("scopeSpans")
        || names.first_in("spans").has("traceId")
        || traces.has("resourceSpans")
    {
        BARE_SPANS
    } else if names.has("SpanContext") || names.has("context") && names.has("parent_id") {
        "spans printed for people, which are not read; export OTLP, to the collector or to a file"
    } else if names.has("ph") && names.has("name") {
        "trace events without a list around them, which are not read; put them in one (`jq -s .`)"
    } else if names.has("hits") && names.has("took") {
        "an answer of Elasticsearch without a span of Jaeger in it; search the indices `*jaeger-span-*`, or widen the query"
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

/// Whether an answer of Tempo says, behind the trace in it, that more is not in it.
pub(crate) fn is_part(answer: &[u8]) -> bool {
    let begin = answer.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    let end = answer.get(answer.len().saturating_sub(MAX_STATUS)..).unwrap_or(answer);
    begin.is_some_and(|begin| begin.starts_with(b"\"trace\""))
        && [&b"\"PARTIAL\""[..], b"\"status\""]
            .iter()
            .all(|word| end.windows(word.len()).any(|is| is == *word))
}

/// What the errors in an answer say, in the first of them.
pub(crate) fn errors(list: &[u8]) -> Option<String> {
    let errors = Names::of(list);
    let said = errors.get("msg").or(errors.get("message"));
    said.and_then(|text| Cursor::at(text, 0).string())
        .map(|text| String::from_utf8_lossy(text.get(..MAX_ERROR).unwrap_or(text)).into_owned())
}

/// What a server says that has no traces to give.
fn error(names: &Names<'_>) -> Option<String> {
    let errors = names.first_in("errors");
    let text = |names: &Names<'_>, name: &str| {
        let range = Cursor::at(names.get(name)?, 0).string()?;
        (!range.is_empty())
            .then(|| String::from_utf8_lossy(range.get(..MAX_ERROR).unwrap_or(range)).into_owned())
    };
    let is_error = names.has("error") || names.has("code") && names.has("message");
    let own = || text(names, "error").or_else(|| text(names, "message"));
    let said = text(&errors, "msg").or_else(|| own().filter(|_| is_error && !names.has("data")))?;
    Some(format!("an answer without traces: the server says {said:?}"))
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
            (r#"{"took":3,"hits":{"total":{"value":0},"hits":[]}}"#, "an answer of Elasticsearch without"),
            (r#"{"data":["frontend","driver"],"total":2}"#, "lists names"),
            (r#"{"data":[],"total":0}"#, "without a trace in it; widen"),
            (r#"{"resourceLogs":[{"scopeLogs":[]}]}"#, "OTLP logs"),
            (r#"{"resourceSpans":[]}"#, "OTLP traces without a span"),
            (r#"{"resourceProfiles":[{"#, "OTLP profiles"),
            (r#"[{"traceId":"1","id":"2","timestamp":3}]"#, "Zipkin"),
            (r#"{"traceEvents":[]}"#, "Chrome trace events without a slice"),
            (
                r#"{"data":null,"errors":[{"code":500,"msg":"elasticsearch: refused"}]}"#,
                "says \"elasticsearch: refused\"",
            ),
            (r#"{"error":"not found","code":5}"#, "says \"not found\""),
            (r#"[{"traceId":"1","spanId":"2","name":"x"}]"#, "spans of OTLP without `resourceSpans`"),
            (r#"{"traces":[{"resourceSpans":[]}]}"#, "spans of OTLP without `resourceSpans`"),
            (
                r#"{"name":"x","context":{"trace_id":"0x1"},"kind":"y","parent_id":null}"#,
                "printed for people",
            ),
            ("{}", "an empty JSON object"),
            ("[ ]", "an empty JSON list"),
            ("[1,2]", "something else than objects"),
            (r#"{"a":1,"b":2,"c":3,"d":4,"e":5}"#, "of another kind (with a, b, c, d, …)"),
        ] {
            let what = what(text.as_bytes()).unwrap();
            assert!(what.contains(said), "{text}: {what}");
        }
        for (bytes, said) in [
            (&b"\xff\xfe{\0\"\0"[..], "UTF-16"),
            (b"PK\x03\x04\x14\0", "zip"),
            (b"<html><body>502", "HTML"),
            (&[0; 64], "zeros at the beginning"),
        ] {
            assert!(what(bytes).unwrap().contains(said));
        }
        assert_eq!((what(b"hello"), what(b"\0\0"), what(b"")), (None, None, None));
    }
}
