//! Recorded trees and what a snapshot publishes, for all tests.

use std::collections::BTreeMap;
use std::path::Path;

use stepscope_core::vocabulary::Metric;
use stepscope_metrics::{Label, Snapshot, Value, Visitor, visit};

/// Texts of the files of each pass of `tests/trees/NAME.txt`.
pub(crate) fn tree(name: &str) -> Vec<Vec<(String, String)>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees").join(format!("{name}.txt"));
    let text = std::fs::read_to_string(path).unwrap();
    let mut passes = vec![Vec::<(String, String)>::new()];
    for line in text.split_inclusive('\n').skip(1) {
        if line.starts_with("==== ") {
            passes.push(Vec::new());
        } else if let Some(path) = line.strip_prefix("---- ") {
            passes.last_mut().unwrap().push((path.trim_end().to_owned(), String::new()));
        } else {
            passes.last_mut().unwrap().last_mut().unwrap().1.push_str(line);
        }
    }
    passes
}

/// Puts files where they belong, as a kernel changes them: in place.
pub(crate) fn lay(root: &Path, files: &[(String, String)]) {
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// Every series of a snapshot: `name{value of each label,…}`.
pub(crate) fn series(snapshot: &Snapshot) -> BTreeMap<String, f64> {
    let mut collected = Collected::default();
    visit(snapshot, usize::MAX, &mut collected);
    collected.series
}

#[derive(Default)]
struct Collected {
    name: &'static str,
    series: BTreeMap<String, f64>,
}

impl Visitor for Collected {
    fn metric(&mut self, row: &'static Metric) {
        self.name = row.name;
    }

    fn point(&mut self, labels: &[Label<'_>], value: Value) {
        let texts: Vec<&str> = labels.iter().map(|(_, text)| *text).collect();
        let key = if texts.is_empty() {
            self.name.to_owned()
        } else {
            format!("{}{{{}}}", self.name, texts.join(","))
        };
        let value = match value {
            Value::Int(value) => value as f64,
            Value::Double(value) => value,
        };
        assert_eq!(self.series.insert(key.clone(), value), None, "{key} twice");
    }
}
