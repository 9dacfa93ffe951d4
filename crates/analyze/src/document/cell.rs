//! What stands in a table or a sentence: figures with their unit and their place in the JSON report, names, words. How
//! each format writes them, and what it escapes, is said there.

use serde_json::Number;

use super::names::named_path;
use crate::report::units::{
    byte_rate, bytes as bytes_words, count as count_words, duration, percent, rate, short_count,
    short_duration, signed_bytes,
};

/// Something shown.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) enum Cell {
    /// Nothing.
    #[default]
    Empty,
    /// Stands for a figure that is not there, and says why.
    Absent(&'static str),
    /// Words of ours, which hold nothing that a format takes for more.
    Raw(String),
    /// Text as it is.
    Plain(String),
    /// Sentences; what stands between backticks is a name.
    Text(String),
    /// Words of the user's own, which may be long.
    Words(String),
    /// A name.
    Code(String),
    /// Names with slashes between.
    Path(String),
    /// The same among words.
    Slashes(String),
    /// A figure.
    Figure(Figure),
    /// Shares of one, each with its colour, one after the other.
    Bar(Vec<(String, f64)>),
    /// What a colour stands for; the colour is that of an area or of a line.
    Key { color: String, is_line: bool, cell: Box<Self> },
    /// A colour by itself.
    Swatch(String),
    /// What stays on one line.
    Together(Box<Self>),
    /// A link within the page, and what its scripts do.
    Link { to: &'static str, does: (&'static str, String), cell: Box<Self> },
    /// One after the other.
    Row(Vec<Self>),
}

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    /// Its place in the JSON report, below that of the row that it stands in.
    pub(crate) at: String,
    /// Its value there.
    pub(crate) value: Number,
    /// How it is said.
    pub(crate) unit: Unit,
    /// Whether a column of a terminal has to hold it.
    pub(crate) is_short: bool,
}

/// What a figure is of.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Unit {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bytes more or less.
    BytesChange,
    /// Bytes a second.
    ByteRate,
    /// Things a second.
    Rate(&'static str),
    /// A share of one.
    Share,
    /// A number of things.
    Count,
    /// A number that is a name.
    Name,
    /// Said in words that are its own.
    Words(String),
}

impl Figure {
    /// In words.
    #[must_use]
    pub(crate) fn words(&self) -> String {
        let float = self.value.as_f64().unwrap_or(0.0);
        let whole = self.value.as_u64().unwrap_or(float.round() as u64);
        match (&self.unit, self.is_short) {
            (Unit::Time, false) => duration(whole),
            (Unit::Time, true) => short_duration(whole),
            (Unit::Bytes, false) => bytes_words(whole),
            (Unit::Bytes, true) => bytes_words(whole).replace(' ', ""),
            (Unit::BytesChange, _) => signed_bytes(self.value.as_i64().unwrap_or(float.round() as i64)),
            (Unit::ByteRate, _) => byte_rate(float),
            (Unit::Rate(what), _) => rate(float, what),
            (Unit::Share, false) => percent(float),
            (Unit::Share, true) => tight_percent(float),
            (Unit::Count, false) => count_words(whole),
            (Unit::Count, true) => short_count(whole),
            (Unit::Name, _) => self.value.to_string(),
            (Unit::Words(words), _) => words.clone(),
        }
    }
}

/// A share in at most five columns: `48%`, `4.2%`, `<0.1%`.
fn tight_percent(share: f64) -> String {
    match share * 100.0 {
        value if !value.is_finite() => "?".into(),
        0.0 => "0%".into(),
        value if value < 0.05 => "<0.1%".into(),
        value if value < 9.95 => format!("{value:.1}%"),
        value => format!("{value:.0}%"),
    }
}

/// Stands for what is not known.
pub(crate) const UNKNOWN: Cell = Cell::Absent("not known");

/// A figure of any unit.
pub(crate) fn figure(value: Option<impl Into<Number>>, unit: Unit) -> Cell {
    value.map_or(UNKNOWN, |value| {
        Cell::Figure(Figure { at: String::new(), value: value.into(), unit, is_short: false })
    })
}

/// A time.
pub(crate) fn ns(value: impl Into<Option<u64>>) -> Cell {
    figure(value.into(), Unit::Time)
}

/// A size.
pub(crate) fn bytes(value: impl Into<Option<u64>>) -> Cell {
    figure(value.into(), Unit::Bytes)
}

/// A size with its sign.
pub(crate) fn change(value: i64) -> Cell {
    figure(Some(value), Unit::BytesChange)
}

/// A number of things.
pub(crate) fn count(value: impl Into<Option<u64>>) -> Cell {
    figure(value.into(), Unit::Count)
}

/// A share of one.
pub(crate) fn share(value: impl Into<Option<f64>>) -> Cell {
    float(value, Unit::Share)
}

/// A rank, or any number that is a name.
pub(crate) fn number(value: Option<i64>) -> Cell {
    figure(value, Unit::Name)
}

/// A figure with a fraction.
pub(crate) fn float(value: impl Into<Option<f64>>, unit: Unit) -> Cell {
    figure(value.into().and_then(Number::from_f64), unit)
}

/// A name.
pub(crate) fn code(name: &str) -> Cell {
    Cell::Code(name.into())
}

/// The path of a section; names in it that are empty say so.
pub(crate) fn path(path: &str) -> Cell {
    Cell::Path(named_path(path))
}

/// A name, or a sign that there is none.
pub(crate) fn code_or(name: Option<&str>, none: Cell) -> Cell {
    name.map_or(none, code)
}

/// A bar of a share of one.
pub(crate) fn bar(share: f64, color: impl Into<String>) -> Cell {
    Cell::Bar(vec![(color.into(), share)])
}

/// The colour of an area and what it stands for.
pub(crate) fn keyed(color: impl Into<String>, cell: impl Into<Cell>) -> Cell {
    Cell::Key { color: color.into(), is_line: false, cell: Box::new(cell.into()) }
}

/// The look of a line and what it stands for.
pub(crate) fn keyed_line(color: impl Into<String>, cell: impl Into<Cell>) -> Cell {
    Cell::Key { color: color.into(), is_line: true, cell: Box::new(cell.into()) }
}

impl Cell {
    /// The same figure with its place.
    #[must_use]
    pub(crate) fn at(mut self, at: impl Into<String>) -> Self {
        if let Self::Figure(figure) = &mut self {
            figure.at = at.into();
        }
        self
    }

    /// The same figure in few letters.
    #[must_use]
    pub(crate) fn short(mut self) -> Self {
        if let Self::Figure(figure) = &mut self {
            figure.is_short = true;
        }
        self
    }

    /// The same; nothing where it is not known.
    #[must_use]
    pub(crate) fn or_empty(self) -> Self {
        if matches!(self, Self::Absent(_)) { Self::Empty } else { self }
    }

    /// The same on one line.
    #[must_use]
    pub(crate) fn together(self) -> Self {
        Self::Together(Box::new(self))
    }

    /// Cells with something between them.
    pub(crate) fn joined(cells: impl IntoIterator<Item = Self>, between: &str) -> Self {
        let mut row = Vec::new();
        for cell in cells {
            if !row.is_empty() {
                row.push(Self::Raw(between.into()));
            }
            row.push(cell);
        }
        Self::Row(row)
    }

    /// In words, without any marks.
    #[must_use]
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Empty | Self::Bar(_) | Self::Swatch(_) => String::new(),
            Self::Absent(_) => "-".into(),
            Self::Figure(figure) => figure.words(),
            Self::Key { cell, .. } | Self::Together(cell) | Self::Link { cell, .. } => cell.words(),
            Self::Row(cells) => cells.iter().map(Self::words).collect(),
            Self::Raw(text)
            | Self::Plain(text)
            | Self::Text(text)
            | Self::Words(text)
            | Self::Code(text)
            | Self::Path(text)
            | Self::Slashes(text) => text.clone(),
        }
    }

    /// Whether nothing is shown.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Text(text) | Self::Plain(text) | Self::Raw(text) => text.is_empty(),
            Self::Row(cells) => cells.iter().all(Self::is_empty),
            _ => false,
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// Cells and words, one after the other.
macro_rules! cells {
    ($($part:expr),* $(,)?) => {
        $crate::document::Cell::Row(vec![$($crate::document::Cell::from($part)),*])
    };
}
pub(crate) use cells;
