//! The documentation of rules for a terminal: the list of all, and one at length.

use super::page::Page;
use super::width::left;
use crate::document::Tone;
use crate::render::Options;
use crate::rules::{Config, RULES, Rule};

/// Every rule in a line.
#[must_use]
pub fn rule_list(options: Options) -> String {
    let mut page = Page::new(options.color);
    page.line(Tone::Strong, "Rules");
    for rule in RULES {
        let finds = rule.parts().next().map_or_else(String::new, |(_, text)| text);
        page.paragraph(Tone::Plain, &format!("  {} ", left(rule.id, 20)), first_sentence(&finds));
    }
    page.blank();
    page.plain("More on one of them:  stepscope explain RULE");
    page.finish()
}

/// The page of a rule, with its thresholds.
#[must_use]
pub fn explanation(rule: &Rule, config: &Config, options: Options) -> String {
    let mut page = Page::new(options.color);
    page.line(Tone::Strong, &format!("{} ({})", rule.name, rule.id));
    page.line(Tone::Dim, &format!("type {}, since {}", rule.kind.as_str(), rule.since));
    for (heading, text) in rule.parts() {
        page.heading(heading);
        page.paragraph(Tone::Plain, "  ", &text);
    }
    page.heading("Thresholds");
    page.paragraph(Tone::Dim, "  ", &format!("in stepscope.toml, table [rules.{}]", rule.id));
    for threshold in config.thresholds(rule.id) {
        page.plain(&format!("  {} = {}", threshold.key, threshold.value));
        page.paragraph(Tone::Dim, "      ", threshold.doc);
    }
    page.finish()
}

/// Up to the first full stop that ends a sentence, or a colon.
fn first_sentence(text: &str) -> &str {
    let end = [". ", ": "].iter().filter_map(|stop| text.find(stop)).min();
    end.and_then(|end| text.get(..end)).unwrap_or(text).trim_end_matches('.')
}
