//! A run of 100,000 steps and a million spans: separate traces that link to the run, and an analysis whose
//! memory does not grow with the number of steps.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use stepscope_testkit::{ForestOptions, Format, TempFolder, process};

use crate::figures::write_run;
use crate::program::{LIMIT, parse, program};

/// What an analysis may take at most: of one process, with a thousand call paths.
const MOST_BYTES: u64 = 150_000_000;

/// Runs the analysis and gives its report and its peak of resident memory, as the kernel accounts it.
fn analyze_measured(input: &Path, threads: u8) -> (serde_json::Value, u64) {
    const MEASURE: &str = "import resource, subprocess, sys\n\
        code = subprocess.run(sys.argv[1:]).returncode\n\
        print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024, file=sys.stderr)\n\
        sys.exit(code)";
    let mut command = Command::new("python3");
    command.args(["-c", MEASURE]).arg(program()).args(["--quiet", "analyze", "--format", "json"]).arg(input);
    command.args(["--threads", &threads.to_string()]);
    let ended =
        process::run(&mut command, LIMIT).expect("python3 is there").success().expect("it is analysed");
    let peak = ended.stderr_text().lines().last().and_then(|line| line.trim().parse().ok());
    (parse(&ended.stdout_text()), peak.expect("a peak"))
}

#[test]
fn memory_is_flat_beyond_the_series_bound() {
    let folder = TempFolder::new("scale").expect("a folder");
    let mut peaks = Vec::new();
    // Both halve their series of 65,536 steps at the end, so that the same number is kept.
    for steps in [131_000, 262_000] {
        let file = folder.join("run.otlp");
        let options = ForestOptions {
            steps,
            spans_per_step: 8,
            steps_per_epoch: 10_000,
            eval_every: 0,
            ..ForestOptions::default()
        };
        write_run(&options, Format::Proto, &file);
        let started = Instant::now();
        let (report, peak) = analyze_measured(&file, 1);
        let spans = report["run"]["spans"].as_u64().unwrap_or(0);
        println!(
            "{steps} steps, {spans} spans, {} MB: {:.1} s, peak {} MiB",
            file.metadata().map_or(0, |file| file.len() / 1_000_000),
            started.elapsed().as_secs_f64(),
            peak >> 20
        );
        assert_eq!(
            report["summary"]["steps"]
                .as_u64()
                .zip(report["summary"]["warmup_steps"].as_u64())
                .map(|(a, b)| a + b),
            Some(steps)
        );
        peaks.push(peak);
    }
    // Twice the steps, a tenth more memory at most; measured on its own, so that the bound is no accident.
    assert!(peaks[1] as f64 <= peaks[0] as f64 * 1.1, "{peaks:?}");
    assert!(peaks.iter().all(|&peak| peak <= MOST_BYTES), "{peaks:?}");
}

/// Every step another tree, over a thousand call paths, all in one file.
#[test]
fn five_million_spans_of_a_thousand_paths_take_little_memory() {
    let folder = TempFolder::new("wide").expect("a folder");
    let file = folder.join("run.otlp");
    let options = ForestOptions { steps: 100_000, spans_per_step: 50, ..ForestOptions::default() };
    write_run(&options, Format::Proto, &file);
    let measured = [1, 2].map(|threads| analyze_measured(&file, threads));
    let [(report, one), (other, two)] = &measured;
    println!(
        "{} spans on {} paths: peak {} MB with one thread, {} MB with two",
        report["run"]["spans"],
        report["sections"].as_array().map_or(0, Vec::len),
        one / 1_000_000,
        two / 1_000_000
    );
    assert!(report["run"]["spans"].as_u64().is_some_and(|spans| spans > 5_000_000));
    assert!(report["sections"].as_array().is_some_and(|sections| sections.len() > 1_000));
    assert_eq!(report, other);
    assert!(*one.max(two) <= MOST_BYTES, "{one} and {two}");
}

/// Spans by trace and their links, read by another program than ours.
#[test]
fn a_hundred_thousand_steps_are_traces_that_link_to_the_run() {
    const COUNT: &str = r#"
import json, sys
steps, runs, links, spans, largest, sizes = set(), set(), set(), 0, 0, {}
for line in open(sys.argv[1]):
    for resource in json.loads(line).get("resourceSpans", []):
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                spans += 1
                trace = span["traceId"]
                sizes[trace] = sizes.get(trace, 0) + 1
                kind = [a["value"]["stringValue"] for a in span.get("attributes", []) if a["key"] == "stepscope.section.kind"]
                if kind == ["step"]:
                    steps.add(trace)
                    links.update((trace, link["traceId"]) for link in span.get("links", []))
                if kind == ["run"] and not span.get("parentSpanId"):
                    runs.add(trace)
linked = {trace for trace, target in links if target in runs}
print(len(steps), len(linked), len(runs), spans, max(sizes.values()))
"#;
    let folder = TempFolder::new("traces").expect("a folder");
    let example =
        stepscope_testkit::binaries::find("many_steps").expect("cargo build -p stepscope --examples");
    let mut command = Command::new(example);
    command.args(["100000", "9"]).current_dir(folder.path()).env("STEPSCOPE_FORMAT", "json");
    command.env("STEPSCOPE_DIR_BYTES", "8000000000").env("STEPSCOPE_RING_BYTES", "67108864");
    process::run(&mut command, LIMIT).expect("starts").success().expect("succeeds");
    let joined = folder.join("all.jsonl");
    let mut all = std::fs::File::create(&joined).expect("a file");
    for file in stepscope_testkit::folder::files_below(&folder.join("profiles")).expect("files") {
        if file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("traces")) {
            std::io::copy(&mut std::fs::File::open(file).expect("opens"), &mut all).expect("copies");
        }
    }
    let mut count = Command::new("python3");
    count.args(["-c", COUNT]).arg(&joined);
    let counted = process::run(&mut count, LIMIT).expect("python3 is there").success().expect("it counts");
    let figures: Vec<u64> =
        counted.stdout_text().split_whitespace().map(|word| word.parse().expect("a number")).collect();
    let [steps, linked, runs, spans, largest] = figures[..] else { panic!("{figures:?}") };
    println!(
        "{steps} step traces, {linked} linked to {runs} run, {spans} spans, at most {largest} in one trace"
    );
    assert_eq!((steps, linked, runs), (100_000, 100_000, 1));
    // The steps' spans, the run's start and the run itself.
    assert_eq!(spans, 100_000 * 10 + 2);
    assert_eq!(largest, 10);
    drop(all);
    let (report, peak) = analyze_measured(&folder.join("profiles"), 2);
    assert!(peak <= MOST_BYTES);
    println!("the layer's own million spans: peak {} MiB", peak >> 20);
    assert_eq!(report["run"]["spans"], 100_000 * 10 + 2);
    assert_eq!(report["losses"]["dropped_total"], 0);
}
