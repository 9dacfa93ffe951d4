//! The registry of report formats. Each lives in a file of its own beside this one; a new format is one
//! file and its line here. Renderers see a [`Report`] and nothing else.

mod csv;
mod grafana;
mod html;
mod json;
mod md;
mod text;

use std::fmt;

use crate::report::Report;
pub use text::{explanation, rule_list};

/// Every format.
pub const RENDERERS: &[Renderer] =
    &[text::RENDERER, json::RENDERER, md::RENDERER, csv::RENDERER, html::RENDERER, grafana::RENDERER];

/// How to render.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Whether the output may hold colour escapes; formats for programs never do.
    pub color: bool,
}

/// One format.
#[derive(Debug, Clone, Copy)]
pub struct Renderer {
    /// Its name on the command line, also that of its file.
    pub name: &'static str,
    /// What it is for, half a sentence.
    pub about: &'static str,
    /// What it makes, and how.
    pub output: Output,
}

/// What a format makes of a report.
#[derive(Debug, Clone, Copy)]
pub enum Output {
    /// One text that ends with a newline.
    Text(fn(&Report, Options) -> Result<String, RenderError>),
    /// Several texts that belong into one folder.
    Folder(fn(&Report) -> Result<Vec<File>, RenderError>),
}

/// One text of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name, the same for every report.
    pub name: &'static str,
    /// What it holds.
    pub text: String,
}

impl Renderer {
    /// Whether it makes several texts, which need a folder.
    #[must_use]
    pub const fn needs_folder(&self) -> bool {
        matches!(self.output, Output::Folder(_))
    }

    /// The text of a format that makes one.
    ///
    /// # Errors
    ///
    /// Where the format makes a folder, or is at fault.
    pub fn text(&self, report: &Report, options: Options) -> Result<String, RenderError> {
        match self.output {
            Output::Text(render) => render(report, options),
            Output::Folder(_) => Err(RenderError(format!("format {} is a folder, not a text", self.name))),
        }
    }
}

/// A report could not be turned into its format, which is a fault of the renderer.
#[derive(Debug)]
pub struct RenderError(String);

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "render the report: {}", self.0)
    }
}

impl std::error::Error for RenderError {}

/// The renderer of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Renderer> {
    RENDERERS.iter().find(|renderer| renderer.name == name)
}
