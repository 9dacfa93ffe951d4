//! Format `md`: one Markdown text that fits a comment on a pull request: the verdict, the findings, where the time
//! goes, the largest sections, memory and what was lost. GitHub's flavour: tables, folded details. This file gives the
//! order; each part has a file of its own.

mod findings;
mod loaders;
mod overview;
mod page;
mod recording;
mod tables;

use self::page::Page;
use super::{Options, Output, RenderError, Renderer};
use crate::report::Report;

pub(super) const RENDERER: Renderer =
    Renderer { name: "md", about: "Markdown, for comments on pull requests", output: Output::Text(render) };

fn render(report: &Report, _: Options) -> Result<String, RenderError> {
    let mut page = Page::default();
    overview::render(report, &mut page);
    if report.has_run() {
        findings::render(report, &mut page);
    }
    tables::phases(report, &mut page);
    tables::critical(report, &mut page);
    tables::sections(report, &mut page);
    tables::changes(report, &mut page);
    tables::periods(report, &mut page);
    tables::slowest(report, &mut page);
    loaders::render(report, &mut page);
    tables::memory(report, &mut page);
    recording::render(report, &mut page);
    Ok(page.finish())
}
