//! A run of several ranks in Chrome's format: a file of PyTorch's profiler a rank, read as one run, and a generated run
//! through `convert`. The figures follow from how the files are made, or from a walk over the real one's events.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use stepscope_testkit::{ForestOptions, Format, TempFolder, published};

use crate::figures::write_run;
use crate::program::{output, parse, report, report_text, stepscope};

const RANKS: u64 = 4;
const STEPS: u64 = 40;
/// Sections of a step, itself included, and how long they take in microseconds where they do so on every rank.
const SECTIONS: u64 = 7;
const WAIT_US: u64 = 500;
const BACKWARD_US: u64 = 1_000;
const OPTIMIZER_US: u64 = 400;
const BETWEEN_US: u64 = 100;

/// One rank has other operations than the rest.
const fn forward_us(rank: u64) -> u64 {
    if rank == 2 { 2_000 } else { 1_000 }
}

/// No two ranks take equally long.
const fn step_us(rank: u64) -> u64 {
    5_500 + 10 * rank
}

/// What the profiler of one rank writes: steps on the CPU, launches, the collective operation on the device.
fn document(rank: u64) -> Value {
    let pid = 100 + rank;
    let mut events =
        vec![json!({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "python"}})];
    for number in 0..STEPS {
        let (start, forward) = (1_000 + number * (step_us(rank) + BETWEEN_US), forward_us(rank));
        let cpu = |category: &str, name: &str, at: u64, dur: u64| json!({"ph": "X", "cat": category, "name": name, "ts": start + at, "dur": dur, "pid": pid, "tid": 1});
        let launched = 1_500 + forward;
        events.extend([
            cpu("user_annotation", &format!("ProfilerStep#{}", 10 + number), 0, step_us(rank)),
            cpu("cpu_op", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, WAIT_US),
            cpu("cpu_op", "aten::conv2d", WAIT_US, forward),
            cpu("cpu_op", "autograd::engine::evaluate_function: Backward0", WAIT_US + forward, BACKWARD_US),
            cpu("user_annotation", "Optimizer.step#SGD.step", 5_000, OPTIMIZER_US),
            json!({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": start + launched, "dur": 10,
                   "pid": pid, "tid": 1, "args": {"correlation": number + 1}}),
            json!({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "ts": start + launched + 20,
                   "dur": 3_400 - forward, "pid": 0, "tid": 7, "args": {"correlation": number + 1}}),
            json!({"ph": "C", "name": "memory", "ts": start, "pid": pid, "args": {"bytes": number}}),
        ]);
    }
    json!({
        "schemaVersion": 1,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": RANKS},
        "traceEvents": events,
        "baseTimeNanoseconds": 1_700_000_000_000_000_000_u64,
    })
}

fn write(folder: &TempFolder, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

/// The report without what it says of the files.
fn essence(text: &str) -> Value {
    let mut report = parse(text);
    let fields = report.as_object_mut().expect("an object");
    for key in ["inputs", "read_issues"] {
        assert!(fields.remove(key).is_some(), "{key}");
    }
    report
}

#[test]
fn a_file_a_rank_is_one_run() {
    let folder = TempFolder::new("kineto").expect("a folder");
    let files: Vec<PathBuf> = (0..RANKS)
        .map(|rank| write(&folder, &format!("worker{rank}.pt.trace.json"), &document(rank).to_string()))
        .collect();
    let report = report(&[folder.path()]);
    let run = &report["run"];
    for (key, expected) in [
        ("ranks", RANKS),
        ("world_size", RANKS),
        ("traces", RANKS * STEPS),
        ("spans", RANKS * STEPS * SECTIONS),
    ] {
        assert_eq!(run[key], expected, "{key}");
    }
    let summary = &report["summary"];
    assert_eq!(summary["steps"], RANKS * STEPS);
    let total_us: u64 = (0..RANKS).map(|rank| STEPS * step_us(rank)).sum();
    assert_eq!(summary["step_time"]["total"], 1_000 * total_us);
    let ranks = report["ranks"].as_array().expect("ranks");
    let medians: Vec<_> =
        ranks.iter().map(|rank| (&rank["resource"]["rank"], &rank["steps"]["p50"])).collect();
    let expected: Vec<_> = (0..RANKS).map(|rank| (json!(rank), json!(1_000 * step_us(rank)))).collect();
    assert_eq!(medians, expected.iter().map(|(rank, p50)| (rank, p50)).collect::<Vec<_>>());

    // Phases that Kineto's names tell, on the step's thread; and while that has nothing open, the device's work, for which
    // the step waits then.
    let phase = |name: &str| {
        let phases = summary["phases"].as_array().expect("phases");
        phases
            .iter()
            .find(|row| row["phase"] == name)
            .unwrap_or_else(|| panic!("no {name} in {phases:?}"))
            .clone()
    };
    for (name, each_us) in [("data_wait", WAIT_US), ("backward", BACKWARD_US), ("optimizer", OPTIMIZER_US)] {
        assert_eq!(phase(name)["exposed_ns"], RANKS * STEPS * each_us * 1_000, "{name}");
    }
    let communication_us: u64 = (0..RANKS).map(|rank| STEPS * (3_400 - forward_us(rank))).sum();
    assert_eq!(phase("communication")["exposed_ns"], 1_000 * communication_us);
    assert_eq!(phase("communication")["total_ns"], 1_000 * communication_us);

    // Counters are no part of it, and counted, file by file.
    let issues = report["read_issues"].as_array().expect("issues");
    let left_out: Vec<_> = issues.iter().map(|issue| (&issue["kind"], &issue["count"])).collect();
    assert_eq!(left_out, vec![(&json!("left_out"), &json!(STEPS)); RANKS as usize]);

    // In any order, a file twice, and from a partial a rank.
    let text = report_text(&[folder.path()]);
    let expected = essence(&text);
    let mut given: Vec<&Path> = files.iter().rev().map(PathBuf::as_path).collect();
    assert_eq!(essence(&report_text(&given)), expected, "reversed");
    let twice = write(&folder, "again.json", &document(1).to_string());
    given.push(&twice);
    assert_eq!(essence(&report_text(&given))["sections"], expected["sections"], "one of them twice");
    let partials: Vec<PathBuf> = files.iter().map(|file| file.with_extension("partial")).collect();
    for (file, partial) in files.iter().zip(&partials) {
        output(stepscope(&["--quiet", "analyze", "--partial"]).arg(partial).arg(file));
    }
    let merged = output(stepscope(&["--quiet", "merge", "--format", "json"]).args(partials.iter().rev()));
    assert_eq!(essence(&merged), expected, "merged");
}

/// A real file of one process, as four ranks.
#[test]
fn real_events_of_four_ranks_are_one_run() {
    let Some(data) = published::folder() else { return };
    let file = data.join("hta/critical_path/simple_add/benchmark_result_493459_1694039959_trace.json.gz");
    let packed = std::fs::read(&file).expect("the file is there");
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("gzip around text");
    let document = parse(&text);
    let events = document["traceEvents"].as_array().expect("events");
    let slices = events.iter().filter(|event| event["ph"] == "X" && event["pid"] != "Spans").count() as u64;
    let folder = TempFolder::new("kineto-real").expect("a folder");
    for rank in 0..RANKS {
        let told = format!("\"distributedInfo\": {{\"rank\": {rank}, \"world_size\": {RANKS}}}");
        let text = text.replacen("\"distributedInfo\": {\"rank\": 0}", &told, 1);
        assert!(text.contains(&told), "the real file says its rank");
        write(&folder, &format!("rank-{rank}.json"), &text);
    }
    let report = report(&[folder.path()]);
    assert_eq!(report["run"]["spans"], RANKS * slices);
    assert_eq!((&report["run"]["ranks"], &report["run"]["world_size"]), (&json!(RANKS), &json!(RANKS)));
    assert_eq!(report["read_issues"], json!([]));
    println!("{slices} slices a rank, {RANKS} ranks, one run");
}

#[test]
fn a_generated_run_of_ranks_comes_back_from_chrome() {
    let folder = TempFolder::new("ranks-chrome").expect("a folder");
    // Chrome's format holds no metrics.
    let options =
        ForestOptions { steps: 60, ranks: RANKS as u32, metrics: false, ..ForestOptions::default() };
    let (run, converted) = (folder.join("run.otlp"), folder.join("run.json"));
    write_run(&options, Format::Proto, &run);
    output(stepscope(&["--quiet", "convert", "--to", "chrome"]).args([&run, &converted]));
    let (direct, from_chrome) = (report_text(&[&run]), report_text(&[&converted]));
    assert_eq!(parse(&from_chrome)["run"]["ranks"], RANKS);
    assert_eq!(essence(&from_chrome), essence(&direct));
}
