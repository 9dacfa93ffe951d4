//! Figures that the script draws, and the one drawing that is in the document: the bar of phases. Looks come from classes
//! and presentation attributes, since the page's policy drops style attributes.

use super::cells::cell;
use super::escape::escape;
use crate::document::{Plot, Stack};
use crate::report::units::percent;

/// Where the script draws, and what is said of it.
pub(super) fn figure(plot: &Plot, out: &mut String) {
    let Plot { id, title, heading, caption } = plot;
    out.push_str(&format!("<figure id=\"plot-{id}\" class=\"plot\" data-plot=\"{id}\">\n"));
    if !heading.is_empty() {
        out.push_str(&format!("<h3>{}</h3>\n", cell(heading)));
    }
    out.push_str(&format!(
        "<div class=\"tools\" hidden></div>\n<div class=\"drawing\" data-title=\"{}\"><noscript>Needs scripts to be drawn.\
         </noscript></div>\n<figcaption>{}</figcaption>\n</figure>\n",
        escape(title),
        cell(caption)
    ));
}

/// Parts of a whole in one bar.
pub(super) fn stack(Stack { parts, whole }: &Stack, out: &mut String) {
    let share = |part: u64| part as f64 / (*whole).max(1) as f64;
    let words = |name: &str, part: u64| format!("{} {}", escape(name), escape(&percent(share(part))));
    // Those of one name together.
    let mut sums: Vec<(&str, u64)> = Vec::new();
    for (_, name, part) in parts.iter().filter(|part| part.2 > 0) {
        match sums.iter_mut().find(|(other, _)| other == name) {
            Some((_, sum)) => *sum = sum.saturating_add(*part),
            None => sums.push((name, *part)),
        }
    }
    let all: Vec<String> = sums.into_iter().map(|(name, part)| words(name, part)).collect();
    out.push_str(&format!(
        "<svg class=\"stack\" viewBox=\"0 0 1000 40\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">\n",
        all.join(", ")
    ));
    let mut x = 0.0;
    for (class, name, part) in parts {
        let width = 1_000.0 * share(*part);
        if *part > 0 {
            out.push_str(&format!(
                "<rect class=\"{class}\" x=\"{x:.2}\" width=\"{:.2}\" height=\"40\"><title>{}</title></rect>\n",
                (width - 1.0).max(0.5),
                words(name, *part)
            ));
        }
        x += width;
    }
    out.push_str("</svg>\n");
}
