//! The figures that the page's script draws: columns of integers, each the difference to the one before in as few bytes as
//! it takes (zigzag, LEB128; 0 stands for absent), and of 32-bit floats, byte by byte plane; then the steps with their
//! spans as JSON. All in one zlib stream in base64, described by a JSON header. `front/data.js` is the other end.

use flate2::{Compress, Compression, FlushCompress, Status};
use serde_json::{Value, json};

use super::sha256::base64;
use crate::document::memory::held_lines;
use crate::document::names::{named, printable};
use crate::document::series::{held_series, numbers, phase_series, series};
use crate::document::steps::marks;
use crate::document::values::coarse;
use crate::document::{Palette, examples, host, live_memory, sections};
use crate::report::Report;
use crate::summary::{Gauge, PhasePoint, SectionRow, SeriesPoint};

/// The largest integer whose differences a script reads exactly. What is larger is absent.
const MAX: u64 = (1 << 51) - 1;

/// Columns written so far, and what is said of each plot.
#[derive(Default)]
struct Columns {
    header: Vec<Value>,
    bytes: Vec<u8>,
    plots: Vec<Value>,
}

impl Columns {
    fn integers(&mut self, name: &str, values: impl Iterator<Item = Option<i64>>) {
        let (mut before, mut rows) = (0_i64, 0_u64);
        for value in values {
            rows += 1;
            let Some(value) = value.filter(|value| value.unsigned_abs() <= MAX) else {
                self.bytes.push(0);
                continue;
            };
            let change = value - before;
            let mut rest = ((change << 1) ^ (change >> 63)) as u64 + 1;
            while rest >= 0x80 {
                self.bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            self.bytes.push(rest as u8);
            before = value;
        }
        self.header.push(json!({ "name": name, "rows": rows, "kind": "integers" }));
    }

    fn counts(&mut self, name: &str, values: impl Iterator<Item = Option<u64>>) {
        self.integers(name, values.map(|value| i64::try_from(value?).ok()));
    }

    fn floats(&mut self, name: &str, values: impl Iterator<Item = f64> + Clone) {
        let bits = |value: f64| (value.clamp(f32::MIN.into(), f32::MAX.into()) as f32).to_le_bytes();
        for plane in 0..4 {
            self.bytes.extend(values.clone().map(|value| bits(value).get(plane).copied().unwrap_or(0)));
        }
        self.header.push(json!({ "name": name, "rows": values.count(), "kind": "floats" }));
    }

    /// Begins a plot: which one, the first step of each of its points, and how many step numbers a point stands for. Steps are
    /// places as well: one beyond what a script holds is the last of those.
    fn plot(&mut self, id: &str, steps: impl Iterator<Item = u64>, width: u64, more: Value) {
        self.counts(&format!("{id}_step"), steps.map(|step| Some(step.min(MAX))));
        self.plots.push(json!({ "id": id, "steps_per_point": width.min(MAX), "more": more }));
    }
}

/// The JSON text of the page's data.
pub(super) fn encode(report: &Report) -> Result<String, String> {
    let mut columns = Columns::default();
    of_hosts(report, &mut columns);
    over_steps(report, &mut columns);
    let length = columns.bytes.len();
    let steps: Vec<Value> = (0..report.exemplars.len()).filter_map(|at| example(report, at)).collect();
    let behind = json!({ "examples": steps, "live": live_memory::calls(report) });
    columns.bytes.extend(behind.to_string().into_bytes());
    let time = report.summary.step_time.as_ref();
    let header = json!({
        "version": 3,
        "columns": columns.header,
        "bytes": length,
        "plots": columns.plots,
        "colors": Palette::of(report).classes(),
        "sections": rest(report),
        "p50": time.and_then(|time| time.p50),
        "stream": base64(&deflate(&columns.bytes)?),
    });
    // No tag can begin inside of the element that holds this.
    Ok(header.to_string().replace('<', "\\u003c"))
}

/// A figure of a point, and its name in the columns.
type Figure<T> = (&'static str, fn(&SeriesPoint) -> T);

fn over_steps(report: &Report, columns: &mut Columns) {
    if let Some((_, series)) = series(report) {
        let points = &series.points;
        let width = numbers(series.shift, points, |point| point.step);
        columns.plot("steps", points.iter().map(|point| point.step), width, json!(marks(report)));
        let figures: [Figure<u64>; 5] = [
            ("count", |point| point.count),
            ("sum", |point| point.duration_sum_ns),
            ("min", |point| point.duration_min_ns),
            ("max", |point| point.duration_max_ns),
            ("wait", |point| point.wait_ns),
        ];
        for (name, figure) in figures {
            columns.counts(&format!("steps_{name}"), points.iter().map(|point| Some(figure(point))));
        }
        let gauges: [Figure<Option<Gauge>>; 2] =
            [("live", |point| point.live_bytes), ("rss", |point| point.rss_bytes)];
        for (name, gauge) in gauges {
            for (at, kind) in ["min", "mean", "max"].into_iter().enumerate() {
                let figure = |gauge: Gauge| [gauge.min, gauge.mean, gauge.max].get(at).copied();
                let values = points.iter().map(|point| gauge(point).and_then(figure));
                columns.counts(&format!("{name}_{kind}"), values);
            }
        }
    }
    if let Some((series, phases)) = phase_series(report) {
        let points = &series.points;
        let names: Vec<String> = phases.iter().map(|phase| printable(phase)).collect();
        let width = numbers(series.shift, points, |point| point.step);
        columns.plot("phases", points.iter().map(|point| point.step), width, json!(names));
        columns.counts("phases_steps", points.iter().map(|point| Some(point.steps)));
        columns.counts("phases_total", points.iter().map(|point| Some(point.total_ns)));
        columns.counts("phases_none", points.iter().map(|point| Some(point.unattributed_ns)));
        let exposed_ns = |point: &PhasePoint, phase: &str| {
            point.exposed.iter().find(|time| time.phase.as_str() == phase).map_or(0, |time| time.exposed_ns)
        };
        for (at, phase) in phases.iter().enumerate() {
            let values = points.iter().map(|point| Some(exposed_ns(point, phase)));
            columns.counts(&format!("phases_{at}"), values);
        }
    }
    if let Some(held) = held_series(report) {
        let lines = held_lines(held);
        let more = lines.iter().map(|(name, class, _)| json!({ "name": printable(name), "color": class }));
        let width = numbers(held.shift, &held.points, |point| point.step);
        columns.plot("held", held.points.iter().map(|point| point.step), width, more.collect());
        for (at, (_, _, bytes)) in lines.into_iter().enumerate() {
            columns.integers(&format!("held_{at}"), bytes.into_iter().map(Some));
        }
    }
    if let Some(memory) = live_memory::plotted(report) {
        let lines = live_memory::layers(memory);
        let more = lines.iter().map(|(name, class, _)| json!({ "name": printable(name), "color": class }));
        let moments = live_memory::moments(memory);
        let steps = moments.iter().filter_map(|moment| moment.step);
        columns.plot("sampled", steps, 1, more.collect());
        for (at, (_, _, bytes)) in lines.into_iter().enumerate() {
            columns.counts(&format!("sampled_{at}"), bytes.into_iter().map(Some));
        }
    }
    let values = &report.detailed_metrics.values;
    for (at, series) in values.iter().enumerate() {
        let id = format!("value-{at}");
        let (points, size) = coarse(series, values.len());
        let width = numbers(series.shift, &series.points, |point| point.step).saturating_mul(size as u64);
        columns.plot(&id, points.iter().map(|point| point.step), width, printable(&series.name).into());
        columns.floats(&format!("{id}_mean"), points.iter().map(|point| point.mean));
        if points.iter().any(|point| point.count > 1) {
            columns.floats(&format!("{id}_min"), points.iter().map(|point| point.min));
            columns.floats(&format!("{id}_max"), points.iter().map(|point| point.max));
        }
    }
}

/// What machines did, by the steps that began meanwhile.
fn of_hosts(report: &Report, columns: &mut Columns) {
    let hosts = report.host.as_ref().map_or(0, |hosts| hosts.hosts.len());
    for plot in (0..hosts).flat_map(|at| host::plots::of(at, report)) {
        let id = &plot.id;
        let lines = plot.lines.iter().map(|(name, class, _)| json!({ "name": name, "color": class }));
        let more = json!({ "unit": plot.unit, "lines": lines.collect::<Vec<_>>() });
        columns.plot(id, plot.steps.iter().copied(), plot.width, more);
        for (at, (.., values)) in plot.lines.iter().enumerate() {
            columns.floats(&format!("{id}_{at}"), values.iter().copied());
        }
    }
}

/// A step that was kept, as the JSON report has it, with where its spans are drawn and what it is called.
fn example(report: &Report, at: usize) -> Option<Value> {
    let example = report.exemplars.get(at)?;
    let mut value = serde_json::to_value(example).ok()?;
    let examples::Rows { of_spans, by_lane } = examples::rows(example);
    let spans = value["spans"].as_array_mut().into_iter().flatten();
    for ((span, of), row) in spans.zip(&example.spans).zip(of_spans) {
        span["name"] = named(&of.name).into();
        span["row"] = row.into();
        if let Some(phase) = &of.phase {
            span["phase"] = printable(phase.as_str()).into();
        }
    }
    let lanes = example.lanes.iter().enumerate();
    let makings = examples::makings(example);
    let makings = makings.iter().map(|one| {
        let words = printable(&examples::making_words(example, one));
        json!({ "row": one.row, "offset": one.offset_ns, "duration": one.duration_ns, "words": words })
    });
    value["makings"] = makings.collect();
    value["lanes"] = lanes.map(|(at, lane)| printable(&examples::lane_name(lane, at))).collect();
    value["rows"] = json!(by_lane);
    value["title"] = printable(&examples::title(report, example)).into();
    value["primary"] = (Some(example.mode.as_str()) == report.summary.mode).into();
    Some(value)
}

/// The sections beyond those that the document holds, for the script: place, path, phase, kind, which figure is its own
/// time, then the columns.
fn rest(report: &Report) -> Vec<Value> {
    let row = |(at, row): (usize, &SectionRow)| {
        let (own, own_ns) = match row.self_ns {
            Some(_) => ("self_ns", row.self_ns),
            None => ("self_busy_ns", row.self_busy_ns),
        };
        let alloc = row.memory.as_ref();
        json!([
            at,
            printable(&row.path),
            row.phase.as_ref().map(|phase| printable(phase.as_str())),
            row.kind.as_str(),
            own,
            [
                json!(row.stats.count),
                json!(row.stats.total),
                json!(own_ns),
                json!(row.stats.p50),
                json!(row.stats.p95),
                json!(row.stats.max),
                json!(row.stats.cv),
                json!(alloc.map(|alloc| alloc.alloc_bytes)),
                json!(alloc.and_then(|alloc| alloc.peak_bytes)),
                json!(row.errors),
            ]
        ])
    };
    sections::order(report).into_iter().skip(sections::ROWS).map(row).collect()
}

fn deflate(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut stream = Compress::new(Compression::default(), true);
    let mut out = Vec::with_capacity(bytes.len() / 2 + 64);
    loop {
        let read = usize::try_from(stream.total_in()).unwrap_or(bytes.len());
        let rest = bytes.get(read..).unwrap_or_default();
        match stream.compress_vec(rest, &mut out, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => return Ok(out),
            Ok(_) => out.reserve(out.capacity().max(64)),
            Err(error) => return Err(error.to_string()),
        }
    }
}
