//! The registry of report formats. Each lives in a file of its own beside this one; a new format is one
//! file and its line here. Renderers see a [`Report`] and nothing else.

mod json;
mod text;

use std::fmt;

use crate::report::Report;
pub use text::{explanation, rule_list};

/// Every format.
pub const RENDERERS: &[Renderer] = &[text::RENDERER, json::RENDERER];

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
    /// Turns a report into text that ends with a newline.
    pub render: fn(&Report, Options) -> Result<String, RenderError>,
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
