//! Format `json`: the report as one object, described by `schema/report.schema.json`. Indented down to the
//! elements of its lists, so that it reads and compares by the line; each element is one line, so that long
//! series stay small.

use std::io;

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use super::{Options, Output, RenderError, Renderer};
use crate::report::Report;

pub(super) const RENDERER: Renderer = Renderer {
    name: "json",
    about: "for programs, described by a JSON Schema",
    output: Output::Text(render),
};

/// Nesting down to which every value has a line of its own.
const INDENTED: usize = 2;

fn render(report: &Report, _: Options) -> Result<String, RenderError> {
    lines(report).map_err(RenderError)
}

/// JSON with line breaks at the outer levels of nesting.
fn lines(value: &impl Serialize) -> Result<String, String> {
    let mut text = Vec::new();
    let lines = Lines { depth: 0, is_empty: true };
    value.serialize(&mut Serializer::with_formatter(&mut text, lines)).map_err(|error| error.to_string())?;
    text.push(b'\n');
    String::from_utf8(text).map_err(|error| error.to_string())
}

/// Breaks lines at the outer levels.
struct Lines {
    depth: usize,
    /// Whether the list or object that is being written has no element yet.
    is_empty: bool,
}

impl Lines {
    fn open(&mut self) {
        self.depth += 1;
        self.is_empty = true;
    }

    fn close<W: io::Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        if self.depth <= INDENTED && !self.is_empty {
            line(self.depth - 1, to)?;
        }
        self.depth -= 1;
        self.is_empty = false;
        Ok(())
    }

    fn next<W: io::Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if !first {
            to.write_all(b",")?;
        }
        self.is_empty = false;
        if self.depth <= INDENTED { line(self.depth, to) } else { Ok(()) }
    }
}

fn line<W: io::Write + ?Sized>(depth: usize, to: &mut W) -> io::Result<()> {
    to.write_all(b"\n")?;
    (0..depth).try_for_each(|_| to.write_all(b"  "))
}

impl Formatter for Lines {
    fn begin_array<W: io::Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.open();
        to.write_all(b"[")
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to)?;
        to.write_all(b"]")
    }

    fn begin_array_value<W: io::Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.next(to, first)
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.open();
        to.write_all(b"{")
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        self.close(to)?;
        to.write_all(b"}")
    }

    fn begin_object_key<W: io::Write + ?Sized>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        self.next(to, first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(if self.depth <= INDENTED { b": " } else { b":" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> serde_json::Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn outer_levels_are_lines_and_inner_ones_are_not() {
        let compact = r#"{"a":[{"b":[1,2],"c":{}},3],"d":{},"e":[],"f":{"g":null}}"#;
        let expected = "{\n  \"a\": [\n    {\"b\":[1,2],\"c\":{}},\n    3\n  ],\n  \"d\": {},\n  \"e\": [],\n  \
                        \"f\": {\n    \"g\": null\n  }\n}\n";
        assert_eq!(lines(&value(compact)).unwrap(), expected);
    }

    #[test]
    fn strings_are_left_alone() {
        let text = r#"{"a,b":"{[:,\"]}\\","c":"\\\""}"#;
        assert_eq!(
            lines(&value(text)).unwrap(),
            "{\n  \"a,b\": \"{[:,\\\"]}\\\\\",\n  \"c\": \"\\\\\\\"\"\n}\n"
        );
        assert_eq!(value(&lines(&value(text)).unwrap()), value(text));
    }
}
