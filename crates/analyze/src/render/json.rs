//! Format `json`: the report as one object, described by `schema/report.schema.json`. Indented down to the
//! elements of its lists, so that it reads and compares by the line; each element is one line, so that long
//! series stay small.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use super::{Options, RenderError, Renderer};
use crate::report::Report;

pub(super) const RENDERER: Renderer =
    Renderer { name: "json", about: "for programs, described by a JSON Schema", render };

/// Nesting down to which every value has a line of its own.
const INDENTED: usize = 2;

fn render(report: &Report, _: Options) -> Result<String, RenderError> {
    let wrong = |error: &dyn std::fmt::Display| RenderError(error.to_string());
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Lines::default());
    report.serialize(&mut serializer).map_err(|error| wrong(&error))?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(|error| wrong(&error))
}

/// Indents the outer levels only.
#[derive(Debug, Default)]
struct Lines {
    depth: usize,
    has_value: bool,
}

impl Lines {
    fn open(&mut self) {
        self.depth += 1;
        self.has_value = false;
    }

    fn close<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        let is_indented = self.has_value && self.depth <= INDENTED;
        self.depth = self.depth.saturating_sub(1);
        if is_indented { self.line(writer) } else { Ok(()) }
    }

    fn separate<W: Write + ?Sized>(&self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        if self.depth <= INDENTED { self.line(writer) } else { Ok(()) }
    }

    fn line<W: Write + ?Sized>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b"  "))
    }
}

impl Formatter for Lines {
    fn begin_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open();
        writer.write_all(b"[")
    }

    fn end_array<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer)?;
        writer.write_all(b"]")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.separate(writer, first)
    }

    fn end_array_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }

    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open();
        writer.write_all(b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer)?;
        writer.write_all(b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.separate(writer, first)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(if self.depth <= INDENTED { b": " } else { b":" })
    }

    fn end_object_value<W: Write + ?Sized>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}
