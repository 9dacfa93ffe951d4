//! Format `grafana`: the report as one dashboard with its data inside, as snapshots in Grafana's built-in data source, so that
//! it reads without any other. Bounded: what is largest is in it, and panels say what they leave out. Data are in `frame`,
//! looks in `panel`, the tree of sections in `flame`.

mod flame;
mod frame;
mod panel;

use serde_json::{Value, json};

use super::{Options, Output, RenderError, Renderer};
use crate::report::units::things;
use crate::report::{FindingRow, Gain, Report};
use crate::summary::{Gauge, PhaseName, SectionRow, SeriesPoint, StepSeries};
use frame::{Frame, short};
use panel::{Draft, bars, stat, table, trend};

pub(super) const RENDERER: Renderer = Renderer {
    name: "grafana",
    about: "one dashboard with its data inside, to import into Grafana",
    output: Output::Text(render),
};

/// Rows of a table.
const ROWS: usize = 300;
/// Points of a plot.
const POINTS: usize = 1_000;
/// Columns of the grid.
const COLUMNS: u64 = 24;
const NS: &str = "ns";
const BYTES: &str = "bytes";
const SHARE: &str = "percentunit";
/// Plain numbers.
const COUNT: &str = "short";

fn render(report: &Report, _: Options) -> Result<String, RenderError> {
    let rows: [(u64, Vec<Draft>); 7] = [
        (4, figures(report)),
        (5, vec![about(report)]),
        (9, vec![findings(report)]),
        (9, vec![step_times(report), memory(report)]),
        (9, vec![phases(report), ranks(report)]),
        (16, vec![flame::panel(report)]),
        (14, vec![sections(report)]),
    ];
    let (mut panels, mut y) = (Vec::new(), 0);
    for (height, drafts) in rows {
        let count = drafts.len().max(1) as u64;
        for (index, draft) in (0..).zip(drafts) {
            let (left, right) = (COLUMNS * index / count, COLUMNS * (index + 1) / count);
            let place = json!({"h": height, "w": right - left, "x": left, "y": y});
            panels.push(draft.placed(panels.len() + 1, place));
        }
        y += height;
    }
    let board = json!({
        "annotations": {"list": []},
        "description": short(&report.summary.verdict),
        "editable": true,
        "graphTooltip": 0,
        "id": null,
        "links": [],
        "panels": panels,
        "refresh": "",
        "schemaVersion": 42,
        "tags": ["stepscope"],
        "templating": {"list": []},
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "title": format!("stepscope report / {}", short(report.run_name())),
        // A board of the same run takes the place of the one before.
        "uid": uid(report),
    });
    let text = serde_json::to_string(&board).map_err(|error| RenderError(error.to_string()))?;
    Ok(text + "\n")
}

/// At most 40 letters, as Grafana has it: a hash of the run and its attempt.
fn uid(report: &Report) -> String {
    let run = format!("{}/{}", report.run_name(), report.run.attempt);
    let hash = run.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("stepscope-report-{hash:016x}")
}

fn figures(report: &Report) -> Vec<Draft> {
    let summary = &report.summary;
    let times = summary.step_time.as_ref();
    let one = |title, description, unit, value: Value| {
        stat(title, description, Frame::new(title).numbers(title, unit, vec![value]))
    };
    vec![
        one("Steps", "Steps after warm-up.", COUNT, json!(summary.mode.map(|_| summary.steps))),
        one(
            "Step time, median",
            "Median duration of the steps.",
            NS,
            json!(times.and_then(|times| times.p50)),
        ),
        one(
            "Step time, p95",
            "95th percentile of the durations of the steps.",
            NS,
            json!(times.and_then(|times| times.p95)),
        ),
        one(
            "Samples a second",
            "Samples of all processes together over the time they took.",
            COUNT,
            json!(summary.throughput.samples_per_second),
        ),
        one(
            "Input",
            "Share of the time of steps, and of input between them, that is input.",
            SHARE,
            json!(summary.input.share),
        ),
        one(
            "Spans lost",
            "Spans that were recorded and that the report lacks.",
            COUNT,
            json!(report.losses.lost),
        ),
    ]
}

fn about(report: &Report) -> Draft {
    let run = &report.run;
    let known = |text: &Option<String>| text.as_deref().map_or(Value::Null, |text| short(text).into());
    let frame = Frame::new("Run")
        .texts("Verdict", vec![short(&report.summary.verdict).into()])
        .texts("Run", vec![short(report.run_name()).into()])
        .texts("Program", vec![known(&run.service)])
        .texts("Host", vec![known(&run.host)])
        .numbers("Ranks", COUNT, vec![json!(run.ranks)])
        .numbers("Took", NS, vec![json!(run.elapsed_ns)]);
    table("Run", "What the analysis says of the run, in a sentence.", frame)
}

fn gain(row: &FindingRow) -> Option<&Gain> {
    row.predicted_gain.as_ref()
}

fn findings(report: &Report) -> Draft {
    let rows = || report.findings.iter().take(ROWS);
    let optional = |text: Option<&String>| text.map_or(Value::Null, |text| short(text).into());
    let frame = Frame::new("Findings")
        .numbers("Severity", "none", rows().map(|row| json!(row.severity)).collect())
        .texts("Finding", rows().map(|row| short(&row.title).into()).collect())
        .texts("What to do", rows().map(|row| short(&row.recommendation).into()).collect())
        .texts("Gain is", rows().map(|row| gain(row).map(|gain| gain.method.as_str()).into()).collect())
        .numbers("Gain", SHARE, rows().map(|row| json!(gain(row).map(|gain| gain.share))).collect())
        .texts("Section", rows().map(|row| optional(row.section.as_ref())).collect())
        .texts("Phase", rows().map(|row| optional(row.phase.as_ref())).collect())
        .numbers("Rank", "none", rows().map(|row| json!(row.rank)).collect())
        .texts("Rule", rows().map(|row| row.rule.into()).collect());
    table(
        "Findings",
        "What was found, the most severe first; `stepscope explain RULE` says how it is judged.",
        frame,
    )
}

/// Neighbours together, so that no more points than the bound are there.
fn together(points: &[SeriesPoint]) -> std::slice::Chunks<'_, SeriesPoint> {
    points.chunks(points.len().div_ceil(POINTS).max(1))
}

/// Mean of a gauge over points, each by how many values it has; absent where none has any.
fn mean(points: &[SeriesPoint], gauge: fn(&SeriesPoint) -> Option<Gauge>) -> Option<u128> {
    let known = points.iter().filter_map(gauge);
    let (sum, count) = known.fold((0_u128, 0_u128), |(sum, count), gauge| {
        (sum + u128::from(gauge.mean) * u128::from(gauge.count), count + u128::from(gauge.count))
    });
    sum.checked_div(count)
}

/// The series of the mode that the report is about, else the first.
fn series(report: &Report) -> Option<&StepSeries> {
    let all = &report.detailed_metrics.series;
    all.iter().find(|series| Some(series.mode.as_str()) == report.summary.mode).or(all.first())
}

fn step_times(report: &Report) -> Draft {
    let points = series(report).map_or(&[][..], |series| &series.points);
    let column = |value: fn(&[SeriesPoint]) -> Option<u64>| {
        together(points).map(|points| json!(value(points))).collect::<Vec<_>>()
    };
    let frame = Frame::new("Step times")
        .numbers("Step", COUNT, column(|points| points.first().map(|point| point.step)))
        .numbers(
            "Mean",
            NS,
            column(|points| {
                let steps = points.iter().fold(0_u64, |sum, point| sum.saturating_add(point.count));
                let time = points.iter().fold(0_u64, |sum, point| sum.saturating_add(point.duration_sum_ns));
                time.checked_div(steps)
            }),
        )
        .numbers("Shortest", NS, column(|points| points.iter().map(|point| point.duration_min_ns).min()))
        .numbers("Longest", NS, column(|points| points.iter().map(|point| point.duration_max_ns).max()));
    trend("Step times", "Durations of the steps over their numbers; a point holds several neighbours.", frame)
}

fn memory(report: &Report) -> Draft {
    let points = series(report).map_or(&[][..], |series| &series.points);
    let bytes = |gauge: fn(&SeriesPoint) -> Option<Gauge>| {
        let means =
            together(points).map(|points| mean(points, gauge).and_then(|mean| u64::try_from(mean).ok()));
        means.map(|mean| json!(mean)).collect::<Vec<_>>()
    };
    let steps = together(points).map(|points| json!(points.first().map(|point| point.step)));
    let frame = Frame::new("Memory")
        .numbers("Step", COUNT, steps.collect())
        .numbers("Live", BYTES, bytes(|point| point.live_bytes))
        .numbers("Resident", BYTES, bytes(|point| point.rss_bytes));
    trend("Memory", "Live and resident bytes at the ends of the steps, the means of each point.", frame)
}

fn phases(report: &Report) -> Draft {
    let rows = || report.summary.phases.iter();
    let rest = report.summary.unattributed_share();
    let names = rows().map(|row| Value::from(short(row.phase.as_str()))).chain([json!("in no phase")]);
    let shares = rows().map(|row| json!(row.exposed_share)).chain([json!(rest)]);
    let frame =
        Frame::new("Phases").texts("Phase", names.collect()).numbers("Share", SHARE, shares.collect());
    bars("Phases", "Share of the time of the whole steps by phase.", frame)
}

fn ranks(report: &Report) -> Draft {
    let rows = || report.ranks.iter().take(ROWS);
    let frame = Frame::new("Ranks")
        .numbers("Rank", "none", rows().map(|row| json!(row.resource.rank)).collect())
        .numbers("Steps", COUNT, rows().map(|row| json!(row.steps.count)).collect())
        .numbers("Step time, median", NS, rows().map(|row| json!(row.steps.p50)).collect())
        .numbers("Step time, p95", NS, rows().map(|row| json!(row.steps.p95)).collect())
        .numbers(
            "Communication a step",
            NS,
            rows().map(|row| json!(row.communication_per_step_ns)).collect(),
        );
    table("Ranks", "The processes of the run, and how their steps were.", frame)
}

fn sections(report: &Report) -> Draft {
    let mut largest: Vec<&SectionRow> = report.sections.iter().collect();
    largest.sort_by(|a, b| b.stats.total.cmp(&a.stats.total).then_with(|| a.path.cmp(&b.path)));
    largest.truncate(ROWS);
    let numbers = |value: fn(&SectionRow) -> Option<u64>| {
        largest.iter().map(|row| json!(value(row))).collect::<Vec<_>>()
    };
    let frame = Frame::new("Sections")
        .texts("Section", largest.iter().map(|row| short(&row.path).into()).collect())
        .texts("Phase", largest.iter().map(|row| json!(row.phase.as_ref().map(PhaseName::as_str))).collect())
        .numbers("Calls", COUNT, numbers(|row| Some(row.stats.count)))
        .numbers("Total", NS, numbers(|row| Some(row.stats.total)))
        .numbers("Self", NS, numbers(|row| row.self_ns.or(row.self_busy_ns)))
        .numbers("Median", NS, numbers(|row| row.stats.p50))
        .numbers("p95", NS, numbers(|row| row.stats.p95))
        .numbers("Longest", NS, numbers(|row| row.stats.max))
        .numbers("Allocated", BYTES, numbers(|row| Some(row.memory.as_ref()?.alloc_bytes)));
    let more = report.sections.len().saturating_sub(ROWS);
    let draft =
        table("Sections", "All sections by their time; all steps that were read, warm-up too.", frame);
    if more == 0 {
        return draft;
    }
    let more = things(more as u64, "section", "sections");
    draft.described(format!("The {ROWS} sections with the most time; {more} more are in the JSON report."))
}
