//! A JSON list of OTLP messages, as tools that collect lines into one document write it.

use super::{Format, LOOK, is_empty_list};
use crate::elements;
use crate::input::Input;
use crate::json_cursor::Cursor;
use crate::reading::Reading;
use crate::structure::blank_prefix;

pub(crate) static FORMAT: Format = Format {
    name: "OTLP JSON list",
    doc: "OTLP JSON messages, or answers of Jaeger's or Tempo's API that hold one, in a list.",
    sniff,
    read: elements::read,
};

fn sniff(input: &mut Input<'_>, _: &mut Reading<'_>) -> bool {
    input.fill(LOOK);
    let begin = input.data().get(blank_prefix(input.data())..).unwrap_or_default();
    let mut found = is_empty_list(begin);
    let _ = Cursor::new(begin).elements(|cursor| {
        found = elements::is_message(begin.get(cursor.pos()..).unwrap_or_default());
        None
    });
    found
}
