//! Spans of a step by thread, children below their parents. The script draws any of the kept steps, with zoom.

use super::escape::escape;
use super::svg;
use crate::document::letters::letters;
use crate::document::{Bar, Waterfall};
use crate::report::units::duration;

/// Width at which names are left out that have no room; where it is less, they are cut.
const WIDTH: f64 = 800.0;
const ROW: f64 = 22.0;
/// Height of a row's bar; the mark of the critical path is below it.
const BAR: f64 = 15.0;
const MARK: f64 = 4.0;
/// Height of a lane's name, and of the axis.
const HEAD: f64 = 18.0;
/// Width of a letter of a bar's name, about.
const LETTER: f64 = 6.6;

/// The figure, and where scripts put theirs.
pub(super) fn figure(shown: &Waterfall, out: &mut String) {
    out.push_str(&format!(
        "<figure id=\"plot-waterfall\" data-example=\"{}\">\n<div class=\"still\">\n",
        shown.example
    ));
    draw(shown, out);
    out.push_str(&format!(
        "</div>\n<div id=\"waterfall-graph\" hidden></div>\n\
         <p id=\"waterfall-said\" class=\"said\" role=\"status\"></p>\n\
         <figcaption>Shown is <span id=\"waterfall-title\">{}</span>. Spans stand by thread, children \
         below their parents. The thin bar below a span marks the critical path: what held up the end of the step. \
         Where a span was suspended, it is light. \
         Batches that loaders were making while the step waited for them have a lane of their own.</figcaption>\n</figure>\n",
        escape(&shown.title)
    ));
}

fn draw(shown: &Waterfall, out: &mut String) {
    let rows: usize = shown.lanes.iter().map(|(_, rows)| rows).sum();
    let height = HEAD + shown.lanes.len() as f64 * HEAD + rows as f64 * ROW + 4.0;
    let whole_ns = shown.whole_ns.max(1) as f64;
    let x = |offset_ns: f64| 100.0 * (offset_ns / whole_ns).clamp(0.0, 1.0);
    let ends = |offset_ns: i64, duration_ns: u64, least: f64| {
        let from = x(offset_ns as f64);
        (from, (x(offset_ns as f64 + duration_ns as f64) - from).max(least))
    };
    svg::open(" waterfall", "Waterfall of the spans of a step", height, out);
    for part in [0.0, 0.5, 1.0] {
        let at = x(part * whole_ns);
        out.push_str(&format!(
            "<line class=\"grid\" x1=\"{at:.0}%\" x2=\"{at:.0}%\" y1=\"{HEAD}\" y2=\"{height}\"/>\
             <text class=\"tick\" x=\"{at:.0}%\" y=\"12\" text-anchor=\"{}\">{}</text>\n",
            svg::anchor(part),
            escape(&duration((part * whole_ns) as u64))
        ));
    }
    // Where each lane begins.
    let mut tops = Vec::new();
    let mut top = HEAD;
    for (name, rows) in &shown.lanes {
        let y = top + HEAD - 5.0;
        out.push_str(&format!("<text class=\"lane\" x=\"0\" y=\"{y:.0}\">{}</text>\n", escape(name)));
        tops.push(top + HEAD);
        top += HEAD + *rows as f64 * ROW;
    }
    let y = |bar: &Bar| tops.get(bar.lane).copied().unwrap_or(HEAD) + bar.row as f64 * ROW;
    for bar in shown.batches.iter().chain(&shown.bars) {
        let (y, (from, width)) = (y(bar), ends(bar.offset_ns, bar.duration_ns, 0.1));
        let light = if bar.running.is_empty() { "" } else { "light " };
        out.push_str(&format!(
            "<rect class=\"{light}{}\" x=\"{from:.2}%\" y=\"{y:.1}\" width=\"{width:.2}%\" height=\"{BAR}\"><title>{}</title></rect>\n",
            bar.class,
            escape(&bar.words)
        ));
        for &(offset_ns, duration_ns) in &bar.running {
            let (from, width) = ends(offset_ns, duration_ns, 0.1);
            out.push_str(&format!(
                "<rect class=\"{}\" x=\"{from:.2}%\" y=\"{y:.1}\" width=\"{width:.2}%\" height=\"{BAR}\"/>\n",
                bar.class
            ));
        }
        let room = (width / 100.0 * WIDTH / LETTER) as usize;
        if room >= 4 && !bar.name.is_empty() {
            // A drawing inside cuts what has no room.
            let short = letters(&bar.name).into_iter().take(2 * room).collect::<String>();
            out.push_str(&format!(
                "<svg class=\"in\" x=\"{from:.2}%\" y=\"{y:.1}\" width=\"{width:.2}%\" height=\"{BAR}\"><text x=\"3\" y=\"11.5\">{}</text></svg>\n",
                escape(&short)
            ));
        }
    }
    for &(bar, offset_ns, duration_ns) in &shown.path {
        let from = x(offset_ns as f64);
        let width = (x(offset_ns.saturating_add(duration_ns) as f64) - from).max(0.08);
        let y = shown.bars.get(bar).map_or(HEAD, y) + BAR + 1.0;
        out.push_str(&format!(
            "<rect class=\"path\" x=\"{from:.2}%\" y=\"{y:.1}\" width=\"{width:.2}%\" height=\"{MARK}\"/>\n"
        ));
    }
    out.push_str("</svg>\n");
}
