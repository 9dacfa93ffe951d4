//! The figures of a report as one message of OTLP metrics: gauges with the run's id, in the order of the metric table.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use stepscope_analyze::report::Report;
use stepscope_analyze::summary::SectionRow;
use stepscope_core::metric::run::row;
use stepscope_core::vocabulary::Metric;
use stepscope_core::{SCOPE_NAME, SEMCONV_URL, attr};
use stepscope_otlp::proto::Encoder;
use stepscope_otlp::{
    MetricHead, MetricKind, Number, PointData, PointHead, ResourceHead, ScopeHead, Temporality, Value,
    Visitor,
};

/// Sections that are told: those with the largest sums.
const SECTIONS: usize = 50;
/// Lines of live memory that are told.
const LINES: usize = 50;
const NS_PER_SECOND: f64 = 1e9;

/// An attribute of a point.
type Label<'r> = (&'static str, Value<'r>);

/// A figure of a section, where it is known.
type Figure = fn(&SectionRow) -> Option<f64>;

fn seconds(ns: u64) -> f64 {
    ns as f64 / NS_PER_SECOND
}

/// The message, and how many points it has.
pub(super) fn message(report: &Report, run: &str, place: Option<&Path>, now_ns: u64) -> (Vec<u8>, u64) {
    let mut encoder = Encoder::metrics();
    for (key, text) in super::resource(report, run) {
        encoder.resource_attribute(key, Value::Str(&text));
    }
    encoder.resource(&ResourceHead { schema_url: SEMCONV_URL, ..ResourceHead::default() });
    let version = env!("CARGO_PKG_VERSION");
    encoder.scope(&ScopeHead { name: SCOPE_NAME, version, ..ScopeHead::default() });
    let mut gauges = Gauges { encoder, run, now_ns, points: 0 };
    gauges.findings(report);
    gauges.figures(report);
    if let Some(place) = place {
        let place = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
        let place = place.to_string_lossy();
        gauges.each(&row::RUN_REPORT, [(vec![(attr::REPORT_PATH, Value::Str(&place))], 1.0)]);
    }
    gauges.phases(report);
    gauges.sections(report);
    gauges.lines(report);
    (gauges.encoder.take(), gauges.points)
}

struct Gauges<'r> {
    encoder: Encoder,
    run: &'r str,
    now_ns: u64,
    points: u64,
}

impl Gauges<'_> {
    /// A metric with these points; absent without any.
    fn each<'p>(&mut self, row: &Metric, points: impl IntoIterator<Item = (Vec<Label<'p>>, f64)>) {
        let mut points = points.into_iter().filter(|(_, value)| value.is_finite()).peekable();
        if points.peek().is_none() {
            return;
        }
        let Metric { name, unit, .. } = *row;
        let description = row.doc.trim();
        self.encoder.metric(&MetricHead {
            name,
            unit,
            description,
            kind: MetricKind::Gauge,
            temporality: Temporality::default(),
            monotonic: false,
        });
        for (labels, value) in points {
            self.encoder.point_attribute(attr::RUN_ID, Value::Str(self.run));
            labels.into_iter().for_each(|(key, value)| self.encoder.point_attribute(key, value));
            let data = PointData::Number(Some(Number::Double(value)));
            self.encoder.point(&PointHead { start_unix_ns: 0, time_unix_ns: self.now_ns, flags: 0, data });
            self.points += 1;
        }
        self.encoder.metric_end();
    }

    fn one(&mut self, row: &Metric, value: Option<f64>) {
        self.each(row, value.map(|value| (Vec::new(), value)));
    }

    /// One point for a rule and what it is about: of several that differ in nothing that is told, the most severe.
    fn findings(&mut self, report: &Report) {
        let mut worst = BTreeMap::new();
        for found in &report.findings {
            let about = (found.rule, found.section.as_deref(), found.phase.as_deref(), found.rank);
            let severity = worst.entry(about).or_insert(found.severity);
            *severity = found.severity.max(*severity);
        }
        let points = worst.into_iter().map(|((rule, section, phase, rank), severity)| {
            let mut labels = vec![(attr::FINDING_RULE, Value::Str(rule))];
            labels.extend(section.map(|path| (attr::PATH, Value::Str(path))));
            labels.extend(phase.map(|phase| (attr::PHASE, Value::Str(phase))));
            labels.extend(rank.map(|rank| (attr::RANK, Value::Int(rank))));
            (labels, severity)
        });
        self.each(&row::FINDING_SEVERITY, points);
        self.one(&row::RUN_FINDINGS, Some(report.findings.len() as f64));
    }

    fn figures(&mut self, report: &Report) {
        let (run, summary) = (&report.run, &report.summary);
        let times = summary.step_time.as_ref();
        self.one(&row::RUN_STARTED, run.started_ns.map(seconds));
        self.one(&row::RUN_DURATION, run.elapsed_ns.map(seconds));
        self.one(&row::RUN_RANKS, Some(run.ranks as f64));
        self.one(&row::RUN_STEPS, summary.mode.map(|_| summary.steps as f64));
        self.one(&row::RUN_STEP_P50, times.and_then(|times| times.p50).map(seconds));
        self.one(&row::RUN_STEP_P95, times.and_then(|times| times.p95).map(seconds));
        self.one(&row::RUN_SAMPLE_RATE, summary.throughput.samples_per_second);
        self.one(&row::RUN_INPUT_SHARE, summary.input.share);
        self.one(&row::RUN_SPANS_LOST, Some(report.losses.lost as f64));
    }

    fn phases(&mut self, report: &Report) {
        let phases = report.summary.phases.iter();
        let points =
            phases.map(|row| (vec![(attr::PHASE, Value::Str(row.phase.as_str()))], row.exposed_share));
        self.each(&row::RUN_PHASE_SHARE, points);
    }

    /// Lines that hold what is old. Where a line is not known, its address is the file, and several stacks may have one; where
    /// there is none either, the line at which the section begins.
    fn lines(&mut self, report: &Report) {
        let sampled = report.memory.as_ref().and_then(|memory| memory.sampled.as_ref());
        let mut sums = BTreeMap::new();
        for line in sampled.into_iter().flat_map(|memory| &memory.lines).filter(|line| line.old_bytes > 0) {
            let (file, number) = line.told_place();
            let key = (file, number, line.section.as_deref(), line.function.as_deref());
            let sum = sums.entry(key).or_insert(0_u64);
            *sum = sum.saturating_add(line.old_bytes);
        }
        let mut largest: Vec<_> = sums.into_iter().collect();
        largest.sort_by_key(|(_, bytes)| Reverse(*bytes));
        let points = largest.into_iter().take(LINES).map(|((file, line, section, function), bytes)| {
            let mut labels = vec![(attr::CODE_FILE_PATH, Value::Str(file))];
            labels.extend(section.map(|path| (attr::PATH, Value::Str(path))));
            labels.extend(line.map(|number| (attr::CODE_LINE_NUMBER, Value::Int(number.into()))));
            labels.extend(function.map(|name| (attr::CODE_FUNCTION_NAME, Value::Str(name))));
            (labels, bytes as f64)
        });
        self.each(&row::RUN_MEMORY_LINE, points);
    }

    fn sections(&mut self, report: &Report) {
        let mut largest: Vec<&SectionRow> = report.sections.iter().collect();
        largest.sort_by(|a, b| b.stats.total.cmp(&a.stats.total).then_with(|| a.path.cmp(&b.path)));
        largest.truncate(SECTIONS);
        let columns: [(&Metric, Figure); 6] = [
            (&row::RUN_SECTION_TOTAL, |section| Some(seconds(section.stats.total))),
            (&row::RUN_SECTION_SELF, |section| section.self_ns.or(section.self_busy_ns).map(seconds)),
            (&row::RUN_SECTION_COUNT, |section| Some(section.stats.count as f64)),
            (&row::RUN_SECTION_P50, |section| section.stats.p50.map(seconds)),
            (&row::RUN_SECTION_P95, |section| section.stats.p95.map(seconds)),
            (&row::RUN_SECTION_ALLOC, |section| Some(section.memory?.alloc_bytes as f64)),
        ];
        for (row, figure) in columns {
            let points = largest.iter().filter_map(|section| {
                let mut labels = vec![(attr::PATH, Value::Str(section.path.as_str()))];
                labels.extend(section.phase.as_ref().map(|phase| (attr::PHASE, Value::Str(phase.as_str()))));
                Some((labels, figure(section)?))
            });
            self.each(row, points);
        }
    }
}
