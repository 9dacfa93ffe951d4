//! The page that the parts of the text report write on: lines of at most 100 columns, whatever the names in
//! them hold, and colours where they are asked for.

use super::width;
use crate::document::Tone;
use crate::document::names::printable;

/// Columns of a line.
pub(super) const COLUMNS: usize = 100;

const fn escape(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Strong => "\u{1b}[1m",
        Tone::Dim => "\u{1b}[2m",
        Tone::Good => "\u{1b}[1;32m",
        Tone::Notice => "\u{1b}[1;33m",
        Tone::Alarm => "\u{1b}[1;31m",
    }
}

/// Lines written so far.
#[derive(Debug)]
pub(super) struct Page {
    text: String,
    color: bool,
}

impl Page {
    pub(super) fn new(color: bool) -> Self {
        Self { text: String::new(), color }
    }

    /// One line; what does not fit is cut out of its middle.
    pub(super) fn line(&mut self, tone: Tone, text: &str) {
        let line = width::elide(printable(text).trim_end(), COLUMNS);
        if self.color && tone != Tone::Plain {
            self.text.push_str(escape(tone));
            self.text.push_str(&line);
            self.text.push_str("\u{1b}[0m");
        } else {
            self.text.push_str(&line);
        }
        self.text.push('\n');
    }

    /// One plain line.
    pub(super) fn plain(&mut self, text: &str) {
        self.line(Tone::Plain, text);
    }

    /// A blank line and a heading.
    pub(super) fn heading(&mut self, text: &str) {
        self.blank();
        self.line(Tone::Strong, text);
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Running text, wrapped; `first` goes before its first line and as many blanks before the others.
    pub(super) fn paragraph(&mut self, tone: Tone, first: &str, text: &str) {
        let indent = width::of(first);
        let mut lead = first.to_owned();
        for line in width::wrap(&printable(text), COLUMNS.saturating_sub(indent)) {
            self.line(tone, &format!("{lead}{line}"));
            lead = " ".repeat(indent);
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}
