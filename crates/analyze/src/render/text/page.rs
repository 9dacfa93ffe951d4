//! The page that the parts of the text report write on: lines of at most 80 columns, whatever the names in
//! them hold, and colours where they are asked for.

use super::width;
use crate::render::common::names::printable;

/// Columns of a line.
pub(super) const COLUMNS: usize = 80;

/// How a line looks where colours are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Plain,
    Heading,
    Dim,
    Good,
    Notice,
    Alarm,
}

impl Look {
    const fn escape(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Heading => "\u{1b}[1m",
            Self::Dim => "\u{1b}[2m",
            Self::Good => "\u{1b}[1;32m",
            Self::Notice => "\u{1b}[1;33m",
            Self::Alarm => "\u{1b}[1;31m",
        }
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
    pub(super) fn line(&mut self, look: Look, text: &str) {
        let line = width::elide(printable(text).trim_end(), COLUMNS);
        if self.color && look != Look::Plain {
            self.text.push_str(look.escape());
            self.text.push_str(&line);
            self.text.push_str("\u{1b}[0m");
        } else {
            self.text.push_str(&line);
        }
        self.text.push('\n');
    }

    /// One plain line.
    pub(super) fn plain(&mut self, text: &str) {
        self.line(Look::Plain, text);
    }

    /// A blank line and a heading.
    pub(super) fn heading(&mut self, text: &str) {
        self.blank();
        self.line(Look::Heading, text);
    }

    pub(super) fn blank(&mut self) {
        self.text.push('\n');
    }

    /// Running text, wrapped; `first` goes before its first line and as many blanks before the others.
    pub(super) fn paragraph(&mut self, look: Look, first: &str, text: &str) {
        let indent = width::of(first);
        let mut lead = first.to_owned();
        for line in width::wrap(&printable(text), COLUMNS.saturating_sub(indent)) {
            self.line(look, &format!("{lead}{line}"));
            lead = " ".repeat(indent);
        }
    }

    /// What a bounded list left out; `one` and `several` name it.
    pub(super) fn more(&mut self, all: usize, shown: usize, one: &str, several: &str) {
        if all > shown {
            let left_out = crate::report::units::count((all - shown) as u64);
            let what = if all - shown == 1 { one } else { several };
            self.line(Look::Dim, &format!("  and {left_out} more {what} (--format json has them all)"));
        }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// Bytes without blanks: `1.50KiB`.
pub(super) fn tight_bytes(count: u64) -> String {
    crate::report::units::bytes(count).replace(' ', "")
}

/// A share in at most five columns: `48%`, `4.2%`, `<0.1%`.
pub(super) fn tight_percent(share: f64) -> String {
    let value = share * 100.0;
    if !value.is_finite() {
        "?".into()
    } else if value == 0.0 {
        "0%".into()
    } else if value < 0.05 {
        "<0.1%".into()
    } else if value < 9.95 {
        format!("{value:.1}%")
    } else {
        format!("{value:.0}%")
    }
}

/// What stands for a figure that is not known.
pub(super) fn known<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".into(), show)
}
