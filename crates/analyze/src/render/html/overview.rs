//! The head of the page: verdict, navigation, what run it is, its step time and throughput.

use super::super::common::{modes::of_all_ranks, recording::ended_in_order, spread};
use super::page::{UNKNOWN, close, count, escape, figure, ns, number, open, prose, share, words};
use crate::report::units::{byte_rate, rate};
use crate::report::{Report, coverage};

/// Parts of the page that its navigation names: id, title.
const PARTS: [(&str, &str); 12] = [
    ("findings", "Findings"),
    ("phases", "Where time goes"),
    ("timeline", "Steps"),
    ("distribution", "Distribution"),
    ("critical", "Critical path"),
    ("waterfall", "Steps in detail"),
    ("flame", "Flame graph"),
    ("sections", "Sections"),
    ("memory", "Memory"),
    ("loaders", "Batches"),
    ("ranks", "Processes"),
    ("recording", "Recording"),
];

/// The head; the navigation leads to those parts that the body has.
pub(super) fn header(report: &Report, body: &str) -> String {
    let run = report
        .run
        .id
        .as_deref()
        .map_or_else(|| words(report.run_name()), |id| format!("<code>{}</code>", words(id)));
    let has = |id: &str| body.contains(&format!("<section id=\"{id}\""));
    let links = PARTS
        .iter()
        .filter(|(id, _)| has(id))
        .map(|(id, title)| format!("<li><a href=\"#{id}\">{title}</a></li>"));
    format!(
        "<header>\n<p class=\"brand\">stepscope · {run}</p>\n<h1>{}</h1>\n<nav aria-label=\"Parts of the report\"><ul>{}</ul></nav>\n</header>\n",
        prose(&report.summary.verdict),
        links.collect::<String>()
    )
}

pub(super) fn facts(report: &Report, out: &mut String) {
    let (run, summary) = (&report.run, &report.summary);
    if !report.has_run() {
        return;
    }
    open("run", "The run", out);
    let mut facts: Vec<(&str, String)> = Vec::new();
    if let Some(mode) = summary.mode {
        facts.push(("Input share", share("summary/input/share", summary.input.share)));
        facts.push((
            "Steps",
            format!("{} ({mode}){}", count("summary/steps", summary.steps), of_all_ranks(run)),
        ));
        facts.push(("Warm-up, left out", count("summary/warmup_steps", summary.warmup_steps)));
    }
    if let Some(time) = summary.step_time.as_ref().filter(|_| summary.steps > 0) {
        facts.push(("Median step", ns("summary/step_time/p50", time.p50)));
        facts.push(("p95 of steps", ns("summary/step_time/p95", time.p95)));
        facts.push(("p99 of steps", ns("summary/step_time/p99", time.p99)));
        let mad = ns("summary/step_time/mad", time.mad);
        facts.push((
            "MAD of steps",
            time.mad_is_below().map_or(mad, |_| words(&spread::mad(time).unwrap_or_default())),
        ));
        facts.push(("CV of steps", share("summary/step_time/cv", time.cv)));
    }
    let done = &summary.throughput;
    let place = "summary/throughput";
    let rates = [
        ("Samples", "samples_per_second", done.samples_per_second, "samples"),
        ("Tokens", "tokens_per_second", done.tokens_per_second, "tokens"),
        ("Step rate", "steps_per_second", done.steps_per_second, "steps"),
    ];
    for (title, name, value, what) in rates {
        facts.extend(
            value.map(|value| (title, figure(&format!("{place}/{name}"), value, &rate(value, what)))),
        );
    }
    if let Some(value) = done.bytes_per_second.filter(|value| *value >= 0.0) {
        facts.push(("Bytes", figure("summary/throughput/bytes_per_second", value, &byte_rate(value))));
    }
    facts.push(("Elapsed", ns("run/elapsed_ns", run.elapsed_ns)));
    facts.push(("Epochs ended", count("run/epochs_ended", run.epochs_ended)));
    let world = run.world_size.map(|_| format!(" of {}", number("run/world_size", run.world_size)));
    facts.push(("Processes", format!("{}{}", count("run/ranks", run.ranks), world.unwrap_or_default())));
    facts.push(("Ended in order", ended_in_order(run)));
    let said = |value: &Option<String>| value.as_deref().map_or_else(|| UNKNOWN.into(), words);
    facts.push(("Program", said(&run.service)));
    facts.push(("Host", said(&Some(run.hosts.join(", ")).filter(|hosts| !hosts.is_empty()))));
    facts.push(("Level", said(&run.level)));
    out.push_str("<dl class=\"facts\">\n");
    for (title, html) in facts {
        out.push_str(&format!("<div><dt>{title}</dt><dd>{html}</dd></div>\n"));
    }
    out.push_str("</dl>\n");
    super::modes::table_of(report, out);
    if let Some(text) = coverage::read(&summary.coverage) {
        super::page::paragraph(
            &escape(&format!("{text}. {}", coverage::unread_because(&summary.coverage))),
            out,
        );
    }
    close(out);
}
