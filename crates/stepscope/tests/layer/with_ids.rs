//! Ids in the lines of `tracing_subscriber::fmt`: those of the spans that are recorded.

use std::collections::BTreeMap;

use crate::common::{Program, Recording, check};

/// How often the program says where it is.
const SAID: [(&str, usize); 6] =
    [("alone", 1), ("conv", 1), ("forward", 1), ("other", 2), ("outside", 3), ("step", 2)];

/// Ids in front of a line, if there are some, and the rest of it.
type Line = (Option<(String, String)>, String);

/// The lines of the program's log, and what it recorded.
fn run(form: &str, place: &str, read: impl Fn(&str) -> Line) -> (Vec<Line>, Recording) {
    let ended = Program::new(&["with_ids", form, place]).succeed();
    assert_eq!(ended.warnings(), [""; 0]);
    let recording = ended.recording();
    check::all(&recording);
    (ended.stdout.lines().map(read).collect(), recording)
}

/// A line of text.
fn text(line: &str) -> Line {
    let ids = line.strip_prefix("trace_id=").map(|rest| {
        let (trace, rest) = rest.split_once(" span_id=").unwrap();
        let (span, rest) = rest.split_once(' ').unwrap();
        ((trace.to_owned(), span.to_owned()), rest.to_owned())
    });
    ids.map_or_else(|| (None, line.to_owned()), |(ids, rest)| (Some(ids), rest))
}

/// A line that is an object, and its message.
fn json(line: &str) -> Line {
    let object: BTreeMap<String, serde_json::Value> = serde_json::from_str(line).unwrap();
    let member = |name: &str| Some(object.get(name)?.as_str().unwrap().to_owned());
    let message = object.get("fields").map_or_else(|| object.get("message"), |fields| fields.get("message"));
    let ids = member("trace_id").zip(member("span_id"));
    assert_eq!(line.starts_with(r#"{"trace_id":""#), ids.is_some(), "{line}");
    (ids, message.and_then(serde_json::Value::as_str).unwrap_or_default().to_owned())
}

/// Holds the ids of what says where it is against the spans of these names.
fn check_ids(lines: &[Line], recording: &Recording, has_spans: bool) {
    let mut said = BTreeMap::new();
    for (ids, line) in lines {
        let mut words = line.split_whitespace();
        let place = match (words.find(|word| ["in", "outside"].contains(word)), words.next()) {
            (Some("outside"), _) => "outside",
            (Some(_), Some(name)) => name,
            _ => continue,
        };
        *said.entry(place).or_insert(0) += 1;
        let expected = (place != "outside").then(|| {
            let span = recording.only(place);
            (format!("{:032x}", u128::from_be_bytes(span.trace)), format!("{:016x}", span.id))
        });
        assert_eq!(*ids, expected, "{line}");
    }
    let mut expected = BTreeMap::from(SAID);
    expected.entry("other").and_modify(|times| *times -= usize::from(!has_spans));
    assert_eq!(said, expected);
}

#[test]
fn lines_have_the_ids_of_where_they_are() {
    for place in ["below", "above", "filtered"] {
        let (lines, recording) = run("text", place, text);
        check_ids(&lines, &recording, place != "filtered");
        // The line is otherwise what it was.
        assert!(
            lines.iter().all(|(_, line)| line.contains(" INFO ") && line.contains("programs::with_ids: "))
        );
    }
}

#[test]
fn no_line_has_ids_that_nobody_writes() {
    let ended = Program::new(&["with_ids", "text", "below"]).env("STEPSCOPE_LEVEL", "basic").succeed();
    let step = ended.recording().only("step").id;
    for (ids, line) in ended.stdout.lines().map(text) {
        // Within the step all of them are the step's, and outside of it there are none.
        let is_within =
            ["in step", "in forward", "in conv", "object", "{}"].iter().any(|words| line.contains(words));
        let expected = is_within.then(|| format!("{step:016x}"));
        assert_eq!(ids.map(|(_, span)| span), expected, "{line}");
    }
}

#[test]
fn objects_have_them_as_members() {
    for (form, place) in [("json", "below"), ("json", "above"), ("flat", "below")] {
        let (lines, recording) = run(form, place, json);
        check_ids(&lines, &recording, true);
    }
}

#[test]
fn text_that_only_begins_as_an_object_is_text() {
    let (lines, recording) =
        run("bare", "below", |line| if line.starts_with('{') { json(line) } else { text(line) });
    check_ids(&lines, &recording, true);
    let of_step = lines.iter().find(|(_, line)| line.starts_with("in step")).unwrap().0.clone();
    let last: Vec<&Line> = lines.iter().rev().take(3).rev().collect();
    let expected = [(of_step.clone(), "{no object".to_owned()), (of_step, String::new())];
    assert_eq!(last[..2], [&expected[0], &expected[1]]);
}
