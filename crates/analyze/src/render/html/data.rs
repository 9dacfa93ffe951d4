//! The figures over step numbers as the page's script reads them: columns of integers, each the difference to the one
//! before in as few bytes as it takes (zigzag, LEB128; 0 stands for absent), and columns of 32-bit floats, byte by byte
//! plane; all in one zlib stream in base64, described by a JSON header. `front/data.js` is the other end. What a script
//! does not hold exactly is absent.

mod examples;

use flate2::{Compress, Compression, FlushCompress, Status};
use serde_json::{Value, json};

use super::sha256::base64;
use crate::document::memory::held_lines;
use crate::document::names::printable;
use crate::document::series::{exposed_ns, held_series, numbers, phase_series, series, steps_shown};
use crate::document::steps::marks;
use crate::document::values::{Drawn, drawn};
use crate::document::{Marks, Palette, sections};
use crate::report::Report;
use crate::summary::{Gauge, SectionRow, SeriesPoint};

/// The largest integer that a script reads exactly: it holds twice the difference of two, which has to be below 2^53.
const MAX: u64 = (1 << 52) - 1;

/// Columns written so far.
#[derive(Default)]
pub(super) struct Columns {
    header: Vec<Value>,
    bytes: Vec<u8>,
}

impl Columns {
    pub(super) fn integers(&mut self, name: &str, values: impl Iterator<Item = Option<u64>>) {
        let (mut before, mut rows) = (0_i64, 0_u64);
        for value in values {
            rows += 1;
            let value = value.filter(|value| *value <= MAX);
            let Some(value) = value.and_then(|value| i64::try_from(value).ok()) else {
                self.bytes.push(0);
                continue;
            };
            self.varint(zigzag(value - before) + 1);
            before = value;
        }
        self.header.push(json!({ "name": name, "rows": rows, "kind": "integers" }));
    }

    /// Step numbers, which are places as well: one beyond what a script holds is the last of those.
    fn steps(&mut self, name: &str, values: impl Iterator<Item = u64>) {
        self.integers(name, values.map(|value| Some(value.min(MAX))));
    }

    /// Values of either sign.
    fn signed(&mut self, name: &str, values: impl Iterator<Item = i64>) {
        let (mut before, mut rows) = (0_i64, 0_u64);
        for value in values {
            rows += 1;
            if value.unsigned_abs() > MAX / 2 {
                self.bytes.push(0);
                continue;
            }
            self.varint(zigzag(value - before) + 1);
            before = value;
        }
        self.header.push(json!({ "name": name, "rows": rows, "kind": "integers" }));
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn floats(&mut self, name: &str, values: impl Iterator<Item = f64> + Clone) {
        let bits = |value: f64| (value.clamp(f32::MIN.into(), f32::MAX.into()) as f32).to_le_bytes();
        for plane in 0..4 {
            self.bytes.extend(values.clone().map(|value| bits(value).get(plane).copied().unwrap_or(0)));
        }
        self.header.push(json!({ "name": name, "rows": values.count(), "kind": "floats" }));
    }
}

/// How far the mean of a gauge lies from the middle of its extremes: zigzag, since either side can be.
fn from_middle(gauge: Gauge) -> u64 {
    let middle = gauge.min.saturating_add(gauge.max.saturating_sub(gauge.min) / 2);
    let off = i64::try_from(i128::from(gauge.mean) - i128::from(middle)).unwrap_or(0);
    zigzag(off)
}

/// A number of either sign as one without.
pub(super) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// Step numbers that a point stands for.
fn steps_per_point<T>(shift: u32, points: &[T], step: impl Fn(&T) -> u64) -> u64 {
    numbers(shift, points, step).min(MAX)
}

/// The JSON text of the page's data.
pub(super) fn encode(report: &Report) -> Result<String, String> {
    let mut columns = Columns::default();
    let mut plots = Vec::new();
    if let Some((_, series)) = series(report) {
        let points = &series.points;
        columns.steps("step", points.iter().map(|point| point.step));
        let mut add = |name: &str, figure: &dyn Fn(&SeriesPoint) -> Option<u64>| {
            columns.integers(name, points.iter().map(figure));
        };
        add("count", &|point| Some(point.count));
        add("duration_min", &|point| Some(point.duration_min_ns));
        // What follows from the others in points of one or two steps is 0 there, and takes no space.
        add("duration_max_over", &|point| Some(point.duration_max_ns.saturating_sub(point.duration_min_ns)));
        add("duration_sum_over", &|point| {
            let known = point.duration_min_ns.saturating_mul(point.count.saturating_sub(1));
            Some(point.duration_sum_ns.saturating_sub(known.saturating_add(point.duration_max_ns)))
        });
        add("wait", &|point| Some(point.wait_ns));
        let gauges: [fn(&SeriesPoint) -> Option<Gauge>; 2] =
            [|point| point.live_bytes, |point| point.rss_bytes];
        for (name, gauge) in ["live", "rss"].into_iter().zip(gauges) {
            add(&format!("{name}_min"), &|point| gauge(point).map(|gauge| gauge.min));
            add(&format!("{name}_max_over"), &|point| {
                gauge(point).map(|gauge| gauge.max.saturating_sub(gauge.min))
            });
            add(&format!("{name}_mean_off"), &|point| gauge(point).map(from_middle));
        }
        plots.push(json!({
            "id": "steps", "steps_per_point": steps_per_point(series.shift, &series.points, |point| point.step), "marks": value(marks(report)),
        }));
    }
    if let Some((series, phases)) = phase_series(report) {
        let points = &series.points;
        columns.steps("phases_step", points.iter().map(|point| point.step));
        columns.integers("phases_steps", points.iter().map(|point| Some(point.steps)));
        columns.integers("phases_total", points.iter().map(|point| Some(point.total_ns)));
        columns.integers("phases_none", points.iter().map(|point| Some(point.unattributed_ns)));
        for (at, phase) in phases.iter().enumerate() {
            columns
                .integers(&format!("phases_{at}"), points.iter().map(|point| Some(exposed_ns(point, phase))));
        }
        let names: Vec<String> = phases.iter().map(|phase| printable(phase)).collect();
        plots.push(json!({
            "id": "phases", "steps_per_point": steps_per_point(series.shift, &series.points, |point| point.step), "names": names,
        }));
    }
    if let Some(held) = held_series(report) {
        columns.steps("held_step", held.points.iter().map(|point| point.step));
        let mut lines = Vec::new();
        for (at, (name, class, bytes)) in held_lines(held).into_iter().enumerate() {
            columns.signed(&format!("held_{at}"), bytes.into_iter());
            lines.push(json!({ "name": printable(&name), "color": class }));
        }
        plots.push(json!({
            "id": "held", "steps_per_point": steps_per_point(held.shift, &held.points, |point| point.step), "lines": lines,
        }));
    }
    let (texts, examples) = examples::encode(report, &mut columns);
    let values = &report.detailed_metrics.values;
    for (at, series) in values.iter().enumerate() {
        let Drawn { shift, points, .. } = drawn(series, values.len());
        columns.steps(&format!("value-{at}_step"), points.iter().map(|point| point.step));
        columns.floats(&format!("value-{at}_mean"), points.iter().map(|point| point.mean));
        if points.iter().any(|point| point.count > 1) {
            columns.floats(&format!("value-{at}_min"), points.iter().map(|point| point.min));
            columns.floats(&format!("value-{at}_max"), points.iter().map(|point| point.max));
        }
        plots.push(json!({
            "id": format!("value-{at}"),
            "steps_per_point": steps_per_point(shift, &points, |point| point.step),
            "name": printable(&series.name),
        }));
    }
    let time = report.summary.step_time.as_ref();
    let (first, last) = steps_shown(report);
    let header = json!({
        "version": 1,
        "columns": columns.header,
        "bytes": columns.bytes.len(),
        "plots": plots,
        "steps": [first.min(MAX), last.min(MAX)],
        "texts": texts,
        "exemplars": examples,
        "colors": Palette::of(report).classes(),
        "sections": rest(report),
        "p50": time.and_then(|time| time.p50),
        "stream": base64(&deflate(&columns.bytes)?),
    });
    // No tag can begin inside of the element that holds this.
    Ok(header.to_string().replace('<', "\\u003c"))
}

/// The marks of the steps.
fn value(marks: Marks) -> Value {
    let changes = marks.changes.iter();
    let changes: Vec<Value> =
        changes.map(|one| json!({ "from": one.from, "to": one.to, "words": one.words })).collect();
    let periods = marks.periods.iter();
    let periods: Vec<Value> =
        periods.map(|one| json!({ "every": one.every, "first": one.first, "words": one.words })).collect();
    json!({ "changes": changes, "periods": periods, "steady": marks.steady })
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
