//! Format `text`: the report for a terminal of 80 columns. The verdict first, then what to do, then tables.
//! This file gives the order; each part has a file of its own.

mod changes;
mod critical;
mod explain;
mod findings;
mod header;
mod loaders;
mod memory;
mod page;
mod periods;
mod phases;
mod recording;
mod sections;
mod steps;
mod suspended;
mod width;

pub use self::explain::{explanation, rule_list};
use self::page::Page;
use super::{Options, Output, RenderError, Renderer};
use crate::report::Report;

pub(super) const RENDERER: Renderer =
    Renderer { name: "text", about: "for people, 80 columns", output: Output::Text(render) };

fn render(report: &Report, options: Options) -> Result<String, RenderError> {
    let mut page = Page::new(options.color);
    header::render(report, &mut page);
    if report.summary.mode.is_some() {
        phases::render(report, &mut page);
    }
    critical::render(report, &mut page);
    if report.has_run() {
        findings::render(report, &mut page);
    }
    sections::render(report, &mut page);
    suspended::render(report, &mut page);
    changes::render(report, &mut page);
    periods::render(report, &mut page);
    steps::render(report, &mut page);
    loaders::render(report, &mut page);
    memory::render(report, &mut page);
    recording::render(report, &mut page);
    recording::hints(report, &mut page);
    Ok(page.finish())
}
