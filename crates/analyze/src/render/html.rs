//! Format `html`: the report as one page that asks nothing of any network. Text and tables are there without
//! scripts; `front/` adds plots, flame graph and waterfall, zoom, search, sorting. Each figure is a `<data>` element that
//! carries its exact value; its place in the JSON report, which a test compares, is told by it and by what is around it
//! (`blocks`).

mod blocks;
mod cells;
mod data;
mod escape;
mod plot;
mod sha256;

use self::escape::{escape, prose, words};
use super::{Options, Output, RenderError, Renderer};
use crate::document::{Block, Document, Shown};
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
    include_str!("../../front/histogram.js"),
    include_str!("../../front/table.js"),
    include_str!("../../front/boxes.js"),
    include_str!("../../front/flame.js"),
    include_str!("../../front/waterfall.js"),
    include_str!("../../front/main.js"),
);

fn render(report: &Report, _: Options) -> Result<String, RenderError> {
    let document = Document::of(report, Shown::HTML);
    let mut body = header(&document);
    body.push_str("<main id=\"content\" tabindex=\"-1\">\n");
    blocks::body(&document.blocks, &mut body);
    let data = data::encode(report).map_err(RenderError)?;
    Ok(page(report, &body, &data))
}

/// The head; the navigation leads to the parts that have a name in it.
fn header(document: &Document) -> String {
    let run = words(&document.run);
    let run = if document.is_named { format!("<code>{run}</code>") } else { run };
    let links = document.blocks.iter().filter_map(|block| match block {
        Block::Part { id, link, .. } if !link.is_empty() => {
            Some(format!("<li><a href=\"#{id}\">{link}</a></li>"))
        }
        _ => None,
    });
    format!(
        "<header>\n<p class=\"brand\">stepscope · {run}</p>\n<h1>{}</h1>\n<nav aria-label=\"Parts of the report\"><ul>{}</ul></nav>\n</header>\n",
        prose(&document.verdict.1),
        links.collect::<String>()
    )
}

/// The page around its parts. The policy allows the one style and the one script that are in it, by their hashes.
fn page(report: &Report, body: &str, data: &str) -> String {
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
         {body}</main>\n<footer><p>Made by {} {} · report schema {}</p></footer>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n\
         <script>{SCRIPT}</script>\n</body>\n</html>\n",
        escape(title),
        report.tool.name,
        report.tool.version,
        report.schema_version,
    )
}
