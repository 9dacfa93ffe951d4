//! The reports on three recorded runs, in every format, are those that are kept in `tests/golden/expected`: what changes
//! them is seen in its diff. `BLESS=1` writes them anew. Figures are held by other tests; this one holds the whole.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use stepscope_testkit::{TempFolder, binaries};

use crate::program::{output, stepscope};

const RUNS: [&str; 3] = ["demo_slow_loader", "demo_two_ranks", "kineto_ranks"];
/// Text and Markdown are kept as they are, so that a diff of them can be read.
const FORMATS: [&str; 5] = ["text", "md", "json", "csv", "html"];

#[test]
fn reports_on_recorded_runs_are_the_kept_ones() {
    let folder = binaries::repository().join("tests/golden");
    let is_blessing = std::env::var_os("BLESS").is_some();
    for run in RUNS {
        for format in FORMATS {
            let said = rendered(&folder.join("inputs"), run, format);
            let path = kept_file(&folder.join("expected"), run, format);
            if is_blessing {
                keep(&path, &said);
            } else if let Some((number, kept, said)) = difference(&kept(&path), &said) {
                panic!(
                    "{run}, {format}, line {number}: kept {kept:?}, now {said:?}; if that is meant: BLESS=1 cargo xtask \
                     test e2e"
                );
            }
        }
    }
}

/// What the program prints; of the tables' folder, all files one behind the other.
fn rendered(inputs: &Path, run: &str, format: &str) -> String {
    let tables = TempFolder::new("golden").expect("a folder");
    let mut command = stepscope(&["--quiet", "--no-color", "analyze", "--format", format, run]);
    command.current_dir(inputs);
    if format != "csv" {
        return output(&mut command);
    }
    output(command.arg("--output").arg(tables.path()));
    let mut files: Vec<PathBuf> = fs::read_dir(tables.path())
        .expect("the tables are there")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let text = |file: &PathBuf| {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        format!("== {name}\n{}", fs::read_to_string(file).expect("a table"))
    };
    files.iter().map(text).collect()
}

fn kept_file(expected: &Path, run: &str, format: &str) -> PathBuf {
    expected.join(if is_plain(format) { format!("{run}.{format}") } else { format!("{run}.{format}.gz") })
}

fn is_plain(format: &str) -> bool {
    matches!(format, "text" | "md")
}

fn kept(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    if path.extension().is_some_and(|end| end == "gz") {
        GzDecoder::new(&*bytes).read_to_string(&mut text).expect("gzip around text");
        text
    } else {
        String::from_utf8(bytes).expect("text")
    }
}

/// What is equal keeps its bytes, whatever this machine's compressor makes of it.
fn keep(path: &Path, said: &str) {
    if path.exists() && kept(path) == said {
        return;
    }
    if path.extension().is_some_and(|end| end == "gz") {
        let mut packed = Vec::new();
        let mut encoder = GzBuilder::new().read(said.as_bytes(), Compression::best());
        encoder.read_to_end(&mut packed).expect("it is packed");
        fs::write(path, packed).expect("it is written");
    } else {
        fs::write(path, said).expect("it is written");
    }
}

/// The first line that differs: its number, what is kept and what is said now.
fn difference(kept: &str, said: &str) -> Option<(usize, String, String)> {
    let mut lines = (kept.lines(), said.lines());
    for number in 1.. {
        match (lines.0.next(), lines.1.next()) {
            (None, None) => break,
            (kept, said) if kept == said => {}
            (kept, said) => {
                let short = |line: Option<&str>| line.unwrap_or("(the end)").chars().take(300).collect();
                return Some((number, short(kept), short(said)));
            }
        }
    }
    None
}
