//! Formats beside text and JSON: what they say is what the JSON report says, whatever names hold.

mod csv;
mod grafana;
mod html;
mod md;

use serde_json::Value;
use stepscope_analyze::Summary;
use stepscope_analyze::render::{self, File, Options, Output};
use stepscope_analyze::report::{Report, build};
use stepscope_analyze::rules::Config;
use stepscope_analyze::summary::{Gauge, SeriesPoint, StepSeries};
use stepscope_core::Mode;

use crate::text::damaged;

/// Names that try to be more than names.
const HOSTILE: [&str; 7] = [
    "=HYPERLINK(\"http://x\",\"y\")",
    "a|b\n# c\r\n",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)> & \"quotes\" 'too'",
    "`code` *bold* [link](http://x) @team #1",
    "\u{202e}right to left\u{0}\u{1b}[31m",
    "",
];

fn report_of(summary: &Summary) -> Report {
    build(summary, damaged(), &Config::default())
}

fn text_in(format: &str, report: &Report) -> String {
    render::find(format).unwrap().text(report, Options::default()).unwrap()
}

fn json_of(report: &Report) -> Value {
    serde_json::from_str(&text_in("json", report)).unwrap()
}

fn files_in(format: &str, report: &Report) -> Vec<File> {
    match render::find(format).unwrap().output {
        Output::Folder(render) => render(report).unwrap(),
        Output::Text(_) => panic!("{format} is no folder"),
    }
}

#[test]
fn offsets_in_compressed_files_are_said_to_be_of_what_they_hold() {
    for (format, is_unpacked) in [
        ("OTLP JSON lines, gzip", true),
        ("OTLP protobuf, length-prefixed, zstd", true),
        ("OTLP, length-prefixed, a zstd frame each", false),
        ("Jaeger JSON", false),
    ] {
        let mut reading = damaged();
        reading.inputs[0].path.clone_from(&reading.issues[0].file);
        reading.inputs[0].format = Some(format.into());
        let report = build(&full(), reading, &Config::default());
        let text = text_in("text", &report).split_whitespace().collect::<Vec<_>>().join(" ");
        let unpacked = if is_unpacked { " of the unpacked content" } else { "" };
        assert!(text.contains(&format!("at byte 1,234,567{unpacked}: the file ends inside")), "{format}");
        let place = format!("at byte 1,234,567{unpacked}: the file ends inside");
        assert!(text_in("md", &report).contains(&place), "{format}");
        let page = text_in("html", &report);
        let row = page.split("1,234,567").nth(1).unwrap().split("</td>").next().unwrap();
        assert_eq!(row.ends_with(" unpacked"), is_unpacked, "{format}: {row}");
    }
}

/// A report with every list filled, and figures over steps that differ.
fn full() -> Summary {
    let mut summary = crate::schema::full();
    let point = |step: u64| {
        let gauge = |from: u64| {
            (!step.is_multiple_of(7)).then_some(Gauge { count: 2, min: from, max: from + 9, mean: from + 4 })
        };
        SeriesPoint {
            step: step * 2,
            count: 2,
            duration_sum_ns: 40_000_000 + step * 1_001 + step % 3,
            duration_min_ns: 19_000_000 + step,
            duration_max_ns: 21_000_000 + step * 1_000,
            live_bytes: gauge(3_000_000 + 131_072 * step),
            rss_bytes: gauge(30_000_000 + 4_096 * step),
            samples: (!step.is_multiple_of(5)).then_some(128),
            wait_ns: 9_000_000 + step,
            run_queue_ns: Some(1_000 + step),
            cpu_ns: Some(2_000 + step),
            input_before_ns: (!step.is_multiple_of(3)).then_some(2_000 + step),
        }
    };
    summary.series = vec![StepSeries { mode: Mode::Train, shift: 1, points: (0..200).map(point).collect() }];
    summary
}

/// The same with every name replaced.
fn hostile(name: &str) -> Summary {
    let mut summary = full();
    summary.run.id = name.into();
    summary.instances[0].resource.service_name = format!("{name}!");
    summary.instances[0].resource.host_name = name.into();
    summary.other_runs[0].run.id = name.into();
    for row in &mut summary.sections {
        row.path = stepscope_core::path::join([row.path.as_str(), name]);
        row.name = name.into();
    }
    summary.batches.loaders[0].name = name.into();
    let held = summary.memory.by_section.as_mut().unwrap();
    held.sections[0].path = name.into();
    held.excluded = vec![name.into()];
    summary.values[0].name = name.into();
    let host = &mut summary.metrics.hosts[0];
    (host.name, host.sources, host.gauges[0].about) =
        (Some(name.into()), vec![name.into()], Some(name.into()));
    let gpu = &mut summary.metrics.gpus[0];
    (gpu.name, gpu.model) = (Some(name.into()), Some(name.into()));
    let phase = stepscope_analyze::summary::PhaseName::Custom(name.into());
    summary.modes[0].phases[0].phase = phase.clone();
    for example in &mut summary.exemplars {
        example.lanes[1].thread_name = Some(name.into());
        example.spans.iter_mut().for_each(|span| span.name = name.into());
        example.spans[2].phase = Some(phase.clone());
    }
    summary.phase_series[0].points[0].exposed[0].phase = phase.clone();
    summary.modes[0].slowest[0].phases[0].phase = phase;
    summary
}
