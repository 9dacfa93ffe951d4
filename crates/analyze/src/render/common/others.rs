//! The rules that found nothing, and why: those that say the same, together.

use crate::report::Report;

/// Rules that say the same, in their order.
pub(crate) struct Others<'a> {
    pub(crate) rules: Vec<&'static str>,
    /// Whether nothing is wrong, or too little is known, in words.
    pub(crate) state: &'static str,
    pub(crate) because: &'a str,
}

impl Others<'_> {
    /// Their names, each as `shown`, with commas between.
    pub(crate) fn names(&self, shown: impl FnMut(&&'static str) -> String) -> String {
        self.rules.iter().map(shown).collect::<Vec<String>>().join(", ")
    }
}

/// The rules that found nothing, the first of each group where it stands among all.
pub(crate) fn others(report: &Report) -> Vec<Others<'_>> {
    let mut groups: Vec<Others<'_>> = Vec::new();
    for rule in &report.detailed_metrics.rules {
        let Some(because) = rule.because.as_deref() else { continue };
        let state = if rule.state == "fine" { "fine" } else { "unknown" };
        match groups.iter_mut().find(|group| group.state == state && group.because == because) {
            Some(group) => group.rules.push(rule.rule),
            None => groups.push(Others { rules: vec![rule.rule], state, because }),
        }
    }
    groups
}
