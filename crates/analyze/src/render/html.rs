//! Format `html`: the report as one page that asks nothing of any network. The page is complete without scripts: text,
//! tables, plots; `front/` adds zoom, search, sorting and the flame graph. Each figure is a `<data>` element that
//! carries its exact value; its place in the JSON report, which a test compares, is told by it and by what is around it
//! (`page`). This file gives the order of the parts; each has a file of its own.

mod axis;
mod changes;
mod critical;
mod data;
mod distribution;
mod drawn;
mod findings;
mod marks;
mod modes;
mod overview;
mod page;
mod palette;
mod periods;
mod plots;
mod ranked;
mod ranks;
mod recording;
mod sections;
mod sha256;
mod shape;
mod steps;
mod svg;
mod waterfall;

use self::page::escape;
use super::{Options, Output, RenderError, Renderer};
use crate::report::Report;

pub(super) const RENDERER: Renderer =
    Renderer { name: "html", about: "one page for a browser, works offline", output: Output::Text(render) };

/// Looks.
const STYLE: &str = include_str!("../../front/report.css");

/// Behaviour, in the order in which it is needed.
const SCRIPT: &str = concat!(
    include_str!("../../front/units.js"),
    include_str!("../../front/data.js"),
    include_str!("../../front/axis.js"),
    include_str!("../../front/marks.js"),
    include_str!("../../front/plot.js"),
    include_str!("../../front/table.js"),
    include_str!("../../front/boxes.js"),
    include_str!("../../front/flame.js"),
    include_str!("../../front/waterfall.js"),
    include_str!("../../front/main.js"),
);

fn render(report: &Report, _: Options) -> Result<String, RenderError> {
    let mut body = String::new();
    overview::facts(report, &mut body);
    if report.has_run() {
        findings::render(report, &mut body);
    }
    steps::phases(report, &mut body);
    if report.has_steps() {
        plots::timeline(report, &mut body);
        distribution::render(report, &mut body);
        plots::phases_over_steps(report, &mut body);
        steps::slowest(report, &mut body);
    }
    critical::render(report, &mut body);
    if report.has_steps() {
        waterfall::render(report, &mut body);
    } else if report.has_run() {
        waterfall::without_steps(report, &mut body);
    }
    sections::flame(report, &mut body);
    sections::table(report, &mut body);
    ranked::render(report, &mut body);
    plots::memory(report, &mut body);
    steps::memory(report, &mut body);
    plots::values(report, &mut body);
    steps::loaders(report, &mut body);
    ranks::render(report, &mut body);
    recording::render(report, &mut body);
    findings::rules(report, &mut body);
    let header = overview::header(report, &body);
    let data = data::encode(report).map_err(RenderError)?;
    Ok(document(report, &header, &body, &data))
}

/// The page around its parts. The policy allows the one style and the one script that are in it, by their hashes.
fn document(report: &Report, header: &str, body: &str, data: &str) -> String {
    let title = report.run_name();
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        sha256::base64_digest(SCRIPT.as_bytes()),
        sha256::base64_digest(STYLE.as_bytes()),
    );
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{} – stepscope</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#content\">Skip to the report</a>\n\
         {header}<main id=\"content\" tabindex=\"-1\">\n{body}</main>\n<footer><p>Made by {} {} · report schema {}</p></footer>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        escape(title),
        report.tool.name,
        report.tool.version,
        report.schema_version,
    )
}
