//! A run of 100,000 steps and a million spans through the collector into Jaeger: none lost, any step opens.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::time::Instant;

use stepscope_stack_tests::program::{example, output, parse, report_text};
use stepscope_stack_tests::stack::Stack;
use stepscope_stack_tests::traces::{self, integer, root, text};
use stepscope_testkit::folder::{TempFolder, files_below};
use stepscope_testkit::random::Random;

use crate::jaeger::open;

const STEPS: u64 = 100_000;
const SECTIONS: u64 = 9;

/// The run's start and the run itself are spans, too.
const SPANS: u64 = STEPS * (SECTIONS + 1) + 2;

/// Of the files only the smallest: JSON of a million spans is half a gigabyte.
const EXPORTERS: &str = "yaml:service::pipelines::traces::exporters: [otlp_grpc/jaeger, file/zstd_traces]";

#[test]
fn a_hundred_thousand_steps_arrive_and_any_of_them_opens() {
    let laptop = stepscope_testkit::binaries::repository().join("collector-config/laptop.yaml");
    let laptop = laptop.to_string_lossy();
    let stack = Stack::start(&["--config", &laptop, "--config", EXPORTERS], &[]).expect("the stack starts");
    let folder = TempFolder::new("scale").expect("a folder");
    let profiles = folder.join("profiles");
    let started = Instant::now();
    let mut run = example("many_steps", &[&STEPS.to_string(), &SECTIONS.to_string()]).expect("built");
    // What one step cannot be delayed for, the ring must hold; the program waits for the collector now and then.
    run.env("STEPSCOPE_RING_BYTES", "67108864").env("OTEL_EXPORTER_OTLP_ENDPOINT", stack.endpoint());
    run.env("STEPSCOPE_DIR", &profiles)
        .env("STEPSCOPE_DIR_BYTES", "8000000000")
        .env("STEPSCOPE_FORMAT", "json");
    output(&mut run).expect("the run succeeds");
    let sent_s = started.elapsed().as_secs_f64();
    let accepted = stack.collector_count("otelcol_receiver_accepted_spans", "transport=\"http\"");
    let stored = stack.wait_for_stored(SPANS);
    println!("{SPANS} spans sent in {sent_s:.1} s, stored after {:.1} s", started.elapsed().as_secs_f64());
    assert_eq!((accepted, stored), (Ok(SPANS), Ok(SPANS)), "each once, none lost");

    // What the program says of itself.
    let report = parse(&report_text(&[&profiles]).expect("a report")).expect("JSON");
    assert_eq!(report["losses"]["dropped_total"], 0, "{}", report["losses"]);
    assert_eq!(report["losses"]["emitted"], SPANS);
    assert_eq!(report["run"]["traces"], STEPS + 1);

    let steps = steps_of(&profiles);
    assert_eq!(steps.len() as u64, STEPS);
    let mut random = Random::new(4);
    let asked = Instant::now();
    let opened = 2_000;
    for _ in 0..opened {
        let (step, trace) = &steps[random.below(STEPS) as usize];
        let stored = open(&stack, trace).expect("it opens");
        let spans = stored.get(trace).unwrap_or_else(|| panic!("step {step} is not there"));
        assert_eq!(spans.len() as u64, SECTIONS + 1, "step {step}");
        let root = root(spans).unwrap_or_else(|| panic!("step {step} has no root"));
        assert_eq!(integer(root, "stepscope.step"), Some(*step));
        assert_eq!(text(root, "stepscope.section.kind"), Some("step"));
        assert_eq!(root["links"].as_array().map(Vec::len), Some(1), "step {step} links to the run");
    }
    println!(
        "{opened} random steps opened, {:.1} ms each",
        asked.elapsed().as_secs_f64() * 1e3 / f64::from(opened)
    );

    stack.change("stop", "collector").expect("stops, hence flushes its files");
    let text = report_text(&[&stack.data("zstd")]).expect("a report");
    assert_eq!(parse(&text).expect("JSON")["run"]["spans"], SPANS, "the file has them, too");
}

/// Number and trace id of every step, from the directory's JSON lines, by another reader than ours.
fn steps_of(profiles: &Path) -> Vec<(i64, String)> {
    let mut steps = Vec::new();
    let files = files_below(profiles).expect("files");
    let is_traces =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("traces"));
    for file in files.iter().filter(|path| is_traces(path)) {
        for line in BufReader::new(File::open(file).expect("opens")).lines() {
            let message = parse(&line.expect("text")).expect("JSON");
            let roots =
                traces::spans(&message).filter(|span| text(span, "stepscope.section.kind") == Some("step"));
            steps.extend(roots.map(|span| {
                let trace = span["traceId"].as_str().expect("an id").to_owned();
                (integer(span, "stepscope.step").expect("a number"), trace)
            }));
        }
    }
    steps
}
