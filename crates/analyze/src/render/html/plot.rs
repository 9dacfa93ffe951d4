//! Drawings with their captions. The script draws most of them again, with zoom.

use super::cells::cell;
use super::{distribution, svg, waterfall};
use crate::document::{Drawing, Plot};

/// A drawing, and what is said of it.
pub(super) fn figure(plot: &Plot, out: &mut String) {
    match &plot.drawing {
        Drawing::Stack { parts, whole } => return svg::stack(parts, *whole, out),
        Drawing::Waterfall(shown) => return waterfall::figure(shown, out),
        _ => {}
    }
    out.push_str(&format!("<figure id=\"{}\" class=\"plot\"", plot.id));
    if plot.data.is_empty() {
        out.push_str(">\n");
    } else {
        out.push_str(&format!(" data-plot=\"{}\">\n", plot.data));
        if !plot.heading.is_empty() {
            out.push_str(&format!("<h3>{}</h3>\n", cell(&plot.heading)));
        }
        out.push_str("<div class=\"tools\" hidden></div>\n");
    }
    out.push_str("<div class=\"drawing\">");
    draw(&plot.drawing, out);
    out.push_str(&format!("</div>\n<figcaption>{}</figcaption>\n</figure>\n", cell(&plot.caption)));
}

fn draw(drawing: &Drawing, out: &mut String) {
    match drawing {
        Drawing::Bands { title, steps, lines, scale, marks } => {
            svg::bands(title, *steps, lines, scale, marks.as_ref(), out);
        }
        Drawing::Areas { title, steps, lines, scale } => svg::areas(title, *steps, lines, scale, out),
        Drawing::Changes { title, steps, lines } => svg::signed(title, *steps, lines, out),
        Drawing::Values { title, steps, line } => svg::line(title, *steps, line, out),
        Drawing::Histogram { buckets, marks } => distribution::draw(buckets, marks, out),
        Drawing::Stack { .. } | Drawing::Waterfall(_) => {}
    }
}
