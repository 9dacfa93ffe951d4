//! Rows and columns by their places in the JSON report.
//!
//! Rows are at a path of keys, in which `*` stands for each element of a list. A column is a path below its row, after its
//! name where that differs: `size_bytes=bytes`. Each `^` before it goes up to the element around. `#` is the place of the
//! row in its list, `workers.#` the length of a list, `shift.width` how many step numbers a point holds.

use serde_json::Value;

use super::field;

/// Figures of a distribution, behind a prefix; those of the second list before a unit too.
const STATS: [(&str, bool); 14] = [
    ("count", false),
    ("total", true),
    ("mean", true),
    ("std", true),
    ("min", true),
    ("max", true),
    ("p50", true),
    ("p90", true),
    ("p95", true),
    ("p99", true),
    ("mad", true),
    ("cv", false),
    ("robust_cv", false),
    ("is_exact", false),
];

/// Columns of work done.
const THROUGHPUT: &str = "elapsed_ns samples samples_per_step_s=samples_per_step_second samples_per_s=samples_per_second \
    tokens tokens_per_step_s=tokens_per_step_second tokens_per_s=tokens_per_second bytes \
    bytes_per_step_s=bytes_per_step_second bytes_per_s=bytes_per_second steps_per_s=steps_per_second";

/// An element of a list and those around it, each with its place.
pub(super) type Row<'a> = Vec<(usize, &'a Value)>;

/// Visits the rows at a path.
pub(super) fn each<'a>(report: &'a Value, path: &str, visit: &mut dyn FnMut(&Row<'a>)) {
    walk(report, path, &mut vec![(0, report)], visit);
}

fn walk<'a>(from: &'a Value, path: &str, around: &mut Row<'a>, visit: &mut dyn FnMut(&Row<'a>)) {
    let Some((list, rest)) = path.split_once('*') else {
        if !at(from, path.trim_matches('.')).is_null() {
            visit(around);
        }
        return;
    };
    for (place, element) in at(from, list.trim_matches('.')).as_array().into_iter().flatten().enumerate() {
        around.push((place, element));
        walk(element, rest, around, visit);
        around.pop();
    }
}

/// What is at a path of keys.
fn at<'a>(value: &'a Value, path: &str) -> &'a Value {
    below(value, keys(path))
}

fn keys(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').filter(|key| !key.is_empty())
}

fn below<'a, 'k>(value: &'a Value, keys: impl IntoIterator<Item = &'k str>) -> &'a Value {
    keys.into_iter().fold(value, |value, key| match value {
        Value::Array(items) => {
            key.parse().ok().and_then(|place: usize| items.get(place)).unwrap_or(&Value::Null)
        }
        value => value.get(key).unwrap_or(&Value::Null),
    })
}

/// Columns: names, and where they are.
pub(super) struct Columns(Vec<(String, Place)>);

/// Where a column is: how far up, below which keys, and what of that.
struct Place {
    up: usize,
    keys: Vec<String>,
    what: What,
}

enum What {
    Value,
    Place,
    Length,
    Width,
}

impl Place {
    fn parse(path: &str) -> Self {
        let below = path.trim_start_matches('^');
        let (list, what) = match (below, below.strip_suffix(".#"), below.strip_suffix(".width")) {
            ("#", ..) => ("", What::Place),
            (_, Some(list), _) => (list, What::Length),
            (_, _, Some(shift)) => (shift, What::Width),
            _ => (below, What::Value),
        };
        Self { up: path.len() - below.len(), keys: keys(list).map(str::to_owned).collect(), what }
    }

    fn write(&self, row: &Row<'_>, text: &mut String) {
        let Some(&(place, value)) = row.len().checked_sub(1 + self.up).and_then(|at| row.get(at)) else {
            return;
        };
        let value = below(value, self.keys.iter().map(String::as_str));
        match self.what {
            What::Value => field::write(value, text),
            What::Place => text.push_str(&place.to_string()),
            What::Length => text.push_str(&value.as_array().map_or(0, Vec::len).to_string()),
            What::Width => {
                let shift = value.as_u64().and_then(|shift| u32::try_from(shift).ok());
                let width = shift.and_then(|shift| 1_u64.checked_shl(shift));
                text.push_str(&width.map_or_else(String::new, |width| width.to_string()));
            }
        }
    }
}

impl Columns {
    /// Several are written `stats(PREFIX,PATH,UNIT)`, `sum(PATH)` and `throughput(PATH)`.
    pub(super) fn parse(text: &str) -> Self {
        let mut columns: Vec<(String, Place)> = Vec::new();
        let mut add = |name: String, path: String| columns.push((name, Place::parse(&path)));
        for column in text.split_whitespace() {
            match column.trim_end_matches(')').split_once('(') {
                Some(("stats", arguments)) => {
                    let [prefix, path, unit] = arguments.splitn(3, ',').collect::<Vec<_>>()[..] else {
                        continue;
                    };
                    for (figure, has_unit) in STATS {
                        let unit = match has_unit {
                            true => unit,
                            false if figure.ends_with("cv") => "_ratio",
                            false => "",
                        };
                        add(format!("{prefix}{figure}{unit}"), format!("{path}.{figure}"));
                    }
                }
                Some(("sum", path)) => {
                    add(path.into(), format!("{path}.sum"));
                    add(format!("{path}_spans"), format!("{path}.spans"));
                }
                Some((_, path)) => {
                    for (name, figure) in THROUGHPUT.split_whitespace().map(named) {
                        add(name.into(), format!("{path}.{figure}"));
                    }
                }
                None => add(named(column).0.into(), named(column).1.into()),
            }
        }
        Self(columns)
    }

    /// The names, in the order of the columns.
    pub(super) fn header(&self) -> String {
        let names: Vec<&str> = self.0.iter().map(|(name, _)| name.as_str()).collect();
        names.join(",") + "\r\n"
    }

    /// Writes a row.
    pub(super) fn write(&self, row: &Row<'_>, text: &mut String) {
        for (position, (_, place)) in self.0.iter().enumerate() {
            if position > 0 {
                text.push(',');
            }
            place.write(row, text);
        }
        text.push_str("\r\n");
    }
}

/// The name of a column, and where it is.
fn named(column: &str) -> (&str, &str) {
    column.split_once('=').unwrap_or((column, column))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_found_below_their_rows_and_around_them() {
        let report = json!({ "all": [
            { "name": "a", "shift": 3, "points": [{ "x": 1 }, { "x": null, "more": [2.5] }] },
            { "name": "b", "shift": 64, "points": [] },
        ] });
        let columns =
            Columns::parse("name=^name place=# points=^points.# numbers=^shift.width x first=more.0");
        let mut text = columns.header();
        each(&report, "all.*.points.*", &mut |row| columns.write(row, &mut text));
        assert_eq!(text, "name,place,points,numbers,x,first\r\na,0,2,8,1,\r\na,1,2,8,,2.5\r\n");
    }
}
