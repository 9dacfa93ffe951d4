//! Format `json`: the report as one object, described by `schema/report.schema.json`.

use super::{Options, RenderError, Renderer};
use crate::report::Report;

pub(super) const RENDERER: Renderer =
    Renderer { name: "json", about: "for programs, described by a JSON Schema", render };

fn render(report: &Report, _: Options) -> Result<String, RenderError> {
    let mut text = serde_json::to_string_pretty(report).map_err(|error| RenderError(error.to_string()))?;
    text.push('\n');
    Ok(text)
}
