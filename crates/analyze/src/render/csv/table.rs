//! Tables of comma-separated values (RFC 4180): columns with a name and a figure each, rows that end with CR LF.
//!
//! Spreadsheets run text that begins like a formula. Such text, and only text, gets an apostrophe before it, which
//! spreadsheets take for "this is text"; numbers stay as they are.

use crate::summary::{FigureSum, Stats, Throughput};

/// What stands in one place of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) enum Cell {
    /// Not known.
    #[default]
    Empty,
    /// Digits, or a word of ours: needs no quotes.
    Plain(String),
    /// Anything from outside.
    Text(String),
}

macro_rules! plain {
    ($($number:ty),*) => {$(
        impl From<$number> for Cell {
            fn from(value: $number) -> Self {
                Self::Plain(value.to_string())
            }
        }
    )*};
}

plain!(u16, u32, u64, usize, i64, bool);

impl From<f64> for Cell {
    /// The shortest digits that give the same number again; nothing for what is none.
    fn from(value: f64) -> Self {
        if value.is_finite() { Self::Plain(value.to_string()) } else { Self::Empty }
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

impl From<&String> for Cell {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

impl Cell {
    fn write(&self, line: &mut String) {
        match self {
            Self::Empty => {}
            Self::Plain(text) => line.push_str(text),
            Self::Text(text) => field(text, line),
        }
    }
}

/// Beginnings that a spreadsheet takes for a formula, in their wide forms too.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];

fn field(text: &str, line: &mut String) {
    let is_formula = text.trim_start_matches([' ', '\n']).starts_with(FORMULA);
    let guard = if is_formula { "'" } else { "" };
    if is_formula || text.contains([',', '"', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ') {
        line.push('"');
        line.push_str(guard);
        line.push_str(&text.replace('"', "\"\""));
        line.push('"');
    } else {
        line.push_str(text);
    }
}

/// A name, and the figure of that name.
pub(super) type Named<T, C> = (&'static str, fn(&T) -> C);

type Figure<T> = Box<dyn Fn(&T) -> Cell>;

/// Columns of a table of things.
pub(super) struct Table<T> {
    columns: Vec<(String, Figure<T>)>,
}

impl<T> Table<T> {
    pub(super) const fn new() -> Self {
        Self { columns: Vec::new() }
    }

    /// Adds a column.
    pub(super) fn column(mut self, name: impl Into<String>, figure: impl Fn(&T) -> Cell + 'static) -> Self {
        self.columns.push((name.into(), Box::new(figure)));
        self
    }

    /// Adds the columns of a distribution: names between `prefix` and `unit`.
    pub(super) fn stats(self, prefix: &str, unit: &str, of: impl Fn(&T) -> Stats + Copy + 'static) -> Self {
        let named = |figure: &str| format!("{prefix}{figure}{unit}");
        let bare = |figure: &str| format!("{prefix}{figure}");
        self.column(bare("count"), move |row| of(row).count.into())
            .column(named("total"), move |row| of(row).total.into())
            .column(named("mean"), move |row| of(row).mean.into())
            .column(named("std"), move |row| of(row).std.into())
            .column(named("min"), move |row| of(row).min.into())
            .column(named("max"), move |row| of(row).max.into())
            .column(named("p50"), move |row| of(row).p50.into())
            .column(named("p90"), move |row| of(row).p90.into())
            .column(named("p95"), move |row| of(row).p95.into())
            .column(named("p99"), move |row| of(row).p99.into())
            .column(named("mad"), move |row| of(row).mad.into())
            .column(bare("cv_ratio"), move |row| of(row).cv.into())
            .column(bare("robust_cv_ratio"), move |row| of(row).robust_cv.into())
            .column(bare("is_exact"), move |row| of(row).is_exact.into())
    }

    /// Adds the columns of a sum over those spans that carried it.
    pub(super) fn sum(self, name: &str, of: impl Fn(&T) -> Option<FigureSum> + Copy + 'static) -> Self {
        self.column(name, move |row| of(row).map(|sum| sum.sum).into())
            .column(format!("{name}_spans"), move |row| of(row).map(|sum| sum.spans).into())
    }

    /// Adds the columns of work done.
    pub(super) fn throughput(self, of: impl Fn(&T) -> Throughput + Copy + 'static) -> Self {
        self.column("elapsed_ns", move |row| of(row).elapsed_ns.into())
            .column("samples", move |row| of(row).samples.into())
            .column("samples_per_step_s", move |row| of(row).samples_per_step_second.into())
            .column("samples_per_s", move |row| of(row).samples_per_second.into())
            .column("tokens", move |row| of(row).tokens.into())
            .column("tokens_per_step_s", move |row| of(row).tokens_per_step_second.into())
            .column("tokens_per_s", move |row| of(row).tokens_per_second.into())
            .column("bytes", move |row| of(row).bytes.into())
            .column("bytes_per_step_s", move |row| of(row).bytes_per_step_second.into())
            .column("bytes_per_s", move |row| of(row).bytes_per_second.into())
            .column("steps_per_s", move |row| of(row).steps_per_second.into())
    }

    /// The table with these rows.
    pub(super) fn of(&self, rows: impl IntoIterator<Item = T>) -> String {
        let mut text = String::new();
        let header: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        text.push_str(&header.join(","));
        text.push_str("\r\n");
        for row in rows {
            for (position, (_, figure)) in self.columns.iter().enumerate() {
                if position > 0 {
                    text.push(',');
                }
                figure(&row).write(&mut text);
            }
            text.push_str("\r\n");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(cell: impl Into<Cell>) -> String {
        let mut text = String::new();
        cell.into().write(&mut text);
        text
    }

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let cases = [
            ("plain/path", "plain/path"),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            (" padded", "\" padded\""),
            ("", ""),
        ];
        for (text, field) in cases {
            assert_eq!(one(text), field, "{text:?}");
        }
    }

    #[test]
    fn text_is_never_a_formula_and_numbers_stay_numbers() {
        for text in ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1", "  =1", "\n=1", "＝1"] {
            assert!(one(text).starts_with("\"'"), "{text:?}: {}", one(text));
        }
        assert_eq!((one(-5_i64), one(-0.5), one(1e300).len()), ("-5".into(), "-0.5".into(), 301));
    }

    #[test]
    fn absent_is_empty_and_zero_is_not() {
        assert_eq!(
            (one(None::<u64>), one(Some(0_u64)), one(f64::NAN)),
            (String::new(), "0".into(), String::new())
        );
    }
}
