//! The report on a run, written by the program that recorded it: what `stepscope analyze` would say of the run's
//! directory, in the process itself, without a server and without another program; and, while it goes on, whether its memory
//! leaks ([`watch_leaks`]). A crate of its own, so that a program that only records need not build the analysis.
//!
//! ```
//! use stepscope_report::WriteReport as _;
//!
//! # let folder = tempfile::tempdir()?;
//! # std::env::set_current_dir(folder.path())?;
//! let run = stepscope::init();
//! for step in 0..100 {
//!     let _step = stepscope::step!(step);
//! }
//! // Ends the run. The name says what it becomes: .html, .json, .md, .txt.
//! if let Err(error) = run.write_report("report.html") {
//!     eprintln!("no report: {error}");
//! }
//! # assert!(std::fs::read_to_string("report.html")?.contains("</html>"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod watch;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stepscope::Guard;
use stepscope_analyze::render::{self, Options, Renderer};
use stepscope_analyze::report::{Input, Reading, build};
use stepscope_analyze::{Config, Partial, rules};
use stepscope_model::{MetricPoint, ReadOptions, Reader, Resource, Sink, Trace};

pub use stepscope_analyze::memory::detector::Verdict;
pub use stepscope_limits::{Limit, LimitKind};
pub use watch::{Estimate, LeakWarning, LeakWatch, WatchBuilder, watch_leaks};

/// Why there is no report.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReportError {
    /// The run has no files: it recorded nothing, or only sent it to an endpoint.
    NoFiles,
    /// The file's name does not say a format that reports have.
    Format(PathBuf),
    /// The files of the run could not be read.
    Read(String),
    /// The files hold no spans.
    Empty(PathBuf),
    /// The report could not be written to this file.
    Write(PathBuf, std::io::Error),
    /// A fault of the renderer.
    Render(String),
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFiles => {
                f.write_str("the run wrote no files: let it record, and name a directory with STEPSCOPE_DIR")
            }
            Self::Format(path) => {
                write!(f, "{} ends in none of .html, .json, .md and .txt", path.display())
            }
            Self::Read(error) => f.write_str(error),
            Self::Empty(directory) => write!(f, "{} holds no spans", directory.display()),
            Self::Write(path, error) => write!(f, "failed to write {}: {error}", path.display()),
            Self::Render(error) => write!(f, "failed to {error}"),
        }
    }
}

impl std::error::Error for ReportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Write(_, error) => Some(error),
            _ => None,
        }
    }
}

/// Ends a run with its report.
pub trait WriteReport {
    /// Ends the run as dropping the guard does, analyses what this process wrote to its directory, and writes the
    /// report to `path`, in the format that its extension names: `html`, `json`, `md` or `txt`.
    ///
    /// So it does to the files of [`write_reports`](Self::write_reports).
    ///
    /// Takes the time and memory of `stepscope analyze`: about a second for a million spans. Thresholds of rules are the
    /// defaults. The reports of several ranks together are that program's work.
    ///
    /// # Errors
    ///
    /// Where the run has no files (a run that was `off` has none), the extension is another one, or reading or writing
    /// fails. The run ends all the same.
    fn write_report(self, path: impl AsRef<Path>) -> Result<(), ReportError>;

    /// As [`write_report`](Self::write_report), to each of the files that the program's set-up names:
    /// [`Builder::report`](stepscope::Builder::report), `report` in the file, `STEPSCOPE_REPORT`. To none where none does.
    ///
    /// # Errors
    ///
    /// The first of those of `write_report`; what follows it is written all the same.
    fn write_reports(self) -> Result<(), ReportError>;
}

impl WriteReport for Guard {
    fn write_report(mut self, path: impl AsRef<Path>) -> Result<(), ReportError> {
        let mut paths = vec![path.as_ref().to_owned()];
        paths.append(&mut self.take_reports());
        end(self, &paths)
    }

    fn write_reports(mut self) -> Result<(), ReportError> {
        let paths = self.take_reports();
        end(self, &paths)
    }
}

/// Ends a run with reports in these files.
fn end(run: Guard, paths: &[PathBuf]) -> Result<(), ReportError> {
    let directory = run.directory().map(Path::to_owned);
    drop(run);
    if paths.is_empty() {
        return Ok(());
    }
    let directory = directory.ok_or(ReportError::NoFiles)?;
    // All of them, whatever becomes of one.
    paths.iter().map(|path| write(&directory, path)).fold(Ok(()), Result::and)
}

/// Writes the report on the files in `directory`, as [`WriteReport::write_report`] does; of a run that goes on, on what
/// has been written so far ([`Handle::flush`](stepscope::Handle::flush) brings it there).
///
/// # Errors
///
/// As for [`WriteReport::write_report`].
pub fn write(directory: impl AsRef<Path>, path: impl AsRef<Path>) -> Result<(), ReportError> {
    let (directory, path) = (directory.as_ref(), path.as_ref());
    let text = text(directory, renderer(path)?)?;
    std::fs::write(path, text).map_err(|error| ReportError::Write(path.to_owned(), error))
}

fn renderer(path: &Path) -> Result<&'static Renderer, ReportError> {
    let name = stepscope::__settings::report_format(path);
    name.and_then(render::find).ok_or_else(|| ReportError::Format(path.to_owned()))
}

fn text(directory: &Path, renderer: &Renderer) -> Result<String, ReportError> {
    let read = |error: &dyn fmt::Display| ReportError::Read(error.to_string());
    let mut fold = Fold(Partial::new(Config::default()));
    let mut reader = Reader::new(ReadOptions::default());
    reader.read_path(directory, &mut fold).map_err(|error| read(&error))?;
    let outcome = reader.finish(&mut fold);
    outcome.check().map_err(|error| read(&error))?;
    let summary = fold.0.finish(None);
    if !summary.found {
        return Err(ReportError::Empty(directory.to_owned()));
    }
    let inputs = outcome.files.into_iter().map(|file| Input {
        path: file.path,
        format: file.format,
        bytes: file.bytes,
        spans: file.spans,
    });
    let reading = Reading { inputs: inputs.collect(), issues: outcome.issues };
    let report = build(&summary, reading, &rules::Config::default());
    renderer.text(&report, Options::default()).map_err(|error| ReportError::Render(error.to_string()))
}

/// Folds what is read.
struct Fold(Partial);

impl Sink for Fold {
    fn trace(&mut self, trace: &Trace) {
        self.0.add(trace);
    }

    fn metric(&mut self, resource: &Arc<Resource>, start_ns: u64, time_ns: u64, point: &MetricPoint) {
        self.0.metric(resource, start_ns, time_ns, point);
    }
}
